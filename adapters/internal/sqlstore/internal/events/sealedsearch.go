package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
	"github.com/bunting-flags/bunting/capture"
)

// fewRows is the maximum number of events of a sealed block that are read one by one.
const fewRows = 32

// eachSealedHash calls visit like eachMatch for the sealed blocks of a list that can be searched by hash, and
// returns the other blocks.
func (s *blockSearch) eachSealedHash(blocks []encodedBlock, u unit, visit foundEvent) (rest []encodedBlock, err error) {
	for i := range blocks {
		b, done := &blocks[i], false
		if b.sealed != nil {
			if done, err = s.sealedHashes(b, u, visit); err != nil {
				return nil, b.wrap(err)
			}
			b.hashes = nil
		}
		if !done {
			rest = append(rest, *b)
		}
	}
	return rest, nil
}

// sealedHashes implements eachSealedHash for a block. Only ids, times and requested names are decoded, or with
// origins all short columns; then the distinct ids are compared, too. done is false if the rows are not known: the
// file was replaced meanwhile, or it is of an earlier version and there are no hashes of its rows. Then
// some of the events may have been visited.
func (s *blockSearch) sealedHashes(b *encodedBlock, u unit, visit foundEvent) (done bool, err error) {
	err = b.sealed.rows(func(file *segment.File, group int) (err error) {
		done, err = s.hashesIn(file, group, b, u, visit)
		return err
	})
	if errors.Is(err, errOtherRows) {
		return false, nil
	}
	return done, err
}

// hashesIn implements sealedHashes for a group of a file.
func (s *blockSearch) hashesIn(file *segment.File, group int, b *encodedBlock, u unit, visit foundEvent) (done bool, err error) {
	c, events := &s.decoder.block, file.Groups()[group].Events
	rows := file.Rows(group)
	defer func() { _ = rows.Close() }()
	values := s.values().distinctIDs
	found, ok, err := rows.WithDistinctIDs(values, s.found)
	if err != nil {
		return false, err
	}
	if s.found = found; !ok { // a file of an earlier version, whose hashes are in the database
		if found, err = c.FindSealedHashes(b.hashes, events, values); err != nil {
			return false, nil
		}
	}
	var m matcher
	parts, distinctIDs := segment.IDs|segment.Times, []string(nil)
	if s.names != nil {
		parts |= segment.EventNames
	}
	read := func(first, n int) error { return rows.Read(parts, first, n, c) }
	if b.sealed.parts&withOrigins != 0 {
		read, distinctIDs = func(first, n int) error { return rows.Short(first, n, c) }, s.distinctIDs
	}
	decode := func(first, n int) error {
		err := read(first, n)
		if err == nil {
			m = newMatcher(c, s.names, distinctIDs)
		}
		return err
	}
	see := func(i int, row int32) {
		if id := c.IDs[i]; m.any && id >= u.first && id <= u.last && !b.sealed.erased[id] && m.matches(i) {
			visit(c, i, b.sealed, int(row))
		}
	}
	if len(found) > fewRows {
		if err := decode(0, events); err != nil {
			return false, err
		}
		for _, row := range slices.Backward(found) {
			see(int(row), row)
		}
		return true, nil
	}
	for _, row := range slices.Backward(found) {
		if err := decode(int(row), 1); err != nil {
			return false, err
		}
		see(0, row)
	}
	return true, nil
}

// locate reads where the sealed blocks of a list are, unless the search does not use hashes.
func (l *Log) locate(ctx context.Context, q Source, s *blockSearch, blocks []storedBlock) (err error) {
	s.segments = nil
	if !s.byHash || s.distinctIDs == nil {
		return nil
	}
	u := unit{math.MaxInt64, 0}
	for _, b := range blocks {
		if b.level == sealedLevel {
			u = unit{min(u.first, b.first), max(u.last, b.last)}
		}
	}
	if u.first <= u.last {
		s.segments, err = q.segments(ctx, s.project, u)
	}
	return err
}

