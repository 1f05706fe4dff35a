package flags_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// snapshotReaders returns the Readers of one set of definitions.
func snapshotReaders(t *testing.T, definitions string) map[string]flags.Reader {
	t.Helper()
	d := parse(t, definitions)
	decider, err := serving.NewDecider(serving.Config{Source: serving.StaticSource("phc_x", flags.Project{ID: 1}, d)})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]flags.Reader{
		"Set": flags.Compile(d).Reader(), "Decider": decider.Reader("phc_x", flags.Selection{}),
		"hooked": flags.WithHooks(flags.Compile(d).Reader(), flags.Hook{}),
	}
}

// A snapshot has the same results as its Reader, whatever was read before.
func TestSnapshot_Reads(t *testing.T) {
	ctx, sub := context.Background(), &flags.Subject{DistinctID: "u"}
	for name, r := range snapshotReaders(t, readFlags) {
		s := r.For(ctx, sub)
		for _, key := range []string{"on", "off", "color", "for-pro", "inactive", "size", "limit", "broken", "round", "config", "switch", "server", "nix"} {
			for range 2 {
				_, detail := r.BoolDetail(ctx, key, sub, true)
				got, want := fmt.Sprint(
					s.Bool(key, true), s.String(key, "none"), s.Number(key, 7), flags.Payload(s, key, "none"), flags.Payload(s, key, limits{9}),
					s.Detail(key).Reason, s.Detail(key).Variant, s.Detail(key).Version, string(s.Detail(key).Payload),
				), fmt.Sprint(
					r.Bool(ctx, key, sub, true), r.String(ctx, key, sub, "none"), r.Number(ctx, key, sub, 7), flags.JSON(ctx, r, key, sub, "none"), flags.JSON(ctx, r, key, sub, limits{9}),
					detail.Reason, detail.Variant, detail.Version, string(detail.Payload),
				)
				if got != want {
					t.Errorf("%s %s: %s, want %s", name, key, got, want)
				}
				if err := s.Detail(key).Err; !errors.Is(detail.Err, flags.ErrWrongKind) && !errors.Is(err, detail.Err) {
					t.Errorf("%s %s: %v, want %v", name, key, err, detail.Err)
				}
			}
		}
	}
}

