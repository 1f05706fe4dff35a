package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

const (
	bigPart      = 500_000 // number of events for each measured rate
	bigPages     = 20      // number of reads of each page
	leastOfEmpty = 0.9
	longestPage  = 20 * time.Millisecond
)

// measureBig fills one SQLite file with n events and reads pages of it. Bodies are prepared between
// the parts, during which the server may build indexes; this happens before the last part but not
// before the first.
func (b *bench) measureBig(n int) (err error) {
	n = max(n/bigPart, 2) * bigPart
	b.table.section("%d events in one SQLite file, some 200 bytes of properties", n)
	p, data, err := b.sqlite()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop(), os.RemoveAll(data)) }()
	before, err := persons(0)
	if err != nil {
		return err
	}
	if _, err := (load{address: p.address, connections: 2, requests: before, check: checkAccepted}).run(); err != nil {
		return err
	}
	half, err := b.fill(0, n, func(g *generator, _ int) { g.small = true }, p)
	if err != nil {
		return err
	}
	if err := checkStored(p, existingPersons+n); err != nil {
		return err
	}
	if b.config.sealed {
		d, err := waitSealed(filepath.Join(data, databaseFile), data)
		if err != nil {
			return err
		}
		b.table.sealedRows("", &d)
	} else {
		size, err := folderSize(data)
		if err != nil {
			return err
		}
		b.table.figure("files", megabytes(size))
		b.table.figure("an event in the file", inBytes(size/int64(n)))
	}
	time.Sleep(settle)
	if err := b.pages(p, half); err != nil {
		return err
	}
	return b.export(p, data)
}

// fill sends events to a server in parts, and the same events to the servers at other addresses, until there are
// n with those that are stored already. It adds the rates of the first and the last part, and the memory, to the
// table. half is when it had sent half of them. The parameter from of options is the number of events before a
// part.
func (b *bench) fill(stored, n int, options func(g *generator, from int), p *process, others ...string) (half time.Time, err error) {
	var rates []float64
	for from := stored; from < n; from += bigPart {
		part := min(bigPart, n-from)
		requests, err := batches(part/batchSize, func(g *generator) { options(g, from) })
		if err != nil {
			return half, err
		}
		if half.IsZero() && 2*(from+part) > n {
			half = time.Now()
		}
		for _, address := range append([]string{p.address}, others...) {
			r, err := load{address: address, connections: batchConnections, requests: requests, check: checkAccepted}.run()
			if err != nil {
				return half, err
			}
			if address == p.address {
				rates = append(rates, r.rate())
				b.logf("%d of %d: %.0f events/s, p99 %s, max %s", from+part, n, r.rate(), millis(r.quantile(0.99)), millis(r.quantile(1)))
			}
		}
	}
	t := b.table
	if last := len(rates) - 1; last > 0 {
		t.compare(fmt.Sprintf("last %d, other: first %d", bigPart, bigPart), rates[last], rates[0], perSecond)
		t.judge("≥ 0.90", rates[last] >= leastOfEmpty*rates[0])
	}
	_, most, err := p.memory()
	if err != nil {
		return half, err
	}
	t.figure("resident at most", megabytes(most))
	t.judge("≤ 256 MB", most <= mostResident)
	return half, nil
}

// pages reads pages of events and persons.
func (b *bench) pages(p *process, half time.Time) error {
	c, err := dial(p.address)
	if err != nil {
		return err
	}
	defer c.net.Close()
	const events, people = "/api/projects/1/events/", "/api/projects/1/persons/"
	deepEvents, err := findNext(c, events+"?limit=100&before="+url.QueryEscape(half.UTC().Format(time.RFC3339Nano)))
	if err != nil {
		return err
	}
	deepPeople := people + "?limit=100"
	for range 20 {
		if deepPeople, err = findNext(c, deepPeople); err != nil {
			return err
		}
	}
	id := url.QueryEscape(personID(17))
	for _, page := range []struct{ name, path string }{
		{"newest events", events + "?limit=100"},
		{"events of a distinct id", events + "?limit=100&distinct_id=" + id},
		{"events of a name", events + "?limit=100&event=" + url.QueryEscape(names[1])},
		{"events from the middle on, by cursor", deepEvents},
		{"persons", people + "?limit=100"},
		{"person of a distinct id", people + "?limit=100&distinct_id=" + id},
		{"persons, page 21 by cursor", deepPeople},
	} {
		var took []time.Duration
		for range bigPages {
			began := time.Now()
			if _, _, err := readPage(c, page.path); err != nil {
				return err
			}
			took = append(took, time.Since(began))
		}
		b.table.figure(page.name+", median of 20", millis(median(took)))
		b.table.judge("≤ 20 ms", median(took) <= longestPage)
		least := took[0]
		for _, d := range took {
			least = min(least, d)
		}
		b.table.figure(page.name+", least of 20", millis(least))
	}
	return nil
}

// findNext returns the path of the next page.
func findNext(c *conn, path string) (string, error) {
	next, n, err := readPage(c, path)
	if err != nil {
		return "", err
	}
	if n != 100 || next == "" {
		return "", fmt.Errorf("%s: %d results and the next page %q", path, n, next)
	}
	u, err := url.Parse(next)
	if err != nil {
		return "", err
	}
	return u.RequestURI(), nil
}

// readPage reads a page, which must not be empty.
func readPage(c *conn, path string) (next string, n int, err error) {
	status, body, err := c.do(get(path).raw, nil)
	if err != nil {
		return "", 0, err
	}
	var page struct {
		Next    *string
		Results []json.RawMessage
	}
	if status != 200 {
		return "", 0, fmt.Errorf("%s: status %d: %.300s", path, status, body)
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return "", 0, fmt.Errorf("%s: %w", path, err)
	}
	if len(page.Results) == 0 {
		return "", 0, fmt.Errorf("%s: no results", path)
	}
	if page.Next != nil {
		next = *page.Next
	}
	return next, len(page.Results), nil
}
