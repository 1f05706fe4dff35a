-- +goose Up

-- Which persons a commit has changed, for exports: id is the place in the ledger
-- of that commit's last event, or one of its own.
CREATE TABLE person_changes (
  id         BIGINT NOT NULL,
  project_id BIGINT NOT NULL,
  uuid       {{bytes}} NOT NULL,
  PRIMARY KEY (id, project_id, uuid)
){{clustered}};
