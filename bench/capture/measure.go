package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// measured is a load and what it cost the server.
type measured struct {
	*result
	cpu       time.Duration // of the server process
	idle      int64         // resident before, in bytes
	now, peak int64         // resident at the end of the load, and ever
}

// atEnd has something done at the end of the program, also when it is
// interrupted: the last one first.
func (b *bench) atEnd(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endings = append(b.endings, do)
}

// end does what is to be done at the end. Whoever comes second waits.
func (b *bench) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, do := range slices.Backward(b.endings) {
		do()
	}
	b.endings = nil
}

// target starts a server: ours or a bare one. data is its folder.
type target func() (p *process, data string, err error)

// settle is how long a server is left alone before its idle memory is read.
const settle = 2 * time.Second

// measure starts a server, sends it what comes before, then the load, and
// checks that it has stored what it has acknowledged, and stops it.
func (b *bench) measure(what string, t target, before []request, l load) (m *measured, err error) {
	p, data, err := t()
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, p.stop(), os.RemoveAll(data))
		if err != nil {
			text, _ := os.ReadFile(p.log)
			err = fmt.Errorf("%s: %w\n%s", what, err, text)
		}
	}()
	time.Sleep(settle)
	m = &measured{}
	if m.idle, _, err = p.memory(); err != nil {
		return nil, err
	}
	sent := 0
	if len(before) > 0 {
		r, err := load{address: p.address, connections: 2, requests: before, check: checkAccepted}.run()
		if err != nil {
			return nil, err
		}
		sent = r.events
	}
	cpu, err := p.cpu()
	if err != nil {
		return nil, err
	}
	l.address = p.address
	if m.result, err = l.run(); err != nil {
		return nil, err
	}
	after, err := p.cpu()
	if err != nil {
		return nil, err
	}
	m.cpu = after - cpu
	if m.now, m.peak, err = p.memory(); err != nil {
		return nil, err
	}
	if err := checkStored(p, sent+m.events); err != nil {
		return nil, err
	}
	b.logf("%s: %.0f events/s, p99 %s, %.1f µs CPU an event", what, m.rate(), millis(m.quantile(0.99)), each(m.cpu, m.events))
	return m, nil
}

// checkStored checks that exactly the acknowledged events were stored.
func checkStored(p *process, acknowledged int) error {
	n, err := p.recorded()
	if err == nil && n != acknowledged {
		err = fmt.Errorf("%d events are stored, %d were acknowledged", n, acknowledged)
	}
	return err
}

// logf tells the progress.
func (b *bench) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// medianRun is the measurement with the median rate.
func medianRun(list []*measured) *measured {
	rates := make([]float64, len(list))
	for i, m := range list {
		rates[i] = m.rate()
	}
	want := median(rates)
	for _, m := range list {
		if m.rate() == want {
			return m
		}
	}
	return nil
}
