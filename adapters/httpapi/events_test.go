package httpapi_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
)

type eventPage struct {
	Next    *string
	Results []struct {
		UUID  string
		Event string
	}
}

// numbers returns the numbers of the events: the last digits of the uuids minus 100.
func (s *eventPage) numbers(t testing.TB) (out []int) {
	t.Helper()
	for _, r := range s.Results {
		id, ok := wire.ParseUUID(r.UUID)
		if !ok {
			t.Fatalf("no uuid: %q", r.UUID)
		}
		out = append(out, int(id[15])-100)
	}
	return out
}

// The time of an event at the first moment of the year 1 is returned like any other.
func TestEvents_YearOne(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	o.do(t, "POST /batch/", `{"api_key":"phc_1","batch":[{"event":"old","distinct_id":"u","timestamp":"0001-01-01T00:00:00Z"}]}`, 200)
	body := o.do(t, "GET /api/projects/1/events/", "", 200)
	if got, _ := dig(body, "results.0.timestamp"); got != "0001-01-01T00:00:00Z" {
		t.Errorf("timestamp %q in %s", got, body)
	}
}

// The order of EventQuery: newest first by time, then by position in the ledger; events 1 and 4
// have the same time.
func TestEvents_List(t *testing.T) {
	tests := map[string][]int{
		"":                                 {5, 4, 1, 3},
		"?event=first":                     {5, 1},
		"?distinct_id=bob":                 {5, 3},
		"?distinct_id=":                    nil,
		"?person_id=" + uuidOf(1).String(): {4, 1},
		"?person_id=2":                     {5, 3},
		"?person_id=2&distinct_id=ada":     nil,
		"?person_id=77":                    nil,
		"?person_id=3":                     nil, // a person without distinct ids has no events
		"?after=2025-06-04":                {5, 4, 1},
		"?before=2025-06-04":               {3},
		"?after=2025-06-04T10:00:00.123456Z&before=2025-06-04T10:00:00.123457Z": {4, 1},
		"?after=2025-06-04T12:00:00%2B02:00":                                    {5, 4, 1},
		"?after=2025-06-04T12:00:00+02:00":                                      {5, 4, 1},
		"?limit=2":                                                              {5, 4},
		"?limit=0":                                                              {5, 4, 1, 3},
		"?limit=x":                                                              {5, 4, 1, 3},
		"?order=recorded":                                                       {1, 3, 4, 5},
		"?order=recorded&event=first":                                           {1, 5},
		"?order=recorded&after=2025-06-04&distinct_id=ada":                      {1, 4},
		"?order=recorded&before=2025-06-04":                                     {3},
	}
	for query, want := range tests {
		var got eventPage
		newArchive(t).read(t, "/api/projects/1/events/"+query, &got)
		if diff := cmp.Diff(want, got.numbers(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

// Following next returns every event exactly once, in both orders and with any limit.
func TestEvents_Next(t *testing.T) {
	for order, want := range map[string][]int{"-timestamp": {5, 4, 1, 3}, "recorded": {1, 3, 4, 5}} {
		for _, limit := range []string{"1", "2", "3", "4", "5"} {
			a := newArchive(t)
			var got []int
			path := "/api/projects/1/events/?order=" + order + "&limit=" + limit
			for pages := 0; path != ""; pages++ {
				if pages > 6 {
					t.Fatal("no end")
				}
				var page eventPage
				a.read(t, path, &page)
				got = append(got, page.numbers(t)...)
				path = ""
				if page.Next != nil {
					next, err := url.Parse(*page.Next)
					if err != nil || !next.IsAbs() || next.Path != "/api/projects/1/events/" {
						t.Fatalf("next %q", *page.Next)
					}
					path = next.RequestURI()
				}
				if pages == 0 { // events that arrive meanwhile do not affect the other pages
					late := a.events[0]
					late.ID, late.UUID, late.Timestamp = 50, uuidOf(150), day(30)
					if order == "-timestamp" {
						a.events = append(a.events, late)
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s by %s (-want +got):\n%s", order, limit, diff)
			}
		}
	}
}

// A page of large events ends before its limit, and next continues: eight events of two million
// bytes, with 8 MiB per page.
func TestEvents_LargePage(t *testing.T) {
	a := &archive{}
	for n := range 8 {
		a.events = append(a.events, capture.Record{ID: int64(n + 1), ProjectID: 1, UUID: uuidOf(byte(101 + n)), Timestamp: day(1),
			Properties: `{"x":"` + strings.Repeat("x", 2_000_000) + `"}`})
	}
	a.events = append(a.events, a.events...) // more than are read before their sizes are known
	a.events = append(a.events, a.events...)
	for i := range a.events {
		a.events[i].ID = int64(i + 1)
	}
	var page eventPage
	a.read(t, "/api/projects/1/events/?limit=1000", &page)
	if len(page.Results) == 0 || len(page.Results) > 20 || page.Next == nil {
		t.Errorf("%d events, next %v", len(page.Results), page.Next)
	}
}

func TestEvents_Shape(t *testing.T) {
	var got map[string]any
	newArchive(t).read(t, "/api/projects/1/events/"+uuidOf(104).String()+"/", &got)
	want := map[string]any{
		"id": uuidOf(104).String(), "uuid": uuidOf(104).String(), "event": "third", "distinct_id": "ada",
		"properties": map[string]any{"n": 1.0}, "elements_chain": "", "historical_migration": false,
		"timestamp": "2025-06-04T10:00:00.123456Z", "created_at": "2025-06-20T10:00:00.123456Z", // §2.4
		"person_id": uuidOf(1).String(), "person_mode": "full",
		"person": map[string]any{
			"id": uuidOf(1).String(), "uuid": uuidOf(1).String(), "distinct_ids": []any{"ada"},
			"properties": map[string]any{"plan": "pro"}, "created_at": "2025-06-01T10:00:00Z",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	newArchive(t).read(t, "/api/projects/1/events/"+uuidOf(103).String(), &got)
	if got["person"] != nil || got["person_mode"] != "propertyless" {
		t.Errorf("an event without a person shows %v", got["person"])
	}
}

func TestEvents_Bad(t *testing.T) {
	for path, want := range map[string]struct {
		status int
		detail string
	}{
		"?after=yesterday":          {400, "Datetime has wrong format."},
		"?before=2025-13-01":        {400, "Datetime has wrong format."},
		"?person_id=ada":            {400, "The ID provided does not look like a personID."},
		"?cursor=x":                 {400, "Invalid cursor"},
		"?order=recorded&cursor=-1": {400, "Invalid cursor"},
		"?order=name":               {400, `"name" is not a valid choice`},
		"abc/":                      {404, "Not found."},
		uuidOf(1).String() + "/":    {404, "Not found."},
	} {
		newArchive(t).refuses(t, "GET", "/api/projects/1/events/"+path, "", want.status, want.detail)
	}
}
