package httpapi

import (
	"bytes"
	"context"
	"net/http"
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// THE TABLE: changes that people make, as they make them (N14).
var changeEndpoints = resource(inProject, "activity_log", changeWatcherOf, []row[*changeWatcher]{
	handle(http.MethodGet, "/changes/stream", "Watch who changes what in a project, as server-sent events", watchChanges).
		withMediaType(eventStream).withoutTimeout().uncompressed(),
})

// changeWatcher is what watching changes stands on.
type changeWatcher struct {
	streams *streams
	service *management.Service
}

func changeWatcherOf(s *server) *changeWatcher {
	return &changeWatcher{s.streams, s.Management.Service}
}

// changeFeed is one reader of changes. Each looks at the log for itself, as what it may
// see is its own.
type changeFeed struct {
	*changeWatcher
	call     *call
	position int64
}

// watchChanges sends what has changed since Last-Event-ID first.
func watchChanges(svc *changeWatcher, c *call) (any, error) {
	f := &changeFeed{changeWatcher: svc, call: c, position: -1}
	if last, err := strconv.ParseInt(c.r.Header.Get("Last-Event-ID"), 10, 64); err == nil && last >= 0 {
		f.position = last
	}
	return svc.streams.serveFeed(c, &svc.streams.feeds.changes, f)
}

func (f *changeFeed) begin(ctx context.Context) ([][]byte, error) {
	activities, next, err := f.service.ChangesAfter(ctx, f.call.scope, f.position)
	if err != nil {
		return nil, managementProblem(err)
	}
	f.position = next
	var out bytes.Buffer
	for i := range activities {
		text, err := serverSent("change", strconv.FormatInt(activities[i].Position, 10), &activities[i])
		if err != nil {
			return nil, err
		}
		out.Write(text)
	}
	if out.Len() == 0 {
		return nil, nil
	}
	return [][]byte{out.Bytes()}, nil
}

func (f *changeFeed) updates() <-chan struct{}                   { return nil }
func (f *changeFeed) take(context.Context) ([][]byte, error)     { return nil, nil }
func (f *changeFeed) tick(ctx context.Context) ([][]byte, error) { return f.begin(ctx) }
