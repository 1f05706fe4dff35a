package bench

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// now is the time of every evaluation; no workload depends on it.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func compile(tb testing.TB, definitions []byte) *flags.Set {
	tb.Helper()
	defs, err := flags.ParseDefinitions(definitions)
	if err != nil {
		tb.Fatal(err)
	}
	set := flags.Compile(defs)
	if faults := set.Faults(); len(faults) > 0 {
		tb.Fatal(faults[0])
	}
	return set
}

func subject(u *User) *flags.Subject {
	return &flags.Subject{DistinctID: u.ID, Person: u.Properties()}
}

func loadOurs(tb testing.TB, w Workload) contender {
	set := compile(tb, Definitions(w.Flags))
	key := w.Flags[0].Key

	var c contender
	c.answers = func(u *User) []Answer {
		var out flags.Decisions
		if w.Single() {
			d, ok := set.EvaluateFlag(key, subject(u), now, &out)
			if !ok {
				tb.Fatalf("no answer for %s", key)
			}
			return []Answer{{d.Enabled, d.Variant}}
		}
		set.Evaluate(subject(u), now, &out)
		if out.Errors {
			tb.Fatal("errors while computing flags")
		}
		got := make([]Answer, len(w.Flags))
		for i, f := range w.Flags {
			d := out.Find(f.Key)
			if d == nil {
				tb.Fatalf("no answer for %s", f.Key)
			}
			got[i] = Answer{d.Enabled, d.Variant}
		}
		return got
	}
	c.worker = func() func() {
		u, out := subject(&Ana), new(flags.Decisions)
		if w.Single() {
			return func() { set.EvaluateFlag(key, u, now, out) }
		}
		return func() { set.Evaluate(u, now, out) }
	}
	return c
}

func BenchmarkOursNoAlloc(b *testing.B) { race(b, loadOurs, equal) }

// loadConvenient uses our engine through Reader.Bool, which takes its memory from the reader's pool
// and the time from the Set. Several flags are read one after the other.
func loadConvenient(tb testing.TB, w Workload) contender {
	reader, ctx := compile(tb, Definitions(w.Flags)).Reader(), context.Background()
	return contender{
		answers: func(u *User) []Answer {
			got := make([]Answer, len(w.Flags))
			for i, f := range w.Flags {
				on, d := reader.BoolDetail(ctx, f.Key, subject(u), false)
				if got[i] = (Answer{on, d.Variant}); d.Err != nil || reader.Bool(ctx, f.Key, subject(u), !on) != on {
					tb.Fatalf("%s: %v, %+v", f.Key, on, d)
				}
			}
			return got
		},
		worker: func() func() {
			u := subject(&Ana)
			return func() {
				for i := range w.Flags {
					reader.Bool(ctx, w.Flags[i].Key, u, false)
				}
			}
		},
	}
}

func BenchmarkConvenientNoAlloc(b *testing.B) { race(b, loadConvenient, equal) }

// compileFlags is the number of flags that BenchmarkOursCompile compiles.
const compileFlags = 10_000

// BenchmarkOursCompile measures Compile only. B-held is the memory that the Set keeps alive,
// including strings of the definitions: the heap after a collection with only the Set alive, less
// the heap before the definitions were read.
func BenchmarkOursCompile(b *testing.B) {
	data := Definitions(Mixed(compileFlags))
	before := heap()
	set := compile(b, data)
	held := heap() - before
	runtime.KeepAlive(set)

	defs, err := flags.ParseDefinitions(data)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		flags.Compile(defs)
	}
	runtime.KeepAlive(data)
	b.ReportMetric(float64(held), "B-held")
}

// BenchmarkOursParse measures ParseDefinitions on the same project, for information: the limit is
// on BenchmarkOursLoad.
func BenchmarkOursParse(b *testing.B) {
	data := Definitions(Mixed(compileFlags))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := flags.ParseDefinitions(data); err != nil {
			b.Fatal(err)
		}
	}
}

// heap returns the bytes that are live after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the second one frees memory that finalizers and pools released
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
