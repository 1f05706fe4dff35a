-- +goose Up

-- The short columns of the events of a project in a whole epoch (internal/block): built
-- after the indexes, and built again after events were erased. Empty if there are too
-- few events, or if they are about to be deleted.
CREATE TABLE event_blocks (
  epoch      BIGINT NOT NULL,
  project_id BIGINT NOT NULL,
  events     {{bytes}} NOT NULL,
  people     {{bytes}} NOT NULL,
  PRIMARY KEY (epoch, project_id)
);
