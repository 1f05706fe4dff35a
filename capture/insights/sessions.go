package insights

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// session is the events with one $session_id (§3.2.5).
type session struct {
	start, end  int64 // microseconds since 1970
	pageviews   int64
	entry, exit sessionURL
}

// sessionURL is where a session was at a time.
type sessionURL struct {
	url    string // JSON text
	at, id int64
}

// seconds is the session's duration, rounded down.
func (s *session) seconds() int64 { return (s.end - s.start) / 1e6 }

// sessionValues are the names that filters and breakdowns know of a session, with
// their values as JSON text.
var sessionValues = map[string]func(s *session) string{
	"$session_duration":  func(s *session) string { return strconv.FormatInt(s.seconds(), 10) },
	"$start_timestamp":   func(s *session) string { return timeText(s.start) },
	"$end_timestamp":     func(s *session) string { return timeText(s.end) },
	"$entry_current_url": func(s *session) string { return s.entry.url },
	"$exit_current_url":  func(s *session) string { return s.exit.url },
	"$entry_pathname":    func(s *session) string { return pathOf(s.entry.url) },
	"$pageview_count":    func(s *session) string { return strconv.FormatInt(s.pageviews, 10) },
}

func timeText(micros int64) string {
	return `"` + time.UnixMicro(micros).UTC().Format(time.RFC3339Nano) + `"`
}

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

// sessionName is the name of a session's value.
func (n node) sessionName(name string) string {
	if _, ok := sessionValues[name]; !ok && !n.hasFailed() {
		n.fail(notSupported, "%q is not supported of sessions.", wire.Shorten(name, 100))
	}
	return name
}

func sessionFilter(n node, p *Project) condition {
	key := n.get("key").sessionName(n.key())
	return &valueCondition{n.comparison(p, eventFilterSettings(key)), func(b *binder) getter { return b.sessionValue(key) }}
}

// sessionValue is a value of the session of the event.
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

// aroundSessions is how far before and after a query's range events of its sessions
// are looked for.
const aroundSessions = 24 * time.Hour

// sessions reads the sessions around the binder's range, by $session_id as JSON
// text.
func (b *binder) sessions() map[string]*session {
	if b.sessionsByID != nil || b.err != nil {
		return b.sessionsByID
	}
	b.sessionsByID = map[string]*session{}
	n := &needs{}
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
	here, held := sessionURL{at: at, id: batch.ID[i]}, len(s.entry.url)+len(s.exit.url)
	if s.entry.url == "" || here.before(s.entry) {
		s.entry = here.withURL(s.entry.url, url)
	}
	if s.exit.url == "" || s.exit.before(here) {
		s.exit = here.withURL(s.exit.url, url)
	}
	return b.reserve(int64(len(s.entry.url) + len(s.exit.url) - held))
}

// withURL is the visit with its URL, in a text of its own: that of the visit in whose place
// it comes where it is the same.
func (v sessionURL) withURL(previous, url string) sessionURL {
	if v.url = previous; previous != url {
		v.url = strings.Clone(url)
	}
	return v
}

func (v sessionURL) before(o sessionURL) bool { return v.at < o.at || v.at == o.at && v.id < o.id }
