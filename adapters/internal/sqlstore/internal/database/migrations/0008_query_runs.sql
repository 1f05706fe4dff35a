-- +goose Up

-- Runs of queries, for other servers. seen_at is the time of the last update by the
-- run's server, or of the end of the run. result is empty if there is none, or if only
-- the run's server has it.
CREATE TABLE query_runs (
  project_id BIGINT NOT NULL,
  id         {{text}} NOT NULL,
  server     {{text}} NOT NULL,
  seen_at    BIGINT NOT NULL,
  ended      SMALLINT NOT NULL,
  status     {{text}} NOT NULL,
  result     {{text}} NOT NULL,
  size       BIGINT NOT NULL,
  PRIMARY KEY (project_id, id)
){{clustered}};
CREATE INDEX query_runs_by_time ON query_runs (seen_at);
