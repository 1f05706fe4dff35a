package server

import (
	"context"
	"path/filepath"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/exports"
	"github.com/bunting-flags/bunting/adapters/internal/throttle"
	"github.com/bunting-flags/bunting/management/batchexports"
)

// exportFolder is the folder in the data folder to which exports to files are written.
const exportFolder = "exports"

// exportTick is the interval of checks for exports that are due.
const exportTick = 2 * time.Second

// exportRunner returns the writer of exports.
func (p *parts) exportRunner() batchexports.Runner {
	c := exports.Config{Allowed: p.ExportNetworks}
	if p.Data != "" {
		c.Folder = filepath.Join(p.Data, exportFolder)
	}
	return exports.New(c)
}

// exportSilence is the minimum time between two log messages about failures of the store.
const exportSilence = time.Minute

// runExports runs batch exports until the context ends.
func (p *parts) runExports(ctx context.Context) {
	ticker := time.NewTicker(exportTick)
	defer ticker.Stop()
	say := throttle.Every(exportSilence, func(err error, _ int) {
		p.log.Error("an export could not be run; it will be tried again", "error", err)
	})
	p.rooms.BatchExports.RunExports(ctx, ticker.C, func(err error) {
		p.jobs.count(jobExports, err)
		say(err)
	})
}
