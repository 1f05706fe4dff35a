package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

const (
	livePath    = "/api/projects/1/events/live/"
	changesPath = "/api/projects/1/changes/stream/"
)

// feedServer serves an office's feeds, with a configurable length of a second.
func (o *office) feedServer(t *testing.T, second time.Duration, change func(*httpapi.Config)) *httptest.Server {
	t.Helper()
	s, h := streamServer(t, o, longTime, longTime, longTime, change)
	h.SetFeedTiming(second, 5*time.Millisecond)
	return s
}

// captures sends events of project 1, each in the form "name id".
func (o *office) captures(t *testing.T, events ...string) {
	t.Helper()
	var batch []string
	for _, e := range events {
		name, id, _ := strings.Cut(e, " ")
		batch = append(batch, fmt.Sprintf(`{"event": %q, "distinct_id": %q, "properties": {}}`, name, id))
	}
	o.request(t, "POST", "/batch/", `{"api_key": "phc_1", "batch": [`+strings.Join(batch, ",")+`]}`, 200)
}

// live returns the name and distinct id of the next event of a stream.
func (l *listener) live(t *testing.T) string {
	t.Helper()
	var e struct {
		Event, UUID string
		ID          string `json:"distinct_id"`
		Person      struct{ UUID string }
	}
	decodeJSON(t, []byte(l.event(t, "event").data), &e)
	if e.UUID == "" || e.Person.UUID == "" {
		t.Errorf("%+v is not as /events/ shows it", e)
	}
	return e.Event + " " + e.ID
}

func (l *listener) wants(t *testing.T, events ...string) {
	t.Helper()
	for _, want := range events {
		if got := l.live(t); got != want {
			t.Errorf("event %s, want %s", got, want)
		}
	}
}

// console.md N15: the stream sends the last events first, then new events, filtered.
func TestLive_Events(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	s := o.feedServer(t, longTime, nil)
	o.captures(t, "before ann", "before bob")
	key := bearerOf(o.key(t, "owner"))
	all := listen(t, s.Client(), s.URL+livePath, key...)
	for name, v := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no", "Access-Control-Allow-Origin": ""} {
		if got := all.Header.Get(name); got != v {
			t.Errorf("%s: %q, want %q", name, got, v)
		}
	}
	if first, _ := all.next(t); first.retry != 3000 {
		t.Errorf("first %+v", first)
	}
	all.wants(t, "before ann", "before bob")
	named := listen(t, s.Client(), s.URL+livePath+"?event=paid", key...)
	bobs := listen(t, s.Client(), s.URL+livePath+"?distinct_id=bob", key...)
	bobs.wants(t, "before bob")
	var people struct{ Results []struct{ UUID string } }
	decodeJSON(t, o.api(t, "GET", "/api/projects/1/persons/?distinct_id=ann", "", 200), &people)
	anns := listen(t, s.Client(), s.URL+livePath+"?person_id="+people.Results[0].UUID, key...)
	anns.wants(t, "before ann")
	o.captures(t, "seen ann", "paid bob")
	o.captures(t, "paid cid")
	all.wants(t, "seen ann", "paid bob", "paid cid")
	named.wants(t, "paid bob", "paid cid")
	bobs.wants(t, "paid bob")
	anns.wants(t, "seen ann")
}

// N15: the stream sends at most 20 events per second, the newest, and the number of dropped events.
func TestLive_Dropped(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	s := o.feedServer(t, time.Second, nil)
	l := listen(t, s.Client(), s.URL+livePath, bearerOf(o.key(t, "owner"))...)
	l.next(t)
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprint("e ", i))
	}
	o.captures(t, many...)
	for got := 0; got < 300; {
		b, ok := l.next(t)
		switch {
		case !ok:
			t.Fatal("the stream has ended")
		case b.event == "dropped":
			var message struct{ N int }
			decodeJSON(t, []byte(b.data), &message)
			got += message.N
		case b.event == "event":
			if got++; !strings.Contains(b.data, `"e"`) {
				t.Error(b.data)
			}
		}
		if got > 300 {
			t.Errorf("%d events and dropped ones, of 300", got)
		}
	}
}

// N14: the stream sends each change with its author; a client that reconnects gets the missed changes.
func TestChanges_Stream(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	path := o.makeFlag(t, `{"key": "a"}`)
	s := o.feedServer(t, 5*time.Millisecond, nil)
	key := bearerOf(o.key(t, "owner"))
	l := listen(t, s.Client(), s.URL+changesPath, key...)
	l.next(t)
	o.api(t, "PATCH", path, `{"active": false}`, 200)
	b := l.event(t, "change")
	id := path[strings.Index(path, "feature_flags/")+14 : len(path)-1]
	want := `{"scope":"FeatureFlag","item_id":"` + id + `","activity":"updated","version":2,"user":"owner@example.com","at":"2026-01-01T12:00:00Z"}`
	if b.data != want || b.id == "" {
		t.Errorf("%s %s, want %s", b.id, b.data, want)
	}
	l.disconnect()
	o.makeFlag(t, `{"key": "b"}`)
	again := listen(t, s.Client(), s.URL+changesPath, append(key, "Last-Event-ID", b.id)...)
	if got := again.event(t, "change"); !strings.Contains(got.data, `"activity":"created"`) || !strings.Contains(got.data, `"version":1`) {
		t.Error(got.data)
	}
	after := listen(t, s.Client(), s.URL+changesPath+"?after="+b.id, key...)
	if got := after.event(t, "change"); !strings.Contains(got.data, `"activity":"created"`) || !strings.Contains(got.data, `"version":1`) {
		t.Errorf("after %s: %s", b.id, got.data)
	}
	for _, bad := range []string{"x", "-1", "99999999999999999999"} {
		l := listen(t, s.Client(), s.URL+changesPath, append(bearerOf(o.key(t, "owner")), "Last-Event-ID", bad)...)
		if first, _ := l.next(t); first.retry != 3000 || first.event != "" {
			t.Errorf("after %s: %+v", bad, first)
		}
		l.disconnect()
	}
}

