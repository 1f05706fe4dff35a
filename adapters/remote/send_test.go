package remote_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

// wire is an in-process server that responds to a Client's requests.
type wire struct {
	start  time.Time
	answer func(n int, events []sent) (status int, header http.Header, err error)

	mu  sync.Mutex
	got []attempt
}

func (w *wire) requests() []attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.got)
}

type attempt struct {
	since  time.Duration // since the start
	events []sent
}

type sent struct {
	UUID, Event, Timestamp string
	DistinctID             string `json:"distinct_id"`
	Properties             map[string]any
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	raw, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	var body struct {
		APIKey string `json:"api_key"`
		Batch  []sent
		SentAt time.Time `json:"sent_at"`
	}
	if err := json.NewDecoder(raw).Decode(&body); err != nil {
		return nil, err
	}
	if r.Method != http.MethodPost || r.URL.Path != "/batch/" || r.URL.RawQuery != "compression=gzip" || r.Header.Get("Content-Encoding") != "gzip" ||
		r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Idempotency-Key") != "" || body.APIKey != "phc_x" || !body.SentAt.Equal(time.Now()) {
		return nil, fmt.Errorf("%s %s %v %+v", r.Method, r.URL, r.Header, body)
	}
	w.mu.Lock()
	w.got = append(w.got, attempt{time.Since(w.start), body.Batch})
	n := len(w.got)
	w.mu.Unlock()
	status, header, err := w.answer(n, body.Batch)
	if status == 0 && err == nil { // no response
		<-r.Context().Done()
		err = r.Context().Err()
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(`{"detail":"because"}`)), Request: r}, nil
}

func answerAlways(status int) func(int, []sent) (int, http.Header, error) {
	return func(int, []sent) (int, http.Header, error) { return status, nil, nil }
}

// runTracking runs a test in a synctest bubble.
func runTracking(t *testing.T, w *wire, change func(*remote.Config), test func(t *testing.T, c *remote.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w.start = time.Now()
		config := remote.Config{URL: "http://flags.example.com", ProjectKey: "phc_x", Key: "phs_x", HTTPClient: &http.Client{Transport: w}}
		if change != nil {
			change(&config)
		}
		c, err := remote.NewClientOn(config, localSet(t, unknownMembers))
		if err != nil {
			t.Fatal(err)
		}
		test(t, c)
		closing, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_ = c.Close(closing) // the bubble ends only when all goroutines have ended
	})
}

