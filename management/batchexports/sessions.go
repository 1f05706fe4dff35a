package batchexports

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// sessionMemory bounds, in bytes, the sessions that one pass keeps.
const sessionMemory = 48 << 20

// sessionURL is how much of an address is kept, in bytes.
const sessionURL = 2048

// session is the span of events that share $session_id.
type session struct {
	id, distinctID, person string
	first, last            time.Time // of the events, by their own time
	firstURL, lastURL      time.Time
	entry, exit            string
	events, views, clicks  int64
	// touched: it has an event of the run.
	touched bool
}

// sessionCost is about what a session takes in memory beside its texts, in bytes.
const sessionCost = 320

func (s *session) size() int {
	return sessionCost + 2*len(s.id) + len(s.distinctID) + len(s.entry) + len(s.exit)
}

// sessions yields the sessions of a run, by id: those that have an event of it
// (by times of coming in), or whose last event is of it (by times of events).
//
// Memory is bounded by going through the events several times: each pass keeps
// the sessions whose hash is in one part of all hashes, a part that is halved
// whenever there are too many.
func (s Service) sessions(ctx context.Context, e *exportRecord, span Span, yield func([]any) error) error {
	wide := span
	wide.Light, wide.DoneUpTo, wide.DoneBefore = true, 0, time.Time{}
	wide.After = min(span.Back, span.After)
	if !span.From.IsZero() {
		wide.From, wide.To = span.From.Add(-sessionReach), span.To.Add(sessionReach)
	}
	p := &sessionPass{span: &span}
	for low, width := uint64(0), uint64(1)<<32; low < 1<<32; low += width {
		p.low, p.width, p.found, p.bytes = low, min(width, 1<<32-low), map[string]*session{}, 0
		if err := s.Rows.Events(ctx, e.Team, wide, p.event); err != nil {
			return err
		}
		width = p.width
		if err := p.rows(e.Team, yield); err != nil {
			return err
		}
	}
	return nil
}

// sessionPass is one pass through the events.
type sessionPass struct {
	span       *Span
	low, width uint64
	found      map[string]*session
	bytes      int
}

func (p *sessionPass) event(e *Event) error {
	if !p.mayContain(e.Properties) {
		return nil
	}
	var properties map[string]json.RawMessage
	if err := json.Unmarshal([]byte(e.Properties), &properties); err != nil {
		return err
	}
	var id, url string
	if json.Unmarshal(properties["$session_id"], &id) != nil || id == "" || !p.contains(id) {
		return nil
	}
	_ = json.Unmarshal(properties["$current_url"], &url) // what is no text is no address
	if len(url) > sessionURL {
		url = strings.Clone(cutText(url, sessionURL))
	}
	x := p.found[id]
	if x == nil {
		x = &session{id: id}
		p.found[id] = x
	} else {
		p.bytes -= x.size()
	}
	x.add(e, url)
	x.touched = x.touched || p.span.Contains(e)
	p.bytes += x.size()
	for p.bytes > sessionMemory && len(p.found) > 1 && p.width > 1 {
		p.halve()
	}
	return nil
}

// mayContain reports whether properties may hold the id of a session of the pass.
// It only looks at the text: to read all of it takes much longer.
func (p *sessionPass) mayContain(properties string) bool {
	const name = `"$session_id"`
	for {
		index := strings.Index(properties, name)
		if index < 0 {
			return strings.Contains(properties, `\u`) && strings.Contains(properties, "session_id") // the name may be written otherwise
		}
		properties = properties[index+len(name):]
		value := strings.TrimLeft(properties, ": \t\r\n")
		if !strings.HasPrefix(value, `"`) {
			continue // another type, or the text of a value
		}
		id, _, _ := strings.Cut(value[1:], `"`)
		if strings.Contains(id, `\`) || p.contains(id) {
			return true
		}
	}
}

func (p *sessionPass) contains(id string) bool {
	hash := hashOf(id)
	return hash >= p.low && hash < p.low+p.width
}

func hashOf(id string) uint64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	return uint64(h.Sum32())
}

// halve leaves the upper half of the hashes to the next pass.
func (p *sessionPass) halve() {
	p.width /= 2
	for id, x := range p.found {
		if !p.contains(id) {
			p.bytes -= x.size()
			delete(p.found, id)
		}
	}
}

// add takes an event in.
func (s *session) add(e *Event, url string) {
	if s.events == 0 || e.Timestamp.Before(s.first) {
		s.first, s.distinctID = e.Timestamp, strings.Clone(e.DistinctID)
	}
	if s.events == 0 || !e.Timestamp.Before(s.last) {
		s.last, s.person = e.Timestamp, strings.Clone(e.PersonID)
	}
	s.events++
	switch e.Name {
	case "$pageview":
		s.views++
	case "$autocapture":
		s.clicks++
	}
	if url == "" {
		return
	}
	if s.entry == "" || e.Timestamp.Before(s.firstURL) {
		s.entry, s.firstURL = url, e.Timestamp
	}
	if s.exit == "" || !e.Timestamp.Before(s.lastURL) {
		s.exit, s.lastURL = url, e.Timestamp
	}
}

// rows yields what a pass has found.
func (p *sessionPass) rows(team int64, yield func([]any) error) error {
	list := make([]*session, 0, len(p.found))
	for _, x := range p.found {
		ends := p.span.From.IsZero() || !x.last.Before(p.span.From) && x.last.Before(p.span.To)
		if x.touched && ends {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b *session) int { return strings.Compare(a.id, b.id) })
	row := make([]any, 0, len(exportColumns[modelSessions]))
	for _, x := range list {
		row = append(row[:0], x.id, team, x.distinctID, x.person, x.first, x.last, int64(x.last.Sub(x.first)/time.Second),
			x.events, x.views, x.clicks, x.entry, x.exit)
		if err := yield(row); err != nil {
			return err
		}
	}
	return nil
}
