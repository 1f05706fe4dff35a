package main

const (
	singleConnections = 64
	leastOfUnstored   = 0.4
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
	var rivals []rival
	for _, mode := range []string{bareEach, bareNone} {
		rivals = append(rivals, rival{mode, func() (*process, string, error) { return b.bare(mode) }})
	}
	ours, others, err := b.compare("singles", b.config.rounds, before, l, rivals)
	if err != nil {
		return err
	}
	loop, unstored := others[0], others[1]
	t := b.table
	t.compare("events, other: one fsync each", ours.rate(), loop.rate(), perSecond)
	t.compare("events, other: nothing stored", ours.rate(), unstored.rate(), perSecond)
	t.judge("≥ 0.40", ours.rate() >= leastOfUnstored*unstored.rate())
	t.compare("CPU of the server an event, other: nothing stored", each(ours.cpu, ours.events), each(unstored.cpu, unstored.events), micros)
	t.figure("acknowledgement p50", millis(ours.quantile(0.5)))
	t.figure("acknowledgement p99", millis(ours.quantile(0.99)))
	t.figure("acknowledgement max", millis(ours.quantile(1)))
	t.figure("resident at most", megabytes(ours.peak))
	t.judge("≤ 256 MB", ours.peak <= mostResident)
	if b.config.sealed {
		t.diskRows("", ours)
	}
	return nil
}
