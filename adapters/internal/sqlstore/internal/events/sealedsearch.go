package events

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
	"github.com/bunting-flags/bunting/capture"
)

// fewRows is the maximum number of events of a sealed block that are read one by one.
const fewRows = 32

// eachSealedHash calls visit like eachMatch for the sealed blocks of a list that have hashes, and returns
// the other blocks.
func (s *blockSearch) eachSealedHash(blocks []encodedBlock, u unit, visit foundEvent) (rest []encodedBlock, err error) {
	_, values := s.values()
	for i := range blocks {
		b := &blocks[i]
		if b.sealed == nil || b.hashes == nil {
			rest = append(rest, *b)
			continue
		}
		done, err := s.sealedHashes(b, values, u, visit)
		if err != nil {
			return nil, b.wrap(err)
		}
		if !done {
			b.hashes = nil
			rest = append(rest, *b)
		}
	}
	return rest, nil
}

// sealedHashes implements eachSealedHash for a block. Only ids, times and names are decoded, or with origins
// all short columns; then the distinct ids are compared, too. done is false if the hashes belong to
// another file, because the file was replaced meanwhile. Then some of the events may have been visited.
func (s *blockSearch) sealedHashes(b *encodedBlock, values []block.Value, u unit, visit foundEvent) (done bool, err error) {
	err = b.sealed.rows(func(file *segment.File, group int) (err error) {
		done, err = s.hashesIn(file, group, b, values, u, visit)
		return err
	})
	if errors.Is(err, errOtherRows) {
		return false, nil
	}
	return done, err
}

// hashesIn implements sealedHashes for a group of a file.
func (s *blockSearch) hashesIn(file *segment.File, group int, b *encodedBlock, values []block.Value, u unit, visit foundEvent) (done bool, err error) {
	c := &s.decoder.block
	found, err := c.FindSealedHashes(b.hashes, file.Groups()[group].Events, values)
	if err != nil {
		return false, nil
	}
	rows := file.Rows(group)
	defer func() { _ = rows.Close() }()
	var m matcher
	read, distinctIDs := rows.Names, []string(nil)
	if b.sealed.parts&withOrigins != 0 {
		read, distinctIDs = rows.Short, s.distinctIDs
	}
	decode := func(first, n int) error {
		err := read(first, n, c)
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
		if err := decode(0, file.Groups()[group].Events); err != nil {
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

// prefetchedBlocks is the maximum number of blocks whose hashes are read by one statement: they have
// 64 KiB each.
const prefetchedBlocks = 32

// prefetch reads the hashes of the sealed blocks of a list, and where these blocks are, unless the search
// does not use hashes.
func (l *Log) prefetch(ctx context.Context, q Source, s *blockSearch, blocks []storedBlock) error {
	s.prefetched = nil
	if !s.byHash || s.distinctIDs == nil {
		return nil
	}
	var sealed []storedBlock
	for _, b := range blocks {
		if b.level == sealedLevel {
			sealed = append(sealed, b)
		}
	}
	if len(sealed) == 0 {
		return nil
	}
	slices.SortFunc(sealed, func(a, b storedBlock) int { return cmp.Compare(a.first, b.first) })
	read, err := selectBlocks(ctx, q, s.project, unit{sealed[0].first, sealed[len(sealed)-1].last}, withHashes,
		`b.first_id IN (`+database.JoinNumbers(sealed, func(b storedBlock) int64 { return b.first })+`)`)
	s.prefetched = make(map[int64]*encodedBlock, len(read))
	for i := range read {
		if b := &read[i]; b.sealed != nil && b.hashes != nil {
			s.prefetched[b.first] = b
		}
	}
	return err
}

// eachPrefetched calls visit like eachFound for a prefetched block. done is false if the block is not
// prefetched, or was changed meanwhile.
func (s *blockSearch) eachPrefetched(b *storedBlock, visit foundEvent) (done bool, err error) {
	e := s.prefetched[b.first]
	if e == nil {
		return false, nil
	}
	_, values := s.values()
	if done, err = s.sealedHashes(e, values, b.unit, visit); err != nil {
		err = e.wrap(err)
	}
	return done, err
}

// readSealed reads events of segments, whose rows a search has found, into records by id. Events of
// files that were replaced meanwhile are left out.
func readSealed(project int64, found []eventPlace, records map[int64]capture.Record) error {
	slices.SortFunc(found, func(a, b eventPlace) int {
		return cmp.Or(cmp.Compare(a.sealed.first, b.sealed.first), cmp.Compare(a.row, b.row))
	})
	for len(found) > 0 {
		s, n := found[0].sealed, 1
		for n < len(found) && found[n].sealed == s {
			n++
		}
		err := s.readRows(project, found[:n], records)
		if err != nil && !errors.Is(err, errOtherRows) {
			return err
		}
		found = found[n:]
	}
	return nil
}

// readRows implements readSealed for events of one block.
func (s *sealedBlock) readRows(project int64, found []eventPlace, records map[int64]capture.Record) error {
	return s.rows(func(file *segment.File, group int) error {
		rows := file.Rows(group)
		defer func() { _ = rows.Close() }()
		var d chunkDecoder
		for _, e := range found {
			if err := errors.Join(rows.Short(e.row, 1, &d.short), rows.Long(e.row, 1, &d.chunk)); err != nil {
				return err
			}
			if d.short.IDs[0] != e.id {
				return block.ErrDamaged
			}
			short, long := d.short.Event(0), d.long(0)
			records[e.id] = recordOf(project, &short, &long)
		}
		return nil
	})
}
