package httpapi_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management/rooms"
)

var errDiskFull = errors.New("the disk is full: free some space")

// fullLedger and fullStore are stores whose transactions do all of their work and cannot be
// committed while the disk is full. The errors of a real store are tested by sqlstore's
// TestStore_DiskFull.
type fullLedger struct {
	*sqlstore.Store
	full *atomic.Bool
}

func (l fullLedger) Commit(ctx context.Context, projects []int64, work func(capture.Tx) error) error {
	return l.Store.Commit(ctx, projects, func(tx capture.Tx) error {
		if err := work(tx); err != nil || !l.full.Load() {
			return err
		}
		return fmt.Errorf("%w: %w", capture.ErrStore, errDiskFull)
	})
}

type fullStore struct {
	rooms.Store
	full *atomic.Bool
}

func (d fullStore) Write(ctx context.Context, work func(rooms.Tx) error) error {
	return d.Store.Write(ctx, func(tx rooms.Tx) error {
		if err := work(tx); err != nil || !d.full.Load() {
			return err
		}
		return fmt.Errorf("%w: %w", flags.ErrUnavailable, errDiskFull)
	})
}

// fullOffice returns an office and a switch that makes its disk full.
func fullOffice(t testing.TB) (*office, *atomic.Bool) {
	t.Helper()
	var full atomic.Bool
	o := newOfficeOn(t, "sqlite::memory:", sqlstore.Config{}, func(s *sqlstore.Store) (rooms.Store, capture.Ledger) {
		return fullStore{s.Management(), &full}, fullLedger{s, &full}
	})
	return o, &full
}

// writing matches the requests that may write, asking those that only start runs of queries.
var (
	writing = regexp.MustCompile("^(PUT|PATCH|DELETE|POST /api/|POST /batch|POST /capture|POST /i/)")
	asking  = regexp.MustCompile("/query/|_recalculation/|/recalculate_")
)

// walkAfterFullDisk is walk, but tries each write with a full disk first.
func (o *office) walkAfterFullDisk(t *testing.T, steps []manageStep, full *atomic.Bool) {
	t.Helper()
	for i := range steps {
		s := &steps[i]
		name := fmt.Sprintf("step %d, %s", i+1, s.Request)
		if writing.MatchString(s.Request) && !asking.MatchString(s.Request) && s.Status < 300 {
			o.tryFull(t, name, s, full)
		}
		if !o.step(t, name, s) {
			return
		}
	}
}

// tryFull sends a step while the disk is full.
func (o *office) tryFull(t *testing.T, name string, s *manageStep, full *atomic.Bool) {
	t.Helper()
	if s.As != "none" {
		o.key(t, o.fill(cmp.Or(s.As, "owner")))
	}
	full.Store(true)
	defer full.Store(false)
	status, h, body := o.send(t, s)
	if status >= 500 && (status != http.StatusServiceUnavailable || h.Get("Retry-After") == "") {
		t.Errorf("%s: on a full disk %d, Retry-After %q: %.300s", name, status, h.Get("Retry-After"), body)
	}
}

