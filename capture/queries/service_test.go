package queries

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// fakeSource is a source with scans of a configurable duration, and the state of its
// projects.
type fakeSource struct {
	mu           sync.Mutex
	state        State
	takes        time.Duration
	opens        []int64 // projects, in the order in which they were read
	atOnce, most int
	// rewritten are the persons of increments of state.Rewritten.
	rewritten map[int64]capture.UUID
}

func (h *fakeSource) State(context.Context, int64) (State, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state, nil
}

func (h *fakeSource) Rewritten(_, from, to int64) ([]capture.UUID, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := from + 1; n <= to; n++ {
		if _, ok := h.rewritten[n]; !ok {
			return nil, false
		}
	}
	var people []capture.UUID
	for n := from + 1; n <= to; n++ {
		people = append(people, h.rewritten[n])
	}
	return people, true
}

func (h *fakeSource) change(change func(*State)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.state)
}

func (h *fakeSource) Open(_ context.Context, project int64) (port.Reader, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opens = append(h.opens, project)
	h.atOnce++
	h.most = max(h.most, h.atOnce)
	return &fakeReader{fakeSource: h}, nil
}

func (h *fakeSource) computed() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.opens)
}

type fakeReader struct{ *fakeSource }

func (r *fakeReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.atOnce--
	return nil
}

func (r *fakeReader) Scan(ctx context.Context, s port.Scan, yield func(*port.Batch) error) error {
	if slices.Contains(s.Names, "broken") {
		panic("a mistake of ours")
	}
	select {
	case <-time.After(r.takes):
	case <-ctx.Done():
		return ctx.Err()
	}
	return yield(&port.Batch{ID: []int64{1}, Time: []int64{s.From}, Name: []string{"a"}, Properties: []string{"{}"}, Person: []uint32{0}})
}

func (*fakeReader) Count(context.Context, port.Scan) (int64, error)        { return 7, nil }
func (*fakeReader) Earliest(context.Context, int64) (int64, bool, error)   { return 0, false, nil }
func (*fakeReader) Position() int64                                        { return 0 }
func (*fakeReader) Person(uint32) *port.Person                             { return &port.Person{} }
func (*fakeReader) Members(context.Context, int64) ([]capture.UUID, error) { return nil, nil }
func (*fakeReader) Profiles(context.Context, []capture.UUID, func(*capture.StoredPerson) error) error {
	return nil
}
func (*fakeReader) Groups(context.Context, int, []string, func(*capture.Group) error) error {
	return nil
}

// withService runs a test with a service in a synctest bubble, whose clock advances
// immediately.
func withService(t *testing.T, takes time.Duration, limits Limits, work func(t *testing.T, h *fakeSource, d *Service)) {
	synctest.Test(t, func(t *testing.T) {
		h := &fakeSource{takes: takes}
		n := 0
		d, err := New(Config{Source: h, States: h, Limits: limits, NewID: func() string { n++; return fmt.Sprint("run ", n) }})
		if err != nil {
			t.Fatal(err)
		}
		work(t, h, d)
		d.Close() // the bubble ends only after all goroutines have ended
	})
}

const trend = `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"a"}],"dateRange":{"date_from":"2020-01-01","date_to":"2020-01-02"}}`

func trendOf(event string) string { return strings.Replace(trend, `"a"`, `"`+event+`"`, 1) }

func request(project int64, query string, m Mode) Request {
	return Request{Project: &port.Project{ID: project}, Query: json.RawMessage(query), Mode: m}
}