// Without a subject, a snapshot or a Reader, reads return the fallback and the reason.
func TestSnapshot_NoSubject(t *testing.T) {
	ctx := context.Background()
	cases := map[string]struct {
		s   *flags.Snapshot
		why error
	}{
		"nil": {nil, flags.ErrNotReady}, "none in the context": {flags.FromContext(ctx), flags.ErrNotReady},
		"no function": {flags.NewReader(nil, nil).For(ctx, &flags.Subject{DistinctID: "u"}), flags.ErrNotReady},
		"nil Set":     {(*flags.Set)(nil).Reader().For(ctx, &flags.Subject{DistinctID: "u"}), flags.ErrNotReady},
	}
	for name, r := range snapshotReaders(t, readFlags) {
		cases[name+", nil"] = struct {
			s   *flags.Snapshot
			why error
		}{r.For(ctx, nil), flags.ErrNoDistinctID}
		cases[name+", no id"] = struct {
			s   *flags.Snapshot
			why error
		}{r.For(ctx, &flags.Subject{}), flags.ErrNoDistinctID}
	}
	for name, tt := range cases {
		if !tt.s.Bool("on", true) || tt.s.String("color", "none") != "none" || tt.s.Number("limit", 7) != 7 || flags.Payload(tt.s, "on", limits{9}) != (limits{9}) {
			t.Errorf("%s: a read gives another value than the fallback", name)
		}
		if err := tt.s.Detail("on").Err; !errors.Is(err, tt.why) {
			t.Errorf("%s: %v, want %v", name, err, tt.why)
		}
		if b := tt.s.Bootstrap(); len(b.FeatureFlags) > 0 || len(b.FeatureFlagPayloads) > 0 {
			t.Errorf("%s: %+v", name, b)
		}
		var answer struct{ Flags []any }
		if text := tt.s.OFREP(); json.Unmarshal(text, &answer) != nil || len(answer.Flags) != 0 {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// If a file changes during a request, each flag of the request has the value from the start
// of the request, whether it was read before or not, and so have the flags for browsers.
func TestSnapshot_DefinitionsChange(t *testing.T) {
	two := func(variant string) string {
		return strings.Replace(fileWith(variant), `"flags": [`, `"flags": [{"id": 2, "key": "g", "active": `+map[string]string{"old": "true", "new": "false"}[variant]+`, "filters": {"groups": [{}]}}, `, 1)
	}
	path := filepath.Join(t.TempDir(), "flags.json")
	write := func(text string) {
		if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	write(two("old"))
	synctest.Test(t, func(t *testing.T) {
		r, err := flags.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		sub := &flags.Subject{DistinctID: "u"}
		before := r.For(t.Context(), sub)
		if got := before.String("f", ""); got != "old" {
			t.Error(got)
		}
		write(two("new"))
		time.Sleep(time.Second)
		synctest.Wait()
		sub.DistinctID = "" // For has copied it
		after := r.For(t.Context(), &flags.Subject{DistinctID: "u"})
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		for _, tt := range []struct {
			s       *flags.Snapshot
			f       string
			g       bool
			browser map[string]any
		}{
			{before, "old", true, map[string]any{"f": "old", "g": true}},
			{after, "new", false, map[string]any{"f": "new"}},
		} {
			if f, g := tt.s.String("f", ""), tt.s.Bool("g", false); f != tt.f || g != tt.g {
				t.Errorf("%s, %v, want %s, %v", f, g, tt.f, tt.g)
			}
			if diff := cmp.Diff(tt.browser, tt.s.Bootstrap().FeatureFlags); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		}
		if err := r.For(t.Context(), &flags.Subject{DistinctID: "u"}).Detail("f").Err; !errors.Is(err, flags.ErrClosed) {
			t.Error(err)
		}
	})
}

// A snapshot of a Decider looks up facts once and counts one request (flags.md §10.1), or
// zero if it is not used; the facts do not change.
func TestSnapshot_OfDecider(t *testing.T) {
	limit := int64(2)
	people := &countedPeople{stored: map[string]any{"plan": "pro"}}
	d, err := serving.NewDecider(serving.Config{
		Source: serving.StaticSource("phc_x", flags.Project{ID: 1, OrganizationID: "o", FlagLimit: &limit}, parse(t, readFlags)), People: people,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, sub, r := context.Background(), &flags.Subject{DistinctID: "u"}, d.Reader("phc_x", flags.Selection{})
	r.For(ctx, sub)
	s := r.For(ctx, sub)
	if !s.Bool("for-pro", false) || !s.Bool("server", false) || s.Bool("client", false) {
		t.Error("a flag is not as it should be")
	}
	people.stored = map[string]any{"plan": "free"}
	if got := s.Bootstrap().FeatureFlags; got["for-pro"] != true || got["client"] != true {
		t.Error(got)
	}
	if people.calls != 1 || d.Stats().Requests != 1 {
		t.Errorf("asked %d times, %d requests counted", people.calls, d.Stats().Requests)
	}
	if r.For(ctx, sub).Bool("for-pro", true) {
		t.Error("the next request does not see the change")
	}
	if err := r.For(ctx, sub).Detail("on").Err; !errors.Is(err, flags.ErrQuotaLimited) {
		t.Errorf("the third request: %v", err)
	}
}

type countedPeople struct {
	calls  int
	stored flags.Properties
}

func (p *countedPeople) Stored(context.Context, serving.Query) (*flags.Stored, error) {
	p.calls++
	return &flags.Stored{Person: p.stored}, nil
}

// Concurrent goroutines of a request evaluate each flag exactly once.
func TestSnapshot_Once(t *testing.T) {
	var mu sync.Mutex
	decided := map[string]int{}
	r := flags.NewReader(func(context.Context, string, *flags.Subject, *flags.Detail) {}, func(context.Context, *flags.Subject) flags.SnapshotConfig {
		return flags.SnapshotConfig{
			Decide: func(_ context.Context, key string, out *flags.Detail) {
				mu.Lock()
				decided[key]++
				out.Enabled = decided[key] == 1
				mu.Unlock()
				time.Sleep(time.Millisecond)
			},
		}
	})
	s := r.For(context.Background(), &flags.Subject{DistinctID: "u"})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, key := range []string{"a", "b", "c"} {
				if !s.Bool(key, false) || s.String(key, "none") != "none" || !s.Detail(key).Enabled {
					t.Errorf("%s is off", key)
				}
			}
		})
	}
	all.Wait()
	want := map[string]int{"a": 1, "b": 1, "c": 1}
	if diff := cmp.Diff(want, decided); diff != "" {
		t.Error(diff)
	}
	if err := s.Track("x", nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

// If Decide panics, later reads return the fallback.
func TestSnapshot_Panics(t *testing.T) {
	s := flags.NewReader(func(context.Context, string, *flags.Subject, *flags.Detail) { panic("no") }, nil).For(context.Background(), &flags.Subject{DistinctID: "u"})
	func() {
		defer func() { _ = recover() }()
		s.Bool("f", false)
	}()
	if !s.Bool("f", true) || !errors.Is(s.Detail("f").Err, flags.ErrFailed) {
		t.Errorf("%+v", s.Detail("f"))
	}
}

// The snapshot of a request is part of its context.
func TestSnapshot_Context(t *testing.T) {
	s := flags.Compile(parse(t, readFlags)).Reader().For(context.Background(), &flags.Subject{DistinctID: "u"})
	ctx := flags.NewContext(context.Background(), s)
	if got := flags.FromContext(ctx); got != s || !got.Bool("on", false) || got.Subject().DistinctID != "u" {
		t.Errorf("%+v", got)
	}
}

// The cost of a request that creates a snapshot and reads three flags, one of them twice.
func BenchmarkSnapshot(b *testing.B) {
	r, ctx, sub := flags.Compile(parse(b, readFlags)).Reader(), context.Background(), &flags.Subject{DistinctID: "u", Person: flags.Properties{"plan": "pro"}}
	b.ReportAllocs()
	for b.Loop() {
		s := r.For(ctx, sub)
		if !s.Bool("for-pro", false) || s.String("color", "") != "blue" || !s.Bool("on", false) || !s.Bool("on", false) {
			b.Fatal("off")
		}
	}
}
