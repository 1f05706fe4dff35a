-- +goose Up

-- The recorded position of each partition of a stream in front of the ledger: the number
-- and the id of its last message.
CREATE TABLE stream_places (
  stream    {{text}} NOT NULL,
  "partition" INTEGER NOT NULL,
  seq       BIGINT NOT NULL,
  message   {{bytes}} NOT NULL,
  PRIMARY KEY (stream, "partition")
){{clustered}};
