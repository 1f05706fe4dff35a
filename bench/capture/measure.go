package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// measured is the result of a load with the server's resource usage.
type measured struct {
	*result
	cpu       time.Duration // of the server process
	idle      int64         // resident memory before the load, in bytes
	now, peak int64         // resident at the end of the load, and maximum
	// tail is the size of a store with segments at the end of the load, disk when all events are
	// sealed. cpu is that until then.
	tail, disk disk
	sealing    time.Duration // CPU time between tail and disk
	database   time.Duration // CPU time of PostgreSQL
}

// atEnd registers a function to run at the end of the program, also after an interrupt. The
// functions run in reverse order.
func (b *bench) atEnd(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endings = append(b.endings, do)
}

// end runs the registered functions. A second call waits for the first.
func (b *bench) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, do := range slices.Backward(b.endings) {
		do()
	}
	b.endings = nil
}

// target starts a server, ours or a bare one. data is its folder.
type target func() (p *process, data string, err error)

// settle is how long a server stays idle before its idle memory is read.
const settle = 2 * time.Second

// measure starts a server, sends the requests in before and then the load, checks that the server
// has stored the events that it acknowledged, and stops it.
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
	cpu, err1 := p.cpu()
	database, err2 := b.postgres.cpu()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	l.address = p.address
	if m.result, err = l.run(); err != nil {
		return nil, err
	}
	if m.now, _, err = p.memory(); err != nil {
		return nil, err
	}
	if b.config.sealed {
		if err := m.readSealing(p, data); err != nil {
			return nil, err
		}
	}
	after, err1 := p.cpu()
	databaseAfter, err2 := b.postgres.cpu()
	m.cpu, m.database = after-cpu, databaseAfter-database
	if _, m.peak, err = p.memory(); err != nil || err1 != nil || err2 != nil {
		return nil, errors.Join(err, err1, err2)
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

// logf prints progress.
func (b *bench) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// medianRun returns the measurement with the median rate.
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
