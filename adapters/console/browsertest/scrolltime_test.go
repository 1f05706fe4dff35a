package browsertest

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// traceEvent is an event of Chromium's trace. Its duration and the processor time in it are in
// microseconds.
type traceEvent struct {
	Name     string
	Pid, Tid int
	Dur      float64
	Tdur     float64 // with the time by which the processor is slowed down, without that of other programs
}

// measureScrolling logs the longest task while the list is scrolled, from Chromium's trace, and the start
// of the page on the same machine: as it is, and with a processor slowed down so that the start takes
// 300 ms or more.
func (p *page) measureScrolling(n int) {
	p.t.Helper()
	for rate, start := 1.0, 0; start < 300; {
		call(p, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: rate})
		p.visit("p/1/flags")
		p.waitAnnounced(thousands(n) + " flags")
		eventually(p.t, "rows with flags", func() bool { return js[bool](p, "document.querySelector('tbody a.code') !== null") })
		call(p, accessibility.Disable, cdp.Empty{})
		var got struct{ Start int }
		longest, processor := p.traceTasks(func() { got = js[struct{ Start int }](p, scrollScript) })
		call(p, accessibility.Enable, cdp.Empty{})
		p.t.Logf("scrolling %d flags, processor slowed down %.1f times: the longest task took %.0f ms, with %.0f ms of processor time, the start of the page %d ms", n, rate, longest, processor, got.Start)
		start = got.Start
		rate = max(rate+1, rate*300/float64(max(start, 1)))
	}
}

// traceTasks returns the milliseconds of the longest task of the page's main thread while work runs, and
// the most processor time of one.
func (p *page) traceTasks(work func()) (longest, processor float64) {
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
	tasks := map[[2]int][]traceEvent{}
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
		}
	}
	for _, e := range tasks[main] {
		longest, processor = max(longest, e.Dur/1000), max(processor, e.Tdur/1000)
	}
	return longest, processor
}
