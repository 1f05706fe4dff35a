package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// The limits for the effect of queries on other requests.
const (
	mixedConnections = 4 // of batches
	minMixedRate     = 0.8
	maxMixedLatency  = 2
	// mostFlags is the rate for which requests for flags are prepared, per second.
	mostFlags = 6000
)

// mixedQuestions run one after the other without pauses: one over an index, and one over all rows.
var mixedQuestions = []int{2, 3}

// mixedLoad is a load without and with concurrent queries, by round.
type mixedLoad struct {
	rates    [2][]float64
	p50, p99 [2][]time.Duration
	answers  []float64 // completed queries per second
}

// measureMixed sends events and requests for flags to a server on a copy of the file, alternately
// without and with concurrent queries.
func (b *bench) measureMixed(file string) (err error) {
	copied := filepath.Join(b.dir, "beside.db")
	if err := copyFile(copied, file); err != nil {
		return err
	}
	// The definitions are those that the file was filled with.
	p, err := b.launch("beside", b.program, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(b.dir, "beside"), "--database", "sqlite:"+copied, "--log-level", "warn")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop(), os.Remove(copied)) }()
	if err := b.measureTiles(p); err != nil {
		return err
	}
	intake, flags := &mixedLoad{}, &mixedLoad{}
	flagLoad := load{address: p.address, connections: 1, until: b.config.time, check: checkDecided}
	for i := range int(b.config.time.Seconds() * mostFlags) {
		flagLoad.requests = append(flagLoad.requests, flagsRequest(projectKey, personID(i%rememberedPersons), ""))
	}
	for range b.config.rounds {
		for _, questions := range []bool{false, true} {
			requests, err := batches(int(b.config.time.Seconds()*mostRate/batchSize), func(*generator) {})
			if err == nil {
				err = intake.add(load{address: p.address, connections: mixedConnections, until: b.config.time, requests: requests, check: checkAccepted}, questions)
			}
			if err == nil {
				time.Sleep(settle)
				err = flags.add(flagLoad, questions)
			}
			if err != nil {
				return err
			}
			time.Sleep(settle)
		}
	}
	t := b.table
	t.section("while questions are asked back to back, %s, median of %d; other: without questions", b.config.time, b.config.rounds)
	with, without := median(intake.rates[1]), median(intake.rates[0])
	t.compare("events that come in", with, without, perSecond)
	t.judge("≥ 0.8", with >= minMixedRate*without)
	t.compare("/flags, 99 %", float64(median(flags.p99[1])), float64(median(flags.p99[0])), func(v float64) string { return millis(time.Duration(v)) })
	t.judge("≤ 2", median(flags.p99[1]) <= maxMixedLatency*median(flags.p99[0]))
	t.compare("/flags, median", float64(median(flags.p50[1])), float64(median(flags.p50[0])), func(v float64) string { return millis(time.Duration(v)) })
	_, most, err := p.memory()
	if err != nil {
		return err
	}
	t.figure("resident at most", megabytes(most))
	t.judge("≤ 256 MB", most <= mostResident)
	t.figure("questions beside events", fmt.Sprintf("%.2f/s", median(intake.answers)))
	t.figure("questions beside /flags", fmt.Sprintf("%.2f/s", median(flags.answers)))
	return nil
}

// add runs a load, with or without concurrent queries.
func (c *mixedLoad) add(l load, questions bool) error {
	stop, done := make(chan struct{}), make(chan error, 1)
	answers, with := 0, 0
	began := time.Now()
	if questions {
		with = 1
		go func() { done <- askOn(l.address, stop, &answers) }()
	}
	r, err := l.run()
	elapsed := time.Since(began)
	if close(stop); questions {
		err = errors.Join(err, <-done)
		c.answers = append(c.answers, float64(answers)/elapsed.Seconds())
	}
	if err != nil {
		return err
	}
	c.rates[with] = append(c.rates[with], r.rate())
	c.p50[with], c.p99[with] = append(c.p50[with], r.quantile(0.5)), append(c.p99[with], r.quantile(0.99))
	return nil
}

// askOn runs queries, one after the other, and counts the completed queries.
func askOn(address string, stop <-chan struct{}, answers *int) error {
	c, err := dial(address)
	if err != nil {
		return err
	}
	defer c.net.Close()
	for i := 0; ; i++ {
		select {
		case <-stop:
			return nil
		default:
		}
		body := `{"refresh":"force_blocking","query":` + questions[mixedQuestions[i%len(mixedQuestions)]].query + `}`
		switch status, answer, err := c.do(withKey(post("/api/projects/1/query/", "", []byte(body), 0)).raw, nil); {
		case err != nil:
			return err
		case status != 200:
			return fmt.Errorf("a question: status %d: %.300s", status, answer)
		}
		*answers++
	}
}

func checkDecided(body []byte) error {
	if !isDecided(body) {
		return fmt.Errorf("answer %.300s", body)
	}
	return nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
