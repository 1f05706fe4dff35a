package frame

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/management"
)

// spec/management.md §3: limit is 100 by default, and here at most 1000; limit and offset that are
// no numbers, or out of range, count as the default.
func TestRange_OfQuery(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]Range{
		"":                            {Limit: 100},
		"limit=1":                     {Limit: 1},
		"limit=1000":                  {Limit: 1000},
		"limit=1001":                  {Limit: 1000},
		"limit=99999999999999999999":  {Limit: 1000},
		"limit=0":                     {Limit: 100},
		"limit=-5":                    {Limit: 100},
		"limit=-99999999999999999999": {Limit: 100},
		"limit=ten":                   {Limit: 100},
		"limit=1.5":                   {Limit: 100},
		"limit=+2":                    {Limit: 100}, // a blank and a 2
		"limit=5&limit=6":             {Limit: 5},
		"offset=7":                    {Limit: 100, Offset: 7},
		"offset=-7":                   {Limit: 100},
		"offset=x":                    {Limit: 100},
		"offset=9007199254740992":     {Limit: 100, Offset: 1 << 53},
		"offset=9007199254740993":     {Limit: 100, Offset: 1 << 53},
		"offset=99999999999999999999": {Limit: 100, Offset: 1 << 53},
		"cursor=a%20b&limit=2":        {Limit: 2, Cursor: "a b"},
	} {
		q, err := url.ParseQuery(query)
		if got := RangeOf(q); err != nil || got != want {
			t.Errorf("%s: %+v, want %+v", query, got, want)
		}
	}
}

// The links of spec/management.md §3, with its example, a list of five members: absolute, with all
// other parameters, sorted by name, and without an offset of 0.
func TestCall_PageLinks(t *testing.T) {
	t.Parallel()
	const base = "http://bunting.example/api/organizations/o/members/"
	for name, c := range map[string]struct {
		target, next, previous string
		count, pageSize        int
		want                   []int
	}{
		"the first of three":    {"?limit=2", base + "?limit=2&offset=2", "", 5, 0, []int{0, 1}},
		"the second":            {"?limit=2&offset=2", base + "?limit=2&offset=4", base + "?limit=2", 5, 0, []int{2, 3}},
		"the third":             {"?limit=2&offset=4", "", base + "?limit=2&offset=2", 5, 0, []int{4}},
		"up to the end":         {"?limit=2&offset=3", "", base + "?limit=2&offset=1", 5, 0, []int{3, 4}},
		"less than a page back": {"?limit=2&offset=1", base + "?limit=2&offset=3", base + "?limit=2", 5, 0, []int{1, 2}},
		"after the end":         {"?limit=2&offset=9", "", base + "?limit=2&offset=7", 5, 0, []int{}},
		"all of them":           {"", "", "", 5, 0, []int{0, 1, 2, 3, 4}},
		"exactly one page":      {"?limit=5", "", "", 5, 0, []int{0, 1, 2, 3, 4}},
		"none":                  {"", "", "", 0, 0, []int{}},
		"other parameters":      {"?z=1&limit=2&a=b%26c&a=d", base + "?a=b%26c&a=d&limit=2&offset=2&z=1", "", 3, 0, []int{0, 1}},
		"a size of the list":    {"", base + "?limit=3&offset=3", "", 5, 3, []int{0, 1, 2}},
		"a limit goes before":   {"?limit=1", base + "?limit=1&offset=1", "", 5, 3, []int{0}},
		"a limit of 0":          {"?limit=0", base + "?limit=3&offset=3", "", 5, 3, []int{0, 1, 2}},
	} {
		list := make([]int, c.count)
		for i := range list {
			list[i] = i
		}
		call := &Call{R: httptest.NewRequest("GET", base+c.target, nil), Scheme: "http", pageSize: c.pageSize}
		text, err := json.Marshal(call.wrap(len(list), cut(call.requestedPage(), list)))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Count          int
			Next, Previous *string
			Results        []int
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		deref := func(s *string) string {
			if s == nil {
				return ""
			}
			return *s
		}
		if got.Count != c.count || deref(got.Next) != c.next || deref(got.Previous) != c.previous || !cmp.Equal(got.Results, c.want) {
			t.Errorf("%s: %s", name, text)
		}
		if page := call.Page(); page != (management.Page{Limit: call.requestedPage().Limit, Offset: RangeOf(call.Query()).Offset}) {
			t.Errorf("%s: %+v", name, page)
		}
	}
	// A page of a complete list has the same range.
	call := &Call{R: httptest.NewRequest("GET", base+"?limit=2&offset=2", nil)}
	if got := CountedPage(call, []string{"a", "b", "c"}); got.Count != 3 || !cmp.Equal(got.Results, []string{"c"}) {
		t.Errorf("%+v", got)
	}
}

