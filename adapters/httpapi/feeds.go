package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// This file sends what happens in a project to who watches it, as server-sent events
// (console.md §2.4, SSE): events that come in (livefeed.go) and changes that people make
// (changefeed.go).
//
//	retry: 3000                    how long to wait before coming back, in ms
//
//	event: event                   what happened; see each
//	data: {"id": "0190..."}
//
//	:                              nothing has happened
//
// A stream ends when the session or key does, with the server, and with a reader who
// takes longer than streamTiming.write for what is sent.

const (
	// maxCallerFeeds is how many streams of one kind a session or key may have open,
	// maxFeeds how many there may be in all.
	maxCallerFeeds = 4
	maxFeeds       = 1000
	// feedsFullWait is after how many seconds who found no place may ask again.
	feedsFullWait = 15
	// feedCheckSeconds is how many seconds pass between looks whether the caller may still see.
	feedCheckSeconds = 5
)

// feedTiming is how long things take: what is counted by the second, how often there is a look at
// what is new, how long a client stays away.
type feedTiming struct{ tick, poll, retry time.Duration }

var defaultFeedTiming = feedTiming{tick: time.Second, poll: 500 * time.Millisecond, retry: 3 * time.Second}

// feeds are the streams of what happens in projects.
type feeds struct {
	timing          feedTiming
	polls           livePolls
	events, changes feedSlots
}

// feedSlots are the open streams of one kind.
type feedSlots struct {
	mu       sync.Mutex
	byCaller map[string]int // by session or key
	open     int
}

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

// feed is what one client is sent.
type feed interface {
	// begin is what comes first.
	begin(ctx context.Context) ([][]byte, error)
	// updates is closed when there is something for take.
	updates() <-chan struct{}
	take(ctx context.Context) ([][]byte, error)
	// tick is asked once a second for what is to be said then.
	tick(ctx context.Context) ([][]byte, error)
}

// serveFeed runs a feed for a call until it ends.
func (t *streams) serveFeed(c *call, slots *feedSlots, f feed) (any, error) {
	if !t.enter() {
		return nil, t.withRetryAfter(&problemUnavailable)
	}
	defer t.running.Done()
	callerKey := c.scope.Caller.Key.Hash
	if !slots.enter(callerKey) {
		full := problemTooManyStreams.setDetail("At most %d streams for each session or key, and %d in all: ask every %d seconds instead.", maxCallerFeeds, maxFeeds, feedsFullWait)
		full.RetryAfter = feedsFullWait
		return nil, full
	}
	defer slots.leave(callerKey)
	first, err := f.begin(c.ctx)
	if err != nil {
		return nil, err
	}
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Time{}) // that of the server would end the request
	h := c.w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for nginx
	retry := fmt.Appendf(nil, "retry: %d\n\n", t.feeds.timing.retry.Milliseconds())
	if out := (flushWriter{c.w, control, t.timing.write}); c.r.Method != http.MethodHead && writeAll(out, append([][]byte{retry}, first...)) {
		t.send(c, out, f)
	}
	return answer{sent: true}, nil
}

// enter counts one more stream that CloseStreams waits for; false when it has been
// called.
func (t *streams) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.running.Add(1)
	return true
}

// writeAll sends texts, each in its time.
func writeAll(out flushWriter, texts [][]byte) bool {
	for _, text := range texts {
		if out.write(text) != nil {
			return false
		}
	}
	return true
}

// send sends a feed until the client leaves, may not see it any more, or is too slow.
func (t *streams) send(c *call, out flushWriter, f feed) {
	ticker := time.NewTicker(t.feeds.timing.tick)
	defer ticker.Stop()
	quiet := time.Now()
	for seconds := 1; ; {
		var texts [][]byte
		var err error
		select {
		case <-t.ctx.Done():
			return
		case <-c.ctx.Done():
			return
		case <-f.updates():
			texts, err = f.take(c.ctx)
		case <-ticker.C:
			if seconds++; seconds%feedCheckSeconds == 0 {
				err = c.recheck()
			}
			if !isAccessEnded(err) {
				texts, err = f.tick(c.ctx)
			}
		}
		if isAccessEnded(err) {
			return
		}
		if len(texts) == 0 && time.Since(quiet) >= t.timing.keepAlive {
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

// isAccessEnded reports whether an error says that a caller may not see any more. A store
// that is away says nothing of that.
func isAccessEnded(err error) bool {
	var p *problem
	return errors.As(err, &p) && p.Status >= 400 && p.Status < 500 && p.Status != http.StatusTooManyRequests
}

// serverSent is a server-sent event. The id may be empty.
func serverSent(name, id string, data any) ([]byte, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return fmt.Appendf(nil, "event: %s\n%sdata: %s\n\n", name, id, text), nil
}
