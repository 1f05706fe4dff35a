package history

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/streams"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
)

const (
	// liveFirst is the number of events that a client receives at the start. liveRate is the
	// maximum number in each second after that: the newest are sent, and the others are only
	// counted.
	liveFirst = 50
	liveRate  = 20
	// livePollSize is the maximum number of events that each poll reads from the store, before
	// filtering.
	livePollSize = 200
)

// liveEndpoints returns the endpoint that streams events as they are captured (N15).
func liveEndpoints(t *streams.Streams) []frame.Endpoint {
	polls := &livePolls{}
	of := func(s *frame.Server) *liveWatcher { return &liveWatcher{t, readerOf(s), polls} }
	return frame.Resource(frame.InProject, "query", of, []frame.Row[*liveWatcher]{
		frame.Handle(http.MethodGet, "/events/live", "Stream captured events live as server-sent events", watchEvents).
			WithQuery(
				frame.Param("event", "string", "only events with this name"), frame.Param("distinct_id", "string", "only events with this distinct id"),
				frame.Param("person_id", "string", "only events of the person with this uuid"),
			).WithMediaType(frame.EventStream).WithoutTimeout().Uncompressed(),
	})
}

// liveWatcher serves streams of events.
type liveWatcher struct {
	streams *streams.Streams
	reader  *Reader
	polls   *livePolls
}

// livePolls contains one poll loop for each watched project, which all of its streams share.
type livePolls struct {
	mu        sync.Mutex
	byProject map[int64]*projectPoll
}

type projectPoll struct {
	readers int
	last    *liveBatch    // the batch that is still empty
	idle    chan struct{} // closed when the last client has left
}

// liveBatch is the result of one poll. The other fields may be read once done is closed.
type liveBatch struct {
	events  []capture.Record
	texts   [][]byte // of events, encoded as they are sent
	omitted int64
	done    chan struct{}
	next    *liveBatch
}

func newLiveBatch() *liveBatch { return &liveBatch{done: make(chan struct{})} }

// join adds a client to the poll loop of a project, and starts the loop if there is none. The
// result is the batch that will contain the first event recorded after this call.
func (l *liveWatcher) join(ctx context.Context, project int64) (*liveBatch, error) {
	recent, err := l.reader.History.Recent(ctx, project, -1, 0)
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
		l.streams.Running.Go(func() { l.poll(project, poll, recent.Position) })
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

// poll publishes new events until all clients have left.
func (l *liveWatcher) poll(project int64, state *projectPoll, position int64) {
	ticker := time.NewTicker(l.streams.Feeds.Timing.Poll)
	defer ticker.Stop()
	for {
		select {
		case <-l.streams.Ctx.Done():
			return
		case <-state.idle:
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(l.streams.Ctx, frame.ReadTimeout)
		found, err := l.reader.History.Recent(ctx, project, position, livePollSize)
		cancel()
		if err != nil { // the next poll returns these events
			continue
		}
		if position = found.Position; len(found.Events) == 0 {
			continue
		}
		texts := make([][]byte, len(found.Events))
		for i := range texts {
			// Stored events can always be encoded.
			texts[i], _ = streams.Encode("event", "", showEvent(&found.Events[i]))
		}
		l.polls.mu.Lock()
		batch := state.last
		batch.events, batch.texts, batch.omitted, batch.next = found.Events, texts, found.Remaining, newLiveBatch()
		state.last = batch.next
		l.polls.mu.Unlock()
		close(batch.done)
	}
}

// liveFeed is the stream of one client.
type liveFeed struct {
	watcher *liveWatcher
	project int64
	query   capture.EventQuery
	person  capture.UUID // the person whose events are sent; zero for all
	batch   *liveBatch
	first   []int64 // IDs of the events that were sent at the start
	sent    int     // number of events in this second
	dropped int64
}

// watchEvents streams the events that match the query parameters, beginning with the most recent
// ones.
func watchEvents(l *liveWatcher, c *frame.Call) (any, error) {
	params := c.Query()
	q, err := l.reader.eventQuery(c.Ctx, c.Project(), params)
	if err != nil {
		return nil, err
	}
	f := &liveFeed{watcher: l, project: c.Project(), query: q}
	if params.Has("person_id") {
		f.person, _ = wire.ParseUUID(params.Get("person_id")) // an invalid UUID matches no person
	}
	if f.batch, err = l.join(c.Ctx, f.project); err != nil {
		return nil, err
	}
	defer l.leave(f.project)
	return l.streams.ServeFeed(c, &l.streams.Feeds.Events, f)
}

// Begin implements feed. It returns the most recent events, the oldest of them first, of at most
// capture.RecentBytes.
func (f *liveFeed) Begin(ctx context.Context) ([][]byte, error) {
	var texts [][]byte
	q, size := f.query, 0
	for q.Limit = 10; len(texts) < liveFirst; {
		events, err := f.watcher.reader.History.Events(ctx, f.project, q)
		if err != nil {
			return nil, err
		}
		for i := range events {
			text, err := streams.Encode("event", "", showEvent(&events[i]))
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

// Updates implements feed.
func (f *liveFeed) Updates() <-chan struct{} { return f.batch.done }

// Take implements feed. It returns the newest events of a batch.
func (f *liveFeed) Take(context.Context) ([][]byte, error) {
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

// matches reports whether the client has requested an event.
func (f *liveFeed) matches(e *capture.Record) bool {
	q := f.query
	if f.person != (capture.UUID{}) && e.PersonID == f.person {
		q.DistinctIDs = nil
	}
	return requested(&q, e)
}

// Tick implements feed. It reports how many events were dropped since the last tick.
func (f *liveFeed) Tick(context.Context) ([][]byte, error) {
	n := f.dropped
	if f.sent, f.dropped = 0, 0; n == 0 {
		return nil, nil
	}
	text, err := streams.Encode("dropped", "", struct {
		N int64 `json:"n"`
	}{n})
	return [][]byte{text}, err
}
