package httpapi_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management/rooms"
)

// sealing is which events of a test are in segments.
type sealing string

const (
	nothingSealed sealing = "nothing"
	halfSealed    sealing = "half"
	allSealed     sealing = "all"
)

// sealings are all of them.
var sealings = []sealing{nothingSealed, halfSealed, allSealed}

// config returns the configuration of a store whose events are sealed, however few and new they are.
func (s sealing) config(t testing.TB) (c sqlstore.Config) {
	t.Helper()
	if s != nothingSealed {
		c.Segments, c.SealAfter = filepath.Join(t.TempDir(), "segments"), -100*365*24*time.Hour
	}
	return c
}

// ledger returns a ledger that seals the events of a store.
func (s sealing) ledger(store *sqlstore.Store) capture.Ledger {
	if s == nothingSealed {
		return store
	}
	return &sealingLedger{Store: store, sealing: s}
}

// sealingLedger seals all events after each commit, or before every second one, so that then the events of
// one commit, or of two, are in no segment.
type sealingLedger struct {
	*sqlstore.Store
	sealing sealing
	commits int
}

func (l *sealingLedger) Commit(ctx context.Context, projects []int64, work func(capture.Tx) error) (err error) {
	if l.sealing == halfSealed && l.commits%2 == 1 {
		_, err = l.Seal(ctx)
	}
	if err == nil {
		err = l.Store.Commit(ctx, projects, work)
	}
	l.commits++
	if l.sealing == allSealed && err == nil {
		_, err = l.Seal(ctx)
	}
	return err
}

// newOfficeSealed returns an office whose events are in segments.
func newOfficeSealed(t testing.TB, database string, s sealing) *office {
	t.Helper()
	return newOfficeOn(t, database, s.config(t), func(store *sqlstore.Store) (rooms.Store, capture.Ledger) {
		return store.Management(), s.ledger(store)
	})
}

// checkSealed checks that the events of a store are in segments, or some of them.
func checkSealed(t testing.TB, store *sqlstore.Store, s sealing) {
	t.Helper()
	if n := store.Size(t.Context()).SegmentFiles; (n > 0) != (s != nothingSealed) {
		t.Errorf("%s is to be sealed: there are %d files", s, n)
	}
}

// isCaptured matches the requests of SDKs that store events.
func isCaptured(request string) bool {
	return slices.ContainsFunc([]string{"POST /batch", "POST /i/", "POST /capture", "POST /e/", "POST /s/"}, func(path string) bool { return strings.HasPrefix(request, path) })
}

// sealedOf returns how many of the events of the i-th case are sealed: of every second one all, of the others
// half, and with -long both.
func sealedOf(i int) []sealing {
	if *allValues {
		return []sealing{allSealed, halfSealed}
	}
	return []sealing{[]sealing{allSealed, halfSealed}[i%2]}
}

// Cases of the management API that store events have the same responses if all or half of these are in
// segments. Without -long, every second case runs.
func TestManagement_SealedCases(t *testing.T) {
	files, ran := manageFiles(t, ""), 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, c := range files[name].Cases {
			if !slices.ContainsFunc(c.Steps, func(s manageStep) bool { return isCaptured(s.Request) }) {
				continue
			}
			if ran++; ran%2 == 0 && !*allValues {
				continue
			}
			for _, s := range sealedOf(ran / 2) {
				t.Run(name+"/"+c.Name+"/"+string(s), func(t *testing.T) {
					t.Parallel()
					newOfficeSealed(t, "sqlite::memory:", s).walk(t, c.Steps)
				})
			}
		}
	}
	if ran < 90 {
		t.Errorf("%d cases store events", ran)
	}
}

// The rows of spec/capture.md §18 and the vectors of §17 are stored as well if all or half of the events are
// in segments. Long bodies are left out without -long.
func TestCapture_18_Sealed(t *testing.T) {
	for i, c := range append(labCases(t, "18_*.json"), labCases(t, "17.json")...) {
		if isLong := slices.ContainsFunc(c.Steps, func(s labStep) bool { return s.Fill != nil || s.Items != nil }); isLong && !*allValues {
			continue
		}
		for _, s := range sealedOf(i) {
			t.Run(c.Row+c.Clause+"_"+c.Name+"/"+string(s), func(t *testing.T) { c.runSealed(t, s) })
		}
	}
}

// spec/console.md N26: what an erasure would delete, and what it deletes, are the events of the person in
// segments and in the database.
func TestPersons_ErasureOfSealedEvents(t *testing.T) {
	for _, sealed := range sealings {
		t.Run(string(sealed), func(t *testing.T) {
			o := newOfficeSealed(t, "sqlite::memory:", sealed)
			key := "Bearer " + o.key(t, "owner")
			get := func(path string, into any) {
				t.Helper()
				w := ask(o.handler, "GET", "/api/projects/1/"+path, "", "Authorization", key)
				if decodeJSON(t, w.Body.Bytes(), into); w.Code != http.StatusOK {
					t.Fatalf("%s: %d %s", path, w.Code, w.Body)
				}
			}
			for i, n := range []int{3, 2} { // two commits
				list := []string{`{"event":"seen","distinct_id":"bob"}`}
				for range n {
					list = append(list, fmt.Sprintf(`{"event":"seen %d","distinct_id":"ann"}`, i))
				}
				if w := ask(o.handler, "POST", "/batch/", `{"api_key":"phc_1","batch":[`+strings.Join(list, ",")+`]}`); w.Code != http.StatusOK {
					t.Fatalf("%d %s", w.Code, w.Body)
				}
			}
			checkSealed(t, o.store, sealed)
			var people struct{ Results []struct{ UUID string } }
			if get("persons/?distinct_id=ann", &people); len(people.Results) != 1 {
				t.Fatalf("%+v", people)
			}
			person := "persons/" + people.Results[0].UUID + "/"
			var would struct {
				Events int
				Exact  bool
			}
			if get(person+"erasure/", &would); would.Events != 5 || !would.Exact {
				t.Errorf("an erasure would delete %+v, want exactly 5 events", would)
			}
			if w := ask(o.handler, "DELETE", "/api/projects/1/"+person+"?delete_events=true", "", "Authorization", key); w.Code >= 300 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			for id, want := range map[string]int{"ann": 0, "bob": 2} {
				var found struct{ Results []struct{ Event string } }
				if get("events/?distinct_id="+id, &found); len(found.Results) != want {
					t.Errorf("%s has %d events, want %d", id, len(found.Results), want)
				}
			}
		})
	}
}
