package server

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/bunting-flags/bunting/adapters/filesource"
	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/keptsource"
	"github.com/bunting-flags/bunting/adapters/internal/natsstream"
	"github.com/bunting-flags/bunting/adapters/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management/rooms"
)

// parts are what a server has of its database, and the work over it.
type parts struct {
	*Options
	server *Server
	log    *slog.Logger
	jobs   *jobs

	store     *sqlstore.Store    // nil for flags of files alone
	recorder  *capture.Recorder  // nil without Capture
	source    *filesource.Source // nil without Options.Definitions
	keeper    *keptsource.Keeper // nil without copies
	stream    *natsstream.Stream // nil without Options.Stream
	processor *capture.Processor // nil without Options.Stream
	intake    *capture.Intake    // nil without Capture
	decider   *flags.Decider
	deciding  atomic.Pointer[flags.Decider] // decider, for those who may come before it
	manager   *rooms.Rooms                  // nil without a store
	rooms     *rooms.Rooms                  // those that are served, nil without Management
	queries   *queries.Service              // nil without Capture and Management
	handler   *httpapi.Handler
	health    *health // nil without Management

	mailQueued chan struct{} // nil where no mails are sent
	applying   sync.Mutex    // held while files are brought into the store
	warnOnce   sync.Once
	stop       context.CancelFunc
	background sync.WaitGroup
}

// close ends all that was opened; the error is that of the store.
func (p *parts) close() error {
	if p.handler != nil {
		p.handler.CloseStreams() // they read the store
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
