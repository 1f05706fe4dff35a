package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"
)

// plainKey is the project whose flag asks for nothing.
const plainKey = "phc_plain"

const (
	// flagPersons have stored properties; those of rememberedPersons are asked for
	// again and again, the others once.
	flagPersons       = 100_000
	rememberedPersons = 1_000
	mostWithout       = 1.2
)

// flagRun is one kind of question.
type flagRun struct {
	name string
	make func(i int) request
	cpu  [2][]float64 // a request in microseconds, by connections
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
	b.say("storing %d persons", flagPersons)
	before, err := persons(flagPersons)
	if err != nil {
		return err
	}
	if _, err := (load{address: p.address, connections: 2, requests: before, check: took}).run(); err != nil {
		return err
	}
	remembered := func(i int) string { return storedID(i % rememberedPersons) }
	kept := &flagRun{name: "remembered", make: func(i int) request { return flagsRequest(projectKey, remembered(i), "") }}
	covered := &flagRun{name: "covered by the request", make: func(i int) request {
		return flagsRequest(projectKey, remembered(i), `{"plan":"pro"}`)
	}}
	plain := &flagRun{name: "flag without properties", make: func(i int) request { return flagsRequest(plainKey, remembered(i), "") }}
	cold := &flagRun{name: "not remembered"}
	next := rememberedPersons
	cold.make = func(int) request { next++; return flagsRequest(projectKey, storedID(next-1), "") }

	if err := b.askFlags(p, kept, 0, rememberedPersons, false); err != nil { // remembers them
		return err
	}
	// Persons who are asked for once are given out evenly, the rest are asked for
	// as often.
	n := (flagPersons - rememberedPersons) / (len(flagConnections) * b.config.rounds)
	for range b.config.rounds {
		for at := range flagConnections {
			for _, run := range []*flagRun{kept, covered, plain} {
				if err := b.askFlags(p, run, at, n, true); err != nil {
					return err
				}
			}
		}
	}
	for range b.config.rounds {
		for at := range flagConnections {
			if err := b.askFlags(p, cold, at, n, true); err != nil {
				return err
			}
		}
	}
	for at, connections := range flagConnections {
		b.flagRows(at, connections, kept, covered, plain, cold)
	}
	return nil
}

// askFlags asks n questions and, if they count, keeps the figures.
func (b *bench) askFlags(p *process, run *flagRun, at, n int, counts bool) error {
	l := load{address: p.address, connections: flagConnections[at], check: enabled}
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
		run.cpu[at] = append(run.cpu[at], each(after-before, r.requests))
		run.p50[at] = append(run.p50[at], float64(r.quantile(0.5))/float64(time.Microsecond))
		run.rate[at] = append(run.rate[at], float64(r.requests)/r.elapsed.Seconds())
	}
	return nil
}

// enabled checks that the one flag is on and nothing went wrong.
func enabled(body []byte) error {
	if !bytes.Contains(body, []byte(`"enabled":true`)) || !wellDecided(body) {
		return fmt.Errorf("answer %.300s", body)
	}
	return nil
}

func wellDecided(body []byte) bool {
	return bytes.Contains(body, []byte(`"errorsWhileComputingFlags":false`))
}

func (b *bench) flagRows(at, connections int, kept, covered, plain, cold *flagRun) {
	t := b.table
	for _, ours := range []*flagRun{kept, cold} {
		for _, other := range []*flagRun{covered, plain} {
			name := fmt.Sprintf("%d conn.: %s, other: %s, ", connections, ours.name, other.name)
			a, o := median(ours.cpu[at]), median(other.cpu[at])
			t.beside(name+"CPU", a, o, micros)
			if ours == kept {
				t.judge("≤ 1.20", a <= mostWithout*o)
			}
			t.beside(name+"p50", median(ours.p50[at]), median(other.p50[at]), micros)
			if ours == cold {
				break // the second comparison would say no more
			}
		}
	}
	t.figure(fmt.Sprintf("%d conn.: remembered", connections), perSecond(median(kept.rate[at])))
}
