-- +goose Up

-- Blocks of events (internal/block) replace the indexes by time, name and distinct id. They are
-- built in the background; readers scan the events after the place event_index, which have no
-- block.
DROP TABLE events_by_time;
DROP TABLE events_by_name;
DROP TABLE events_by_distinct_id;
DROP TABLE event_epochs;
DROP TABLE event_blocks;
UPDATE places SET id = 0 WHERE name = 'event_index';

-- The events of a project with first_id <= id <= last_id. Blocks of a project do not overlap. The
-- filter is last, so that a list of blocks is read without it.
CREATE TABLE event_blocks (
  project_id BIGINT NOT NULL,
  first_id   BIGINT NOT NULL,
  last_id    BIGINT NOT NULL,
  level      INTEGER NOT NULL, -- how often it was merged, 15 if it is not merged any more
  events     INTEGER NOT NULL,
  first_time BIGINT NOT NULL,
  last_time  BIGINT NOT NULL,
  filter     {{bytes}} NOT NULL, -- excludes names and distinct ids
  PRIMARY KEY (project_id, first_id)
){{clustered}};
CREATE INDEX event_blocks_small ON event_blocks (level, project_id) WHERE level < 15;
CREATE INDEX event_blocks_by_last_id ON event_blocks (last_id);

-- The columns of the blocks.
CREATE TABLE event_columns (
  first_id {{id}},
  names    {{bytes}} NOT NULL,
  people   {{bytes}} NOT NULL,
  origins  {{bytes}} NOT NULL
);