// A link has the scheme that the client sees, and the path of the request line, which has the prefix
// of a router around this one. An empty value removes a parameter.
func TestCall_Link(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		requestURI, path, scheme string
		change                   map[string]string
		want                     string
	}{
		"a prefix":            {"/ph/api/x/?b=1", "/api/x/", "https", nil, "https://h.example/ph/api/x/?b=1"},
		"an escaped slash":    {"/api/a%2Fb/", "/api/a/b/", "http", nil, "http://h.example/api/a%2Fb/"},
		"changed":             {"/x?a=1&c=3", "/x", "http", map[string]string{"a": "2", "b": "é"}, "http://h.example/x?a=2&b=%C3%A9&c=3"},
		"removed":             {"/x?a=1&a=2&b=3", "/x", "http", map[string]string{"a": ""}, "http://h.example/x?b=3"},
		"no request line":     {"", "/x", "http", nil, "http://h.example/x"},
		"an odd request line": {"x y", "/x", "http", nil, "http://h.example/x"},
	} {
		r := httptest.NewRequest("GET", "http://h.example/", nil)
		query := ""
		if _, after, ok := strings.Cut(c.requestURI, "?"); ok {
			query = after
		}
		r.URL, r.RequestURI = &url.URL{Path: c.path, RawQuery: query}, c.requestURI
		if got := *(&Call{R: r, Scheme: c.scheme}).Link(c.change); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// badCursorOf checks that an error is that of an invalid cursor.
func badCursorOf(err error) bool {
	var p *problem.Problem
	return errors.As(err, &p) && p.Status == 400 && p.Code == "invalid_input" && *p.Attr == "cursor"
}

// The cursors of pages are opaque to clients, which return them unchanged; every other text is
// refused.
func TestCursors(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{time.Unix(0, 0), time.Unix(-1, 0), time.Date(2026, 3, 31, 12, 0, 0, 123456000, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)} {
		for _, id := range []int64{0, 7, -1, 1<<63 - 1} {
			got, err := ParseEventCursor(EventCursor(at, id))
			if err != nil || !got.Timestamp.Equal(at) || got.ID != id || got.Timestamp.Location() != time.UTC {
				t.Errorf("%s, %d: %+v, %v", at, id, got, err)
			}
		}
	}
	if got, err := ParseEventCursor(""); got != nil || err != nil {
		t.Errorf("no cursor: %v, %v", got, err)
	}
	for _, text := range []string{"1", "1_", "_1", "1_2_3", "a_1", "1_a", "1.5_2", "99999999999999999999_1", " 1_2"} {
		if got, err := ParseEventCursor(text); got != nil || !badCursorOf(err) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]int64{"": 0, "0": 0, "7": 7, "9223372036854775807": 1<<63 - 1} {
		if got, err := IDCursor(text); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"-1", "x", "1.0", "9223372036854775808", " "} {
		if got, err := IDCursor(text); got != 0 || !badCursorOf(err) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a", "a/b?c&d", "\x00\xff", strings.Repeat("é", 1000)} {
		cursor := TextCursor(text)
		if got, err := ParseTextCursor(cursor); got != text || err != nil || url.QueryEscape(cursor) != cursor {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"=", "YQ==", "a", "a b", "+/"} {
		if got, err := ParseTextCursor(text); got != "" || !badCursorOf(err) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// Times of parameters: with a zone, or in UTC; the plus sign of a zone may have become a blank.
func TestTimeParameter(t *testing.T) {
	t.Parallel()
	utc := func(month time.Month, day, hour, minute, second, nanos int) time.Time {
		return time.Date(2026, month, day, hour, minute, second, nanos, time.UTC)
	}
	for text, want := range map[string]time.Time{
		"":                            {},
		"2026-01-31":                  utc(1, 31, 0, 0, 0, 0),
		"2026-01-31T10:20":            utc(1, 31, 10, 20, 0, 0),
		"2026-01-31T10:20:30":         utc(1, 31, 10, 20, 30, 0),
		"2026-01-31 10:20:30":         utc(1, 31, 10, 20, 30, 0),
		"2026-01-31T10:20:30.5":       utc(1, 31, 10, 20, 30, 500_000_000),
		"2026-01-31T10:20:30Z":        utc(1, 31, 10, 20, 30, 0),
		"2026-01-31T10:20:30.123456Z": utc(1, 31, 10, 20, 30, 123_456_000),
		"2026-01-31T00:20:30+02:00":   utc(1, 30, 22, 20, 30, 0),
		"2026-01-31T00:20:30 02:00":   utc(1, 30, 22, 20, 30, 0),
		"2026-01-31T23:20:30-01:30":   utc(2, 1, 0, 50, 30, 0),
	} {
		got, err := TimeParameter(url.Values{"after": {text}}, "after")
		if err != nil || !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"now", "-7d", "2026", "2026-02-29", "2026-1-1", "10:20", "2026-01-31T24:00:00Z", "2026-01-31T10:20:30+2", "1767225600", "2026-01-31Z"} {
		got, err := TimeParameter(url.Values{"after": {text}}, "after")
		var p *problem.Problem
		if !got.IsZero() || !errors.As(err, &p) || p.Status != 400 || *p.Attr != "after" || !strings.HasPrefix(p.Detail, "Datetime has wrong format.") {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}
