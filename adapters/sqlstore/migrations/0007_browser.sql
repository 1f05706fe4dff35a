-- +goose Up

-- What a project's settings tell browsers, as management has made it of them: empty
-- where nothing is chosen.
ALTER TABLE projects ADD COLUMN browser {{text}} NOT NULL DEFAULT '';
