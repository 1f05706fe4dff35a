package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/bunting-flags/bunting/adapters/internal/memory"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Open opens a server. Its background work runs until Close. The context limits only the start:
// when it ends during the start, Open fails soon, even while it waits for the database.
func Open(ctx context.Context, o Options) (*Server, error) {
	ctx = wire.Context(ctx)
	if err := o.checkParts(); err != nil {
		return nil, err
	}
	if err := memory.Check(o.Memory); err != nil {
		return nil, fmt.Errorf("Options.Memory: %w", err)
	}
	s := &Server{options: o.withDefaults(), recovered: make(chan struct{}), ended: make(chan struct{})}
	s.jobs = newJobs(s.options.Logger)
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *Server) open(ctx context.Context) error {
	var watching context.Context // until Close
	watching, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	// The address is bound first: a first start that cannot bind it must not create keys, because
	// its output would be lost.
	if err := s.listen(ctx); err != nil {
		return err
	}
	if err := s.openGeo(watching); err != nil {
		return err
	}
	if err := s.openScripts(); err != nil {
		return err
	}
	if err := s.openShadow(); err != nil {
		return err
	}
	s.openCopies()
	if s.copies != nil && s.copies.Len() > 0 {
		return s.openSoon(ctx, watching)
	}
	p, err := s.openParts(ctx, watching)
	if err != nil {
		return err
	}
	return s.activate(p)
}
