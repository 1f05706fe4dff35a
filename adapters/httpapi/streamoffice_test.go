package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// streamHandler returns another handler of an office, which is notified of changes. change modifies
// its configuration; it may be nil.
func (o *office) streamHandler(t testing.TB, keepAlive, write, look time.Duration, change func(*httpapi.Config)) *httpapi.Handler {
	t.Helper()
	config := o.config
	if change != nil {
		change(&config)
	}
	h, err := httpapi.New(config)
	if err != nil {
		t.Fatal(err)
	}
	h.SetStreamTiming(keepAlive, write, look)
	o.streaming.Store(h)
	t.Cleanup(h.CloseStreams)
	return h
}

// api sends a request to the management API as the owner.
func (o *office) api(t testing.TB, method, path, text string, status int) []byte {
	t.Helper()
	return o.request(t, method, path, text, status, "Authorization", "Bearer "+o.key(t, "owner"))
}

func (o *office) request(t testing.TB, method, path, text string, status int, headers ...string) []byte {
	t.Helper()
	r, err := http.NewRequest(method, o.URL+path, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := o.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		t.Fatalf("%s %s: %d %s %v, want %d", method, path, res.StatusCode, truncate(answer), err, status)
	}
	return answer
}

// makeFlag creates a flag and returns its path.
func (o *office) makeFlag(t testing.TB, text string) string {
	t.Helper()
	var created struct{ ID int }
	decodeJSON(t, o.api(t, "POST", "/api/projects/1/feature_flags/", text, 201), &created)
	return fmt.Sprintf("/api/projects/1/feature_flags/%d/", created.ID)
}

// A change by the management API is sent immediately: the polling interval of this test is an hour.
func TestStream_ChangesOfThisServerAtOnce(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	path := o.makeFlag(t, `{"key": "a", "active": false}`)
	s, _ := streamServer(t, o, longTime, longTime, longTime, nil)
	l := listen(t, s.Client(), s.URL+streamPath, bearerOf(o.key(t, "owner"))...)
	active := func(b block) bool {
		var got struct{ Flags []struct{ Active bool } }
		decodeJSON(t, []byte(b.data), &got)
		return len(got.Flags) == 1 && got.Flags[0].Active
	}
	before := l.event(t, "definitions")
	if active(before) {
		t.Error(before.data)
	}
	o.api(t, "PATCH", path, `{"active": true}`, 200)
	after := l.event(t, "definitions")
	if !active(after) || after.id == before.id {
		t.Errorf("%s then %s: %s", before.id, after.id, after.data)
	}
	got := readAll(t, open(t, s.Client(), s.URL+"/flags/definitions?token=phc_1", "Authorization", "Bearer "+o.key(t, "owner"), "If-None-Match", after.id).Response)
	if got.Code != 304 {
		t.Errorf("the id as an ETag: %d", got.Code)
	}
}

// Keys are checked repeatedly: a revoked key ends its streams, other streams remain.
func TestStream_RevokedKey(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	s, h := streamServer(t, o, 10*time.Millisecond, longTime, longTime, nil)
	store := o.store.Management()
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
	eventually(t, "one stream remains", func() bool { return h.Stats().Streams == 1 })
}

// Decision 5: members of static cohorts are sent on request, with all distinct ids, and are updated
// when persons are merged and when the cohort changes.
func TestStream_Decision5_StaticMembers(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	var cohort struct{ ID int }
	decodeJSON(t, o.api(t, "POST", "/api/projects/1/cohorts/", `{"name": "friends", "is_static": true}`, 201), &cohort)
	o.makeFlag(t, fmt.Sprintf(`{"key": "a", "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": %d}]}]}}`, cohort.ID))
	s, _ := streamServer(t, o, longTime, longTime, 5*time.Millisecond, nil)
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
