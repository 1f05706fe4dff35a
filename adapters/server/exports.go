package server

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/exports"
	"github.com/bunting-flags/bunting/management/batchexports"
)

// exportFolder is the folder in the data folder below which exports to files are.
const exportFolder = "exports"

// exportTick is how often is looked whether an export is due.
const exportTick = 2 * time.Second

// exportRunner is what writes exports.
func (p *parts) exportRunner() batchexports.Runner {
	c := exports.Config{Allowed: p.ExportNetworks}
	if p.Data != "" {
		c.Folder = filepath.Join(p.Data, exportFolder)
	}
	return exports.New(c)
}

// exportSilence is how long a failure of the store is not told again.
const exportSilence = time.Minute

// runExports runs batch exports until the context ends.
func (p *parts) runExports(ctx context.Context) {
	ticker := time.NewTicker(exportTick)
	defer ticker.Stop()
	var said atomic.Int64 // when, in nanoseconds
	p.manager.BatchExports.RunExports(ctx, ticker.C, func(err error) {
		p.jobs.count(jobExports, err)
		before, now := said.Load(), time.Now().UnixNano()
		if now-before < int64(exportSilence) || !said.CompareAndSwap(before, now) {
			return
		}
		p.log.Error("an export could not be looked after; it will be tried again", "error", err)
	})
}
