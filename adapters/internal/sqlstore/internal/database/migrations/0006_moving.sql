-- +goose Up

-- The progress of a move from another database into this one. The row with the empty
-- name is the move itself, and its place is the source. The other rows are tables, and
-- their place is the key of the last copied row, as JSON. While there are rows, no
-- server can start.
CREATE TABLE moving (
  name  {{text}} PRIMARY KEY,
  place {{text}} NOT NULL,
  n     BIGINT NOT NULL,  -- rows that are here
  done  INTEGER NOT NULL
);
