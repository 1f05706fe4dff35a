package main

import (
	"fmt"
	"time"
)

const (
	batchConnections = 8
	// mostRate is the rate for which bodies are prepared, in events a second. The load of a faster
	// server ends early.
	mostRate = 150_000
	// part is the share of the full rate at which acknowledgements are timed.
	part = 0.8
)

// The limits for the intake.
const (
	leastOfBare  = 0.5
	leastRate    = 30_000
	longestP99   = 50 * time.Millisecond
	mostIdle     = 40 << 20
	mostResident = 256 << 20
)

// measureBatches measures batches of 100 events.
func (b *bench) measureBatches() error {
	b.table.section("batches of %d events, gzip, %d connections", batchSize, batchConnections)
	before, err := persons(0)
	if err != nil {
		return err
	}
	for _, version := range []int{7, 4} {
		rounds := b.config.rounds
		if version == 4 {
			rounds = 1
		}
		b.logf("preparing batches with uuids of version %d", version)
		requests, err := batches(b.count(batchSize), func(g *generator) { g.version = version })
		if err != nil {
			return err
		}
		l := load{connections: batchConnections, requests: requests, until: b.config.time, check: checkAccepted}
		ours, bare, err := b.compare(fmt.Sprintf("batches v%d", version), rounds, before, l, bareGroup)
		if err != nil {
			return err
		}
		b.batchRows(version, ours, bare)
		if version != 7 {
			continue
		}
		rate := ours.rate()
		l.perSecond = part * rate / batchSize
		m, err := b.measure("batches v7 at 80 %", b.sqlite, before, l)
		if err != nil {
			return err
		}
		b.table.figure(fmt.Sprintf("v7 acknowledgement at %.0f events/s, offered %.0f: p50", m.rate(), part*rate), millis(m.quantile(0.5)))
		b.table.figure("v7 same: p99", millis(m.quantile(0.99)))
		b.table.judge("≤ 50 ms", m.quantile(0.99) <= longestP99)
		b.table.figure("v7 same: max", millis(m.quantile(1)))
	}
	return nil
}

// count returns the maximum number of requests of that many events that fit into the time of a
// load.
func (b *bench) count(events int) int { return int(mostRate*b.config.time.Seconds()) / events }

// sqlite starts our server on a new folder.
func (b *bench) sqlite() (*process, string, error) { return b.ours("") }

// compare sends the same load alternately to our server and to a bare server.
func (b *bench) compare(what string, rounds int, before []request, l load, mode string) (ours, bare *measured, err error) {
	var us, them []*measured
	for range rounds {
		m, err := b.measure(what+", ours", b.sqlite, before, l)
		if err != nil {
			return nil, nil, err
		}
		us = append(us, m)
		if m, err = b.measure(what+", bare "+mode, func() (*process, string, error) { return b.bare(mode) }, before, l); err != nil {
			return nil, nil, err
		}
		them = append(them, m)
	}
	return medianRun(us), medianRun(them), nil
}

func (b *bench) batchRows(version int, ours, bare *measured) {
	v, t := fmt.Sprintf("v%d ", version), b.table
	t.compare(v+"events", ours.rate(), bare.rate(), perSecond)
	if version == 7 {
		t.judge("≥ 0.50", ours.rate() >= leastOfBare*bare.rate())
		t.figure(v+"events, least", perSecond(ours.rate()))
		t.judge("≥ 30000/s", ours.rate() >= leastRate)
	}
	t.compare(v+"CPU of the server an event", each(ours.cpu, ours.events), each(bare.cpu, bare.events), micros)
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", 0.5}, {"p99", 0.99}, {"max", 1}} {
		t.compare(v+"acknowledgement at full load "+q.name, ms(ours, q.at), ms(bare, q.at), func(v float64) string { return fmt.Sprintf("%.2f ms", v) })
	}
	if version == 7 {
		t.compare("resident idle", float64(ours.idle), float64(bare.idle), formatMegabytes)
		t.judge("≤ 40 MB", ours.idle <= mostIdle)
	}
	t.compare(v+"resident at the end of the load", float64(ours.now), float64(bare.now), formatMegabytes)
	t.compare(v+"resident at most", float64(ours.peak), float64(bare.peak), formatMegabytes)
	t.judge("≤ 256 MB", ours.peak <= mostResident)
}

func ms(m *measured, q float64) float64 { return float64(m.quantile(q)) / float64(time.Millisecond) }
