package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/adapters/natsstream"
	"github.com/bunting-flags/bunting/capture"
)

// streamConfig is what a stream in front of the database needs.
type streamConfig struct {
	url, creds string
	replicas   int
	bytes      int64
}

// streamSettings are rows of the table of settings.
var streamSettings = []setting{
	{"stream", text, "URL", []string{""}, "JetStream that takes events in front of the database: nats://HOST:PORT, several with commas between them",
		func(c *config, v []string) error { c.stream.url = v[0]; return checkStream(v[0]) }},
	{"stream-creds", text, "FILE", []string{""}, "file with NATS credentials for --stream",
		func(c *config, v []string) error { c.stream.creds = v[0]; return nil }},
	{"stream-replicas", number, "N", []string{"0"}, "brokers that keep each event: 1, 3 or 5; 0 leaves a stream as it is and makes a new one with 1",
		func(c *config, v []string) (err error) {
			if c.stream.replicas, err = strconv.Atoi(v[0]); err != nil || c.stream.replicas < 0 || c.stream.replicas > 5 {
				return fmt.Errorf("want 0 to 5, not %q", v[0])
			}
			return nil
		}},
	{"stream-bytes", number, "BYTES", []string{"0"}, "how much may wait in the stream until events are refused; 0 leaves a stream as it is and makes a new one with 8 GiB",
		func(c *config, v []string) (err error) {
			if c.stream.bytes, err = strconv.ParseInt(v[0], 10, 64); err != nil || c.stream.bytes < 0 || c.stream.bytes > 0 && c.stream.bytes < 1<<20 {
				return fmt.Errorf("want 0, or 1048576 bytes or more, not %q", v[0])
			}
			return nil
		}},
}

func checkStream(urls string) error {
	if urls == "" {
		return nil
	}
	for one := range strings.SplitSeq(urls, ",") {
		if u, err := url.Parse(strings.TrimSpace(one)); err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" {
			return errors.New("want nats://HOST:PORT, or tls://HOST:PORT, several with commas between them")
		}
	}
	return nil
}

// openStream connects to the stream, if there is one, and records what it holds
// until ctx ends.
func (s *server) openStream(ctx context.Context) (err error) {
	if s.config.stream.url == "" {
		return nil
	}
	c := s.config.stream
	s.stream, err = natsstream.Connect(ctx, natsstream.Config{URL: c.url, Creds: c.creds, Replicas: c.replicas, MaxBytes: c.bytes, Logger: s.log})
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
