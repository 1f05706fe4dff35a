-- +goose Up

-- meta contains the fields of an object that only management reads.
ALTER TABLE organizations ADD COLUMN meta {{text}} NOT NULL DEFAULT '{}';
ALTER TABLE projects ADD COLUMN meta {{text}} NOT NULL DEFAULT '{}';
ALTER TABLE flag_records ADD COLUMN meta {{text}} NOT NULL DEFAULT '{}';
ALTER TABLE cohort_records ADD COLUMN meta {{text}} NOT NULL DEFAULT '{}';
CREATE INDEX projects_by_organization ON projects (organization_id, id);
CREATE INDEX flag_records_by_key ON flag_records (project_id, key, deleted);
CREATE INDEX flag_records_by_id ON flag_records (id);
CREATE INDEX cohort_records_by_id ON cohort_records (id);
CREATE INDEX flag_records_shown ON flag_records (project_id, deleted, id);
CREATE INDEX cohort_records_shown ON cohort_records (project_id, deleted, id);

-- A key has the same id after it was rolled, which changes its hash.
ALTER TABLE api_keys ADD COLUMN id {{text}} NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN user_id BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN organizations {{text}} NOT NULL DEFAULT '[]';
ALTER TABLE api_keys ADD COLUMN last_used_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN last_rolled_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX api_keys_by_id ON api_keys (id);
CREATE INDEX api_keys_by_user ON api_keys (user_id, created_at);
CREATE INDEX api_keys_secret ON api_keys (projects, created_at) WHERE kind = 'secret';

-- All further managed objects: see management.Record. other and name are null if they
-- are empty.
CREATE TABLE records (
  kind   {{text}} NOT NULL,
  parent {{text}} NOT NULL,
  id     {{text}} NOT NULL,
  other  {{text}},
  sort   {{text}} NOT NULL,
  name   {{text}},
  hidden INTEGER NOT NULL,
  data   {{text}} NOT NULL,
  PRIMARY KEY (kind, parent, id)
){{clustered}};
CREATE INDEX records_by_sort ON records (kind, parent, hidden, sort, id);
CREATE INDEX records_by_other ON records (kind, other, hidden, sort, id) WHERE other IS NOT NULL;
CREATE UNIQUE INDEX records_by_name ON records (kind, name) WHERE name IS NOT NULL;

-- The number of records in a list, so that rows need not be counted. place is 0 for the
-- records of a parent, and 1 for the records of another parent.
CREATE TABLE record_counts (
  kind   {{text}} NOT NULL,
  place  INTEGER NOT NULL,
  parent {{text}} NOT NULL,
  hidden INTEGER NOT NULL,
  n      BIGINT NOT NULL,
  PRIMARY KEY (kind, place, parent, hidden)
){{clustered}};

-- The last number that was assigned in a sequence.
CREATE TABLE sequences (
  name {{text}} PRIMARY KEY,
  n    BIGINT NOT NULL
);
