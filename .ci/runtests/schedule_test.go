package main

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// span is the time in which a step ran.
type span struct{ begin, end time.Time }

func (s span) overlaps(o span) bool { return s.begin.Before(o.end) && o.begin.Before(s.end) }

// timeline schedules the steps, each of which takes a second, and returns when each ran.
func timeline(ctx context.Context, list []step) map[string]span {
	var mu sync.Mutex
	spans := map[string]span{}
	schedule(ctx, list, func(_ context.Context, s step) {
		begin := time.Now()
		time.Sleep(time.Second)
		mu.Lock()
		defer mu.Unlock()
		spans[s.name] = span{begin, time.Now()}
	})
	return spans
}

func TestSchedule(t *testing.T) {
	list := []step{
		{name: "first", needs: []need{cpu}},
		{name: "second", needs: []need{cpu}},
		{name: "waits", needs: []need{broker}, after: []string{"first"}},
		{name: "beside"},
		{name: "absent", after: []string{"not in this run"}},
	}
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		got := timeline(t.Context(), list)
		if len(got) != len(list) {
			t.Fatalf("%d steps ran, want %d", len(got), len(list))
		}
		if got["first"].overlaps(got["second"]) {
			t.Error("two steps used the processors at once")
		}
		if got["waits"].begin.Before(got["first"].end) {
			t.Error("a step began before the one that it comes after had ended")
		}
		for _, name := range []string{"beside", "absent"} {
			if !got[name].begin.Equal(begin) {
				t.Errorf("%s began after %v, though nothing hindered it", name, got[name].begin.Sub(begin))
			}
		}
	})
}

func TestSchedule_AtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := []step{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}}
		begin := time.Now()
		got := timeline(t.Context(), list)
		if !got["c"].begin.Equal(begin) || !got["d"].begin.Equal(begin.Add(time.Second)) {
			t.Errorf("three steps run side by side; %v", got)
		}
	})
}

func TestSchedule_Interrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var ran []string
		schedule(ctx, []step{{name: "a", needs: []need{cpu}}, {name: "b", needs: []need{cpu}}}, func(_ context.Context, s step) {
			ran = append(ran, s.name)
			cancel()
		})
		if !slices.Equal(ran, []string{"a"}) {
			t.Errorf("%v ran, want a alone", ran)
		}
	})
}
