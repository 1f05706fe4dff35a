-- +goose Up

-- Parquet files (internal/segment) with the events of whole blocks of a project, which then have
-- the level 16 and no columns and chunks. All events of a project up to the last one of its
-- segments are in segments.
CREATE TABLE event_segments (
  project_id   BIGINT NOT NULL,
  first_id     BIGINT NOT NULL,
  last_id      BIGINT NOT NULL,
  generation   BIGINT NOT NULL, -- how often the file was written
  events       BIGINT NOT NULL,
  bytes        BIGINT NOT NULL,
  last_arrived BIGINT NOT NULL,
  checksum     BIGINT NOT NULL, -- CRC-32C of the file
  name         {{text}} NOT NULL, -- path below the folder of the segments
  PRIMARY KEY (project_id, first_id)
);

-- Full blocks that are in no segment.
CREATE INDEX event_blocks_full ON event_blocks (project_id, first_id) WHERE level = 15;

-- Events in segments that were erased. Readers leave them out; the segments are written again
-- without them in the background.
CREATE TABLE event_erased (
  project_id BIGINT NOT NULL,
  id         BIGINT NOT NULL,
  PRIMARY KEY (project_id, id)
);
