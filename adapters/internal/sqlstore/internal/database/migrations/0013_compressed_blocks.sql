-- +goose Up

-- Blocks of events have another encoding now (internal/block). The blocks are built again in
-- the background.
DELETE FROM event_blocks;