// At most four streams of each kind for a session or key; a closed one frees its slot.
func TestFeeds_Bounds(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	s := o.feedServer(t, 5*time.Millisecond, nil)
	base, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, value, _ := strings.Cut(o.ownerSession(t), "=")
	cookie := []string{"Cookie", "bunting-" + base.Port() + "=" + value}
	for _, path := range []string{livePath, changesPath} {
		var four []*listener
		for range 4 {
			four = append(four, listen(t, s.Client(), s.URL+path, cookie...))
		}
		fifth := open(t, s.Client(), s.URL+path, cookie...)
		if body := readAll(t, fifth.Response); body.Code != http.StatusServiceUnavailable || !strings.Contains(body.Body.String(), `"too_many"`) || body.Header().Get("Retry-After") != "15" {
			t.Errorf("%s a fifth time: %d %s", path, body.Code, body.Body)
		}
		if other := listen(t, s.Client(), s.URL+path, bearerOf(o.key(t, "owner"))...); other.StatusCode != 200 {
			t.Errorf("%s for somebody else: %d", path, other.StatusCode)
		}
		four[0].disconnect()
		eventually(t, "there is a place again", func() bool {
			l := listen(t, s.Client(), s.URL+path, cookie...)
			return l.StatusCode == 200
		})
	}
}

// A session's streams end with it, and so does the reading of their events.
func TestFeeds_EndWithTheSession(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	s := o.feedServer(t, 5*time.Millisecond, nil)
	base, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, value, _ := strings.Cut(o.ownerSession(t), "=")
	cookie := "bunting-" + base.Port() + "=" + value
	var open []*listener
	for _, path := range []string{livePath, changesPath} {
		l := listen(t, s.Client(), s.URL+path, "Cookie", cookie)
		l.next(t)
		open = append(open, l)
	}
	if res, body := o.visits(t, s, visit{request: "DELETE /api/session/", cookie: cookie}); res.StatusCode != http.StatusNoContent {
		t.Fatalf("signing out: %d %s", res.StatusCode, body)
	}
	for i, l := range open {
		if b, ok := l.next(t); ok {
			t.Errorf("stream %d after its session: %+v", i, b)
		}
	}
}

// An open stream does not count as use of a session, which expires without other use.
func TestFeeds_AreNoUse(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	s := o.feedServer(t, 5*time.Millisecond, nil)
	base, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, value, _ := strings.Cut(o.ownerSession(t), "=")
	l := listen(t, s.Client(), s.URL+changesPath, "Cookie", "bunting-"+base.Port()+"="+value)
	l.next(t)
	for range 3 {
		o.wait(5 * time.Hour)
		time.Sleep(50 * time.Millisecond) // about ten checks of the session
	}
	if b, ok := l.next(t); ok {
		t.Errorf("15 hours without use: %+v", b)
	}
}

// Access rules hide entries about objects, and the whole log (clients.md §11.1).
func TestChanges_AccessRules(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	s := o.feedServer(t, 5*time.Millisecond, nil)
	member := bearerOf(o.key(t, "member"))
	l := listen(t, s.Client(), s.URL+changesPath, member...)
	l.next(t)
	path := o.makeFlag(t, `{"key": "hidden"}`)
	l.event(t, "change")
	rule := func(object, level string) {
		o.api(t, "PUT", object, level, 200)
	}
	rule(path+"access_controls/", `{"access_level": "none"}`)
	l.event(t, "change") // the change of the rule
	o.api(t, "PATCH", path, `{"active": false}`, 200)
	o.makeFlag(t, `{"key": "shown"}`)
	eventually(t, "what is hidden is left out", func() bool {
		again := listen(t, s.Client(), s.URL+changesPath, append(member, "Last-Event-ID", "0")...)
		defer again.disconnect()
		for {
			b := again.event(t, "change")
			if strings.Contains(b.data, `"item_id":"1"`) {
				t.Fatal(b.data)
			}
			if strings.Contains(b.data, `"item_id":"2"`) {
				return true
			}
		}
	})
	rule("/api/projects/1/resource_access_controls/", `{"resource": "activity_log", "access_level": "none"}`)
	if l := listen(t, s.Client(), s.URL+changesPath, member...); l.StatusCode != 403 {
		t.Errorf("rules hide the log: %d", l.StatusCode)
	}
	eventually(t, "the stream that was open ends", func() bool { _, ok := l.next(t); return !ok })
}

// Callers without access to the project or without the scope are refused, and HEAD does not block.
func TestFeeds_Rights(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	s := o.feedServer(t, longTime, nil)
	for path, scope := range map[string]string{livePath: "query:read", changesPath: "activity_log:read"} {
		for caller, status := range map[string]int{"owner " + scope: 200, "owner feature_flag:read": 403, "foreign": 403, "owner projects=2": 403} {
			l := listen(t, s.Client(), s.URL+path, bearerOf(o.key(t, caller))...)
			if l.StatusCode != status {
				t.Errorf("%s for %s: %d, want %d", path, caller, l.StatusCode, status)
			}
		}
		r, err := http.NewRequest(http.MethodHead, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+o.key(t, "owner"))
		res, err := s.Client().Do(r)
		if err != nil || res.StatusCode != 200 {
			t.Error(res, err)
		}
	}
}
