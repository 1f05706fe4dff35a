package main

import (
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	soakConnections = 4
	soakRate        = 2_000 // events a second
	soakStep        = 10 * time.Second
	// soakJudged is the minimum duration of a run for its growth to be judged.
	soakJudged = 10 * time.Minute
	mostGrowth = 1.1
)

// measureSoak sends events with ever new distinct ids for a long time, requests flags for such ids,
// and records the memory.
func (b *bench) measureSoak(length time.Duration) (err error) {
	b.table.section("random distinct ids for %s: %d events a second, and flags of one random id for each batch", length, soakRate)
	p, data, err := b.sqlite()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop(), os.RemoveAll(data)) }()
	time.Sleep(settle)
	idle, _, err := p.memory()
	if err != nil {
		return err
	}
	var samples []int64
	events, began := 0, time.Now()
	for step := 0; time.Since(began) < length; step++ {
		requests, err := batches(int(soakRate*soakStep.Seconds())/batchSize, func(g *generator) { g.small, g.random = true, true })
		if err != nil {
			return err
		}
		mixed := make([]request, 0, 2*len(requests))
		for i, r := range requests {
			mixed = append(mixed, r, flagsRequest(projectKey, fmt.Sprintf("random-%d-%d", step, i), ""))
		}
		// The load catches up with the time that preparing took.
		remaining := time.Until(began.Add(time.Duration(step+1) * soakStep))
		r, err := load{address: p.address, connections: soakConnections, requests: mixed,
			perSecond: float64(len(mixed)) / max(remaining, time.Second).Seconds(), check: checkAnswered}.run()
		if err != nil {
			return err
		}
		events += r.events
		now, _, err := p.memory()
		if err != nil {
			return err
		}
		samples = append(samples, now)
		b.logf("%s: %d events, %s resident, p99 %s", time.Since(began).Round(time.Second), events, megabytes(now), millis(r.quantile(0.99)))
	}
	if err := checkStored(p, events); err != nil {
		return err
	}
	_, most, err := p.memory()
	if err != nil {
		return err
	}
	t := b.table
	t.figure("events", fmt.Sprint(events))
	t.figure("resident idle", megabytes(idle))
	t.figure("resident at the first sample", megabytes(samples[0]))
	t.figure("resident at the end", megabytes(samples[len(samples)-1]))
	if quarter := len(samples) / 4; quarter > 0 { // the first quarter fills the caches
		second, last := mean(samples[quarter:2*quarter]), mean(samples[len(samples)-quarter:])
		t.compare("resident in the last quarter of the time, other: in the second", float64(last), float64(second), formatMegabytes)
		if length >= soakJudged {
			t.judge("≤ 1.10", float64(last) <= mostGrowth*float64(second))
		}
	}
	t.figure("resident at most", megabytes(most))
	t.judge("≤ 256 MB", most <= mostResident)
	return nil
}

func mean(list []int64) int64 {
	sum := int64(0)
	for _, n := range list {
		sum += n
	}
	return sum / int64(len(list))
}

// checkAnswered checks a response to events or to a request for flags.
func checkAnswered(body []byte) error {
	if checkAccepted(body) == nil || isDecided(body) {
		return nil
	}
	return fmt.Errorf("answer %.300s", body)
}