// mustExecute executes a query, and reports whether the result was cached.
func mustExecute(t *testing.T, d *Service, r Request) (cached bool) {
	t.Helper()
	a, err := d.Execute(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if a.Result == nil || a.Status != nil {
		t.Fatalf("%+v", a)
	}
	return a.Result["is_cached"].(bool)
}

// §1.6: which results are fresh.
func TestInsights_1_6_Fresh(t *testing.T) {
	for name, c := range map[string]struct {
		takes, after time.Duration
		change       func(*State)
		mode         Mode
		cached       bool
	}{
		"nothing has changed":                    {time.Second, 5 * time.Hour, func(*State) {}, Blocking, true},
		"nothing has changed but the day":        {time.Second, 25 * time.Hour, func(*State) {}, Blocking, false},
		"nothing has changed, forced":            {time.Second, time.Second, func(*State) {}, ForceBlocking, false},
		"events came, within ten times the cost": {time.Second, 8 * time.Second, func(s *State) { s.Events++ }, Blocking, true},
		"events came, beyond":                    {time.Second, 11 * time.Second, func(s *State) { s.Events++ }, Blocking, false},
		"events came, of little cost":            {time.Millisecond, time.Second, func(s *State) { s.Events++ }, Blocking, false},
		"events came, lazily":                    {time.Second, time.Hour, func(s *State) { s.Events++ }, lazyAsync, true},
		"a merge":                                {time.Second, time.Second, func(s *State) { s.Rewritten++ }, Blocking, false},
		"a setting":                              {time.Second, time.Second, func(s *State) { s.Revision++ }, Blocking, false},
	} {
		t.Run(name, func(t *testing.T) {
			withService(t, c.takes, Limits{}, func(t *testing.T, h *fakeSource, d *Service) {
				if mustExecute(t, d, request(1, trend, Blocking)) {
					t.Error("the first answer is remembered")
				}
				time.Sleep(c.after)
				h.change(c.change)
				if got := mustExecute(t, d, request(1, trend, c.mode)); got != c.cached {
					t.Errorf("is_cached %t, want %t", got, c.cached)
				}
				if mustExecute(t, d, request(2, trend, Blocking)) {
					t.Error("another project has the answer")
				}
			})
		})
	}
}

// §1.6: a result that a merge has made incorrect is not sent with the status.
func TestInsights_1_6_StaleIsSentAlong(t *testing.T) {
	withService(t, time.Second, Limits{}, func(t *testing.T, h *fakeSource, d *Service) {
		mustExecute(t, d, request(1, trend, Blocking))
		for _, c := range []struct {
			change func(*State)
			old    bool
		}{{func(s *State) { s.Events++ }, true}, {func(s *State) { s.Rewritten++ }, false}} {
			time.Sleep(time.Minute)
			h.change(c.change)
			a, err := d.Execute(t.Context(), request(1, trend, Async))
			if err != nil || a.Status == nil || a.Status.Complete || (a.Result != nil) != c.old {
				t.Errorf("%+v, %v; an old one: %t", a, err, c.old)
			}
			time.Sleep(time.Minute)
		}
	})
}

// §5.2: concurrent callers with the same query share a computation, and it continues if one
// of them is canceled.
func TestInsights_5_2_OneComputation(t *testing.T) {
	withService(t, time.Second, Limits{}, func(t *testing.T, h *fakeSource, d *Service) {
		canceled, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := d.Execute(canceled, request(1, trend, Blocking)); !errors.Is(err, context.Canceled) {
				t.Errorf("who has left: %v", err)
			}
		})
		synctest.Wait()
		for range 5 {
			wg.Go(func() {
				if !mustExecute(t, d, request(1, trend, Blocking)) {
					t.Error("an answer of somebody else's computation is not said to be one")
				}
			})
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		if h.computed() != 1 {
			t.Errorf("%d computations, want 1", h.computed())
		}
	})
}

// §5.4: the number of concurrent queries is limited, and projects take turns.
func TestInsights_5_4_Turns(t *testing.T) {
	withService(t, time.Second, Limits{Workers: 1}, func(t *testing.T, h *fakeSource, d *Service) {
		var wg sync.WaitGroup
		for i, project := range []int64{1, 1, 1, 2, 3} {
			wg.Go(func() { mustExecute(t, d, request(project, trendOf(fmt.Sprint("e", i)), Blocking)) })
			synctest.Wait()
		}
		wg.Wait()
		if got := fmt.Sprint(h.opens); got != "[1 2 3 1 1]" || h.most != 1 {
			t.Errorf("the order is %s, %d at once", got, h.most)
		}
	})
	withService(t, time.Second, Limits{Workers: 8, MemoryTotal: 4 << 30}, func(t *testing.T, h *fakeSource, d *Service) {
		var wg sync.WaitGroup
		for i := range 9 {
			wg.Go(func() { mustExecute(t, d, request(1, trendOf(fmt.Sprint("e", i)), Blocking)) })
		}
		wg.Wait()
		if h.most != projectWorkers {
			t.Errorf("%d queries of a project at once, want %d", h.most, projectWorkers)
		}
	})
}

// §1.7, §5.4: errors if a query is not started within 10 s, and if it takes too long.
func TestInsights_5_4_Times(t *testing.T) {
	for name, c := range map[string]struct {
		before Mode // mode of a query that uses the only worker; may be empty
		kind   Kind
		after  time.Duration
	}{"no turn": {Async, Busy, 10 * time.Second}, "too long": {"", TimedOut, 30 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			withService(t, time.Hour, Limits{}, func(t *testing.T, h *fakeSource, d *Service) {
				if c.before != "" {
					if _, err := d.Execute(t.Context(), request(1, trendOf("b"), c.before)); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				began := time.Now()
				_, err := d.Execute(t.Context(), request(2, trend, Blocking))
				var got *Error
				if !errors.As(err, &got) || got.Kind != c.kind || time.Since(began) != c.after {
					t.Errorf("%v after %v, want kind %d after %v", err, time.Since(began), c.kind, c.after)
				}
			})
		})
	}
}

