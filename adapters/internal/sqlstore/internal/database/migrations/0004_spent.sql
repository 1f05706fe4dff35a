-- +goose Up

-- Uses of a resource by UTC day (such as 20261120), key and SDK. key is project, or the
-- mask of a personal or secret key.
CREATE TABLE spent (
  project_id BIGINT NOT NULL,
  day        INTEGER NOT NULL,
  resource   {{text}} NOT NULL,
  key        {{text}} NOT NULL,
  sdk        {{text}} NOT NULL,
  n          BIGINT NOT NULL,
  PRIMARY KEY (project_id, day, resource, key, sdk)
){{clustered}};
