package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

// This file sends events in a project to the clients that watch it, as server-sent events
// (console.md §2.4, SSE): captured events (livefeed.go) and changes by users (changefeed.go).
//
//	retry: 3000                    how long to wait before reconnecting, in ms
//
//	event: event                   the kind of event; see the two files
//	data: {"id": "0190..."}
//
//	:                              keep-alive
//
// A stream ends when the session or key ends, when the server shuts down, or when the client takes
// longer than StreamTiming.write to receive a message.

const (
	// maxCallerFeeds is the maximum number of open streams of one kind for each session or key.
	// maxFeeds is the maximum of all callers.
	maxCallerFeeds = 4
	maxFeeds       = 1000
	// feedsFullWait is the Retry-After, in seconds, of a request above these limits.
	feedsFullWait = 15
	// feedCheckSeconds is the interval in seconds between checks of the caller's access.
	feedCheckSeconds = 5
)

// FeedTiming contains the intervals of feeds: tick is how often Tick is called, poll is how often
// new events are read, and retry is how long clients wait before they reconnect.
type FeedTiming struct{ Tick, Poll, Retry time.Duration }

var defaultFeedTiming = FeedTiming{Tick: time.Second, Poll: 500 * time.Millisecond, Retry: 3 * time.Second}

// feeds are the open streams of activity in projects.
type feeds struct {
	Timing          FeedTiming
	Events, Changes feedSlots
}

// feedSlots counts the open streams of one kind.
type feedSlots struct {
	mu       sync.Mutex
	byCaller map[string]int // by session or key
	open     int
}

// enter counts a stream of the caller. It returns false if there are too many.
func (p *feedSlots) enter(callerKey string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open >= maxFeeds || p.byCaller[callerKey] >= maxCallerFeeds {
		return false
	}
	if p.byCaller == nil {
		p.byCaller = map[string]int{}
	}
	p.byCaller[callerKey]++
	p.open++
	return true
}

func (p *feedSlots) leave(callerKey string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
	if p.byCaller[callerKey]--; p.byCaller[callerKey] == 0 {
		delete(p.byCaller, callerKey)
	}
}

// feed is the content of one stream.
type feed interface {
	// Begin returns the first messages.
	Begin(ctx context.Context) ([][]byte, error)
	// Updates returns a channel that is closed when Take has messages to return.
	Updates() <-chan struct{}
	Take(ctx context.Context) ([][]byte, error)
	// Tick returns the messages that are sent periodically. It is called once in each
	// FeedTiming.tick.
	Tick(ctx context.Context) ([][]byte, error)
}

// ServeFeed sends a feed as the response to a call, until the feed ends.
func (t *Streams) ServeFeed(c *frame.Call, slots *feedSlots, f feed) (any, error) {
	if !t.enter() {
		return nil, t.withRetryAfter(&problem.Unavailable)
	}
	defer t.Running.Done()
	callerKey := c.Scope.Caller.Key.Hash
	if !slots.enter(callerKey) {
		full := problemTooManyStreams.Detailed("At most %d streams are allowed for each session or key, and %d in total: poll every %d seconds instead.", maxCallerFeeds, maxFeeds, feedsFullWait)
		full.RetryAfter = feedsFullWait
		return nil, full
	}
	defer slots.leave(callerKey)
	first, err := f.Begin(c.Ctx)
	if err != nil {
		return nil, err
	}
	control := http.NewResponseController(c.W)
	_ = control.SetReadDeadline(time.Time{}) // the server's read deadline would end the request
	h := c.W.Header()
	h.Set("Content-Type", frame.EventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for nginx
	retry := fmt.Appendf(nil, "retry: %d\n\n", t.Feeds.Timing.Retry.Milliseconds())
	if out := (flushWriter{c.W, control, t.Timing.Write}); c.R.Method != http.MethodHead && writeAll(out, append([][]byte{retry}, first...)) {
		t.send(c, out, f)
	}
	return frame.Answer{Sent: true}, nil
}

// enter adds a stream to those that CloseStreams waits for. It returns false if CloseStreams has
// been called.
func (t *Streams) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.Running.Add(1)
	return true
}

// writeAll writes the messages and reports whether all were written in time.
func writeAll(out flushWriter, texts [][]byte) bool {
	for _, text := range texts {
		if out.write(text) != nil {
			return false
		}
	}
	return true
}

// send sends a feed until the client disconnects, loses access or is too slow.
func (t *Streams) send(c *frame.Call, out flushWriter, f feed) {
	ticker := time.NewTicker(t.Feeds.Timing.Tick)
	defer ticker.Stop()
	quiet := time.Now()
	for seconds := 1; ; {
		var texts [][]byte
		var err error
		select {
		case <-t.Ctx.Done():
			return
		case <-c.Ctx.Done():
			return
		case <-f.Updates():
			texts, err = f.Take(c.Ctx)
		case <-ticker.C:
			if seconds++; seconds%feedCheckSeconds == 0 {
				err = c.Recheck()
			}
			if !isAccessEnded(err) {
				texts, err = f.Tick(c.Ctx)
			}
		}
		if isAccessEnded(err) {
			return
		}
		if len(texts) == 0 && time.Since(quiet) >= t.Timing.KeepAlive {
			texts = [][]byte{keepAliveComment}
		}
		if len(texts) > 0 {
			quiet = time.Now()
		}
		if !writeAll(out, texts) {
			return
		}
	}
}

// isAccessEnded reports whether an error means that the caller has lost access. An unavailable
// store does not mean that.
func isAccessEnded(err error) bool {
	var p *problem.Problem
	return errors.As(err, &p) && p.Status >= 400 && p.Status < 500 && p.Status != http.StatusTooManyRequests
}

// Encode encodes a server-sent event. id may be empty.
func Encode(name, id string, data any) ([]byte, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return fmt.Appendf(nil, "event: %s\n%sdata: %s\n\n", name, id, text), nil
}
