-- +goose Up

-- How far a move out of another database into this one is. The row without a name
-- is the move itself, its place where it comes from; the others are tables, their
-- place the key of the last row that is here, as JSON. While there are rows no server
-- starts.
CREATE TABLE moving (
  name  {{text}} PRIMARY KEY,
  place {{text}} NOT NULL,
  n     BIGINT NOT NULL,  -- rows that are here
  done  INTEGER NOT NULL
);
