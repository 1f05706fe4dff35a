package httpapi

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
)

const (
	defaultPage = 100
	// maxPage bounds every page; a larger limit counts as this.
	maxPage = 1000
	// maxOffset is behind the end of every list; a larger offset counts as this, so
	// that sums of it do not overflow.
	maxOffset = 1 << 53
)

// page is what a request says of the page that it wants (§3).
type page struct {
	limit, offset int
	cursor        string
}

// pageOf never fails: what is no number, or is out of range, counts as the
// default (§3).
func pageOf(q url.Values) page {
	p := page{limit: defaultPage, cursor: q.Get("cursor")}
	if n := positive(q.Get("limit")); n > 0 {
		p.limit = min(n, maxPage)
	}
	p.offset = min(positive(q.Get("offset")), maxOffset)
	return p
}

// positive reads a number above 0, 0 for what is none; one that is too large for
// an int is the largest.
func positive(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return max(n, 0)
}

// cut is the part of a list that a page shows.
func cut[T any](p page, list []T) []T {
	from := min(p.offset, len(list))
	return list[from:min(from+p.limit, len(list))]
}

// link is the absolute URL of this request with other parameters: an empty value
// takes one away. All are sorted by name (§3).
func (c *call) link(change map[string]string) *string {
	// Where the handler is mounted below a prefix, only the request line has all of
	// the path.
	target, err := url.ParseRequestURI(c.r.RequestURI)
	if err != nil {
		target = c.r.URL
	}
	q := c.query()
	for name, value := range change {
		if q.Del(name); value != "" {
			q.Set(name, value)
		}
	}
	out := url.URL{Scheme: c.scheme, Host: c.r.Host, Path: target.Path, RawPath: target.RawPath, RawQuery: q.Encode()}
	text := out.String()
	return &text
}

// scheme is that of the request, or the one that a trusted proxy in front says.
func (s *server) scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	if s.isTrusted(r) && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		return "https"
	}
	return "http"
}

// countedPage is the page of a whole list that is asked for (§3).
func countedPage[T any](c *call, list []T) management.List[T] {
	return management.List[T]{Count: len(list), Results: cut(pageOf(c.query()), list)}
}

func (p page) parameters(offset int) map[string]string {
	change := map[string]string{"limit": strconv.Itoa(p.limit), "offset": ""}
	if offset > 0 {
		change["offset"] = strconv.Itoa(offset)
	}
	return change
}

// previous is the page before, nil at the beginning.
func (c *call) previous(p page) *string {
	if p.offset <= 0 {
		return nil
	}
	return c.link(p.parameters(p.offset - p.limit))
}

// uncounted is a page of a list whose length is not known.
type uncounted[T any] struct {
	Next     *string `json:"next"`
	Previous *string `json:"previous"`
	Results  []T     `json:"results"`
}

// eventCursor writes an event's place in the order of a page.
func eventCursor(t time.Time, id int64) string {
	return strconv.FormatInt(t.UnixMicro(), 10) + "_" + strconv.FormatInt(id, 10)
}

func parseEventCursor(text string) (*capture.EventCursor, error) {
	if text == "" {
		return nil, nil
	}
	timeText, id, _ := strings.Cut(text, "_")
	micros, err1 := strconv.ParseInt(timeText, 10, 64)
	n, err2 := strconv.ParseInt(id, 10, 64)
	if cmp.Or(err1, err2) != nil {
		return nil, badCursor()
	}
	return &capture.EventCursor{Timestamp: time.UnixMicro(micros).UTC(), ID: n}, nil
}

// idCursor reads a cursor that is an id, 0 for none.
func idCursor(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		return 0, badCursor()
	}
	return id, nil
}

func textCursor(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func parseTextCursor(text string) (string, error) {
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return "", badCursor()
	}
	return string(plain), nil
}

func badCursor() error {
	return invalid("cursor", "Invalid cursor: use the one of the next link as it stands.")
}

// timeLayouts are the forms in which a time may be asked for; without a zone it is
// UTC.
var timeLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02"}

// timeParameter reads a time of the query, zero when there is none.
func timeParameter(q url.Values, name string) (time.Time, error) {
	text := q.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range timeLayouts {
		// A plus sign in a query is a space, and then the zone has lost it.
		for _, try := range []string{text, strings.Replace(text, " ", "+", 1)} {
			if t, err := time.Parse(form, try); err == nil {
				return t.UTC(), nil
			}
		}
	}
	return time.Time{}, invalid(name, "Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].")
}
