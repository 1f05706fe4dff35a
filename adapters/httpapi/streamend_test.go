package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Keys are checked repeatedly: a revoked key ends its streams, other streams remain.
func TestStream_RevokedKey(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	s, h := o.streamServer(t, 10*time.Millisecond, longTime, longTime, nil)
	store := sqlstore.ManagementStore{Store: o.store}
	write := func(work func(tx rooms.Tx) error) {
		t.Helper()
		if err := store.Write(context.Background(), work); err != nil {
			t.Fatal(err)
		}
	}
	const secret = "phs_secret_key_of_project_1"
	write(func(tx rooms.Tx) error {
		return tx.PutKey(&management.KeyRecord{ID: "secret", Hash: management.HashKey(secret), Secret: true, Projects: []int64{1}})
	})
	var leaving []*listener
	for range 3 {
		leaving = append(leaving, listen(t, s.Client(), s.URL+streamPath, bearerOf(secret)...))
	}
	removed := listen(t, s.Client(), s.URL+streamPath, bearerOf(o.key(t, "member"))...)
	staying := listen(t, s.Client(), s.URL+streamPath, bearerOf(o.key(t, "owner"))...)
	for _, l := range append(leaving, removed, staying) {
		l.event(t, "definitions")
	}
	write(func(tx rooms.Tx) error { return tx.DeleteKey("secret") })
	for _, l := range leaving {
		l.closes(t, "unauthorized")
	}
	o.api(t, "DELETE", "/api/organizations/"+officeOrg+"/members/"+o.vars["member"]+"/", "", 204)
	removed.closes(t, "unauthorized")
	checkError(t, readAll(t, open(t, s.Client(), s.URL+streamPath, bearerOf(secret)...).Response), 401)
	checkError(t, readAll(t, open(t, s.Client(), s.URL+streamPath, bearerOf(o.key(t, "member"))...).Response), 403)
	o.makeFlag(t, `{"key": "a"}`)
	staying.event(t, "definitions")
	if n := h.Stats().Streams; n != 1 {
		t.Errorf("%d streams", n)
	}
}

// Each payload counts ten. A push that exceeds the quota ends the stream, and so does the deletion
// of the project. Reconnecting without a change is free.
func TestStream_Quota(t *testing.T) {
	w := newWorld(t, []byte(quotaFile))
	setLimit(w, 25)
	h := w.handler(t, nil, nil).(*httpapi.Handler)
	h.SetStreamTiming(longTime, longTime, 5*time.Millisecond)
	t.Cleanup(h.CloseStreams)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	url, key := s.URL+"/flags/definitions/stream?token=phc_a", bearerOf("phs_a")
	l := listen(t, s.Client(), url, key...)
	l.event(t, "definitions")
	w.change("phc_a", func(p *flags.FileProject) { p.Definitions.MinimalFlagCalledEvents = true })
	second := l.event(t, "definitions")
	w.change("phc_a", func(p *flags.FileProject) { p.Definitions.MinimalFlagCalledEvents = false })
	l.closes(t, "quota_limited")
	got := checkError(t, readAll(t, open(t, s.Client(), url, append(slices.Clone(key), "Last-Event-ID", second.id)...).Response), 402)
	if got["type"] != "quota_limited" {
		t.Errorf("%v", got)
	}
	now := download(h, "a", "none").Header().Get("ETag")
	if now != "" {
		t.Error("a download fits though a push did not")
	}
	setLimit(w, 100)
	l = listen(t, s.Client(), url, key...)
	l.event(t, "definitions")
	w.mu.Lock()
	delete(w.projects, "phc_a")
	w.now = w.now.Add(time.Second)
	w.mu.Unlock()
	l.closes(t, "unauthorized")
}

// An error of a store does not end a stream; the next change is sent when the store recovers.
func TestStream_StoreFails(t *testing.T) {
	w := sharedWorld(t)
	var keys failingKeys
	keys.Keys = w
	h := w.handler(t, nil, func(c *httpapi.Config) { c.Keys = &keys }).(*httpapi.Handler)
	h.SetStreamTiming(5*time.Millisecond, longTime, 5*time.Millisecond)
	t.Cleanup(h.CloseStreams)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	l := listen(t, s.Client(), s.URL+"/flags/definitions/stream?token=phc_test", bearerOf("phs_test")...)
	l.event(t, "definitions")
	keys.failing.Store(true)
	w.mu.Lock()
	w.failure = flags.ErrUnavailable
	w.now = w.now.Add(time.Second)
	w.mu.Unlock()
	lookups := keys.lookups.Load()
	eventually(t, "the key is looked at while that fails", func() bool { return keys.lookups.Load() > lookups+2 })
	w.mu.Lock()
	w.failure = nil
	w.mu.Unlock()
	w.change("phc_test", func(p *flags.FileProject) { p.Definitions.MinimalFlagCalledEvents = true })
	l.event(t, "definitions")
}

// Streams above the limit are refused, with the time of a retry.
func TestStream_TooMany(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	s, h := o.streamServer(t, 10*time.Millisecond, longTime, longTime, func(c *httpapi.Config) { c.MaxStreams = 2 })
	key := bearerOf(o.key(t, "owner"))
	first := listen(t, s.Client(), s.URL+streamPath, key...)
	listen(t, s.Client(), s.URL+streamPath, key...).event(t, "definitions")
	first.event(t, "definitions")
	h.TakeUsage()
	rejection := readAll(t, open(t, s.Client(), s.URL+streamPath, key...).Response)
	if problem := checkError(t, rejection, 503); problem["code"] != "too_many" {
		t.Errorf("%v", problem)
	}
	if after, err := strconv.Atoi(rejection.Header().Get("Retry-After")); err != nil || after < 1 || after > 2 {
		t.Errorf("Retry-After %q", rejection.Header().Get("Retry-After"))
	}
	if usage := h.TakeUsage(); len(usage) > 0 {
		t.Errorf("a refusal is billed: %+v", usage)
	}
	first.disconnect()
	eventually(t, "a place is free", func() bool { return h.Stats().Streams == 1 })
	listen(t, s.Client(), s.URL+streamPath, key...).event(t, "definitions")
}

