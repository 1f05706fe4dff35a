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
)

// mixedQuestions run one after the other without pauses: one over an index, and one over all rows.
var mixedQuestions = []int{2, 3}

// mixture is the other load of a server during a load.
type mixture int

const (
	undisturbed mixture = iota
	withQuestions
	withEvents // on eight connections, as fast as possible
)

// mixedLoad contains the results of a load by mixture and round.
type mixedLoad struct {
	rates    [3][]float64
	p50, p99 [3][]time.Duration
	answers  []float64 // completed queries per second
	events   []float64 // events per second of withEvents
}

// measureMixed sends events and requests for flags to a server on a copy of the file, alternately
// without and with concurrent queries, and requests for flags with as many events as possible.
func (b *bench) measureMixed(file string) (err error) {
	copied := filepath.Join(b.dir, "beside.db")
	remove, err := copyStore(copied, file, b.config.sealed)
	if err != nil {
		return errors.Join(err, remove())
	}
	p, err := b.serveFile(copied, b.config.sealed)
	if err != nil {
		return errors.Join(err, remove())
	}
	defer func() { err = errors.Join(err, p.stop(), remove()) }()
	if b.config.ask > 0 {
		if err := b.measureTiles(p); err != nil {
			return err
		}
	}
	intake, flags := &mixedLoad{}, &mixedLoad{}
	for range b.config.rounds {
		for _, with := range []mixture{undisturbed, withQuestions} {
			if err := b.mixEvents(p, intake, with); err != nil {
				return err
			}
			if err := b.mixFlags(p, flags, with); err != nil {
				return err
			}
		}
		if err := b.mixFlags(p, flags, withEvents); err != nil {
			return err
		}
	}
	b.mixedRows(intake, flags)
	_, most, err := p.memory()
	if err != nil {
		return err
	}
	b.table.figure("resident at most", megabytes(most))
	b.table.judge("≤ 256 MB", most <= mostResident)
	return nil
}

// mixEvents measures the intake of events.
func (b *bench) mixEvents(p *process, intake *mixedLoad, with mixture) error {
	l, err := b.intakeLoad(p, mixedConnections, b.config.time)
	if err != nil {
		return err
	}
	defer time.Sleep(settle)
	return intake.add(p.address, l.run, with, nil)
}

// mixFlags measures requests for flags.
func (b *bench) mixFlags(p *process, flags *mixedLoad, with mixture) (err error) {
	var events load
	if with == withEvents {
		if events, err = b.intakeLoad(p, batchConnections, b.config.time+2*ahead); err != nil {
			return err
		}
	}
	run, err := flagsLoad(p.address, b.config.time)
	if err != nil {
		return err
	}
	if err = flags.add(p.address, run, with, &events); err == nil {
		b.logf("/flags: p99 %s", millis(flags.p99[with][len(flags.p99[with])-1]))
	}
	time.Sleep(settle)
	return err
}

// intakeLoad is a load of events for a server.
func (b *bench) intakeLoad(p *process, connections int, length time.Duration) (load, error) {
	requests, err := batches(int(length.Seconds()*mostRate/batchSize), func(*generator) {})
	return load{address: p.address, connections: connections, until: length, requests: requests, check: checkAccepted}, err
}

// mixedRows adds the results to the table.
func (b *bench) mixedRows(intake, flags *mixedLoad) {
	t := b.table
	t.section("beside other requests, %s, median of %d; other: alone", b.config.time, b.config.rounds)
	with, without := median(intake.rates[withQuestions]), median(intake.rates[undisturbed])
	t.compare("events beside questions", with, without, perSecond)
	t.judge("≥ 0.8", with >= minMixedRate*without)
	for _, row := range []struct {
		name string
		with mixture
	}{{"questions back to back", withQuestions}, {"full intake", withEvents}} {
		p99 := median(flags.p99[row.with])
		t.compareTimes("/flags beside "+row.name+", 99 %", p99, median(flags.p99[undisturbed]))
		t.judge("≤ 2", p99 <= maxMixedLatency*median(flags.p99[undisturbed]))
		t.compareTimes("/flags beside "+row.name+", median", median(flags.p50[row.with]), median(flags.p50[undisturbed]))
	}
	t.figure("questions beside events", fmt.Sprintf("%.2f/s", median(intake.answers)))
	t.figure("questions beside /flags", fmt.Sprintf("%.2f/s", median(flags.answers)))
	t.figure("events beside /flags", perSecond(median(flags.events)))
}

// ahead is the time before and after a load during which events are sent too.
const ahead = 500 * time.Millisecond

// add runs a load of the server at an address; events is the other load of withEvents.
func (c *mixedLoad) add(address string, run func() (*result, error), with mixture, events *load) error {
	stop, done := make(chan struct{}), make(chan error, 1)
	answers := 0
	began := time.Now()
	switch with {
	case undisturbed:
		done <- nil
	case withQuestions:
		go func() { done <- askOn(address, stop, &answers) }()
	case withEvents:
		go func() {
			r, err := events.run()
			if err == nil {
				c.events = append(c.events, r.rate())
			}
			done <- err
		}()
		time.Sleep(ahead)
	}
	r, err := run()
	elapsed := time.Since(began)
	close(stop)
	if err := errors.Join(err, <-done); err != nil {
		return err
	}
	if with == withQuestions {
		c.answers = append(c.answers, float64(answers)/elapsed.Seconds())
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
	if _, err = io.Copy(out, in); err == nil {
		err = out.Sync() // not during the measurement
	}
	return errors.Join(err, out.Close())
}
