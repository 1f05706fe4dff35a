-- +goose Up

-- Times are microseconds since 1970 in UTC, UUIDs are their 16 bytes, JSON is text.
-- Words in double braces differ between the databases: see dialect.go.

CREATE TABLE organizations (
  id         {{text}} PRIMARY KEY,
  name       {{text}} NOT NULL,
  quotas     {{text}} NOT NULL DEFAULT '{}',   -- limits a month by resource
  origin     {{text}} NOT NULL DEFAULT '',     -- the file it stands in, empty for none
  created_at BIGINT NOT NULL
);

CREATE TABLE projects (
  id              {{id}},
  organization_id {{text}} NOT NULL,
  name            {{text}} NOT NULL,
  api_key         {{text}} NOT NULL UNIQUE,
  settings        {{text}} NOT NULL DEFAULT '{}', -- timezone, bucketing_hash, property_matching_version
  paused          {{text}} NOT NULL DEFAULT '[]', -- resources, decisions.md: quota_limited
  anonymize_ips   INTEGER NOT NULL DEFAULT 0,
  revision        BIGINT NOT NULL DEFAULT 1,      -- grows with every change of definitions
  origin          {{text}} NOT NULL DEFAULT '',
  deleted         INTEGER NOT NULL DEFAULT 0,
  created_at      BIGINT NOT NULL
);

CREATE TABLE api_keys (
  hash       {{text}} PRIMARY KEY,             -- sha256$ and the hash of the key in hexadecimal
  kind       {{text}} NOT NULL,                -- personal, secret
  mask       {{text}} NOT NULL,                -- what may be shown of it
  label      {{text}} NOT NULL DEFAULT '',
  scopes     {{text}} NOT NULL DEFAULT '[]',
  projects   {{text}} NOT NULL DEFAULT '[]',   -- ids of those that it opens; empty: every one
  origin     {{text}} NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL
);

CREATE TABLE flag_records (
  project_id BIGINT NOT NULL,
  id         BIGINT NOT NULL,
  key        {{text}} NOT NULL,
  record     {{text}} NOT NULL,                -- as in the definitions payload
  origin     {{text}} NOT NULL DEFAULT '',
  deleted    INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (project_id, id)
){{clustered}};

CREATE TABLE cohort_records (
  project_id BIGINT NOT NULL,
  id         BIGINT NOT NULL,
  record     {{text}} NOT NULL,
  origin     {{text}} NOT NULL DEFAULT '',
  deleted    INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (project_id, id)
){{clustered}};

-- Members of static cohorts, by one of their distinct ids: membership applies to all
-- distinct ids of the person, so a merge of persons changes no rows.
CREATE TABLE cohort_members (
  project_id  BIGINT NOT NULL,
  distinct_id {{text}} NOT NULL,
  cohort_id   BIGINT NOT NULL,
  PRIMARY KEY (project_id, distinct_id, cohort_id)
){{clustered}};
CREATE INDEX cohort_members_by_cohort ON cohort_members (project_id, cohort_id);

CREATE TABLE group_types (
  project_id BIGINT NOT NULL,
  type_index INTEGER NOT NULL,
  name       {{text}} NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (project_id, type_index)
){{clustered}};

CREATE TABLE stored_groups (
  project_id BIGINT NOT NULL,
  type_index INTEGER NOT NULL,
  key        {{text}} NOT NULL,
  created_at BIGINT NOT NULL,
  properties {{text}} NOT NULL,
  PRIMARY KEY (project_id, type_index, key)
){{clustered}};

CREATE TABLE persons (
  id            {{autoid}},
  project_id    BIGINT NOT NULL,
  uuid          {{bytes}} NOT NULL,
  created_at    BIGINT NOT NULL,
  is_identified INTEGER NOT NULL,
  version       BIGINT NOT NULL,
  properties    {{text}} NOT NULL
);
CREATE UNIQUE INDEX persons_by_uuid ON persons (project_id, uuid);
CREATE INDEX persons_by_project ON persons (project_id, id);

-- person_uuid is null for a distinct id that was used only in events without a person.
CREATE TABLE distinct_ids (
  project_id  BIGINT NOT NULL,
  distinct_id {{text}} NOT NULL,
  person_uuid {{bytes}},
  PRIMARY KEY (project_id, distinct_id)
){{clustered}};
CREATE INDEX distinct_ids_by_person ON distinct_ids (project_id, person_uuid) WHERE person_uuid IS NOT NULL;

CREATE TABLE erased_persons (
  project_id BIGINT NOT NULL,
  uuid       {{bytes}} NOT NULL,
  version    BIGINT NOT NULL,
  PRIMARY KEY (project_id, uuid)
){{clustered}};

-- The identifier by which a person was first bucketed, by flag.
CREATE TABLE flag_overrides (
  project_id  BIGINT NOT NULL,
  person_uuid {{bytes}} NOT NULL,
  flag_key    {{text}} NOT NULL,
  hash_key    {{text}} NOT NULL,
  PRIMARY KEY (project_id, person_uuid, flag_key)
){{clustered}};

