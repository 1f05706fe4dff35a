-- +goose Up

-- Chunks have all columns of their events now, and there are no rows of events. The rows and the
-- chunks of schema 16 are converted in steps after the migrations; then the tables events and
-- event_chunks_16 are dropped, and the place event_index is deleted.
DROP INDEX event_chunks_by_project;
ALTER TABLE event_chunks RENAME TO event_chunks_16;
CREATE INDEX event_chunks_16_by_project ON event_chunks_16 (project_id, first_id);
INSERT INTO places (name, id) VALUES ('event_chunks_16', 0);

-- The events of a project with first_id <= id <= last_id. Chunks of a project do not overlap. The
-- data is last, so that a list of chunks and their short columns are read without it.
CREATE TABLE event_chunks (
  first_id   {{id}},
  project_id BIGINT NOT NULL,
  last_id    BIGINT NOT NULL,
  events     INTEGER NOT NULL,
  size       BIGINT NOT NULL, -- of the long columns before compression
  short      {{bytes}} NOT NULL, -- short columns
  data       {{bytes}} NOT NULL -- elements, properties and properties of persons
);
CREATE INDEX event_chunks_by_project ON event_chunks (project_id, first_id);

-- The chunks whose events are in no block yet.
CREATE TABLE event_new_chunks (
  first_id   {{id}},
  project_id BIGINT NOT NULL,
  last_id    BIGINT NOT NULL,
  events     INTEGER NOT NULL,
  first_time BIGINT NOT NULL,
  last_time  BIGINT NOT NULL
);
