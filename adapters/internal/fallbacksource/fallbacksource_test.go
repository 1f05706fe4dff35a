package fallbacksource_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/internal/fallbacksource"
	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outage is a store that can be unavailable.
type outage struct {
	*sqlstore.Store
	mu    sync.Mutex
	down  bool
	texts atomic.Int64 // number of reads of definitions for copies
}

var errOutage = errors.New("the database is gone")

// current returns the current store, or an error while it is unavailable.
func (o *outage) current() (*sqlstore.Store, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down {
		return nil, errOutage
	}
	return o.Store, nil
}

// replace sets the current store.
func (o *outage) replace(next *outage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Store = next.Store
}

func (o *outage) setDown(down bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down = down
}

func (o *outage) ProjectByKey(ctx context.Context, key string) (flags.Project, error) {
	s, err := o.current()
	if err != nil {
		return flags.Project{}, err
	}
	return s.ProjectByKey(ctx, key)
}

func (o *outage) DefinitionsText(ctx context.Context, id int64) ([]byte, error) {
	s, err := o.current()
	if err != nil {
		return nil, err
	}
	o.texts.Add(1)
	return s.DefinitionsText(ctx, id)
}

func newOutage(t *testing.T, file string) *outage {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), pgtest.SQLiteMigrated(t, "sqlite::memory:", sqlstore.Open), sqlstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	o := &outage{Store: s}
	o.apply(t, file)
	return o
}

