-- +goose Up

-- Runs of queries as the servers tell each other of them. seen_at is when the server
-- last told of one; of one that has ended, its end. result is empty where there is
-- none, or the server keeps it to itself.
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
