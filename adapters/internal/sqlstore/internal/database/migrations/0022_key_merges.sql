-- +goose Up

-- Long lists of duplicate keys are merged in several transactions: each moves some keys into the first of the
-- lists, whose range then includes those of the others. changes counts the transactions that have moved keys
-- out of or into a list.
ALTER TABLE event_key_runs ADD COLUMN changes BIGINT NOT NULL DEFAULT 0;