// §1.5: the status of a run can be read, it can be canceled, and it is removed 20 minutes
// after its end.
func TestInsights_1_5_Runs(t *testing.T) {
	withService(t, time.Minute, Limits{Workers: 2}, func(t *testing.T, h *fakeSource, d *Service) {
		r := request(1, trend, ForceAsync)
		r.ID = "mine"
		if _, err := d.Execute(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		s, err := d.Status(t.Context(), 1, "mine", true)
		if err != nil || s.Complete || s.Pickup == nil || s.Progress == nil || s.Progress.EstimatedRows != 7 || s.Progress.TimeElapsed != 1000 {
			t.Errorf("while it runs: %+v, %v", s, err)
		}
		var again *Error
		if _, err := d.Execute(t.Context(), r); !errors.As(err, &again) || again.Kind != Conflict {
			t.Errorf("the same name: %v", err)
		}
		if _, err := d.Status(t.Context(), 2, "mine", false); !errors.As(err, &again) || again.Kind != NotFound {
			t.Errorf("another project's: %v", err)
		}
		time.Sleep(time.Minute)
		if s, err = d.Status(t.Context(), 1, "mine", false); err != nil || !s.Complete || s.Failed || s.Results["cache_key"] == nil {
			t.Errorf("when it is done: %+v, %v", s, err)
		}
		if got, err := d.Cancel(t.Context(), 1, "mine"); got != "Query already completed" || err != nil {
			t.Error(got, err)
		}
		if _, err := d.Execute(t.Context(), r); err != nil { // a name may be reused
			t.Fatal(err)
		}
		if got, err := d.Cancel(t.Context(), 1, "mine"); got != "Query cancelled" || err != nil {
			t.Error(got, err)
		}
		if s, err = d.Status(t.Context(), 1, "mine", false); err != nil || !s.Failed || !s.ClientError || *s.ErrorMessage != "Query was cancelled" {
			t.Errorf("when it is cancelled: %+v, %v", s, err)
		}
		time.Sleep(runTTL + time.Second)
		if _, err := d.Status(t.Context(), 1, "mine", false); !errors.As(err, &again) {
			t.Errorf("after 20 minutes: %v", err)
		}
		if got, err := d.Cancel(t.Context(), 1, "mine"); got != "Query not found" || err != nil {
			t.Error(got, err)
		}
	})
}

// §5.4: a project may have 20 background runs.
func TestInsights_5_4_Background(t *testing.T) {
	withService(t, time.Minute, Limits{}, func(t *testing.T, h *fakeSource, d *Service) {
		for i := range maxBackground + 1 {
			_, err := d.Execute(t.Context(), request(1, trendOf(fmt.Sprint(i)), Async))
			var busy *Error
			if full := errors.As(err, &busy) && busy.Kind == Busy; full != (i == maxBackground) {
				t.Errorf("run %d: %v", i, err)
			}
		}
	})
}

// §5.2: the limits are 16 MiB for a project, 64 MiB in total, and 4 MiB for a result.
func TestInsights_5_2_CacheIsBounded(t *testing.T) {
	c := &cache{}
	put := func(project int64, n int, size int64) {
		c.put(&entry{key: fmt.Sprint(project, "/", n), project: project, size: size})
	}
	put(1, 0, 5<<20)
	for n := range 10 {
		put(1, n+1, 3<<20)
	}
	if len(c.entries) != 5 || c.bytesByProject[1] != 15<<20 || c.get("1/10") == nil || c.get("1/5") != nil {
		t.Errorf("%d entries, %d bytes", len(c.entries), c.bytesByProject[1])
	}
	c.get("1/6") // recently used, so other entries are removed first
	for project := range int64(6) {
		for n := range 4 {
			put(project+2, n, 3<<20)
		}
	}
	if c.size > cacheBytes || c.get("7/3") == nil || c.get("1/7") != nil {
		t.Errorf("%d bytes", c.size)
	}
}

// A panic in a run ends the run but not the process: the caller receives an error that is not
// a client error, the worker is released, and the next query is executed.
func TestQueries_PanicEndsTheRun(t *testing.T) {
	withService(t, time.Second, Limits{Workers: 1}, func(t *testing.T, h *fakeSource, d *Service) {
		for range 3 {
			_, err := d.Execute(t.Context(), request(1, trendOf("broken"), Blocking))
			var queryErr *port.Error
			if err == nil || errors.As(err, &queryErr) || !strings.Contains(err.Error(), "a mistake of ours") {
				t.Fatalf("%v, want the mistake as a fault of the server", err)
			}
		}
		if mustExecute(t, d, request(1, trend, Blocking)) {
			t.Error("the answer after it is said to be remembered")
		}
	})
}