func (o *outage) apply(t *testing.T, file string) {
	t.Helper()
	f, err := flags.ParseFile([]byte(file))
	if err == nil {
		err = o.ApplyFile(t.Context(), "a.json", f, []byte(file))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func demo(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "demo.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func open(t *testing.T, folder string) *fallbacksource.Copies {
	t.Helper()
	c, err := fallbacksource.Open(folder, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// waitUntil waits for a result of the background writer.
func waitUntil(t *testing.T, condition string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not so after 20s: " + condition)
		}
	}
}

func payload(t *testing.T, s serving.Source, key string) string {
	t.Helper()
	p, err := s.ProjectByKey(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Definitions(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	text, err := d.Payload()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A copy has the project and the definitions of the store, also of projects with unusual settings
// and with faults; another process can read it (decision 29).
func TestDecision_29_Copies(t *testing.T) {
	store := newOutage(t, `{"organization":{"id":"org","quotas":{"feature_flags":7}},"projects":[{"id":3,"name":"odd","api_key":"phc_odd","timezone":"Europe/Berlin",
		"bucketing_hash":"murmur3","quota_limited":["events"],"group_type_mapping":{"0":"company"},"flags":[{"id":1,"key":"a","active":true,"ensure_experience_continuity":false,
		"filters":{"groups":[{"rollout_percentage":33.3}],"payloads":{"true":"{\"a\": 1.0}"}}},{"key":"no id","active":true,"filters":{}},5],"cohorts":{"12":{"is_static":true,"members":["u"]}}}]}`)
	folder := filepath.Join(t.TempDir(), "last-good")
	copies := open(t, folder)
	k := copies.Keep(store)
	defer k.Close()
	want := payload(t, k, "phc_odd")
	waitUntil(t, "a copy is there", func() bool { return copies.Len() == 1 })
	if diff := cmp.Diff(want, payload(t, open(t, folder), "phc_odd")); diff != "" {
		t.Errorf("definitions (-stored +kept):\n%s", diff)
	}
	stored, _ := store.ProjectByKey(t.Context(), "phc_odd")
	copied, err := open(t, folder).ProjectByKey(t.Context(), "phc_odd")
	if diff := cmp.Diff(stored, copied); diff != "" || err != nil {
		t.Errorf("project, %v (-stored +kept):\n%s", err, diff)
	}
	if _, err := copies.ProjectByKey(t.Context(), "phc_other"); !errors.Is(err, flags.ErrUnknownKey) {
		t.Errorf("a project that is not kept: %v", err)
	}
}

// Copies follow the store: changes are written, also without a new revision; unchanged projects are
// not written; copies of deleted projects are removed.
func TestDecision_29_Follows(t *testing.T) {
	const file = `{"organization":{"id":"org","quotas":{"feature_flags":%s}},"projects":[{"id":1,"name":"one","api_key":"%s","flags":[{"id":1,"key":"a","active":%s,"filters":{"groups":[{}]}}]}]}`
	store := newOutage(t, fmt.Sprintf(file, "1", "phc_a", "true"))
	folder := t.TempDir()
	copies := open(t, folder)
	k := copies.Keep(store)
	defer k.Close()
	is := func(key string, want flags.Project) func() bool {
		return func() bool {
			if _, err := k.ProjectByKey(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			got, err := copies.ProjectByKey(t.Context(), key)
			return err == nil && cmp.Equal(want, got)
		}
	}
	one, two := int64(1), int64(2)
	want := flags.Project{ID: 1, Name: "one", APIKey: "phc_a", OrganizationID: "org", Revision: 1, FlagLimit: &one, QuotaLimited: []string{}}
	waitUntil(t, "first", is("phc_a", want))
	reads := store.texts.Load()
	for range 100 {
		if !is("phc_a", want)() {
			t.Fatal("it has changed by itself")
		}
	}
	if n := store.texts.Load(); n != reads {
		t.Errorf("read %d times to be kept, although nothing has changed", n-reads)
	}
	want.FlagLimit = &two
	store.apply(t, fmt.Sprintf(file, "2", "phc_a", "true"))
	waitUntil(t, "another limit", is("phc_a", want))
	want.Revision = 2
	store.apply(t, fmt.Sprintf(file, "2", "phc_a", "false"))
	waitUntil(t, "another revision", is("phc_a", want))
	if !strings.Contains(payload(t, copies, "phc_a"), `"active":false`) {
		t.Error("the definitions are those of before")
	}
	if err := store.ForgetFile(t.Context(), "a.json"); err != nil {
		t.Fatal(err)
	}
	if _, err := k.ProjectByKey(t.Context(), "phc_a"); !errors.Is(err, flags.ErrUnknownKey) {
		t.Fatal(err)
	}
	waitUntil(t, "the copy is gone", func() bool { entries, _ := os.ReadDir(folder); return copies.Len() == 0 && len(entries) == 0 })
}

// While the store is unavailable, a new decider evaluates flags with the copies, and has no flags
// for a key without a copy. When the store is available, it is used.
func TestDecision_29_DecidesFromCopies(t *testing.T) {
	store := newOutage(t, demo(t))
	folder := t.TempDir()
	copies := open(t, folder)
	k := copies.Keep(store)
	defer k.Close()
	payload(t, k, "phc_demo")
	waitUntil(t, "a copy is there", func() bool { return copies.Len() == 1 })
	store.setDown(true)
	now := time.Now()
	d, err := serving.NewDecider(serving.Config{Source: k, LastGood: open(t, folder), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	decide := func(key string) (*serving.Answer, error) {
		var out serving.Answer
		return &out, d.Decide(t.Context(), &serving.Request{APIKey: key, Subject: flags.Subject{DistinctID: "u"}}, &out)
	}
	for range 3 {
		if out, err := decide("phc_demo"); err != nil || len(out.Decisions.List) == 0 {
			t.Fatalf("%d flags, %v", len(out.Decisions.List), err)
		}
		now = now.Add(time.Second)
	}
	if _, err := decide("phc_other"); !errors.Is(err, flags.ErrUnavailable) || errors.Is(err, flags.ErrUnknownKey) {
		t.Errorf("a key without a copy: %v, want ErrUnavailable", err)
	}
	// Another database, with the same revision by chance.
	other := newOutage(t, `{"projects":[{"id":1,"api_key":"phc_demo","flags":[{"id":1,"key":"other","active":true,"filters":{"groups":[{}]}}]}]}`)
	store.replace(other)
	store.setDown(false)
	if out, err := decide("phc_demo"); err != nil || len(out.Decisions.List) != 1 || out.Decisions.List[0].Key != "other" {
		t.Errorf("after the outage: %+v, %v", out.Decisions.List, err)
	}
}

// A copy that is damaged, or of another project, is not used.
func TestDecision_29_Damaged(t *testing.T) {
	store := newOutage(t, demo(t))
	folder := t.TempDir()
	copies := open(t, folder)
	k := copies.Keep(store)
	defer k.Close()
	payload(t, k, "phc_demo")
	waitUntil(t, "a copy is there", func() bool { return copies.Len() == 1 })
	entries, _ := os.ReadDir(folder)
	path := filepath.Join(folder, entries[0].Name())
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func() error{
		"cut":     func() error { return os.WriteFile(path, good[:len(good)/2], 0o600) },
		"no JSON": func() error { return lastgood.Save(path, []byte("text")) },
		"another": func() error {
			return lastgood.Save(path, []byte(`{"project":{"ID":1,"APIKey":"phc_x"},"definitions":{}}`))
		},
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, folder).ProjectByKey(t.Context(), "phc_demo"); err == nil || errors.Is(err, flags.ErrUnknownKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// There are at most MaxProjects copies. Copies that were not requested in this process are removed
// for new ones; copies in use remain, and then no further copies are written.
func TestDecision_29_Bounded(t *testing.T) {
	var file strings.Builder
	file.WriteString(`{"projects":[`)
	const more = 20
	for n := range fallbacksource.MaxProjects + more {
		fmt.Fprintf(&file, `{"id":%d,"api_key":"phc_%d"},`, n+1, n)
	}
	store := newOutage(t, strings.TrimSuffix(file.String(), ",")+`]}`)
	folder := t.TempDir()
	for n := range 30 { // of projects that are no longer requested
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d-%032x.copy", 100_000+n, n)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	copies := open(t, folder)
	k := copies.Keep(store)
	defer k.Close()
	for n := range fallbacksource.MaxProjects {
		key := fmt.Sprint("phc_", n)
		waitUntil(t, key+" is kept", func() bool {
			if _, err := k.ProjectByKey(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			_, err := copies.ProjectByKey(t.Context(), key)
			return err == nil
		})
	}
	for n := range more {
		if _, err := k.ProjectByKey(t.Context(), fmt.Sprint("phc_", fallbacksource.MaxProjects+n)); err != nil {
			t.Fatal(err)
		}
	}
	k.Close()
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != fallbacksource.MaxProjects || copies.Len() != fallbacksource.MaxProjects {
		t.Errorf("%d files, %d copies, %v", len(entries), copies.Len(), err)
	}
}

// A project with a new key leaves no copy under its former key.
func TestDecision_29_AnotherKey(t *testing.T) {
	store := newOutage(t, `{"projects":[{"id":1,"api_key":"phc_a"}]}`)
	folder := t.TempDir()
	copies := open(t, folder)
	k := copies.Keep(store)
	defer k.Close()
	payload(t, k, "phc_a")
	waitUntil(t, "the first copy", func() bool { return copies.Len() == 1 })
	other := newOutage(t, `{"projects":[{"id":1,"api_key":"phc_b"}]}`)
	store.replace(other)
	payload(t, k, "phc_b")
	waitUntil(t, "only the second copy", func() bool {
		_, before := copies.ProjectByKey(t.Context(), "phc_a")
		_, now := copies.ProjectByKey(t.Context(), "phc_b")
		return before != nil && now == nil && copies.Len() == 1
	})
}

// A folder that is not writable is logged rarely, not every second.
func TestDecision_29_DiskFails(t *testing.T) {
	store := newOutage(t, demo(t))
	folder := filepath.Join(t.TempDir(), "last-good")
	var log lockedText
	copies, err := fallbacksource.Open(folder, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(folder), os.WriteFile(folder, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	k := copies.Keep(store)
	defer k.Close()
	waitUntil(t, "it was tried three times", func() bool {
		payload(t, k, "phc_demo")
		return store.texts.Load() >= 3
	})
	if n := strings.Count(log.String(), "could not be stored"); n != 1 {
		t.Errorf("told %d times:\n%s", n, log.String())
	}
}

// lockedText is a string builder for several goroutines.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
