package flagstest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/flagstest"
)

var (
	ctx = context.Background()
	ana = &flags.Subject{DistinctID: "ana"}
	bob = &flags.Subject{DistinctID: "bob"}
)

type limits struct {
	Limit int `json:"limit"`
}

// Each type of read returns the value that was set, and Set changes it during a test.
func TestFlags_Values(t *testing.T) {
	f := flagstest.New(t).Bool("x", true).Variant("y", "wide").Payload("y", limits{3}).Payload("z", 42).Bool("off", false).Fail("away", flags.ErrNotReady)
	r := f.Reader()
	show := func() string {
		return fmt.Sprint(r.Bool(ctx, "x", ana, false), " ", r.String(ctx, "y", ana, "narrow"), " ", flags.JSON(ctx, r, "y", ana, limits{}), " ",
			r.Number(ctx, "z", ana, 1), " ", r.Bool(ctx, "off", ana, true), " ", r.Bool(ctx, "away", ana, true), " ", r.String(ctx, "x", ana, "none"))
	}
	if got, want := show(), "true wide {3} 42 false true none"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	f.Set("x", false)
	f.Set("y", "slim")
	f.Set("z", 7)
	f.Set("off", nil)
	f.Set("away", true)
	if got, want := show(), "false slim {0} 7 true true none"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for key, want := range map[string]error{"nix": flags.ErrUnknownFlag, "off": flags.ErrUnknownFlag, "x": nil} {
		if _, d := r.BoolDetail(ctx, key, ana, false); !errors.Is(d.Err, want) || want == nil && d.Err != nil {
			t.Errorf("%s: %v, want %v", key, d.Err, want)
		}
	}
	f.Fail("x", flags.ErrClosed)
	if v, d := r.BoolDetail(ctx, "x", ana, true); !v || !errors.Is(d.Err, flags.ErrClosed) {
		t.Errorf("%v, %v", v, d.Err)
	}
	if _, d := r.BoolDetail(ctx, "x", nil, true); !errors.Is(d.Err, flags.ErrNoDistinctID) {
		t.Error(d.Err)
	}
}

// The value of a subject takes precedence over the value for all subjects.
func TestFlags_ForSubject(t *testing.T) {
	f := flagstest.New(t).Variant("y", "wide")
	f.ForSubject("bob").Variant("y", "slim").Bool("x", true)
	r := f.Reader()
	got := fmt.Sprint(r.String(ctx, "y", ana, ""), r.String(ctx, "y", bob, ""), r.Bool(ctx, "x", ana, false), r.Bool(ctx, "x", bob, false))
	if want := "wideslimfalse true"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f.ForSubject("bob").Set("y", nil)
	if got := r.String(ctx, "y", bob, ""); got != "wide" {
		t.Error(got)
	}
}

// An exposure is recorded once for each distinct id, flag and value; events are recorded as
// tracked.
func TestFlags_Records(t *testing.T) {
	f := flagstest.New(t).Bool("x", true)
	r := f.Reader()
	for range 2 {
		r.Bool(ctx, "x", ana, false)
		r.Bool(ctx, "nix", bob, false)
	}
	f.Set("x", "wide")
	r.String(ctx, "x", ana, "")
	r.Bool(ctx, "x", nil, false)
	want := []flagstest.Exposure{{"x", "ana", true}, {"nix", "bob", nil}, {"x", "ana", "wide"}}
	if diff := cmp.Diff(want, f.Exposures()); diff != "" {
		t.Errorf("exposures (-want +got)\n%s", diff)
	}
	properties := map[string]any{"amount": 49}
	err := errors.Join(r.Track(ctx, "ana", "order placed", properties, map[string]string{"company": "acme"}), r.Track(ctx, "bob", "left", nil, nil))
	if err != nil {
		t.Error(err)
	}
	properties["amount"] = 0
	events := []flagstest.Event{{"ana", "order placed", map[string]any{"amount": 49}, map[string]string{"company": "acme"}}, {DistinctID: "bob", Name: "left"}}
	if diff := cmp.Diff(events, f.Events()); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
	if err := r.Track(ctx, "", "nobody's", nil, nil); !errors.Is(err, flags.ErrNoDistinctID) {
		t.Error(err)
	}
}

// recorder is a testing.TB that can fail without failing the actual test.
type recorder struct {
	testing.TB
	mu    sync.Mutex
	lines []string
	end   func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.end = f }
func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// Strict flags fail the test for the first read of each unknown key, and never after its end.
func TestFlags_Strict(t *testing.T) {
	for strict, want := range map[bool]int{true: 2, false: 0} {
		inner := &recorder{TB: t}
		f := flagstest.New(inner).Bool("search", true).Bool("layout", false)
		if strict {
			f.Strict()
		}
		r := f.Reader()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for _, key := range []string{"search", "serach", "lay-out"} {
					r.Bool(ctx, key, ana, false)
				}
			})
		}
		all.Wait()
		inner.end()
		r.Bool(ctx, "later", ana, false)
		if len(inner.lines) != want {
			t.Errorf("strict %v: %q", strict, inner.lines)
		}
		if strict && !strings.Contains(strings.Join(inner.lines, "\n"), `"serach" is read but was not set; the flags that are set: layout, search`) {
			t.Errorf("%q", inner.lines)
		}
	}
}
