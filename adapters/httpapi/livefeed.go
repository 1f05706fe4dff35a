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
	// livePollSize is how many events each look at the store reads at most: what a filter
	// chooses from.
	livePollSize = 200
)

// THE TABLE: events as they come in (N15).
var liveEndpoints = resource(inProject, "query", liveWatcherOf, []row[*liveWatcher]{
	handle(http.MethodGet, "/events/live", "Watch events as they come in, as server-sent events", watchEvents).
		withQuery(
			parameterDoc{"event", "string", "the name of the events"}, parameterDoc{"distinct_id", "string", "whose events"},
			parameterDoc{"person_id", "string", "the uuid of the person whose events"},
		).withMediaType(eventStream).withoutTimeout().uncompressed(),
})

// liveWatcher is what watching events stands on.
type liveWatcher struct {
	streams *streams
	reader  *reader
	polls   *livePolls
}

func liveWatcherOf(s *server) *liveWatcher {
	return &liveWatcher{s.streams, readerOf(s), &s.streams.feeds.polls}
}

// livePolls are the looks at the store, one for each project that is watched, however
// many watch it.
type livePolls struct {
	mu        sync.Mutex
	byProject map[int64]*projectPoll
}

type projectPoll struct {
	readers int
	last    *liveBatch    // the one that is still empty
	idle    chan struct{} // closed when the last reader has left
}

// liveBatch is what one look has found, once done is closed.
type liveBatch struct {
	events  []capture.Record
	texts   [][]byte // of events, as they are sent
	omitted int64
	done    chan struct{}
	next    *liveBatch
}

func newLiveBatch() *liveBatch { return &liveBatch{done: make(chan struct{})} }

// join begins to look where nobody does yet. The batch is the first that has
// what is recorded from now on.
func (l *liveWatcher) join(ctx context.Context, project int64) (*liveBatch, error) {
	recent, err := l.reader.history.Recent(ctx, project, -1, 0)
	if err != nil {
		return nil, err
	}
	ls := l.polls
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.byProject == nil {
		ls.byProject = map[int64]*projectPoll{}
	}
	poll := ls.byProject[project]
	if poll == nil {
		poll = &projectPoll{last: newLiveBatch(), idle: make(chan struct{})}
		ls.byProject[project] = poll
		l.streams.running.Go(func() { l.poll(project, poll, recent.Position) })
	}
	poll.readers++
	return poll.last, nil
}

func (l *liveWatcher) leave(project int64) {
	l.polls.mu.Lock()
	defer l.polls.mu.Unlock()
	poll := l.polls.byProject[project]
	if poll.readers--; poll.readers == 0 {
		delete(l.polls.byProject, project)
		close(poll.idle)
	}
}

// poll hands out what is new until nobody watches.
func (l *liveWatcher) poll(project int64, state *projectPoll, position int64) {
	ticker := time.NewTicker(l.streams.feeds.timing.poll)
	defer ticker.Stop()
	for {
		select {
		case <-l.streams.ctx.Done():
			return
		case <-state.idle:
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(l.streams.ctx, readTimeout)
		found, err := l.reader.history.Recent(ctx, project, position, livePollSize)
		cancel()
		if err != nil { // the next look finds what this one has not
			continue
		}
		if position = found.Position; len(found.Events) == 0 {
			continue
		}
		texts := make([][]byte, len(found.Events))
		for i := range texts {
			texts[i], _ = serverSent("event", "", showEvent(&found.Events[i])) // what is stored is JSON
		}
		l.polls.mu.Lock()
		batch := state.last
		batch.events, batch.texts, batch.omitted, batch.next = found.Events, texts, found.Remaining, newLiveBatch()
		state.last = batch.next
		l.polls.mu.Unlock()
		close(batch.done)
	}
}

// liveFeed is one reader of events.
type liveFeed struct {
	watcher *liveWatcher
	project int64
	query   capture.EventQuery
	person  capture.UUID // of whom, by what events say; zero for all
	batch   *liveBatch
	first   []int64 // the events that came first
	sent    int     // in this second
	dropped int64
}

func watchEvents(l *liveWatcher, c *call) (any, error) {
	params := c.query()
	q, err := l.reader.eventQuery(c.ctx, c.project(), params)
	if err != nil {
		return nil, err
	}
	f := &liveFeed{watcher: l, project: c.project(), query: q}
	if params.Has("person_id") {
		f.person, _ = wire.ParseUUID(params.Get("person_id")) // else there is nobody
	}
	if f.batch, err = l.join(c.ctx, f.project); err != nil {
		return nil, err
	}
	defer l.leave(f.project)
	return l.streams.serveFeed(c, &l.streams.feeds.events, f)
}

// begin implements feed: the last events, the oldest of them first, as far as
// capture.RecentBytes go.
func (f *liveFeed) begin(ctx context.Context) ([][]byte, error) {
	var texts [][]byte
	q, size := f.query, 0
	for q.Limit = 10; len(texts) < liveFirst; {
		events, err := f.watcher.reader.history.Events(ctx, f.project, q)
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

// updates implements feed.
func (f *liveFeed) updates() <-chan struct{} { return f.batch.done }

// take implements feed: the newest of a batch.
func (f *liveFeed) take(context.Context) ([][]byte, error) {
	batch := f.batch
	f.batch = batch.next
	f.dropped += batch.omitted
	var selected [][]byte
	for i := range batch.events {
		if e := &batch.events[i]; f.matches(e) && !slices.Contains(f.first, e.ID) {
			selected = append(selected, batch.texts[i])
		}
	}
	excess := max(len(selected)-(liveRate-f.sent), 0)
	f.dropped += int64(excess)
	f.sent += len(selected) - excess
	return selected[excess:], nil
}

// matches reports whether an event is one of those that are asked for.
func (f *liveFeed) matches(e *capture.Record) bool {
	q := f.query
	if f.person != (capture.UUID{}) && e.PersonID == f.person {
		q.DistinctIDs = nil
	}
	return requested(&q, e)
}

// tick implements feed: how many events were left out in it.
func (f *liveFeed) tick(context.Context) ([][]byte, error) {
	n := f.dropped
	if f.sent, f.dropped = 0, 0; n == 0 {
		return nil, nil
	}
	text, err := serverSent("dropped", "", struct {
		N int64 `json:"n"`
	}{n})
	return [][]byte{text}, err
}
