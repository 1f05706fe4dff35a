-- +goose Up

-- The filters of blocks are in a table of their own: SQLite reads the whole rows of a list of blocks,
-- because these are in the index of the primary key. A block of few events has no filter.
CREATE TABLE event_filters (
  first_id {{id}},
  filter   {{bytes}} NOT NULL -- excludes names and distinct ids
);
INSERT INTO event_filters (first_id, filter) SELECT first_id, filter FROM event_blocks WHERE LENGTH(filter) > 0;
ALTER TABLE event_blocks DROP COLUMN filter;
