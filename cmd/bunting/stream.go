package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/adapters/natsstream"
	"github.com/bunting-flags/bunting/capture"
)

// openStream connects to the stream, if there is one, and records what it holds
// until ctx ends.
func (s *server) openStream(ctx context.Context) (err error) {
	if s.config.Stream.Url == "" {
		return nil
	}
	c := s.config.Stream
	s.stream, err = natsstream.Connect(ctx, natsstream.Config{URL: c.Url, Creds: c.Creds, Replicas: c.Replicas, MaxBytes: c.Bytes, Logger: s.log})
	if err != nil {
		return fmt.Errorf("--stream: %w", err)
	}
	if s.stream.Replicas() == 1 {
		s.log.Info("one broker keeps the events: so that a power cut takes none it has to run with sync_interval: always, or there have to be three (--stream-replicas 3)")
	}
	s.processor, err = capture.NewProcessor(capture.ProcessorConfig{Stream: s.stream, Into: s.recorder, Places: s.store, OnFailure: s.streamFailed()})
	if err != nil {
		return err
	}
	s.background.Go(func() { _ = s.processor.Run(ctx) }) // it ends with the context
	return nil
}

// streamFailed logs what the processor meets, at once and then once a minute: while
// the database is away each partition fails every few seconds.
func (s *server) streamFailed() func(error) {
	var mu sync.Mutex
	var said time.Time
	unsaid := 0
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(said) < time.Minute {
			unsaid++
			return
		}
		s.log.Error("events of the stream could not be recorded yet; they wait there and are tried again", "error", err, "unsaid", unsaid)
		said, unsaid = time.Now(), 0
	}
}
