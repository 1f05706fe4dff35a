-- +goose Up

-- Events of schemas before 17 that are in blocks are converted in the background now, from the last one to
-- the first, while servers read them. None that is not converted has a greater id than the place
-- event_unconverted, which is deleted at the end. The tables are dropped at the next start.
INSERT INTO places (name, id) SELECT 'event_unconverted', 9223372036854775807
  WHERE EXISTS (SELECT 1 FROM places WHERE name IN ('event_rows', 'event_chunks_16'));
