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
	leastOfEmpty = 0.75
	longestPage  = 20 * time.Millisecond
)

// measureBig fills one SQLite file with n events and reads pages of it. Bodies are prepared between
// the parts, during which the server may build indexes; this happens before the last part but not
// before the first.
func (b *bench) measureBig(n int) (err error) {
	parts := max(n/bigPart, 2)
	b.table.section("%d events in one SQLite file, some 200 bytes of properties", parts*bigPart)
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
	var rates []float64
	var half time.Time
	for part := range parts {
		requests, err := batches(bigPart/batchSize, func(g *generator) { g.small = true })
		if err != nil {
			return err
		}
		if part == parts/2 {
			half = time.Now()
		}
		r, err := load{address: p.address, connections: batchConnections, requests: requests, check: checkAccepted}.run()
		if err != nil {
			return err
		}
		rates = append(rates, r.rate())
		b.logf("part %d of %d: %.0f events/s, p99 %s, max %s", part+1, parts, r.rate(), millis(r.quantile(0.99)), millis(r.quantile(1)))
	}
	if err := checkStored(p, existingPersons+parts*bigPart); err != nil {
		return err
	}
	t := b.table
	t.compare(fmt.Sprintf("last %d, other: first %d", bigPart, bigPart), rates[parts-1], rates[0], perSecond)
	t.judge("≥ 0.75", rates[parts-1] >= leastOfEmpty*rates[0])
	_, most, err := p.memory()
	if err != nil {
		return err
	}
	t.figure("resident at most", megabytes(most))
	t.judge("≤ 256 MB", most <= mostResident)
	t.figure("files", megabytes(folderSize(data)))
	t.figure("an event in the file", fmt.Sprintf("%d bytes", folderSize(data)/int64(parts*bigPart)))
	time.Sleep(settle)
	if err := b.pages(p, half); err != nil {
		return err
	}
	return b.export(p, data)
}

func folderSize(dir string) (n int64) {
	files, _ := filepath.Glob(filepath.Join(dir, "*")) // the pattern is valid
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && !info.IsDir() {
			n += info.Size()
		}
	}
	return n
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
