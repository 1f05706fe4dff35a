package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"
)

// plainKey is the key of the project with a flag without property filters.
const plainKey = "phc_plain"

const (
	// flagPersons have stored properties. The first rememberedPersons of them are requested
	// repeatedly, the rest only once.
	flagPersons       = 100_000
	rememberedPersons = 1_000
	mostWithout       = 1.2
)

// flagRun is one kind of request.
type flagRun struct {
	name string
	make func(i int) request
	cpu  [2][]float64 // time of a request in microseconds, by connections
	p50  [2][]float64
	rate [2][]float64
}

var flagConnections = [2]int{1, 8}

func (b *bench) measureFlags() (err error) {
	b.table.section("POST /flags?v=2, one flag, %d persons stored; other: the same without a need of the store", flagPersons)
	p, data, err := b.sqlite()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop(), os.RemoveAll(data)) }()
	b.logf("storing %d persons", flagPersons)
	before, err := persons(flagPersons)
	if err != nil {
		return err
	}
	if _, err := (load{address: p.address, connections: 2, requests: before, check: checkAccepted}).run(); err != nil {
		return err
	}
	remembered := func(i int) string { return storedID(i % rememberedPersons) }
	cached := &flagRun{name: "remembered", make: func(i int) request { return flagsRequest(projectKey, remembered(i), "") }}
	covered := &flagRun{name: "covered by the request", make: func(i int) request {
		return flagsRequest(projectKey, remembered(i), `{"plan":"pro"}`)
	}}
	plain := &flagRun{name: "flag without properties", make: func(i int) request { return flagsRequest(plainKey, remembered(i), "") }}
	cold := &flagRun{name: "not remembered"}
	next := rememberedPersons
	cold.make = func(int) request { next++; return flagsRequest(projectKey, storedID(next-1), "") }

	if err := b.askFlags(p, cached, 0, rememberedPersons, false); err != nil { // fills the cache
		return err
	}
	// Persons who are requested only once are distributed evenly, and cached persons are requested
	// as often.
	n := (flagPersons - rememberedPersons) / (len(flagConnections) * b.config.rounds)
	for range b.config.rounds {
		for index := range flagConnections {
			for _, run := range []*flagRun{cached, covered, plain} {
				if err := b.askFlags(p, run, index, n, true); err != nil {
					return err
				}
			}
		}
	}
	for range b.config.rounds {
		for index := range flagConnections {
			if err := b.askFlags(p, cold, index, n, true); err != nil {
				return err
			}
		}
	}
	for index, connections := range flagConnections {
		b.flagRows(index, connections, cached, covered, plain, cold)
	}
	return nil
}

// askFlags sends n requests and, if counts is set, records the results.
func (b *bench) askFlags(p *process, run *flagRun, index, n int, counts bool) error {
	l := load{address: p.address, connections: flagConnections[index], check: checkEnabled}
	for i := range n {
		l.requests = append(l.requests, run.make(i))
	}
	before, err := p.cpu()
	if err != nil {
		return err
	}
	r, err := l.run()
	if err != nil {
		return fmt.Errorf("flags, %s: %w", run.name, err)
	}
	after, err := p.cpu()
	if err != nil {
		return err
	}
	if counts {
		run.cpu[index] = append(run.cpu[index], each(after-before, r.requests))
		run.p50[index] = append(run.p50[index], float64(r.quantile(0.5))/float64(time.Microsecond))
		run.rate[index] = append(run.rate[index], float64(r.requests)/r.elapsed.Seconds())
	}
	return nil
}

// checkEnabled checks that the flag is on and that there was no error.
func checkEnabled(body []byte) error {
	if !bytes.Contains(body, []byte(`"enabled":true`)) || !isDecided(body) {
		return fmt.Errorf("answer %.300s", body)
	}
	return nil
}

func isDecided(body []byte) bool {
	return bytes.Contains(body, []byte(`"errorsWhileComputingFlags":false`))
}

func (b *bench) flagRows(index, connections int, cached, covered, plain, cold *flagRun) {
	t := b.table
	for _, ours := range []*flagRun{cached, cold} {
		for _, other := range []*flagRun{covered, plain} {
			name := fmt.Sprintf("%d conn.: %s, other: %s, ", connections, ours.name, other.name)
			a, o := median(ours.cpu[index]), median(other.cpu[index])
			t.compare(name+"CPU", a, o, micros)
			if ours == cached {
				t.judge("≤ 1.20", a <= mostWithout*o)
			}
			t.compare(name+"p50", median(ours.p50[index]), median(other.p50[index]), micros)
			if ours == cold {
				break // the second comparison would add no information
			}
		}
	}
	t.figure(fmt.Sprintf("%d conn.: remembered", connections), perSecond(median(cached.rate[index])))
}
