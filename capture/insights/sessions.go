package insights

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// session is the set of events with one $session_id (§3.2.5).
type session struct { // start and end are in microseconds since 1970
	start, end int64 // microseconds since 1970
	pageviews  int64
	// entry and exit are the first and the last URL.
	entry, exit sessionURL
}

// sessionURL is the URL of one event of a session.
type sessionURL struct {
	// url is JSON text; at is the time of the event and id its order of recording.
	url    string
	at, id int64
}

// seconds returns the duration of the session in seconds, rounded down.
func (s *session) seconds() int64 { return (s.end - s.start) / 1e6 }

// sessionValues are the values of sessions that filters and breakdowns can use, as JSON text. Add
// new values here.
var sessionValues = map[string]func(s *session) string{
	"$session_duration":  func(s *session) string { return strconv.FormatInt(s.seconds(), 10) },
	"$start_timestamp":   func(s *session) string { return timeText(s.start) },
	"$end_timestamp":     func(s *session) string { return timeText(s.end) },
	"$entry_current_url": func(s *session) string { return s.entry.url },
	"$exit_current_url":  func(s *session) string { return s.exit.url },
	"$entry_pathname":    func(s *session) string { return pathOf(s.entry.url) },
	"$pageview_count":    func(s *session) string { return strconv.FormatInt(s.pageviews, 10) },
}

// timeText returns a time in microseconds as a JSON string.
func timeText(micros int64) string {
	return `"` + time.UnixMicro(micros).UTC().Format(time.RFC3339Nano) + `"`
}

// pathOf returns the path of a URL as a JSON string, "" if the URL is missing or invalid. Both have
// the form of JSON text.
func pathOf(raw string) string {
	text, ok := textOf(raw)
	if !ok {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return wire.Quote(cmp.Or(u.Path, "/"))
}

// readSessionName validates the name of a value of sessions and returns it.
func readSessionName(n node, name string) string {
	if _, ok := sessionValues[name]; !ok && !n.hasFailed() {
		n.fail(notSupported, "%q is not supported for sessions.", wire.Shorten(name, 100))
	}
	return name
}

// sessionFilter parses a filter on a value of the event's session.
func sessionFilter(n node, p *Project) condition {
	key := readSessionName(n.get("key"), readKey(n))
	return &valueCondition{readComparison(n, p, eventFilterSettings(key)), func(b *binder) getter { return b.sessionValue(key) }}
}

// sessionValue returns the getter of a value of the event's session. The value is absent for events
// without a session.
func (b *binder) sessionValue(name string) getter {
	id, value := b.eventProperty("$session_id"), sessionValues[name]
	sessions := b.sessions()
	return func(r *row) string {
		if s := sessions[id(r)]; s != nil {
			return value(s)
		}
		return ""
	}
}

// aroundSessions is how far before and after a query's range the events of its sessions are read.
const aroundSessions = 24 * time.Hour

// sessions returns the sessions around the binder's range, by $session_id as JSON text. It scans
// them on the first call.
func (b *binder) sessions() map[string]*session {
	if b.sessionsByID != nil || b.err != nil {
		return b.sessionsByID
	}
	b.sessionsByID = map[string]*session{}
	n := &needs{}
	// This scan has its own needs, since it runs while the conditions of the query are being bound.
	id, url := n.event.slot("$session_id"), n.event.slot("$current_url")
	r := newRow(n)
	around := aroundSessions.Microseconds()
	b.err = b.scan(Scan{From: b.from - around, To: b.to + around, Columns: Names | Properties | IDs}, func(batch *Batch) error {
		for i := range batch.Len() {
			r.moveTo(batch, i)
			if key := r.property(id); !isMissing(key) && strings.HasPrefix(batch.Properties[i], "{") {
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
func (b *binder) addToSession(key, url string, batch *Batch, i int) error {
	at := batch.Time[i]
	s := b.sessionsByID[key]
	if s == nil {
		if err := b.reserve(int64(len(key)) + 200); err != nil {
			return err
		}
		s = &session{start: at, end: at}
		b.sessionsByID[strings.Clone(key)] = s
	}
	s.start, s.end = min(s.start, at), max(s.end, at)
	if batch.Name[i] == "$pageview" {
		s.pageviews++
	}
	if isMissing(url) {
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
	return b.reserve(int64(len(s.entry.url) + len(s.exit.url) - held))
}

// withURL returns v with a copy of url. If the session already stores the same URL in the place of
// v, previous, it shares that string.
func (v sessionURL) withURL(previous, url string) sessionURL {
	if v.url = previous; previous != url {
		v.url = strings.Clone(url)
	}
	return v
}

// before reports whether v is earlier than o.
func (v sessionURL) before(o sessionURL) bool { return v.at < o.at || v.at == o.at && v.id < o.id }
