package httpapi

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
)

const (
	// liveFirst is how many events a reader gets first, liveRate how many a second from
	// then on: the newest; of the others only their number is told.
	liveFirst = 50
	liveRate  = 20
	// liveLook is how many events each look at the store reads at most: what a filter
	// chooses from.
	liveLook = 200
)

// THE TABLE: events as they come in (N15).
var liveEndpoints = resource(inProject, "query", liveOf, []row[*live]{
	by(http.MethodGet, "/events/live", "Watch events as they come in, as server-sent events", watchEvents).
		asking(
			parameterDoc{"event", "string", "the name of the events"}, parameterDoc{"distinct_id", "string", "whose events"},
			parameterDoc{"person_id", "string", "the uuid of the person whose events"},
		).ofKind(eventStream).unbounded().uncompressed(),
})

// live is what watching events stands on.
type live struct {
	streams *streams
	reader  *reader
	looks   *liveLooks
}

func liveOf(s *server) *live { return &live{s.streams, readerOf(s), &s.streams.feeds.looks} }

// liveLooks are the looks at the store, one for each project that is watched, however
// many watch it.
type liveLooks struct {
	mu sync.Mutex
	of map[int64]*projectLook
}

type projectLook struct {
	readers int
	last    *liveBatch    // the one that is still empty
	idle    chan struct{} // closed when the last reader has left
}

// liveBatch is what one look has found, once done is closed.
type liveBatch struct {
	events []capture.Record
	texts  [][]byte // of events, as they are sent
	left   int64
	done   chan struct{}
	next   *liveBatch
}

func newLiveBatch() *liveBatch { return &liveBatch{done: make(chan struct{})} }

// join begins to look where nobody does yet. The batch is the first that has
// what is recorded from now on.
func (l *live) join(ctx context.Context, project int64) (*liveBatch, error) {
	at, err := l.reader.history.Recent(ctx, project, -1, 0)
	if err != nil {
		return nil, err
	}
	ls := l.looks
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.of == nil {
		ls.of = map[int64]*projectLook{}
	}
	look := ls.of[project]
	if look == nil {
		look = &projectLook{last: newLiveBatch(), idle: make(chan struct{})}
		ls.of[project] = look
		l.streams.running.Go(func() { l.look(project, look, at.Place) })
	}
	look.readers++
	return look.last, nil
}

func (l *live) leave(project int64) {
	l.looks.mu.Lock()
	defer l.looks.mu.Unlock()
	look := l.looks.of[project]
	if look.readers--; look.readers == 0 {
		delete(l.looks.of, project)
		close(look.idle)
	}
}

// look hands out what is new until nobody watches.
func (l *live) look(project int64, look *projectLook, place int64) {
	ticker := time.NewTicker(l.streams.feeds.timing.look)
	defer ticker.Stop()
	for {
		select {
		case <-l.streams.ctx.Done():
			return
		case <-look.idle:
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(l.streams.ctx, readTime)
		found, err := l.reader.history.Recent(ctx, project, place, liveLook)
		cancel()
		if err != nil { // the next look finds what this one has not
			continue
		}
		if place = found.Place; len(found.Events) == 0 {
			continue
		}
		texts := make([][]byte, len(found.Events))
		for i := range texts {
			texts[i], _ = serverSent("event", "", showEvent(&found.Events[i])) // what is stored is JSON
		}
		l.looks.mu.Lock()
		batch := look.last
		batch.events, batch.texts, batch.left, batch.next = found.Events, texts, found.Left, newLiveBatch()
		look.last = batch.next
		l.looks.mu.Unlock()
		close(batch.done)
	}
}

// liveFeed is one reader of events.
type liveFeed struct {
	live    *live
	project int64
	query   capture.EventQuery
	person  capture.UUID // of whom, by what events say; zero for all
	batch   *liveBatch
	first   []int64 // the events that came first
	sent    int     // in this second
	dropped int64
}

func watchEvents(l *live, c *call) (any, error) {
	params := c.query()
	q, err := l.reader.eventQuery(c.ctx, c.project(), params)
	if err != nil {
		return nil, err
	}
	f := &liveFeed{live: l, project: c.project(), query: q}
	if params.Has("person_id") {
		f.person, _ = wire.ParseUUID(params.Get("person_id")) // else there is nobody
	}
	if f.batch, err = l.join(c.ctx, f.project); err != nil {
		return nil, err
	}
	defer l.leave(f.project)
	return l.streams.watched(c, &l.streams.feeds.events, f)
}

// begin implements feed: the last events, the oldest of them first, as far as
// capture.RecentBytes go.
func (f *liveFeed) begin(ctx context.Context) ([][]byte, error) {
	var texts [][]byte
	q, size := f.query, 0
	for q.Limit = 10; len(texts) < liveFirst; {
		events, err := f.live.reader.history.Events(ctx, f.project, q)
		if err != nil {
			return nil, err
		}
		for i := range events {
			text, err := serverSent("event", "", showEvent(&events[i]))
			if err != nil {
				return nil, err
			}
			if size += len(text); size > capture.RecentBytes && len(texts) > 0 {
				break
			}
			texts, f.first = append(texts, text), append(f.first, events[i].ID)
		}
		last := lastOf(events)
		if len(events) < q.Limit || size > capture.RecentBytes {
			break
		}
		q.After = &capture.EventCursor{Timestamp: last.Timestamp, ID: last.ID}
	}
	slices.Reverse(texts)
	return texts, nil
}

// news implements feed.
func (f *liveFeed) news() <-chan struct{} { return f.batch.done }

// take implements feed: the newest of a batch.
func (f *liveFeed) take(context.Context) ([][]byte, error) {
	batch := f.batch
	f.batch = batch.next
	f.dropped += batch.left
	var chosen [][]byte
	for i := range batch.events {
		if e := &batch.events[i]; f.wants(e) && !slices.Contains(f.first, e.ID) {
			chosen = append(chosen, batch.texts[i])
		}
	}
	over := max(len(chosen)-(liveRate-f.sent), 0)
	f.dropped += int64(over)
	f.sent += len(chosen) - over
	return chosen[over:], nil
}

// wants reports whether an event is one of those that are asked for.
func (f *liveFeed) wants(e *capture.Record) bool {
	q := f.query
	if f.person != (capture.UUID{}) && e.PersonID == f.person {
		q.DistinctIDs = nil
	}
	return asked(&q, e)
}

// second implements feed: how many events were left out in it.
func (f *liveFeed) second(context.Context) ([][]byte, error) {
	n := f.dropped
	if f.sent, f.dropped = 0, 0; n == 0 {
		return nil, nil
	}
	text, err := serverSent("dropped", "", struct {
		N int64 `json:"n"`
	}{n})
	return [][]byte{text}, err
}
