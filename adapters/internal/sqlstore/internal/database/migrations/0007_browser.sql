-- +goose Up

-- The settings of a project for browsers, as management has computed them. Empty if no
-- setting differs from its default.
ALTER TABLE projects ADD COLUMN browser {{text}} NOT NULL DEFAULT '';
