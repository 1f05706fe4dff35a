package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Events of language models may have 8 MiB at /i/v0/ai/batch and /batch/, also in protocol v1, with
// their name before or after the properties, and are read back unchanged. Other events may have
// 1,000,000 bytes. An event that is dropped for its size is reported: in the response if it lists
// events, otherwise in a warning with the limit.
func TestCapture_LongAIEvents(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	names := []string{"$ai_generation", "$ai_span", "$ai_trace", "$ai_embedding", "$ai_metric", "$ai_feedback"}
	for _, path := range []string{"/i/v0/ai/batch", "/batch/"} {
		l := newLab(t, "{}")
		for i, name := range names {
			size := 1_100_000
			if i == 1 {
				size = wire.MaxEventOf("$ai_span") - 200
			}
			event := fmt.Sprintf(`{"event":%q,"distinct_id":"u","properties":{"$ai_input":%q}}`, name, long(size))
			if i%2 == 1 {
				event = fmt.Sprintf(`{"properties":{"$ai_input":%q},"distinct_id":"u","event":%q}`, long(size), name)
			}
			body := `{"api_key":"phc_x","batch":[` + event + `,{"event":"small","distinct_id":"u"}]}`
			if w := ask(l.handler, "POST", path, body); w.Code != 200 {
				t.Fatalf("%s %s: %d %s", path, name, w.Code, w.Body)
			}
			stored, err := l.store.Ledger(context.Background(), 1, 0, 100)
			if err != nil || len(stored) != 2*(i+1) {
				t.Fatalf("%s %s: %d events, %v", path, name, len(stored), err)
			}
			got := stored[2*i]
			if got.Name == "small" {
				got = stored[2*i+1]
			}
			if got.Name != name || !strings.Contains(got.Properties, `"$ai_input":"`+long(size)+`"`) {
				t.Errorf("%s %s: stored as %s with %d bytes", path, name, got.Name, len(got.Properties))
			}
		}
	}
	l := newLab(t, "{}")
	for _, c := range []struct{ name, event, detail string }{
		{"an AI event over 8 MiB", fmt.Sprintf(`{"event":"$ai_span","distinct_id":"ai","properties":{"x":%q}}`, long(wire.MaxEventOf("$ai_span"))), "8388608 are allowed"},
		{"another event", fmt.Sprintf(`{"event":"$pageview","distinct_id":"page","properties":{"x":%q}}`, long(1_000_001)), "1000000 are allowed"},
		{"one with a name like those", fmt.Sprintf(`{"event":"$ai_other","distinct_id":"other","properties":{"x":%q}}`, long(1_000_001)), "1000000 are allowed"},
	} {
		if w := ask(l.handler, "POST", "/i/v0/ai/batch", `{"api_key":"phc_x","batch":[`+c.event+`]}`); w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), c.detail) {
			t.Errorf("%s, alone: %d %s, want %s", c.name, w.Code, w.Body, c.detail)
		}
		if w := ask(l.handler, "POST", "/i/v0/ai/batch", `{"api_key":"phc_x","batch":[`+c.event+`,{"event":"small","distinct_id":"u"}]}`); w.Code != 200 {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
		warnings, err := l.store.Warnings(context.Background(), 1, 100, 0)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, w := range warnings {
			found = found || w.Type == "event_too_large" && strings.Contains(c.event, `"distinct_id":"`+w.DistinctID+`"`) && strings.Contains(w.Detail, c.detail)
		}
		if !found {
			t.Errorf("%s: no warning with %q in %+v", c.name, c.detail, warnings)
		}
	}
}

// The response of protocol v1 reports which event was not stored.
func TestCapture_LongAIEventsV1(t *testing.T) {
	l := newLab(t, "{}")
	event := func(n int, name string, size int) string {
		return fmt.Sprintf(`{"event":%q,"uuid":"0190d0c0-0000-4000-8000-00000000000%d","distinct_id":"u","timestamp":"2026-01-01T12:00:00Z","properties":{"x":%q}}`, name, n, strings.Repeat("x", size))
	}
	var headers []string
	for name, value := range labHeadersV1 {
		headers = append(headers, name, value)
	}
	body := `{"created_at":"2026-01-01T12:00:00Z","batch":[` + event(1, "$ai_span", 1_100_000) + "," + event(2, "$pageview", 1_100_000) + `]}`
	w := ask(l.handler, "POST", "/i/v1/ai/events", body, headers...)
	want := `{"results":{"0190d0c0-0000-4000-8000-000000000001":{"result":"ok"},"0190d0c0-0000-4000-8000-000000000002":{"result":"drop","details":"event_too_large"}}}`
	if w.Code != 200 || w.Body.String() != want {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// An object with more members than fit an event of 1,000,000 bytes is dropped, not truncated: the
// memory for one event is limited.
func TestCapture_AIEventOfManyMembers(t *testing.T) {
	l := newLab(t, "{}")
	var members strings.Builder
	for i := range 200_001 {
		fmt.Fprintf(&members, `,"%x":0`, i)
	}
	body := `{"api_key":"phc_x","event":"$ai_span","distinct_id":"u","properties":{` + members.String()[1:] + `}}`
	if w := ask(l.handler, "POST", "/i/v0/ai/batch", body); w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "more than 200000 members") {
		t.Errorf("%d %.300s", w.Code, w.Body)
	}
}

// A body whose events need more memory than a request may use is refused with that limit, not with
// the limit for the body, which it does not exceed.
func TestCapture_RefusalNamesTheRightLimit(t *testing.T) {
	l := newLab(t, "{}")
	body := `{"api_key":"phc_x","batch":[` + strings.Repeat(`{"event":"e","distinct_id":"u","properties":{}},`, 250_000) + `{"event":"e","distinct_id":"u"}]}`
	w := ask(l.handler, "POST", "/batch/", body)
	if w.Code != http.StatusRequestEntityTooLarge || strings.Contains(w.Body.String(), "the body is larger than") || !strings.Contains(w.Body.String(), "75497472 bytes of memory") {
		t.Errorf("%d bytes: %d %s", len(body), w.Code, w.Body)
	}
}
