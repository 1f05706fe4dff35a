-- +goose Up

-- Hashes of the distinct ids of blocks of events (internal/block). They are in a table of their own,
-- because SQLite reads all pages of a row up to a value. The blocks are built again in the background.
DELETE FROM event_blocks;
DELETE FROM event_columns;
UPDATE places SET id = 0 WHERE name = 'event_index';

CREATE TABLE event_hashes (
  first_id {{id}},
  hashes   {{bytes}} NOT NULL
);
