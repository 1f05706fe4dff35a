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
	// feedChecks is how many seconds pass between looks whether the caller may still see.
	feedChecks = 5
)

// feedTiming is how long things take: what is counted by the second, how often there is a look at
// what is new, how long a client stays away.
type feedTiming struct{ second, look, retry time.Duration }

var defaultFeedTiming = feedTiming{second: time.Second, look: 500 * time.Millisecond, retry: 3 * time.Second}

// feeds are the streams of what happens in projects.
type feeds struct {
	timing          feedTiming
	looks           liveLooks
	events, changes feedPlaces
}

// feedPlaces are the open streams of one kind.
type feedPlaces struct {
	mu   sync.Mutex
	of   map[string]int // by session or key
	open int
}

func (p *feedPlaces) enter(who string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open >= maxFeeds || p.of[who] >= maxCallerFeeds {
		return false
	}
	if p.of == nil {
		p.of = map[string]int{}
	}
	p.of[who]++
	p.open++
	return true
}

func (p *feedPlaces) leave(who string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
	if p.of[who]--; p.of[who] == 0 {
		delete(p.of, who)
	}
}

// feed is what one client is sent.
type feed interface {
	// begin is what comes first.
	begin(ctx context.Context) ([][]byte, error)
	// news is closed when there is something for take.
	news() <-chan struct{}
	take(ctx context.Context) ([][]byte, error)
	// second is asked once a second for what is to be said then.
	second(ctx context.Context) ([][]byte, error)
}

// watched runs a feed for a call until it ends.
func (t *streams) watched(c *call, places *feedPlaces, f feed) (any, error) {
	if !t.enter() {
		return nil, t.comeLater(&problemUnavailable)
	}
	defer t.running.Done()
	who := c.standing.Caller.Key.Hash
	if !places.enter(who) {
		full := problemTooManyStreams.say("At most %d streams for each session or key, and %d in all: ask every %d seconds instead.", maxCallerFeeds, maxFeeds, feedsFullWait)
		full.RetryAfter = feedsFullWait
		return nil, full
	}
	defer places.leave(who)
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
	ticker := time.NewTicker(t.feeds.timing.second)
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
		case <-f.news():
			texts, err = f.take(c.ctx)
		case <-ticker.C:
			if seconds++; seconds%feedChecks == 0 {
				err = c.again()
			}
			if !ended(err) {
				texts, err = f.second(c.ctx)
			}
		}
		if ended(err) {
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

// ended reports whether an error says that a caller may not see any more. A store
// that is away says nothing of that.
func ended(err error) bool {
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
