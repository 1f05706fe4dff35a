package server

import (
	"context"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/natsstream"
	"github.com/bunting-flags/bunting/adapters/internal/throttle"
	"github.com/bunting-flags/bunting/capture"
)

// openStream connects to the stream, if one is configured, and records its events until ctx ends.
func (p *parts) openStream(ctx context.Context) (err error) {
	c := p.Stream
	if c.URL == "" {
		return nil
	}
	p.stream, err = natsstream.Connect(ctx, natsstream.Config{URL: c.URL, Creds: c.Creds, Replicas: c.Replicas, MaxBytes: c.MaxBytes, Logger: p.log})
	if err != nil {
		return fmt.Errorf("Options.Stream: %w", err)
	}
	if p.stream.Replicas() == 1 {
		p.log.Info("only one broker stores the events: to lose none in a power failure, run it with sync_interval: always, or use three brokers (Options.Stream.Replicas 3)")
	}
	p.processor, err = capture.NewProcessor(capture.ProcessorConfig{Stream: p.stream, Recorder: p.recorder, Positions: p.store, OnFailure: p.logStreamFailures()})
	if err != nil {
		return err
	}
	p.background.Go(func() { _ = p.processor.Run(ctx) }) // ends with the context
	return nil
}

// logStreamFailures logs errors of the processor, the first immediately and then one a minute: while the
// database is unavailable, each partition fails every few seconds.
func (p *parts) logStreamFailures() func(error) {
	return throttle.Every(time.Minute, func(err error, unsaid int) {
		p.log.Error("events of the stream could not be recorded yet; they stay in the stream and will be tried again", "error", err, "unsaid", unsaid)
	})
}
