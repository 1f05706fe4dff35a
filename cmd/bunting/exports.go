package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/bunting-flags/bunting/adapters/exports"
	"github.com/bunting-flags/bunting/management"
)

// exportFolder is the folder in the data folder below which exports to files are.
const exportFolder = "exports"

// exportTick is how often is looked whether an export is due.
const exportTick = 2 * time.Second

// exportRunner is what writes exports.
func (s *server) exportRunner() management.ExportRunner {
	c := exports.Config{Allowed: s.config.exportNetworks}
	if s.config.data != "" {
		c.Folder = filepath.Join(s.config.data, exportFolder)
	}
	return exports.New(c)
}

// runExports runs batch exports until the context ends.
func (s *server) runExports(ctx context.Context) {
	ticker := time.NewTicker(exportTick)
	defer ticker.Stop()
	s.manager.BatchExports.RunExports(ctx, ticker.C, func(err error) {
		s.log.Error("an export could not be looked after; it will be tried again", "error", err)
	})
}