// eachLocated calls visit like eachFound for a block, all of whose ids the search has, in a located segment. done is
// false if the block is in none, or if the rows are not known: that segment may have other groups than the block
// that was listed before. Then some of the events may have been visited.
func (s *blockSearch) eachLocated(q Source, b *storedBlock, visit foundEvent) (done bool, err error) {
	at, found := slices.BinarySearchFunc(s.segments, b, func(g storedSegment, b *storedBlock) int {
		switch {
		case g.last < b.last:
			return -1
		case g.first > b.first:
			return 1
		}
		return 0
	})
	if !found || b.level != sealedLevel {
		return false, nil
	}
	g := &s.segments[at]
	e := encodedBlock{storedBlock: *b, sealed: &sealedBlock{unit: b.unit, files: q.Files, name: g.name, erased: g.erased}}
	done, err = s.sealedHashes(&e, b.unit, visit)
	if errors.Is(err, block.ErrDamaged) { // eachFound returns the error if it is still the case
		return false, nil
	}
	return done, err
}

// pageReaders is the number of goroutines that read the events of a page from segments.
const pageReaders = 4

// readSealed reads events of segments, whose rows a search has found, into records by id. Events of
// files that were replaced meanwhile are left out.
func readSealed(project int64, found []eventPlace, records map[int64]capture.Record) error {
	slices.SortFunc(found, func(a, b eventPlace) int {
		return cmp.Or(cmp.Compare(a.sealed.first, b.sealed.first), cmp.Compare(a.row, b.row))
	})
	var blocks [][]eventPlace
	for len(found) > 0 {
		n := 1
		for n < len(found) && found[n].sealed == found[0].sealed {
			n++
		}
		blocks, found = append(blocks, found[:n]), found[n:]
	}
	var mu sync.Mutex // of records
	return inParallel(min(pageReaders, len(blocks)), len(blocks), func(_, i int) error {
		list, err := blocks[i][0].sealed.readRows(project, blocks[i])
		if errors.Is(err, errOtherRows) {
			err = nil
		}
		mu.Lock()
		defer mu.Unlock()
		for i := range list {
			records[list[i].ID] = list[i]
		}
		return err
	})
}

// inParallel calls work with the numbers from 0 to n-1, in this order, in some goroutines, and with the number of the
// goroutine. It begins with no further number after an error, and returns the error of the least number.
func inParallel(goroutines, n int, work func(goroutine, i int) error) error {
	errs, next := make([]error, n), atomic.Int64{}
	run := func(goroutine, i int) {
		defer func() { // a bug fails the request instead of the process
			if fault := recover(); fault != nil {
				errs[i] = fmt.Errorf("reading events panicked: %v\n%s", fault, debug.Stack())
			}
			if errs[i] != nil {
				next.Store(int64(n))
			}
		}()
		errs[i] = work(goroutine, i)
	}
	loop := func(goroutine int) {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			run(goroutine, i)
		}
	}
	if n == 0 {
		return nil
	}
	if goroutines == 1 {
		loop(0)
	} else {
		var all sync.WaitGroup
		for goroutine := range goroutines {
			all.Go(func() { loop(goroutine) })
		}
		all.Wait()
	}
	return errs[max(slices.IndexFunc(errs, func(err error) bool { return err != nil }), 0)]
}

// readRows implements readSealed for events of one block.
func (s *sealedBlock) readRows(project int64, found []eventPlace) (records []capture.Record, err error) {
	err = s.rows(func(file *segment.File, group int) error {
		rows := file.Rows(group)
		defer func() { _ = rows.Close() }()
		numbers := make([]int, len(found))
		for i := range found {
			numbers[i] = found[i].row
		}
		return rows.Events(numbers, func(i int, e *block.Event, t *segment.Texts) {
			e.ID, e.Time = found[i].id, found[i].timestamp
			records = append(records, recordOf(project, e, &LongColumns{t.Elements, t.Properties, t.PersonProperties}))
		})
	})
	return records, err
}
