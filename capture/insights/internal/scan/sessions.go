package scan

import (
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// SessionValue returns the getter of a value of the event's session. The value is absent for events
// without a session.
func (b *Binder) SessionValue(name string) Getter {
	id, value := b.EventProperty("$session_id"), SessionValues[name]
	sessions := b.Sessions()
	return func(r *Row) string {
		if s := sessions[id(r)]; s != nil {
			return value(s)
		}
		return ""
	}
}

// aroundSessions is how far before and after a query's range the events of its sessions are read.
const aroundSessions = 24 * time.Hour

// Sessions returns the sessions around the binder's range, by $session_id as JSON text. It scans
// them on the first call.
func (b *Binder) Sessions() map[string]*Session {
	b.Volatile = true
	if b.sessionsByID != nil || b.Err != nil {
		return b.sessionsByID
	}
	b.sessionsByID = map[string]*Session{}
	n := &needs{}
	// This scan has its own needs, since it runs while the conditions of the query are being bound.
	id, url := n.event.Slot("$session_id"), n.event.Slot("$current_url")
	r := NewRow(n)
	around := aroundSessions.Microseconds()
	n.Columns = port.Names | port.Properties | port.IDs
	b.Err = b.Scan(n.Scan(port.Scan{From: b.From - around, To: b.To + around}), func(batch *port.Batch) error {
		for i := range batch.Len() {
			r.MoveTo(batch, i)
			if key := r.property(id); !document.IsMissing(key) {
				if err := b.addToSession(key, r.property(url), batch, i); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return b.sessionsByID
}

// addToSession extends a session by an event. Events may arrive in any order. Strings of the batch
// are copied before they are stored.
func (b *Binder) addToSession(key, url string, batch *port.Batch, i int) error {
	at := batch.Time[i]
	s := b.sessionsByID[key]
	if s == nil {
		if err := b.Reserve(int64(len(key)) + 200); err != nil {
			return err
		}
		s = &Session{Start: at, End: at}
		b.sessionsByID[strings.Clone(key)] = s
	}
	s.Start, s.End = min(s.Start, at), max(s.End, at)
	if batch.Name[i] == "$pageview" {
		s.pageviews++
	}
	if document.IsMissing(url) {
		return nil
	}
	// Only URLs that replace others change the memory of the session.
	here, held := sessionURL{at: at, id: batch.ID[i]}, len(s.entry.url)+len(s.exit.url)
	if s.entry.url == "" || here.before(s.entry) {
		s.entry = here.withURL(s.entry.url, url)
	}
	if s.exit.url == "" || s.exit.before(here) {
		s.exit = here.withURL(s.exit.url, url)
	}
	return b.Reserve(int64(len(s.entry.url) + len(s.exit.url) - held))
}
