package browsertest

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// traceEvent is an event of Chromium's trace. Its duration and the processor time in it are in
// microseconds.
type traceEvent struct {
	Name     string
	Pid, Tid int
	Ts, Dur  float64
	Tdur     float64 // with the time by which the processor is slowed down, without that of other programs
}

// scrollWork is the work of the page's main thread while it is scrolled.
type scrollWork struct {
	longest, processor float64 // milliseconds of the longest task, and the most processor time of one
	layouts            int     // the most layouts in one task
	frames, twice      int     // tasks with a layout, and those with several
}

// measureScrolling logs the longest task while the list is scrolled, from Chromium's trace, and the start
// of the page on the same machine, without a cache, as a first visitor has it: as it is, and with a
// processor slowed down so that the start takes 300 ms or more. It does not compare times, which depend on the machine; it compares how many times a
// frame computes the layout.
func (p *page) measureScrolling(n int) {
	p.t.Helper()
	call(p, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	for rate, start := 1.0, 0; start < 300; {
		call(p, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: rate})
		p.visit("p/1/flags")
		p.waitAnnounced(thousands(n) + " flags")
		eventually(p.t, "rows with flags", func() bool { return js[bool](p, "document.querySelector('tbody a.code') !== null") })
		call(p, accessibility.Disable, cdp.Empty{})
		var got struct{ Start int }
		w := p.traceTasks(func() { got = js[struct{ Start int }](p, scrollScript) })
		call(p, accessibility.Enable, cdp.Empty{})
		p.t.Logf("scrolling %d flags, processor slowed down %.1f times: the longest task took %.0f ms, with %.0f ms of processor time, the start of the page %d ms", n, rate, w.longest, w.processor, got.Start)
		// A second layout is that of rows whose flags or calls have arrived before the frame.
		if w.layouts > 2 || w.twice > w.frames/4 {
			p.t.Errorf("of %d frames, %d computed the layout more than once, one of them %d times", w.frames, w.twice, w.layouts)
		}
		start = got.Start
		rate = max(rate+1, rate*300/float64(max(start, 1)))
	}
}

// traceTasks returns the work of the page's main thread while work runs.
func (p *page) traceTasks(work func()) (out scrollWork) {
	p.t.Helper()
	var mu sync.Mutex
	var events []traceEvent
	done := make(chan struct{})
	err := chromedp.Listen(p.ctx, func(ev any) {
		switch e := ev.(type) {
		case *tracing.EventDataCollected:
			mu.Lock()
			defer mu.Unlock()
			for _, v := range e.Value {
				var one traceEvent
				if json.Unmarshal(v, &one) == nil {
					events = append(events, one)
				}
			}
		case *tracing.EventTracingComplete:
			select {
			case <-done:
			default:
				close(done)
			}
		}
	})
	if err != nil {
		p.t.Fatal(err)
	}
	call(p, tracing.Start, tracing.StartParams{TraceConfig: &tracing.TraceConfig{IncludedCategories: []string{"devtools.timeline", "disabled-by-default-devtools.timeline"}}})
	work()
	call(p, tracing.End, cdp.Empty{})
	select {
	case <-done:
	case <-time.After(patience):
		p.t.Fatal("the trace does not end")
	}
	mu.Lock()
	defer mu.Unlock()
	frames := map[[2]int]int{} // by process and thread; the main thread of the page runs most of its frames
	tasks, layouts := map[[2]int][]traceEvent{}, map[[2]int][]traceEvent{}
	var main [2]int
	for _, e := range events {
		at := [2]int{e.Pid, e.Tid}
		switch e.Name {
		case "FireAnimationFrame":
			if frames[at]++; frames[at] > frames[main] {
				main = at
			}
		case "RunTask":
			tasks[at] = append(tasks[at], e)
		case "Layout":
			layouts[at] = append(layouts[at], e)
		}
	}
	for _, e := range tasks[main] {
		n := 0
		for _, l := range layouts[main] {
			if l.Ts >= e.Ts && l.Ts < e.Ts+e.Dur {
				n++
			}
		}
		out.longest, out.processor, out.layouts = max(out.longest, e.Dur/1000), max(out.processor, e.Tdur/1000), max(out.layouts, n)
		out.frames += min(n, 1)
		out.twice += min(n/2, 1)
	}
	return out
}
