package manage

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"strconv"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/streams"
	"github.com/bunting-flags/bunting/management"
)

// afterParameter is a position in the log, such as the member changes of the session.
var afterParameter = frame.Param("after", "integer", "the position of the last change that the client has seen; Last-Event-ID precedes it")

// changeEndpoints returns the endpoint that streams the changes that users make, as they happen
// (N14).
func changeEndpoints(t *streams.Streams) []frame.Endpoint {
	of := func(s *frame.Server) *changeWatcher { return &changeWatcher{t, s.Management.Service} }
	return frame.Resource(frame.InProject, "activity_log", of, []frame.Row[*changeWatcher]{
		frame.Handle(http.MethodGet, "/changes/stream", "Stream the activity log of a project as server-sent events", watchChanges).
			WithQuery(afterParameter).WithMediaType(frame.EventStream).WithoutTimeout().Uncompressed(),
	})
}

// changeWatcher serves streams of changes.
type changeWatcher struct {
	streams *streams.Streams
	service *management.Service
}

// changeFeed is the stream of one reader. Each reader queries the log itself, because readers may
// see different entries.
type changeFeed struct {
	*changeWatcher
	call     *frame.Call
	position int64 // in the log, of the last change that was sent; -1 starts with new changes
}

// watchChanges streams changes, beginning with those after Last-Event-ID, if the request has that
// header, or else after the parameter after.
func watchChanges(svc *changeWatcher, c *frame.Call) (any, error) {
	f := &changeFeed{changeWatcher: svc, call: c, position: -1}
	if last, err := strconv.ParseInt(cmp.Or(c.R.Header.Get("Last-Event-ID"), c.Query().Get("after")), 10, 64); err == nil && last >= 0 {
		f.position = last
	}
	return svc.streams.ServeFeed(c, &svc.streams.Feeds.Changes, f)
}

// Begin returns the changes after f.position as server-sent events, and advances f.position.
func (f *changeFeed) Begin(ctx context.Context) ([][]byte, error) {
	activities, next, err := f.service.ChangesAfter(ctx, f.call.Scope, f.position)
	if err != nil {
		return nil, problem.OfManagement(err)
	}
	f.position = next
	var out bytes.Buffer
	for i := range activities {
		text, err := streams.Encode("change", strconv.FormatInt(activities[i].Position, 10), &activities[i])
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

func (f *changeFeed) Updates() <-chan struct{}                   { return nil }
func (f *changeFeed) Take(context.Context) ([][]byte, error)     { return nil, nil }
func (f *changeFeed) Tick(ctx context.Context) ([][]byte, error) { return f.Begin(ctx) }
