package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
)

// streamEnd describes how a stream ended.
type streamEnd struct {
	notOffered bool // the server offers no stream
	opened     bool // at least one event or comment arrived
	// retry is the reconnection time that the server sent. It is set if hasRetry is true.
	retry    time.Duration
	hasRetry bool
	failed   *failure // nil if the server announced the end
}

// errSilent is the cause when a stream is canceled because no data arrived.
var errSilent = errors.New("nothing came for too long")

// stream requests a stream of changes and follows it until it ends.
func (s *source) stream(ctx context.Context) (end streamEnd) {
	const what = "GET " + definitionsPath + "/stream"
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alive := time.AfterFunc(s.c.Timeout, func() { cancel(errSilent) })
	defer alive.Stop()
	r, err := s.request(ctx, "/stream")
	if err != nil {
		return streamEnd{failed: noAnswer(what, err)}
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Accept-Encoding", "identity") // a compressed stream may be buffered on the way
	r.Header.Set("Cache-Control", "no-cache")
	if old := s.current.Load(); old != nil && old.version != "" {
		r.Header.Set("Last-Event-ID", old.version)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return streamEnd{failed: noAnswer(what, silenceError(ctx, err))}
	}
	defer func() { _ = resp.Body.Close() }()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch resp.StatusCode {
	case http.StatusOK:
		if kind != "text/event-stream" {
			return streamEnd{notOffered: true}
		}
	case http.StatusNoContent, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusNotImplemented:
		return streamEnd{notOffered: true}
	default:
		return streamEnd{failed: s.statusFailure(what, resp)}
	}
	alive.Stop()
	body := &watchedReader{resp.Body, alive, s.c.Timeout}
	events := newEventReader(body, lastgood.MaxSize)
	end = s.follow(events, body)
	end.retry, end.hasRetry = events.retry, events.hasRetry
	s.endStream()
	if end.failed != nil {
		end.failed.err = fmt.Errorf("remote: %s: %w", what, silenceError(ctx, end.failed.err))
	}
	return end
}

// silenceError returns errSilent if that canceled the request, and err otherwise.
func silenceError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// follow applies the definitions that arrive.
func (s *source) follow(events *eventReader, body *watchedReader) (end streamEnd) {
	for {
		e, err := events.next()
		if err != nil {
			end.failed = &failure{err: fmt.Errorf("the stream broke off: %w", err), answered: errors.Is(err, errLongEvent)}
			return end
		}
		switch {
		case e.comment:
			s.confirm(true)
		case e.name == "definitions":
			if err := s.renew(e.data, cleanVersion(e.id), FromStream); err != nil {
				end.opened = true
				end.failed = &failure{err: err, answered: true}
				return end
			}
			s.confirm(true)
		case e.name == "closing":
			var why struct{ Code string }
			_ = json.Unmarshal(e.data, &why)
			s.c.Logger.Info("the server closed the stream of flag definitions", "url", s.c.URL, "code", why.Code)
			end.opened = true
			return end
		case !end.opened: // another kind of stream than Bunting's
			return streamEnd{notOffered: true}
		}
		end.opened = true
		body.limit = s.c.knobs.silence
	}
}

// watchedReader is a body that cancels the request if a read exceeds limit.
type watchedReader struct {
	io.Reader
	alive *time.Timer // cancels the request
	limit time.Duration
}

func (w *watchedReader) Read(p []byte) (int, error) {
	w.alive.Reset(w.limit)
	defer w.alive.Stop()
	return w.Reader.Read(p)
}
