package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// maxTail is the maximum number of events in a request, maxPrintedEvents the number of printed events
// that are remembered to skip duplicates.
const maxTail, maxPrintedEvents = 500, 10_000

const eventsHelp = `Usage: bunting events tail [OPTIONS]

Prints the newest events of a project, the newest last.

  --lines N         how many, 20 by default, at most 500
  --follow, -f      keep printing events as the server accepts them, until
                    interrupted. The server sends at most 20 a second; a warning
                    says how many were left out. After a lost connection the
                    command connects again and prints what it has missed, of the
                    500 events with the newest timestamps
  --event NAME      only events of this name
  --distinct-id ID  only events of this distinct id
` + projectOption + managerOptions + `  --json            print one JSON object per event
`

type tailOptions struct {
	lines             *int
	follow            *bool
	event, distinctID *string
}

var eventActions = []action{{name: "tail", project: readsProject, options: func(m *manager) runner {
	o := &tailOptions{
		lines: m.fs.Int("lines", 20, ""), follow: m.fs.Bool("follow", false, ""),
		event: m.fs.String("event", "", ""), distinctID: m.fs.String("distinct-id", "", ""),
	}
	m.fs.BoolVar(o.follow, "f", false, "")
	return o.tail
}}}

// eventView contains the members that are read of an event.
type eventView struct {
	UUID       string          `json:"uuid"`
	Event      string          `json:"event"`
	DistinctID string          `json:"distinct_id"`
	Timestamp  string          `json:"timestamp"`
	Properties json.RawMessage `json:"properties"`
	raw        json.RawMessage
}

// query returns the parameters that select the events.
func (o *tailOptions) query() url.Values {
	q := url.Values{}
	if *o.event != "" {
		q.Set("event", *o.event)
	}
	if *o.distinctID != "" {
		q.Set("distinct_id", *o.distinctID)
	}
	return q
}

// newestEvents returns at most limit events, the newest first.
func (m *manager) newestEvents(ctx context.Context, o *tailOptions, limit int) ([]eventView, error) {
	q := o.query()
	q.Set("limit", strconv.Itoa(limit))
	var page struct{ Results []json.RawMessage }
	if err := m.send(ctx, "GET", m.inProject("/events/?"+q.Encode()), nil, &page); err != nil {
		return nil, err
	}
	out := make([]eventView, len(page.Results))
	for i, raw := range page.Results {
		if err := out[i].read(raw); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// read decodes an event.
func (e *eventView) read(raw json.RawMessage) error {
	if err := json.Unmarshal(raw, e); err != nil {
		return fmt.Errorf("the server's response cannot be read: %w", err)
	}
	e.raw = raw
	return nil
}

// tail prints the newest events. With --follow it then prints new ones until the context is done.
func (o *tailOptions) tail(ctx context.Context, m *manager, _ []string) error {
	if *o.lines < 1 || *o.lines > maxTail {
		return cli.BadUsage("events", "--lines: must be a number from 1 to %d, not %d", maxTail, *o.lines)
	}
	if *o.follow {
		return endOfFollow(ctx, (&follower{tailOptions: o, manager: m, printed: newRecentEvents(nil)}).run(ctx))
	}
	list, err := m.newestEvents(ctx, o, *o.lines)
	if err != nil {
		return err
	}
	return m.printEvents(list[:min(*o.lines, len(list))])
}

// endOfFollow returns nil if the context was interrupted, which is the normal end of --follow, else
// err.
func endOfFollow(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// printEvents prints events that are sorted from newest to oldest in the opposite order.
func (m *manager) printEvents(list []eventView) error {
	var out bytes.Buffer
	for _, e := range slices.Backward(list) {
		var line bytes.Buffer
		if *m.asJSON {
			if err := json.Compact(&line, e.raw); err != nil {
				return err
			}
			fmt.Fprintln(&out, line.String())
			continue
		}
		if json.Compact(&line, e.Properties) != nil {
			line.WriteString("{}")
		}
		fmt.Fprintf(&out, "%s  %s  %s  %s\n", e.Timestamp, cli.Cell(e.Event), cli.Cell(e.DistinctID), cli.Shorten(line.String()))
	}
	return m.Print(out.String())
}

// recentEvents is the set of the last maxPrintedEvents events that were printed.
type recentEvents struct {
	ids   map[string]bool
	order []string
}

func newRecentEvents(list []eventView) *recentEvents {
	s := &recentEvents{ids: map[string]bool{}}
	s.unseen(list)
	return s
}

// unseen returns the events of a list that are not in the set, and adds them.
func (s *recentEvents) unseen(list []eventView) (out []eventView) {
	for _, e := range list {
		if s.ids[e.UUID] {
			continue
		}
		out = append(out, e)
		s.ids[e.UUID] = true
		if s.order = append(s.order, e.UUID); len(s.order) > maxPrintedEvents {
			delete(s.ids, s.order[0])
			s.order = s.order[1:]
		}
	}
	return out
}
