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
	leastOfOlder = 2.2 // times the rate of the server of -older
	mostCPU      = 1.5
	longestP99   = 40 * time.Millisecond
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
		requests, err := batches(b.count(batchSize), func(g *generator) {
			if g.version = version; b.config.sealed {
				g.second = secondProject
			}
		})
		if err != nil {
			return err
		}
		l := load{connections: batchConnections, requests: requests, until: b.config.time, check: checkAccepted}
		rivals := []rival{{bareGroup, func() (*process, string, error) { return b.bare(bareGroup) }}}
		if b.older != "" && version == 7 {
			rivals = append(rivals, rival{"older", func() (*process, string, error) { return b.serve(b.older, false) }})
		}
		ours, others, err := b.compare(fmt.Sprintf("batches v%d", version), rounds, before, l, rivals)
		if err != nil {
			return err
		}
		b.batchRows(version, ours, others[0])
		if version != 7 {
			continue
		}
		if len(others) > 1 {
			b.table.compare("v7 events, other: the older server", ours.rate(), others[1].rate(), perSecond)
			b.table.judge("≥ 2.20", ours.rate() >= leastOfOlder*others[1].rate())
			b.table.compare("v7 CPU of the server an event, other: the older server", each(ours.cpu, ours.events), each(others[1].cpu, others[1].events), micros)
		}
		rate := ours.rate()
		l.perSecond = part * rate / batchSize
		m, err := b.measure("batches v7 at 80 %", b.sqlite, before, l)
		if err != nil {
			return err
		}
		b.table.figure(fmt.Sprintf("v7 acknowledgement at %.0f events/s, offered %.0f: p50", m.rate(), part*rate), millis(m.quantile(0.5)))
		b.table.figure("v7 same: p99", millis(m.quantile(0.99)))
		b.table.judge("≤ 40 ms", m.quantile(0.99) <= longestP99)
		b.table.figure("v7 same: max", millis(m.quantile(1)))
	}
	return nil
}

// count returns the maximum number of requests of that many events that fit into the time of a
// load.
func (b *bench) count(events int) int { return int(mostRate*b.config.time.Seconds()) / events }

// sqlite starts our server on a new folder.
func (b *bench) sqlite() (*process, string, error) { return b.ours("") }

// rival is a server that ours is compared with.
type rival struct {
	name  string
	start target
}

// compare sends the same load alternately to our server and to the rivals.
func (b *bench) compare(what string, rounds int, before []request, l load, rivals []rival) (ours *measured, others []*measured, err error) {
	list := append([]rival{{"ours", b.sqlite}}, rivals...)
	runs := make([][]*measured, len(list))
	for range rounds {
		for i, r := range list {
			m, err := b.measure(what+", "+r.name, r.start, before, l)
			if err != nil {
				return nil, nil, err
			}
			runs[i] = append(runs[i], m)
		}
	}
	for _, list := range runs[1:] {
		others = append(others, medianRun(list))
	}
	return medianRun(runs[0]), others, nil
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
	if version == 7 {
		t.judge("≤ 1.50", each(ours.cpu, ours.events) <= mostCPU*each(bare.cpu, bare.events))
	}
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
	if b.config.sealed {
		t.diskRows(v, ours)
	}
}

func ms(m *measured, q float64) float64 { return float64(m.quantile(q)) / float64(time.Millisecond) }