// While the disk is full every write returns 503 with Retry-After, and never another 5xx; after
// that the same requests succeed.
func TestHTTP_FullDisk(t *testing.T) {
	o, full := fullOffice(t)
	key := "Bearer " + o.key(t, "owner")
	send := func(method, path, body string) (int, http.Header, string) {
		w := ask(o.handler, method, path, body, "Authorization", key, "Content-Type", "application/json")
		return w.Code, w.Header(), w.Body.String()
	}
	for i := range 8 {
		if status, _, body := send("POST", "/batch/", fmt.Sprintf(`{"api_key":"phc_1","batch":[{"event":"e","distinct_id":"p%d","properties":{"$set":{"a":1,"b":2},"$groups":{"company":"acme"}}},
			{"event":"e","distinct_id":"q%d"},{"event":"$groupidentify","distinct_id":"p%d","properties":{"$group_type":"company","$group_key":"acme","$group_set":{"a":1}}}]}`, i, i, i)); status != 200 {
			t.Fatal(status, body)
		}
	}
	uuids := map[string]string{}
	for i := range 8 {
		var page struct{ Results []struct{ UUID string } }
		_, _, body := send("GET", fmt.Sprintf("/api/projects/1/persons/?distinct_id=p%d", i), "")
		if decodeJSON(t, []byte(body), &page); len(page.Results) != 1 {
			t.Fatal(body)
		}
		uuids[fmt.Sprintf("{p%d}", i)] = page.Results[0].UUID
	}
	const project = "/api/projects/1"
	person := strings.NewReplacer(func() (list []string) {
		for name, id := range uuids {
			list = append(list, name, id)
		}
		return list
	}()...)
	writes := []struct {
		method, path, body string
		after              int // status of the same request when there is space
	}{
		{"POST", "/batch/", `{"api_key":"phc_1","batch":[{"event":"e","distinct_id":"x"}]}`, 200},
		{"POST", "/i/v0/e/", `{"api_key":"phc_1","event":"e","distinct_id":"x"}`, 200},
		{"DELETE", project + "/persons/{p0}/", "", 202},
		{"DELETE", project + "/persons/{p1}/?delete_events=true", "", 202},
		{"POST", project + "/persons/bulk_delete/", `{"ids":["{p2}"]}`, 202},
		{"POST", project + "/persons/bulk_delete/", `{"distinct_ids":["p3"],"delete_events":true}`, 202},
		{"POST", project + "/persons/{p4}/delete_events/", "", 202},
		{"PATCH", project + "/persons/{p5}/", `{"properties":{"c":3}}`, 202},
		{"POST", project + "/persons/{p5}/update_property/", `{"key":"c","value":4}`, 202},
		{"POST", project + "/persons/{p5}/delete_property/", `{"$unset":"a"}`, 201},
		{"POST", project + "/persons/{p5}/split/", `{}`, 201},
		{"POST", project + "/groups/", `{"group_type_index":0,"group_key":"other","group_properties":{"a":1}}`, 201},
		{"POST", project + "/groups/update_property/?group_type_index=0&group_key=acme", `{"key":"b","value":1}`, 200},
		{"POST", project + "/groups/delete_property/?group_type_index=0&group_key=acme", `{"$unset":"a"}`, 200},
		{"POST", project + "/feature_flags/", `{"key":"late"}`, 201},
		{"POST", project + "/cohorts/", `{"name":"c","is_static":true}`, 201},
		{"POST", project + "/surveys/", `{"name":"s","type":"api","questions":[{"type":"open","question":"?"}]}`, 201},
		{"POST", project + "/experiments/", `{"name":"x","feature_flag_key":"x-flag"}`, 201},
		{"POST", project + "/dashboards/", `{"name":"d"}`, 201},
		{"POST", project + "/insights/", `{"name":"i","query":{"kind":"TrendsQuery","series":[{"kind":"EventsNode"}]}}`, 201},
		{"POST", project + "/actions/", `{"name":"a"}`, 201},
		{"POST", project + "/annotations/", `{"content":"a","date_marker":"2026-01-01T00:00:00Z"}`, 201},
		{"POST", "/api/personal_api_keys/", `{"label":"k","scopes":["feature_flag:read"],"scoped_teams":[],"scoped_organizations":[]}`, 201},
		{"POST", "/api/organizations/@current/projects/", `{"name":"p"}`, 201},
		{"POST", "/api/organizations/@current/invites/", `{"target_email":"guest@example.com"}`, 201},
		{"PATCH", project + "/", `{"name":"another name"}`, 200},
	}
	full.Store(true)
	for _, c := range writes {
		status, h, body := send(c.method, person.Replace(c.path), person.Replace(c.body))
		if status != http.StatusServiceUnavailable || h.Get("Retry-After") == "" {
			t.Errorf("%s %s: %d, Retry-After %q: %.200s", c.method, c.path, status, h.Get("Retry-After"), body)
		}
	}
	// All other endpoints, with bodies that most of them refuse.
	part := regexp.MustCompile(`\{[^}]*\}`)
	for _, e := range httpapi.EndpointsForTest() {
		if e.Method == http.MethodGet || strings.Contains(e.Path, "/session") {
			continue
		}
		for _, body := range []string{"{}", `{"name":"n","key":"k"}`} {
			path := part.ReplaceAllString(e.Path, "1")
			if status, h, text := send(e.Method, path, body); status >= 500 && (status != http.StatusServiceUnavailable || h.Get("Retry-After") == "") {
				t.Errorf("%s %s %s: %d, Retry-After %q: %.200s", e.Method, path, body, status, h.Get("Retry-After"), text)
			}
		}
	}
	full.Store(false)
	for _, c := range writes {
		if status, _, body := send(c.method, person.Replace(c.path), person.Replace(c.body)); status != c.after {
			t.Errorf("%s %s with room again: %d, want %d: %.200s", c.method, c.path, status, c.after, body)
		}
	}
}
