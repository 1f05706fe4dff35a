package httpapi

import (
	"bytes"
	"context"
	"net/http"
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// THE TABLE: changes that people make, as they make them (N14).
var changeEndpoints = resource(inProject, "activity_log", changesOf, []row[*changes]{
	by(http.MethodGet, "/changes/stream", "Watch who changes what in a project, as server-sent events", watchChanges).
		ofKind(eventStream).unbounded().uncompressed(),
})

// changes is what watching changes stands on.
type changes struct {
	streams *streams
	service *management.Service
}

func changesOf(s *server) *changes { return &changes{s.streams, s.Management.Service} }

// changeFeed is one reader of changes. Each looks at the log for itself, as what it may
// see is its own.
type changeFeed struct {
	*changes
	call  *call
	place int64
}

// watchChanges sends what has changed since Last-Event-ID first.
func watchChanges(of *changes, c *call) (any, error) {
	f := &changeFeed{changes: of, call: c, place: -1}
	if last, err := strconv.ParseInt(c.r.Header.Get("Last-Event-ID"), 10, 64); err == nil && last >= 0 {
		f.place = last
	}
	return of.streams.watched(c, &of.streams.feeds.changes, f)
}

func (f *changeFeed) begin(ctx context.Context) ([][]byte, error) {
	made, next, err := f.service.ChangesAfter(ctx, f.call.standing, f.place)
	if err != nil {
		return nil, managementProblem(err)
	}
	f.place = next
	var out bytes.Buffer
	for i := range made {
		text, err := serverSent("change", strconv.FormatInt(made[i].Place, 10), &made[i])
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

func (f *changeFeed) news() <-chan struct{}                        { return nil }
func (f *changeFeed) take(context.Context) ([][]byte, error)       { return nil, nil }
func (f *changeFeed) second(ctx context.Context) ([][]byte, error) { return f.begin(ctx) }
