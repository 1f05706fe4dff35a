-- +goose Up

-- How far each partition of a stream in front of the ledger is recorded: the
-- number and the id of its last message.
CREATE TABLE stream_places (
  stream    {{text}} NOT NULL,
  "partition" INTEGER NOT NULL,
  seq       BIGINT NOT NULL,
  message   {{bytes}} NOT NULL,
  PRIMARY KEY (stream, "partition")
){{clustered}};
