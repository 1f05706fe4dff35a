package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// listen binds the address. Connections wait until the server is ready.
func (s *Server) listen(ctx context.Context) (err error) {
	address := s.options.Listen
	if address == "" {
		return nil
	}
	if s.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address); err != nil {
		return listenError("Options.Listen", address, err)
	}
	if s.options.OnListen != nil {
		s.options.OnListen(s.Addr())
	}
	return s.secure(ctx)
}

// listenProblems has advice for errors of listening, to which the name of the option is appended.
var listenProblems = []struct {
	is     error
	advice string
}{
	{syscall.EADDRINUSE, "another program uses this address: stop it, or choose another port with "},
	{syscall.EACCES, "ports below 1024 are reserved for the administrator: choose a higher port with "},
	{syscall.EADDRNOTAVAIL, "this machine does not have this address: choose one of its addresses with "},
}

// adviceError has a text instead of its cause's, and unwraps to the cause.
type adviceError struct {
	text  string
	cause error
}

func (e *adviceError) Error() string { return e.text }
func (e *adviceError) Unwrap() error { return e.cause }

// listenError returns an error about the address of an option.
func listenError(option, address string, err error) error {
	for _, p := range listenProblems {
		if errors.Is(err, p.is) {
			return &adviceError{"cannot listen on " + address + ": " + p.advice + option, err}
		}
	}
	return fmt.Errorf("cannot listen on %s: %w; see %s", address, err, option)
}

// Reload reads certificates, definitions and the location database again. For files that cannot be
// used, the last good state remains, and the error is logged.
func (s *Server) Reload() {
	if !s.isOpen() {
		return
	}
	p := s.parts()
	for _, part := range []struct {
		name string
		has  bool
		read func() error
	}{
		{"certificates", s.certificate != nil && s.certificate.issuer == nil, func() error { return s.certificate.load() }},
		{"definitions", p != nil && p.source != nil, func() error { return p.source.Refresh() }},
		{"location database", s.geo != nil, func() error { return s.geo.Reload() }},
	} {
		if !part.has {
			continue
		}
		if err := part.read(); err != nil {
			s.options.Logger.Error(part.name+" cannot be read again, the last valid version stays in use", "error", err)
			continue
		}
		s.options.Logger.Info(part.name + " read again")
	}
}

// Run serves Handler on the address of Options.Listen until the context ends, then waits for
// requests in progress: see Options.Drain and Options.Grace. If requests had to be interrupted, the
// error is context.DeadlineExceeded. It must be called at most once.
func (s *Server) Run(ctx context.Context) error {
	if s == nil || s.listener == nil {
		return errors.New("Options.Listen is empty: set an address to listen on")
	}
	ctx = wire.Context(ctx)
	log := s.options.Logger
	srv := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       60 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	srv.RegisterOnShutdown(s.EndStreams)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(s.listener) }()
	defer s.keepCertificate(ctx, srv.ErrorLog)()
	select {
	case err := <-ended: // never nil
		return fmt.Errorf("the server has failed: %w", err)
	case <-ctx.Done():
	}
	s.drain()
	within := s.options.Grace
	log.Info("shutting down, waiting for running requests", "within", within)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	err := srv.Shutdown(grace)
	if err != nil {
		_ = srv.Close()
	}
	if s.shadow != nil {
		s.shadow.end()
	}
	if ended := <-ended; !errors.Is(ended, http.ErrServerClosed) {
		log.Warn("the server failed", "error", ended)
	}
	if err != nil {
		return &adviceError{fmt.Sprintf("requests that were still running after %s were interrupted", within), err}
	}
	log.Info("stopped")
	return nil
}

// drain waits for Options.Drain before the server stops.
func (s *Server) drain() {
	if s.options.Drain == 0 {
		return
	}
	s.options.Logger.Info("draining: /_readiness returns 503, all other requests are answered as before", "for", s.options.Drain)
	s.front.draining.Store(true)
	time.Sleep(s.options.Drain)
}
