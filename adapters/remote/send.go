package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// maxWait limits the waits that double; maxServerWait limits the waits that the server
	// requests.
	maxWait       = 30 * time.Second
	maxServerWait = 5 * time.Minute
	// logInterval is the minimum time between two log messages about drops and failures.
	logInterval = time.Minute
)

// sender is the goroutine that sends the queued events, in order (capture §13.2).
type sender struct {
	client  *Client
	queue   *queue
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{}
	retries atomic.Uint64

	// Only the goroutine of run uses the remaining fields, and Close after it has ended.
	limit  int // events in a batch: halved by 413, five more after each success
	gzip   *gzip.Writer
	logged Stats     // the counts at the last log message
	since  time.Time // time of the last log message
	last   error     // error of the last failure
	unsent int       // events still queued at the end
}

func startSender(c *Client) *sender {
	s := &sender{client: c, queue: c.queue, done: make(chan struct{}), limit: batchEvents, gzip: gzip.NewWriter(nil)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.run()
	return s
}

// run sends batches until the sender is ended, and drops the remaining events.
func (s *sender) run() {
	defer close(s.done)
	for again := 0; s.ctx.Err() == nil; {
		untilLog := s.logDrops(false)
		batch, wait := s.queue.next(s.limit, s.client.config.FlushInterval)
		switch {
		case batch == nil:
			s.pause(untilLog, true)
			continue
		case wait > 0:
			s.pause(min(wait, untilLog), true)
			continue
		}
		retryAfter, v, err := s.post(batch)
		if s.ctx.Err() != nil {
			break
		}
		switch {
		case v == verdictSent:
			s.queue.finish(len(batch), "")
			s.limit, again = min(s.limit+5, batchEvents), 0
			continue
		case v == verdictHalve && len(batch) > 1:
			s.limit = len(batch) / 2
			again = 0
			continue
		}
		s.last = err
		switch {
		case v == verdictHalve:
			s.queue.finish(1, dropTooLarge)
		case v == verdictReject:
			s.queue.finish(len(batch), dropRejected)
		case s.client.config.MaxRetries >= 0 && again >= s.client.config.MaxRetries:
			s.queue.finish(len(batch), dropRetries)
		default:
			s.pause(max(s.backoff(again), min(retryAfter, maxServerWait)), false)
			again++
			s.retries.Add(1)
			continue
		}
		again = 0
	}
	if s.unsent = s.queue.stats().Waiting; s.unsent > 0 {
		s.queue.finish(s.unsent, dropClosed)
	}
	s.logDrops(true)
}

// backoff returns the wait before retry number again. It doubles with each retry and has jitter.
func (s *sender) backoff(again int) time.Duration {
	wait := min(s.client.config.RetryWait<<min(again, 20), maxWait)
	if wait <= 0 { // the shift overflowed
		wait = maxWait
	}
	return jitter(wait)
}

// pause waits until the time is over or the sender is ended or, if wakes is set, until the queue
// signals a change. Meanwhile it logs drops.
func (s *sender) pause(wait time.Duration, wakes bool) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-timer.C:
			return
		case <-s.queue.wake:
			if wakes {
				return
			}
			s.logDrops(false)
		}
	}
}

// logDrops logs how many events were dropped and how many batches were retried since the last
// message, at most once in logInterval unless final is set. It returns the time until the next
// message is due, or the maximum duration if no message is due.
func (s *sender) logDrops(final bool) time.Duration {
	now := s.queue.stats()
	now.Retries = s.retries.Load()
	var attrs []slog.Attr
	for _, why := range []string{dropQueueFull, dropTooLarge, dropInvalid, dropRejected, dropRetries, dropClosed} {
		if n := now.Dropped[why] - s.logged.Dropped[why]; n > 0 {
			attrs = append(attrs, slog.Uint64("dropped_"+why, n))
		}
	}
	if n := now.Retries - s.logged.Retries; n > 0 {
		attrs = append(attrs, slog.Uint64("retries", n))
	}
	if attrs == nil {
		return math.MaxInt64
	}
	if early := logInterval - time.Since(s.since); early > 0 && !s.since.IsZero() && !final {
		return early
	}
	attrs = append(attrs, slog.Int("waiting", now.Waiting))
	if s.last != nil {
		attrs = append(attrs, slog.Any("err", s.last))
	}
	s.client.log.LogAttrs(context.Background(), slog.LevelWarn, "events of the flags client were dropped or must be sent again", attrs...)
	s.logged, s.since, s.last = now, time.Now(), nil
	return math.MaxInt64
}

// verdict is how the sender treats a batch after an attempt.
type verdict uint8

const (
	verdictSent verdict = iota
	verdictRetry
	verdictHalve
	verdictReject
)

// verdictOf returns the verdict for a response status (capture §14.1, rows CORE and HARN).
func verdictOf(status int) verdict {
	switch {
	case status >= 200 && status < 300:
		return verdictSent
	case status == http.StatusRequestEntityTooLarge:
		return verdictHalve
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		return verdictRetry
	}
	return verdictReject
}

// post sends a batch once.
func (s *sender) post(batch []item) (retryAfter time.Duration, v verdict, err error) {
	c := s.client
	body := s.pack(batch)
	ctx, cancel := context.WithTimeout(s.ctx, c.config.Timeout)
	defer cancel()
	// Like posthog-go, the request marks gzip both in the query and in the header (capture §2.4).
	req, err := newRequest(ctx, c.config.URL+"/batch/?compression=gzip", bytes.NewReader(body))
	if err != nil {
		return 0, verdictReject, err
	}
	req.Header.Set("Content-Encoding", "gzip")
	res, err := c.http.Do(req)
	if err != nil {
		return 0, verdictRetry, err
	}
	defer func() { _ = res.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 512))
	if v = verdictOf(res.StatusCode); v == verdictSent {
		return 0, v, nil
	}
	return retryAfterOf(res.Header, time.Now()), v, &StatusError{Status: res.StatusCode, Text: string(text)}
}

// pack encodes the body of a batch. sent_at is the time of the attempt: the server uses its
// difference from the server's clock to correct timestamps (capture §5). Each body has new memory,
// because net/http may still read a body after its request has failed.
func (s *sender) pack(batch []item) []byte {
	var body bytes.Buffer
	s.gzip.Reset(&body)
	write := func(b []byte) { _, _ = s.gzip.Write(b) } // writes to memory, so it cannot fail
	key, _ := json.Marshal(s.client.config.ProjectKey)
	write([]byte(`{"api_key":`))
	write(key)
	write([]byte(`,"batch":[`))
	for i := range batch {
		if i > 0 {
			write([]byte{','})
		}
		write(batch[i].body)
	}
	write([]byte(`],"sent_at":"` + s.client.config.Now().UTC().Format(time.RFC3339Nano) + `"}`))
	_ = s.gzip.Close()
	return body.Bytes()
}

// flush waits until all events that are queued now have been sent or dropped.
func (s *sender) flush(ctx context.Context) error {
	last, before := s.queue.expedite()
	for {
		finished, lost, progressed := s.queue.progress()
		if finished >= last {
			if lost > before {
				return fmt.Errorf("%w while they were sent: %d", ErrDropped, lost-before)
			}
			return nil
		}
		select {
		case <-progressed:
		case <-ctx.Done():
			return fmt.Errorf("remote: %d events are not sent: %w", last-finished, ctx.Err())
		}
	}
}

// end stops the goroutine, cancels its request and waits for it.
func (s *sender) end() {
	s.cancel()
	<-s.done
}
