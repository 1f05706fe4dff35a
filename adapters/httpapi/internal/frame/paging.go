package frame

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
)

const (
	// DefaultPage is the size of a page if the request has no limit.
	DefaultPage = 100
	// MaxPage is the maximum size of a page. Larger limits are reduced to it.
	MaxPage = 1000
	// maxOffset is beyond the end of any list. Larger offsets are reduced to it, so that sums do
	// not overflow.
	maxOffset = 1 << 53
)

// Range has the paging parameters of a request (§3).
type Range struct {
	Limit, Offset int
	Cursor        string
}

// RangeOf returns the page of a query. It never fails: parameters that are not numbers, or out of
// range, count as the default (§3).
func RangeOf(q url.Values) Range {
	p := Range{Limit: DefaultPage, Cursor: q.Get("cursor")}
	if n := Positive(q.Get("limit")); n > 0 {
		p.Limit = min(n, MaxPage)
	}
	p.Offset = min(Positive(q.Get("offset")), maxOffset)
	return p
}

// Positive parses a number above 0. Other texts count as 0, and numbers that overflow an int as
// the largest int.
func Positive(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return max(n, 0)
}

// cut returns the part of a list that is on a page.
func cut[T any](p Range, list []T) []T {
	from := min(p.Offset, len(list))
	return list[from:min(from+p.Limit, len(list))]
}

// Link returns the absolute URL of this request with changed parameters. An empty value removes a
// parameter. Parameters are sorted by name (§3).
func (c *Call) Link(change map[string]string) *string {
	// If the handler is mounted below a prefix, only the request line has the full path.
	target, err := url.ParseRequestURI(c.R.RequestURI)
	if err != nil {
		target = c.R.URL
	}
	q := c.Query()
	for name, value := range change {
		if q.Del(name); value != "" {
			q.Set(name, value)
		}
	}
	out := url.URL{Scheme: c.Scheme, Host: c.R.Host, Path: target.Path, RawPath: target.RawPath, RawQuery: q.Encode()}
	text := out.String()
	return &text
}

// CountedPage returns the requested page of a complete list (§3).
func CountedPage[T any](c *Call, list []T) management.List[T] {
	return management.List[T]{Count: len(list), Results: cut(RangeOf(c.Query()), list)}
}

// Parameters returns the changes of link for a page at another offset.
func (p Range) Parameters(offset int) map[string]string {
	change := map[string]string{"limit": strconv.Itoa(p.Limit), "offset": ""}
	if offset > 0 {
		change["offset"] = strconv.Itoa(offset)
	}
	return change
}

// Previous returns the link to the previous page, or nil for the first page.
func (c *Call) Previous(p Range) *string {
	if p.Offset <= 0 {
		return nil
	}
	return c.Link(p.Parameters(p.Offset - p.Limit))
}

// Uncounted is a page of a list of unknown length.
type Uncounted[T any] struct {
	Next     *string `json:"next"`
	Previous *string `json:"previous"`
	Results  []T     `json:"results"`
}

// EventCursor encodes the position of an event in the order of a page.
func EventCursor(t time.Time, id int64) string {
	return strconv.FormatInt(t.UnixMicro(), 10) + "_" + strconv.FormatInt(id, 10)
}

// ParseEventCursor parses a cursor of EventCursor. An empty text is nil.
func ParseEventCursor(text string) (*capture.EventCursor, error) {
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

// IDCursor parses a cursor that is an id. An empty text is 0.
func IDCursor(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		return 0, badCursor()
	}
	return id, nil
}

// TextCursor returns a cursor that is a text.
func TextCursor(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// ParseTextCursor parses a cursor of TextCursor.
func ParseTextCursor(text string) (string, error) {
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return "", badCursor()
	}
	return string(plain), nil
}

func badCursor() error {
	return problem.Invalid("cursor", "Invalid cursor: use the cursor of the next link unchanged.")
}

// timeLayouts are the formats of times in parameters. A time without a zone is UTC.
var timeLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02"}

// TimeParameter parses a time in the query. The result is zero if the parameter is absent or
// empty.
func TimeParameter(q url.Values, name string) (time.Time, error) {
	text := q.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range timeLayouts {
		// An unescaped plus sign of a zone is decoded as a space.
		for _, try := range []string{text, strings.Replace(text, " ", "+", 1)} {
			if t, err := time.Parse(form, try); err == nil {
				return t.UTC(), nil
			}
		}
	}
	return time.Time{}, problem.Invalid(name, "Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].")
}

// Page returns the requested range of a list (§3).
func (c *Call) Page() management.Page {
	p := c.requestedPage()
	return management.Page{Limit: p.Limit, Offset: p.Offset}
}

func (c *Call) requestedPage() Range {
	q := c.Query()
	p := RangeOf(q)
	if c.pageSize > 0 && Positive(q.Get("limit")) == 0 {
		p.Limit = c.pageSize
	}
	return p
}
