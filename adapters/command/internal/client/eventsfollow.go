package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// follower prints events as the server accepts them.
type follower struct {
	*tailOptions
	manager *manager
	printed *recentEvents
	// connected reports whether the newest events were printed once.
	connected bool
}

// run prints events until the context is done. It connects again after the end of a stream, and
// returns an error if that fails apiTries times in a row.
func (f *follower) run(ctx context.Context) error {
	c := f.manager.client
	for wait, failures := minPause, 0; ; {
		streamed, after, err := f.stream(ctx)
		var refusal *apiError
		if ctx.Err() != nil || errors.As(err, &refusal) && !refusal.isRepeatable() || errors.Is(err, errOutput) {
			return err
		}
		if streamed {
			wait, failures = minPause, 0
		} else if failures++; failures == apiTries {
			return fmt.Errorf("after %d tries: %w", failures, err)
		}
		d := cmp.Or(min(after, maxRetryAfter), wait)
		c.onRetry("the stream of events has ended: "+err.Error(), d)
		if err := c.pause(ctx, d); err != nil {
			return err
		}
		wait = min(2*wait, maxPause)
	}
}

// errOutput is the error if events cannot be printed.
var errOutput = errors.New("the output cannot be written")

// stream prints the events of one connection. It first prints the newest stored events that are not
// printed yet, which covers the time without a connection. streamed reports whether the connection
// was opened, and after is the pause that the server requests; err is never nil.
func (f *follower) stream(ctx context.Context) (streamed bool, after time.Duration, err error) {
	m := f.manager
	path := m.inProject("/events/live/")
	if q := f.query(); len(q) > 0 {
		path += "?" + q.Encode()
	}
	s, after, err := m.client.openStream(ctx, path)
	if err != nil {
		return false, after, err
	}
	defer s.close()
	// The stream begins with some stored events. It is opened before they are read, so that no event
	// can be missed in between.
	list, err := m.newestEvents(ctx, f.tailOptions, maxTail)
	if err != nil {
		return false, 0, err
	}
	if err := f.catchUp(list); err != nil {
		return true, 0, err
	}
	for {
		message, err := s.next()
		if err != nil {
			return true, s.retry, err
		}
		if err := f.show(message); err != nil {
			return true, 0, err
		}
	}
}

// catchUp prints the events of a list, the newest first, that are not printed yet. At the first
// connection it prints at most the number of lines that was asked for.
func (f *follower) catchUp(list []eventView) error {
	unseen := f.printed.unseen(list)
	if !f.connected {
		unseen = unseen[:min(*f.lines, len(unseen))]
	} else if len(unseen) == maxTail {
		f.manager.warn(fmt.Sprintf("more than %d events arrived without a connection: some of them are not printed", maxTail))
	}
	f.connected = true
	return f.print(unseen)
}

// show prints the event of a message, or a warning about events that the server has left out.
func (f *follower) show(message *streamMessage) error {
	switch message.event {
	case "event":
		var e eventView
		if err := e.read(message.data); err != nil {
			return err
		}
		return f.print(f.printed.unseen([]eventView{e}))
	case "dropped":
		var dropped struct {
			N int64 `json:"n"`
		}
		if json.Unmarshal(message.data, &dropped) == nil && dropped.N > 0 {
			f.manager.warn(fmt.Sprintf("%d events are not printed: there are too many", dropped.N))
		}
	}
	return nil
}

func (f *follower) print(list []eventView) error {
	if err := f.manager.printEvents(list); err != nil {
		return fmt.Errorf("%w: %w", errOutput, err)
	}
	return nil
}
