package server

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/bunting-flags/bunting/adapters/filesource"
	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/backups"
	"github.com/bunting-flags/bunting/adapters/internal/fallbacksource"
	"github.com/bunting-flags/bunting/adapters/internal/metrics"
	"github.com/bunting-flags/bunting/adapters/internal/natsstream"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/management/rooms"
)

// parts are the components of a server that use its database, and their background work.
type parts struct {
	*Options
	server *Server
	log    *slog.Logger
	jobs   *jobs

	store     *sqlstore.Store        // nil if only flags of files are served
	recorder  *capture.Recorder      // nil without Capture
	source    *filesource.Source     // nil without Options.Definitions
	keeper    *fallbacksource.Keeper // nil without copies
	stream    *natsstream.Stream     // nil without Options.Stream
	processor *capture.Processor     // nil without Options.Stream
	intake    *capture.Intake        // nil without Capture
	decider   *serving.Decider
	deciding  atomic.Pointer[serving.Decider] // the same as decider, for goroutines that may run before it is set
	manager   *rooms.Rooms                    // nil without a store
	rooms     *rooms.Rooms                    // the packages that are served; nil without Management
	queries   *queries.Service                // nil without Capture and Management
	handler   *httpapi.Handler
	measured  metrics.Config
	health    *health         // nil without Management
	backup    *backups.Runner // nil without Options.Backup

	mailQueued chan struct{} // nil if no mails are sent
	applying   sync.Mutex    // locked while files are applied to the store
	warnOnce   sync.Once
	stop       context.CancelFunc
	background sync.WaitGroup
}

// close closes everything that was opened. It returns the error of closing the store.
func (p *parts) close() error {
	if p.handler != nil {
		p.handler.CloseStreams() // streams read the store
	}
	p.stop()
	if p.queries != nil {
		p.queries.Close()
	}
	if p.source != nil {
		_ = p.source.Close()
	}
	p.background.Wait()
	if p.keeper != nil {
		p.keeper.Close()
	}
	if p.stream != nil {
		p.stream.Close()
	}
	if p.recorder != nil {
		p.recorder.Close()
	}
	if p.store != nil {
		return p.store.Close()
	}
	return nil
}
