-- +goose Up

-- The long columns of events are in compressed chunks now (internal/block). The old rows are
-- converted in steps after the migrations; then the tables event_rows and person_states are dropped.
ALTER TABLE events RENAME TO event_rows;
INSERT INTO places (name, id) VALUES ('event_rows', 0);

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
  historical        INTEGER NOT NULL
);

-- Elements, properties and properties of persons of the events of a project with first_id <= id <=
-- last_id. Chunks of a project do not overlap. The data is last, so that a list of chunks is read
-- without it.
CREATE TABLE event_chunks (
  first_id   {{id}},
  project_id BIGINT NOT NULL,
  last_id    BIGINT NOT NULL,
  size       BIGINT NOT NULL, -- before compression
  data       {{bytes}} NOT NULL
);
CREATE INDEX event_chunks_by_project ON event_chunks (project_id, first_id);

-- Erasures were counted for the states of persons.
DELETE FROM counters WHERE name = 'erasures';
