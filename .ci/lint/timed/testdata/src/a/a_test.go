package a

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

const patience = 20 * time.Second

func TestElapsed(t *testing.T) {
	start := time.Now()
	if time.Since(start) > 2*time.Second { // want `elapsed time is compared: count steps, bytes or calls, use testing/synctest, or wait at least a minute`
		t.Error("slow")
	}
	took := time.Since(start)
	if 10*took < patience { // want `elapsed time is compared`
		t.Error("fast")
	}
	if first := time.Now().Sub(start); took > 3*first { // want `elapsed time is compared`
		t.Error("slower")
	}
	if took.Seconds() > 1 || float64(took) > 1e9 || min(took, time.Hour) == 0 { // want `elapsed time is compared` `elapsed time is compared` `elapsed time is compared`
		t.Error("slow")
	}
	if took > time.Minute || time.Since(start) >= 90*time.Second {
		t.Error("hangs")
	}
	t.Log(took, slow(start))
}

func TestTimers(t *testing.T) {
	done := make(chan bool)
	select {
	case <-done:
	case <-time.After(5 * time.Second): // want `the test fails when a timer ends`
		t.Fatal("not done")
	}
	timer := time.NewTimer(patience)
	after := time.After(time.Second)
	select {
	case <-done:
	case <-timer.C: // want `the test fails when a timer ends`
		if t.Name() != "" {
			panic("not done")
		}
	case _, ok := <-after: // want `the test fails when a timer ends`
		t.Errorf("not done: %t", ok)
	}
	time.AfterFunc(patience, func() { panic("not done") }) // want `the test fails when a timer ends`
	go func() {
		<-time.After(patience) // want `the test fails when a timer ends`
		panic("not done")
	}()
	select {
	case <-done:
		t.Error("done")
	case <-time.After(10 * time.Millisecond): // nothing came
	}
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("hangs")
	}
	<-time.After(time.Second)
	if t.Failed() {
		t.Fatal("failed")
	}
	time.Sleep(time.Millisecond)
}

func wait(done chan bool) error {
	select {
	case <-done:
		return nil
	case <-time.After(time.Second): // want `the test fails when a timer ends`
		return errors.New("not done")
	}
}

func TestDeadlines(t *testing.T) {
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) { // want `polling ends at a deadline`
	}
	for start := time.Now(); time.Now().Before(start.Add(patience)); { // want `polling ends at a deadline`
	}
	if deadline.Before(time.Now()) { // want `polling ends at a deadline`
		t.Error(wait(nil))
	}
	last := time.Now().Add(2 * time.Minute)
	for !time.Now().After(last) {
	}
	if yesterday := time.Now().Add(-24 * time.Hour); yesterday.After(last) {
		t.Error("the wrong way round")
	}
}

func TestContexts(t *testing.T) {
	for _, f := range []func() (context.Context, context.CancelFunc){
		func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), 10*time.Second) }, // want `a context times out`
		func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), time.Minute) },
		func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 10*time.Millisecond)
		},
	} {
		_, cancel := f()
		cancel()
	}
}

func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		time.Sleep(time.Second)
		if time.Since(start) != time.Second {
			t.Error("time passes by itself")
		}
	})
	synctest.Test(t, inBubble)
	withServer(t, 1, func(t *testing.T) {
		if start := time.Now(); time.Since(start) != 0 {
			t.Error("time passes by itself")
		}
	})
	plainly(t, func(t *testing.T) {
		if start := time.Now(); time.Since(start) > time.Second { // want `elapsed time is compared`
			t.Error("slow")
		}
	})
}

func withServer(t *testing.T, n int, f func(*testing.T)) {
	bubble(t, func(t *testing.T) {
		for range n {
			f(t)
		}
	})
}

func bubble(t *testing.T, f func(*testing.T)) { synctest.Test(t, f) }

// plainly has a bubble, but not for what it is given.
func plainly(t *testing.T, f func(*testing.T)) {
	synctest.Test(t, func(t *testing.T) { time.Sleep(time.Hour) })
	f(t)
}

func inBubble(t *testing.T) {
	start := time.Now()
	helper(t, start)
	if time.Since(start) != 0 {
		t.Error("time passes by itself")
	}
}

// helper is called in bubbles.
//
//timed:synctest
func helper(t *testing.T, start time.Time) {
	if time.Since(start) != 0 {
		t.Error("time passes by itself")
	}
}

func BenchmarkA(b *testing.B) {
	start := time.Now()
	for b.Loop() {
	}
	if time.Since(start) > time.Second {
		b.Error("slow")
	}
}
