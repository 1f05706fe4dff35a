package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/bunting-flags/bunting/flags"
)

// open starts a source with a completed Config. Before it returns, the source has loaded the copy
// on disk or, without one, the bundle; network requests start afterwards. It returns an error only
// for a broken bundle.
func open(c *Config) (*source, error) {
	s := &source{
		c: c, ready: make(chan struct{}),
		copies: make(chan savedCopy, 1), news: make(chan struct{}, 1),
	}
	s.status.since, s.status.moved = c.Now(), make(chan struct{})
	s.client, s.ownsClient = httpClient(c.HTTPClient)
	s.loadCopy()
	if err := s.applyBundle(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.over = stop, ctx.Done()
	if !c.Offline {
		s.done.Go(func() { s.run(ctx) })
		s.done.Go(s.saveCopies)
		s.done.Go(func() { s.notifyWatchers(ctx) })
	}
	return s, nil
}

// WaitForReady implements Client.WaitForReady.
func (s *source) WaitForReady(ctx context.Context) error {
	for {
		moved, last := s.status.last()
		var status *StatusError
		switch {
		case s.current.Load() != nil:
			return nil
		case s.c.Offline:
			return fmt.Errorf("remote: %w, and Config.Offline sends no requests: provide them in Config.Bundle", flags.ErrNotReady)
		case errors.As(last, &status) && (status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden):
			return last
		}
		select {
		case <-s.ready:
		case <-moved:
		case <-s.over:
			return errClosed
		case <-ctx.Done():
			if last != nil {
				return fmt.Errorf("remote: no definitions yet: %w; the last attempt: %w", context.Cause(ctx), last)
			}
			return fmt.Errorf("remote: no definitions yet: %w", context.Cause(ctx))
		}
	}
}

// project returns the definitions for apiKey. The error is flags.ErrUnavailable until definitions
// are loaded.
func (s *source) project(apiKey string) (*loadedDefinitions, error) {
	k := s.current.Load()
	switch {
	case apiKey != s.c.ProjectKey:
		return nil, flags.ErrUnknownKey
	case k == nil:
		return nil, errors.Join(flags.ErrUnavailable, s.Status().LastError)
	}
	return k, nil
}

// Close ends requests and streams, waits until a copy in progress is written and the source's
// goroutines have ended. The definitions remain readable. It may be called several times.
func (s *source) Close() error {
	s.stop()
	s.done.Wait()
	if s.ownsClient {
		s.client.CloseIdleConnections()
	}
	return nil
}
