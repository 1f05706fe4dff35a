-- +goose Up

-- How often flags were called (evaluations 0: what SDKs have told) and answered
-- (evaluations 1), by hour since 1970 UTC and value.
CREATE TABLE flag_hours (
  project_id  BIGINT NOT NULL,
  evaluations SMALLINT NOT NULL,
  flag_key    {{text}} NOT NULL,
  hour        BIGINT NOT NULL,
  value       {{text}} NOT NULL,
  n           BIGINT NOT NULL,
  PRIMARY KEY (project_id, evaluations, flag_key, hour, value)
){{clustered}};
CREATE INDEX flag_hours_by_hour ON flag_hours (hour);
