-- +goose Up

-- Counts of flags by hour since 1970 in UTC and value: calls that SDKs reported
-- (evaluations 0), and evaluations by servers (evaluations 1).
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
