package batchexports

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// sessionMemory is the approximate limit for the sessions that one pass stores, in bytes.
const sessionMemory = 48 << 20

// sessionURL is the number of bytes of a URL that are stored.
const sessionURL = 2048

// session has the totals of the events with the same $session_id.
type session struct {
	id, distinctID, person string
	// first and last are the times of the first and the last event, by the events' own time.
	first, last time.Time
	// entry and exit are the first and the last URL, and firstURL and lastURL the times of their
	// events.
	firstURL, lastURL time.Time
	entry, exit       string
	// events, views and clicks count all events, page views and autocaptured events.
	events, views, clicks int64
	// touched reports that one of its events belongs to the run.
	touched bool
}

// sessionCost is the approximate size of a session without its strings, in bytes.
const sessionCost = 320

// size returns the approximate size of the session in memory.
func (s *session) size() int {
	return sessionCost + 2*len(s.id) + len(s.distinctID) + len(s.entry) + len(s.exit)
}

// sessions yields the sessions of a run, ordered by id within a pass. A session belongs to the run
// if one of its events does. For ranges of event time, its last event must also be in the range.
//
// It reads the events in several passes in order to limit memory. Each pass stores the sessions
// with a hash in one part of all hashes, and halves that part whenever it has too many sessions.
func (s Service) sessions(ctx context.Context, e *exportRecord, span Span, yield func([]any) error) error {
	// The remaining events of a session may be outside of the run's span.
	wide := span
	wide.DoneUpTo, wide.DoneBefore = 0, time.Time{}
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

// sessionPass is one pass. It collects the sessions with low <= hash < low+width.
type sessionPass struct {
	// span is the Span of the run. found has the sessions by id, and bytes is their approximate
	// size.
	span       *Span
	low, width uint64
	found      map[string]*session
	bytes      int
}

// event adds an event to its session, if the session belongs to the pass.
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
	_ = json.Unmarshal(properties["$current_url"], &url) // a value that is not a string is ignored
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

// mayContain reports whether properties may have the id of a session of the pass. It searches the
// text, which is much faster than parsing all properties, and may return true for other properties.
func (p *sessionPass) mayContain(properties string) bool {
	const name = `"$session_id"`
	for {
		index := strings.Index(properties, name)
		if index < 0 {
			return strings.Contains(properties, `\u`) && strings.Contains(properties, "session_id") // the name may be written with escapes
		}
		properties = properties[index+len(name):]
		value := strings.TrimLeft(properties, ": \t\r\n")
		if !strings.HasPrefix(value, `"`) {
			continue // another type, or the name is part of a string
		}
		id, _, _ := strings.Cut(value[1:], `"`)
		if strings.Contains(id, `\`) || p.contains(id) {
			return true
		}
	}
}

// contains reports whether a session belongs to the pass.
func (p *sessionPass) contains(id string) bool {
	hash := hashOf(id)
	return hash >= p.low && hash < p.low+p.width
}

// hashOf returns a hash of 32 bits.
func hashOf(id string) uint64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	return uint64(h.Sum32())
}

// halve reduces the pass to the lower half of its hashes. The next pass reads the upper half.
func (p *sessionPass) halve() {
	p.width /= 2
	for id, x := range p.found {
		if !p.contains(id) {
			p.bytes -= x.size()
			delete(p.found, id)
		}
	}
}

// add adds an event to the totals of the session. It clones strings, because an Event may not be
// kept.
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

// rows yields the sessions of the pass that belong to the run.
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
