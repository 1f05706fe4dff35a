-- +goose Up

-- Duplicate keys of events are in sorted lists now (internal/block), 8 bytes an event; those of the
-- newest events are only in memory, and are read from the events at the start. The lists of a store
-- of an earlier schema are built in the background; then the place event_keys is deleted, and the table
-- event_keys is dropped.
INSERT INTO places (name, id) VALUES ('event_keys', 0);

-- The keys of all events of a project with first_id <= id <= last_id. Lists of a project do not overlap,
-- and their events are followed only by those that are in no list yet. An event that was erased may
-- still have a key.
CREATE TABLE event_key_runs (
  project_id BIGINT NOT NULL,
  first_id   BIGINT NOT NULL,
  last_id    BIGINT NOT NULL,
  timely     BIGINT NOT NULL, -- number of keys of version 7 whose time is near the time of arrival
  late       BIGINT NOT NULL, -- number of the other keys
  first_time BIGINT NOT NULL, -- of timely keys, in milliseconds
  last_time  BIGINT NOT NULL,
  starts     {{bytes}} NOT NULL, -- the first keys of the pages
  PRIMARY KEY (project_id, first_id)
){{clustered}};

-- The pages of the lists, by the event of their first key.
CREATE TABLE event_key_pages (
  id   {{id}},
  keys {{bytes}} NOT NULL
);
