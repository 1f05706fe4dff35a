package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

const (
	// sealedProcessors is the number of processors on which queries of segments are measured.
	sealedProcessors = 2
	mostOfDuckDB     = 2
	// limitedEvents is the number of events to which the time limits of questions and pages apply.
	limitedEvents = 10_000_000
	// sealedPages is the number of reads of each page.
	sealedPages = 20
)

// compareDuckDB runs queries over segments, and the same with DuckDB on the same files, each the least of seven
// runs on two processors, and reads pages of events.
func (b *bench) compareDuckDB(n int, file string) (err error) {
	duck, err := openDuckDB(b.config.module, absolute(file)+sealedFolder, sealedProcessors)
	if err != nil && !errors.Is(err, errNoDuckDB) {
		return err
	}
	d, err := readDisk(file, "")
	if err != nil {
		return err
	}
	if err := d.readPersons(file); err != nil {
		return err
	}
	if d.waiting > 0 || d.sealed == 0 {
		return fmt.Errorf("%s: %d events are in segments, %d are not: remove it and its folder, or use another one", file, d.sealed, d.waiting)
	}
	b.table.section("a store of %d events in %d segments", d.sealed, d.files)
	b.table.sealedRows("", &d)
	store, err := b.openQuestioned(file, file+sealedFolder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.close()) }()
	b.table.section("questions about %d events in segments, elapsed, %d processors, least of %d; other: DuckDB on the same files", n, sealedProcessors, questionRuns)
	for i := range questions {
		if err := b.compareQuestion(&questions[i], n, store, duck); err != nil {
			return fmt.Errorf("%s: %w", questions[i].name, err)
		}
	}
	b.table.section("pages of events in %d segments, elapsed, median of %d; other: DuckDB on the same files, least of %d", d.files, sealedPages, questionRuns)
	return b.sealedPages(n, store, duck)
}

// absolute returns the absolute path of a file. If there is none, opening it fails.
func absolute(file string) string {
	path, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	return path
}

// compareQuestion measures a query and adds it to the table.
func (b *bench) compareQuestion(q *question, n int, store questioned, duck *duckDB) error {
	var answer []byte
	var ours, cpu time.Duration
	for round := range questionRuns {
		began, cpuBefore := time.Now(), ownCPU()
		var err error
		if answer, err = store.ask(q.query, sealedProcessors); err != nil {
			return err
		}
		took, used := time.Since(began), ownCPU()-cpuBefore
		if round == 0 {
			ours, cpu = took, used
		}
		ours, cpu = min(ours, took), min(cpu, used)
	}
	var theirs, theirCPU time.Duration
	if duck != nil {
		rows, elapsed, used, err := duck.run(q.duck, questionRuns)
		if err != nil {
			return err
		}
		if theirs, theirCPU = elapsed, used; q.isCount {
			if err := sameCounts(answer, rows); err != nil {
				return err
			}
		}
	}
	b.logf("%s: %s, DuckDB %s", q.name, millis(ours), millis(theirs))
	b.table.compareTimes(q.name, ours, theirs)
	b.table.judgeTime(n, ours, theirs, q.mostSealed)
	b.table.compareTimes("  CPU", cpu, theirCPU)
	return nil
}

// compareTimes adds a row of two times.
func (t *table) compareTimes(what string, ours, other time.Duration) {
	t.compare(what, float64(ours), float64(other), func(v float64) string { return millis(time.Duration(v)) })
}

// judgeTime adds the limits of a time to the last row: at most twice that of DuckDB, and most unless there are
// more than limitedEvents.
func (t *table) judgeTime(n int, ours, duck, most time.Duration) {
	demand, met := "", true
	if n <= limitedEvents {
		demand, met = "≤ "+most.String()+", ", ours <= most
	}
	t.judge(demand+"≤ 2.00", met && (duck == 0 || ours <= mostOfDuckDB*duck))
}

// sameCounts checks that DuckDB has counted the same events on each day.
func sameCounts(answer []byte, rows [][]string) error {
	var trend struct {
		Results []struct{ Data []int }
	}
	if err := json.Unmarshal(answer, &trend); err != nil || len(trend.Results) != 1 {
		return fmt.Errorf("%w: %.300s", err, answer)
	}
	ours := slices.DeleteFunc(trend.Results[0].Data, func(n int) bool { return n == 0 })
	var theirs []int
	for _, row := range rows {
		n, err := strconv.Atoi(row[1])
		if err != nil {
			return err
		}
		theirs = append(theirs, n)
	}
	if !slices.Equal(ours, theirs) || len(ours) == 0 {
		return fmt.Errorf("%v by day, with DuckDB %v", ours, theirs)
	}
	return nil
}

// sealedPages reads pages of events, and an event.
func (b *bench) sealedPages(n int, store questioned, duck *duckDB) error {
	const events = "/api/projects/1/events/"
	get := func(path string) ([]byte, error) { return store.do(httptest.NewRequest(http.MethodGet, path, nil)) }
	var middle struct{ Results []struct{ ID string } }
	text, err := get(events + "?limit=1&before=" + url.QueryEscape("2026-01-15T12:00:00Z"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &middle); err != nil || len(middle.Results) != 1 {
		return fmt.Errorf("a page of the middle: %w: %.300s", err, text)
	}
	id := middle.Results[0].ID
	const columns = `SELECT uuid::VARCHAR, event, distinct_id, timestamp::VARCHAR, properties::VARCHAR FROM {files} `
	const newest = ` ORDER BY timestamp DESC LIMIT 100`
	for _, page := range []struct {
		name, path, duck string
		most             time.Duration
	}{
		{"newest 100 events", events + "?limit=100", columns + newest, 10 * time.Millisecond},
		{"an event by its uuid", events + id + "/", columns + `WHERE uuid = '` + id + `'::UUID`, 10 * time.Millisecond},
		{"timeline of a distinct id with one event in 100,000", events + "?limit=100&distinct_id=" + url.QueryEscape(visitorID), columns + `WHERE distinct_id = '` + visitorID + `'` + newest, 20 * time.Millisecond},
		{"timeline of a distinct id without events", events + "?limit=100&distinct_id=nobody", columns + `WHERE distinct_id = 'nobody'` + newest, 20 * time.Millisecond},
		{"timeline of a distinct id in all segments", events + "?limit=100&distinct_id=" + url.QueryEscape(personID(17)), columns + `WHERE distinct_id = '` + personID(17) + `'` + newest, 20 * time.Millisecond},
	} {
		var took []time.Duration
		for range sealedPages {
			began := time.Now()
			if _, err := get(page.path); err != nil {
				return err
			}
			took = append(took, time.Since(began))
		}
		var theirs time.Duration
		if duck != nil {
			if _, theirs, _, err = duck.run(page.duck, questionRuns); err != nil {
				return fmt.Errorf("%s: %w", page.name, err)
			}
		}
		ours := median(took)
		b.logf("%s: %s, DuckDB %s", page.name, millis(ours), millis(theirs))
		b.table.compareTimes(page.name, ours, theirs)
		b.table.judgeTime(n, ours, theirs, page.most)
	}
	return nil
}

// copyStore copies a database file, and links or copies its folder of segments. It returns a function that removes both.
func copyStore(to, from string, sealed bool) (remove func() error, err error) {
	remove = func() error {
		return errors.Join(os.RemoveAll(to), os.RemoveAll(to+"-wal"), os.RemoveAll(to+"-shm"), os.RemoveAll(to+sealedFolder))
	}
	err = copyFile(to, from)
	if err == nil && sealed {
		err = linkSealed(to+sealedFolder, from+sealedFolder)
	}
	return remove, err
}
