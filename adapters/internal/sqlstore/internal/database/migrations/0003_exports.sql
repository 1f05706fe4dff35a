-- +goose Up

-- The persons that a commit has changed, for exports: id is the id of the commit's last
-- event, or an id of its own.
CREATE TABLE person_changes (
  id         BIGINT NOT NULL,
  project_id BIGINT NOT NULL,
  uuid       {{bytes}} NOT NULL,
  PRIMARY KEY (id, project_id, uuid)
){{clustered}};
