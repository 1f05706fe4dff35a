package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/memory"
	"github.com/bunting-flags/bunting/adapters/internal/natsstream"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/adapters/internal/throttle"
	"github.com/bunting-flags/bunting/capture"
)

// openStore opens the database and the recorder of events.
func (p *parts) openStore(ctx context.Context) (err error) {
	if p.Database == "" && p.Data != "" {
		if err := makeFolder(p.Data); err != nil {
			return fmt.Errorf("Options.Data: %w; choose a folder that this user can write to", err)
		}
	}
	if p.Segments != "" && p.DatabaseURL() == "sqlite::memory:" {
		return errors.New("Options.Segments is for a database that is stored, and this one is in memory: set Options.Data, or leave out Options.Segments")
	}
	if p.store, err = sqlstore.Open(ctx, p.DatabaseURL(), sqlstore.Config{
		Logger: p.log, Changed: p.renew, Segments: p.Segments, SealAfter: cmp.Or(p.SegmentsAfter, defaultSegmentsAfter),
		Memory: memory.Of(p.Memory),
		Sealed: func(err error) { p.jobs.count(jobSegments, err) },
	}); err != nil {
		return err
	}
	if p.Without.has(Capture) {
		return nil
	}
	p.recorder = capture.NewRecorder(capture.RecorderConfig{Ledger: p.ledger(), OnFailure: p.logStoreFailures()})
	return nil
}

// makeFolder creates a folder and checks that it is writable.
func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	probe, err := os.CreateTemp(dir, ".bunting-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// logStoreFailures logs errors of the recorder, at most once a second, because a failing store fails for
// every request.
func (p *parts) logStoreFailures() func(error) {
	say := throttle.Every(time.Second, func(err error, unsaid int) {
		message := "events could not be stored; clients were asked to try again"
		if errors.Is(err, capture.ErrIndexing) {
			message = "stored events could not be indexed; it will be tried again"
		}
		p.log.Error(message, "error", err, "unsaid", unsaid)
	})
	return func(err error) {
		if p.Stream.URL == "" || errors.Is(err, capture.ErrIndexing) {
			say(err) // with a stream the events wait there, and logStreamFailures reports the failure
		}
	}
}

// renew makes a change of definitions visible immediately. projectID zero means all projects.
func (p *parts) renew(projectID int64) {
	if d := p.deciding.Load(); d != nil {
		d.Renew(projectID)
	}
	if h := p.server.front.api(); h != nil {
		h.DefinitionsChanged(projectID)
	}
}

// openIntake creates the intake of events.
func (p *parts) openIntake() (err error) {
	if p.recorder == nil {
		return nil
	}
	c := capture.IntakeConfig{Keys: p.store.CaptureKeys(), Appender: p.recorder, Usage: p.store}
	if p.stream != nil {
		c.Appender = p.stream
	}
	if p.server.geo != nil {
		c.Locator = p.server.geo
	}
	c.Appender = traceAppends(c.Appender, p.tracer())
	p.intake, err = capture.NewIntake(c)
	return err
}

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
