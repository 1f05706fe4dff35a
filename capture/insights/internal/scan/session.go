package scan

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Session is the set of events with one $session_id (§3.2.5).
type Session struct { // start and end are in microseconds since 1970
	Start, End int64 // microseconds since 1970
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

// Seconds returns the duration of the session in seconds, rounded down.
func (s *Session) Seconds() int64 { return (s.End - s.Start) / 1e6 }

// SessionValues are the values of sessions that filters and breakdowns can use, as JSON text. Add
// new values here.
var SessionValues = map[string]func(s *Session) string{
	"$session_duration":  func(s *Session) string { return strconv.FormatInt(s.Seconds(), 10) },
	"$start_timestamp":   func(s *Session) string { return TimeText(s.Start) },
	"$end_timestamp":     func(s *Session) string { return TimeText(s.End) },
	"$entry_current_url": func(s *Session) string { return s.entry.url },
	"$exit_current_url":  func(s *Session) string { return s.exit.url },
	"$entry_pathname":    func(s *Session) string { return pathOf(s.entry.url) },
	"$pageview_count":    func(s *Session) string { return strconv.FormatInt(s.pageviews, 10) },
}

// TimeText returns a time in microseconds as a JSON string.
func TimeText(micros int64) string {
	return `"` + time.UnixMicro(micros).UTC().Format(time.RFC3339Nano) + `"`
}

// pathOf returns the path of a URL as a JSON string, "" if the URL is missing or invalid. Both have
// the form of JSON text.
func pathOf(raw string) string {
	text, ok := Text(raw)
	if !ok {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return wire.Quote(cmp.Or(u.Path, "/"))
}

// ReadSessionName validates the name of a value of sessions and returns it.
func ReadSessionName(n document.Node, name string) string {
	if _, ok := SessionValues[name]; !ok && !n.HasFailed() {
		n.Fail(document.NotSupported, "%q is not supported for sessions.", wire.Shorten(name, 100))
	}
	return name
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