func track(t *testing.T, c *remote.Client, from, n int) {
	t.Helper()
	for i := range n {
		if err := c.Track(ctx, "u", fmt.Sprint("e", from+i), map[string]any{"n": from + i}, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// §14.1, rows CORE and HARN, is followed for retries. With three retries a failing server receives
// four requests; uuid and timestamp stay the same.
func TestRemote_14_1_Retries(t *testing.T) {
	const again, once = 4, 1
	for status, want := range map[int]int{
		200: once, 201: once, 204: once, 408: again, 429: again, 500: again, 502: again, 503: again, 504: again, 0: again,
		302: once, 400: once, 401: once, 403: once, 404: once, 413: once,
	} {
		w := &wire{answer: answerAlways(status)}
		runTracking(t, w, func(c *remote.Config) { c.MaxRetries = 3 }, func(t *testing.T, c *remote.Client) {
			track(t, c, 0, 1)
			err := c.Flush(ctx)
			if (err == nil) != (status >= 200 && status < 300) {
				t.Errorf("%d: %v", status, err)
			}
			s := c.Stats()
			why := map[string]uint64{}
			switch {
			case want == again:
				why["retries"] = 1
			case status == 413:
				why["too_large"] = 1
			case status >= 300:
				why["refused"] = 1
			}
			if diff := cmp.Diff(why, s.Dropped); diff != "" || s.Retries != uint64(want-1) || s.Sent != uint64(1-len(why)) || s.Waiting != 0 || s.WaitingBytes != 0 {
				t.Errorf("%d: %+v\n%s", status, s, diff)
			}
		})
		if len(w.requests()) != want {
			t.Errorf("%d: %d requests, want %d", status, len(w.requests()), want)
		}
		for _, a := range w.requests() {
			if diff := cmp.Diff(w.requests()[0].events, a.events); diff != "" {
				t.Errorf("%d: the event changed\n%s", status, diff)
			}
		}
	}
}

// Waits double up to 30 seconds, each with a random reduction of up to a quarter. Retry-After, in
// seconds or as a date, is a minimum, up to 5 minutes.
func TestRemote_14_1_RetryAfter(t *testing.T) {
	answers := []string{"", "", "", "7", "0", "junk", "-3", "600", "date", "", "", ""}
	w := &wire{}
	w.answer = func(n int, _ []sent) (int, http.Header, error) {
		if n > len(answers) {
			return 200, nil, nil
		}
		after := answers[n-1]
		if after == "date" {
			after = time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)
		}
		return 429, http.Header{"Retry-After": {after}}, nil
	}
	runTracking(t, w, nil, func(t *testing.T, c *remote.Client) {
		track(t, c, 0, 1)
		if err := c.Flush(ctx); err != nil {
			t.Error(err)
		}
	})
	for i, most := range []float64{0.5, 1, 2, 7, 8, 16, 30, 300, 60, 30, 30, 30} {
		least := most * 3 / 4
		if after := answers[i]; after == "7" || after == "600" {
			least = most
		} else if after == "date" {
			least = most - 1 // dates have whole seconds
		}
		if got := (w.requests()[i+1].since - w.requests()[i].since).Seconds(); got < least || got > most {
			t.Errorf("wait %d: %.3f s, want %v to %v", i+1, got, least, most)
		}
	}
}

// Events of language models may have 8 MiB, and are sent in a batch of their own.
func TestRemote_LongEvents(t *testing.T) {
	w := &wire{answer: answerAlways(200)}
	runTracking(t, w, nil, func(t *testing.T, c *remote.Client) {
		for _, name := range []string{"$ai_generation", "$ai_span", "$ai_trace", "$ai_embedding", "$ai_metric", "$ai_feedback"} {
			if err := c.Track(ctx, "u", name, map[string]any{"$ai_input": strings.Repeat("x", 1_100_000)}, nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := c.Track(ctx, "u", "$ai_span", map[string]any{"$ai_input": strings.Repeat("x", 8<<20)}, nil); !errors.Is(err, remote.ErrTooLarge) {
			t.Errorf("over 8 MiB: %v", err)
		}
		if err := c.Track(ctx, "u", "$ai_other", map[string]any{"$ai_input": strings.Repeat("x", 1_100_000)}, nil); !errors.Is(err, remote.ErrTooLarge) {
			t.Errorf("another name: %v", err)
		}
		if err := c.Flush(ctx); err != nil || len(w.requests()) != 6 || c.Stats().Sent != 6 {
			t.Errorf("%v, %d requests, %+v", err, len(w.requests()), c.Stats())
		}
	})
}

// A hundred events are sent immediately, fewer after five seconds; a batch has at most a megabyte,
// an event 900 KiB; the order is preserved.
func TestRemote_14_3_Batches(t *testing.T) {
	w := &wire{answer: answerAlways(200)}
	runTracking(t, w, nil, func(t *testing.T, c *remote.Client) {
		track(t, c, 0, 250)
		synctest.Wait()
		if len(w.requests()) != 2 || w.requests()[1].since != 0 {
			t.Fatalf("%d requests at once, want 2", len(w.requests()))
		}
		time.Sleep(5*time.Second - 1)
		synctest.Wait()
		if len(w.requests()) != 2 {
			t.Fatal("early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if len(w.requests()) != 3 || len(w.requests()[2].events) != 50 {
			t.Fatalf("%d requests after five seconds, want 3", len(w.requests()))
		}
		n := 0
		for _, a := range w.requests() {
			for _, e := range a.events {
				if e.Event != fmt.Sprint("e", n) || e.DistinctID != "u" || e.Properties["n"] != float64(n) || e.Properties["$lib"] != "bunting-go" || e.UUID[14] != '7' {
					t.Fatalf("event %d is %+v", n, e)
				}
				n++
			}
		}
		before := len(w.requests())
		big := map[string]any{"text": strings.Repeat("x", 800<<10)}
		for range 3 {
			if err := c.Track(ctx, "u", "big", big, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Track(ctx, "u", "huge", map[string]any{"text": strings.Repeat("x", 900<<10)}, nil); !errors.Is(err, remote.ErrTooLarge) {
			t.Error(err)
		}
		for _, bad := range []error{c.Track(ctx, "", "e", nil, nil), c.Track(ctx, "u", "", nil, nil), c.Track(ctx, "u", "e", map[string]any{"x": math.NaN()}, nil)} {
			if bad == nil {
				t.Error("a bad event was taken")
			}
		}
		if err := c.Flush(ctx); err != nil || len(w.requests())-before != 3 {
			t.Errorf("%v, %d requests for three big events", err, len(w.requests())-before)
		}
		s := c.Stats()
		if diff := cmp.Diff(remote.Stats{Sent: 253, Dropped: map[string]uint64{"too_large": 1, "invalid": 3}}, s); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// 413 halves the batch until it is accepted, in order; later batches grow. A single event that is
// too large is dropped.
func TestRemote_14_1_TooLarge(t *testing.T) {
	w := &wire{}
	w.answer = func(_ int, events []sent) (int, http.Header, error) {
		if len(events) > 30 || slices.ContainsFunc(events, func(e sent) bool { return e.Event == "e110" }) {
			return 413, nil, nil
		}
		return 200, nil, nil
	}
	runTracking(t, w, nil, func(t *testing.T, c *remote.Client) {
		track(t, c, 0, 120)
		if err := c.Flush(ctx); err == nil {
			t.Error("a lost event was not told of")
		}
		var accepted []string
		for _, a := range w.requests() {
			if status, _, _ := w.answer(0, a.events); status == 200 {
				for _, e := range a.events {
					accepted = append(accepted, e.Event)
				}
			}
		}
		var want []string
		for i := range 120 {
			if i != 110 {
				want = append(want, fmt.Sprint("e", i))
			}
		}
		if diff := cmp.Diff(want, accepted); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if s := c.Stats(); s.Sent != 119 || s.Dropped["too_large"] != 1 || s.Retries != 0 {
			t.Errorf("%+v", s)
		}
		if n := len(w.requests()[2].events); n != 25 {
			t.Errorf("the third attempt has %d events, want a quarter of a hundred", n)
		}
	})
}

// A server that does not respond blocks no caller: when the queue is full, new events are dropped,
// counted, and logged once a minute. Close reports the remaining events.
func TestRemote_14_Full(t *testing.T) {
	var log bytes.Buffer
	w := &wire{answer: answerAlways(0)}
	runTracking(t, w, func(c *remote.Config) {
		c.QueueEvents, c.QueueBytes, c.Logger = 10, 5000, slog.New(slog.NewTextHandler(&log, nil))
	}, func(t *testing.T, c *remote.Client) {
		began := time.Now()
		track(t, c, 0, 10)
		for range 20 {
			if err := c.Track(ctx, "u", "late", nil, nil); !errors.Is(err, remote.ErrQueueFull) {
				t.Fatal(err)
			}
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("Track waited %v", waited)
		}
		time.Sleep(3 * time.Minute)
		for range 3 * 60 {
			time.Sleep(time.Second)
			_ = c.Track(ctx, "u", "later", nil, nil)
		}
		synctest.Wait()
		if n := strings.Count(log.String(), "dropped_queue_full"); n < 3 || n > 5 {
			t.Errorf("%d lines about drops in six minutes:\n%s", n, &log)
		}
		hurried, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := c.Flush(hurried); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "10 events") {
			t.Error(err)
		}
		if s := c.Stats(); s.Waiting != 10 || s.Sent != 0 || s.Dropped["queue_full"] != 200 || s.Retries == 0 {
			t.Errorf("%+v", s)
		}
		closing, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		for range 2 {
			if err := c.Close(closing); !errors.Is(err, remote.ErrDropped) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "by Close: 10") {
				t.Error(err)
			}
		}
		if err := c.Track(ctx, "u", "after", nil, nil); !errors.Is(err, flags.ErrClosed) {
			t.Error(err)
		}
		if v, d := c.BoolDetail(ctx, "on", &flags.Subject{DistinctID: "u"}, false); v || !errors.Is(d.Err, flags.ErrClosed) {
			t.Errorf("a closed client decides: %v, %v", v, d.Err)
		}
		if s := c.Stats(); s.Waiting != 0 || s.WaitingBytes != 0 || s.Dropped["closed"] != 12 {
			t.Errorf("%+v", s)
		}
		if !strings.Contains(log.String(), "dropped_closed=10") {
			t.Errorf("the last words:\n%s", &log)
		}
	})
	// The limit in bytes: 5,000 are some twenty small events, or one of 4,000.
	w = &wire{answer: answerAlways(0)}
	runTracking(t, w, func(c *remote.Config) { c.QueueBytes = 5000 }, func(t *testing.T, c *remote.Client) {
		text := map[string]any{"text": strings.Repeat("x", 4000)}
		if err := errors.Join(c.Track(ctx, "u", "e", text, nil)); err != nil {
			t.Error(err)
		}
		if err := c.Track(ctx, "u", "e", text, nil); !errors.Is(err, remote.ErrQueueFull) {
			t.Error(err)
		}
	})
}

// Events in the queue during an outage are sent afterwards.
func TestRemote_14_Outage(t *testing.T) {
	w := &wire{}
	w.answer = func(int, []sent) (int, http.Header, error) {
		if time.Since(w.start) < 5*time.Minute {
			return 0, nil, errors.New("connection refused")
		}
		return 200, nil, nil
	}
	runTracking(t, w, nil, func(t *testing.T, c *remote.Client) {
		track(t, c, 0, 1000)
		if err := c.Flush(ctx); err != nil {
			t.Error(err)
		}
		if s := c.Stats(); s.Sent != 1000 || len(s.Dropped) != 0 {
			t.Errorf("%+v", s)
		}
	})
}