-- Indexed columns are first, columns with long values last.
CREATE TABLE events (
  id                {{id}},
  project_id        BIGINT NOT NULL,
  timestamp         BIGINT NOT NULL,
  event             {{text}} NOT NULL,
  distinct_id       {{text}} NOT NULL,
  uuid              {{bytes}} NOT NULL,
  created_at        BIGINT NOT NULL,
  person_uuid       {{bytes}} NOT NULL,
  person_created_at BIGINT NOT NULL,
  person_mode       INTEGER NOT NULL,
  historical        INTEGER NOT NULL,
  elements_chain    {{text}} NOT NULL,
  person_state      BIGINT NOT NULL, -- the event that had the person's properties first, 0 for none
  properties        {{text}} NOT NULL
);

-- Properties of persons as they were after an event.
CREATE TABLE person_states (
  event_id   {{id}},
  properties {{text}} NOT NULL
);

-- Duplicate keys of events: the UUID, then a hash of project, name and distinct id.
CREATE TABLE event_keys (
  key {{bytes}} NOT NULL,
  id  BIGINT NOT NULL,
  PRIMARY KEY (key)
){{clustered}};

-- Indexes of events by epoch, which is a range of ids. Within an epoch the keys arrive in
-- any order, but epochs follow one another: an index of any size is written only at its
-- end.
CREATE TABLE event_epochs (
  project_id BIGINT NOT NULL,
  epoch      BIGINT NOT NULL,
  first_time BIGINT NOT NULL,
  last_time  BIGINT NOT NULL,
  PRIMARY KEY (project_id, epoch)
){{clustered}};

CREATE TABLE events_by_time (
  epoch      BIGINT NOT NULL,
  project_id BIGINT NOT NULL,
  timestamp  BIGINT NOT NULL,
  id         BIGINT NOT NULL,
  PRIMARY KEY (epoch, project_id, timestamp, id)
){{clustered}};

CREATE TABLE events_by_name (
  epoch      BIGINT NOT NULL,
  project_id BIGINT NOT NULL,
  event      {{text}} NOT NULL,
  timestamp  BIGINT NOT NULL,
  id         BIGINT NOT NULL,
  PRIMARY KEY (epoch, project_id, event, timestamp, id)
){{clustered}};

CREATE TABLE events_by_distinct_id (
  epoch       BIGINT NOT NULL,
  project_id  BIGINT NOT NULL,
  distinct_id {{text}} NOT NULL,
  timestamp   BIGINT NOT NULL,
  id          BIGINT NOT NULL,
  PRIMARY KEY (epoch, project_id, distinct_id, timestamp, id)
){{clustered}};

-- Positions in the sequence of events: the id of the last event that was processed.
CREATE TABLE places (
  name {{text}} PRIMARY KEY,
  id   BIGINT NOT NULL
);
INSERT INTO places (name, id) VALUES ('event_id', 0), ('event_index', 0);

-- The ids of events. Without a sequence, the place event_id is the last assigned id.
{{sequence}}

CREATE TABLE flag_calls (
  project_id      BIGINT NOT NULL,
  flag_key        {{text}} NOT NULL,
  value           {{text}} NOT NULL,
  calls           BIGINT NOT NULL,
  first_called_at BIGINT NOT NULL,
  last_called_at  BIGINT NOT NULL,
  PRIMARY KEY (project_id, flag_key, value)
){{clustered}};

-- Names of events (kind 0) and of properties: of events (1), persons (2), groups (3).
CREATE TABLE seen_names (
  project_id  BIGINT NOT NULL,
  kind        INTEGER NOT NULL,
  group_index INTEGER NOT NULL,
  name        {{text}} NOT NULL,
  type        {{text}} NOT NULL,
  seen_at     BIGINT NOT NULL,
  PRIMARY KEY (project_id, kind, group_index, name)
){{clustered}};

CREATE TABLE warnings (
  project_id  BIGINT NOT NULL,
  type        {{text}} NOT NULL,
  distinct_id {{text}} NOT NULL,
  event_uuid  {{bytes}} NOT NULL,
  detail      {{text}} NOT NULL,
  count       BIGINT NOT NULL,
  first_at    BIGINT NOT NULL,
  last_at     BIGINT NOT NULL,
  PRIMARY KEY (project_id, type, distinct_id)
){{clustered}};
CREATE INDEX warnings_by_time ON warnings (project_id, last_at);

-- Counts of an organization by resource and UTC day, such as 20261120.
CREATE TABLE usage (
  organization_id {{text}} NOT NULL,
  resource        {{text}} NOT NULL,
  day             INTEGER NOT NULL,
  project_id      BIGINT NOT NULL,
  n               BIGINT NOT NULL,
  PRIMARY KEY (organization_id, resource, day, project_id)
){{clustered}};

-- Stored counts by name: the persons of a project (decision 25), and the numbers of its
-- rows in flag_calls and seen_names.
CREATE TABLE counters (
  project_id BIGINT NOT NULL,
  name       {{text}} NOT NULL,
  n          BIGINT NOT NULL,
  PRIMARY KEY (project_id, name)
){{clustered}};
