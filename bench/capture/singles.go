package main

import "fmt"

const (
	singleConnections = 64
	leastOfLoop       = 8
)

// measureSingles measures requests of one event each.
func (b *bench) measureSingles() error {
	b.table.section("single events, %d connections", singleConnections)
	b.logf("preparing single events")
	requests, err := singles(b.count(1) / 3)
	if err != nil {
		return err
	}
	before, err := persons(0)
	if err != nil {
		return err
	}
	l := load{connections: singleConnections, requests: requests, until: b.config.time, check: checkAccepted}
	var us []*measured
	rivals := map[string][]*measured{}
	for range b.config.rounds {
		m, err := b.measure("singles, ours", b.sqlite, before, l)
		if err != nil {
			return err
		}
		us = append(us, m)
		for _, mode := range []string{bareEach, bareNone} {
			if m, err = b.measure("singles, bare "+mode, func() (*process, string, error) { return b.bare(mode) }, nil, l); err != nil {
				return err
			}
			rivals[mode] = append(rivals[mode], m)
		}
	}
	ours, loop, unstored := medianRun(us), medianRun(rivals[bareEach]), medianRun(rivals[bareNone])
	t := b.table
	t.compare("events, other: one fsync each", ours.rate(), loop.rate(), perSecond)
	t.compare("events, other: nothing stored", ours.rate(), unstored.rate(), perSecond)
	t.figure("events, least", perSecond(ours.rate()))
	least := min(leastOfLoop*loop.rate(), leastOfBare*unstored.rate())
	t.judge(fmt.Sprintf("≥ %.0f/s", least), ours.rate() >= least)
	t.compare("CPU of the server an event, other: nothing stored", each(ours.cpu, ours.events), each(unstored.cpu, unstored.events), micros)
	t.figure("acknowledgement p50", millis(ours.quantile(0.5)))
	t.figure("acknowledgement p99", millis(ours.quantile(0.99)))
	t.figure("acknowledgement max", millis(ours.quantile(1)))
	t.figure("resident at most", megabytes(ours.peak))
	t.judge("≤ 256 MB", ours.peak <= mostResident)
	return nil
}