// When the server stops, every stream gets a message, no new ones are accepted, and no goroutine is
// left.
func TestStream_Shutdown(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	key := bearerOf(o.key(t, "owner"))
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for name, start := range map[string]func(http.Handler) *httptest.Server{"HTTP/1.1": httptest.NewServer, "HTTP/2": newHTTP2Server} {
		h := o.streamHandler(t, longTime, longTime, time.Millisecond, nil)
		s := start(h)
		s.Config.RegisterOnShutdown(h.CloseStreams)
		var all []*listener
		for _, path := range []string{streamPath, streamPath + "&static_cohorts=members", "/flags/definitions/stream/?token=phc_2", streamPath} {
			all = append(all, listen(t, s.Client(), s.URL+path, key...))
		}
		for _, l := range all {
			l.event(t, "definitions")
		}
		if err := s.Config.Shutdown(t.Context()); err != nil {
			t.Error(name, err)
		}
		for _, l := range all {
			l.closes(t, "shutdown")
			_ = l.Body.Close()
		}
		h.CloseStreams()
		if st := h.Stats(); st.Streams != 0 || st.StreamsDropped != 0 {
			t.Errorf("%s: %+v", name, st)
		}
		if got := ask(h, "GET", streamPath, "", key...); checkError(t, got, 503)["code"] != "service_unavailable" || got.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %v", name, got.Header())
		}
		s.Close()
		o.Client().CloseIdleConnections()
	}
	o.Close()
}

func newHTTP2Server(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	return s
}

// Decision 5: members of static cohorts are sent on request, with all distinct ids, and are updated
// when persons are merged and when the cohort changes.
func TestStream_Decision5_StaticMembers(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	var cohort struct{ ID int }
	decodeJSON(t, o.api(t, "POST", "/api/projects/1/cohorts/", `{"name": "friends", "is_static": true}`, 201), &cohort)
	o.makeFlag(t, fmt.Sprintf(`{"key": "a", "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": %d}]}]}}`, cohort.ID))
	s, _ := o.streamServer(t, longTime, longTime, 5*time.Millisecond, nil)
	key := bearerOf(o.key(t, "owner"))
	members := func(data string) string {
		t.Helper()
		var got struct {
			Statics []int           `json:"static_cohorts"`
			Members json.RawMessage `json:"static_cohort_members"`
		}
		decodeJSON(t, []byte(data), &got)
		if len(got.Statics) != 1 || got.Statics[0] != cohort.ID {
			t.Errorf("static_cohorts %v", got.Statics)
		}
		return strings.Replace(string(got.Members), strconv.Itoa(cohort.ID), "n", 1)
	}
	with := listen(t, s.Client(), s.URL+streamPath+"&static_cohorts=members", key...)
	without := listen(t, s.Client(), s.URL+streamPath, key...)
	if got := members(with.event(t, "definitions").data); got != `{"n":[]}` {
		t.Error(got)
	}
	if got := members(without.event(t, "definitions").data); got != "" {
		t.Error("members that were not asked for:", got)
	}
	o.request(t, "POST", "/batch/", `{"api_key": "phc_1", "batch": [{"event": "x", "distinct_id": "zoe"}, {"event": "x", "distinct_id": "ann"}, {"event": "x", "distinct_id": "anon <1>"}]}`, 200)
	o.api(t, "PATCH", fmt.Sprintf("/api/projects/1/cohorts/%d/add_persons_to_static_cohort/", cohort.ID),
		fmt.Sprintf(`{"person_ids": [%q, %q]}`, capture.PersonID(1, "zoe"), capture.PersonID(1, "ann")), 200)
	if got := members(with.event(t, "definitions").data); got != `{"n":["ann","zoe"]}` {
		t.Error(got)
	}
	without.event(t, "definitions")

	o.request(t, "POST", "/batch/", `{"api_key": "phc_1", "batch": [{"event": "$identify", "distinct_id": "ann", "properties": {"$anon_distinct_id": "anon <1>"}}]}`, 200)
	o.clock.Add(2_000_000) // members are read at most every second
	merged := with.event(t, "definitions")
	if got := members(merged.data); got != `{"n":["ann","anon <1>","zoe"]}` {
		t.Error(got)
	}
	got := readAll(t, open(t, s.Client(), s.URL+"/flags/definitions?token=phc_1&static_cohorts=members", key...).Response)
	if got.Body.String() != merged.data || got.Header().Get("ETag") != `W/"`+merged.id+`"` {
		t.Errorf("the download is another: %s %s", got.Header().Get("ETag"), got.Body)
	}
	plain := readAll(t, open(t, s.Client(), s.URL+"/flags/definitions?token=phc_1&static_cohorts=1", key...).Response)
	if plain.Header().Get("ETag") == got.Header().Get("ETag") || members(plain.Body.String()) != "" {
		t.Errorf("without members: %s %s", plain.Header().Get("ETag"), plain.Body)
	}
	select {
	case b := <-without.blocks:
		t.Errorf("a merge is told without members: %+v", b)
	default:
	}
}
