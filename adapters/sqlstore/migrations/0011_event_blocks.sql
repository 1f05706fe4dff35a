-- +goose Up

-- The short columns of the events that a project has in a whole epoch (eventblock.go):
-- made behind the indexes, and made anew where events were erased. Empty: there are too
-- few, or they are about to be deleted.
CREATE TABLE event_blocks (
  epoch      BIGINT NOT NULL,
  project_id BIGINT NOT NULL,
  events     {{bytes}} NOT NULL,
  people     {{bytes}} NOT NULL,
  PRIMARY KEY (epoch, project_id)
);
