package events

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// blockSearch selects blocks that may contain certain events.
type blockSearch struct {
	project int64
	// after < id <= upTo
	after, upTo int64
	// from <= time <= to, in microseconds
	from, to int64
	// names and distinctIDs of events; nil means all
	names, distinctIDs []string
	// hashed are the values of both after the first use.
	hashed *searchValues
	// byHash selects events by the hashes of their distinct ids, which includes a few events
	// of other distinct ids but needs less time. With origins, sealed blocks are searched exactly.
	byHash bool
	// segments are those of sealed blocks that are searched next.
	segments []storedSegment
	decoder  blockDecoder
	found    []int32 // reusable memory
}

// anyTime returns a search for the events with after < id <= upTo.
func anyTime(project, after, upTo int64) blockSearch {
	return blockSearch{project: project, after: after, upTo: upTo, from: math.MinInt64, to: math.MaxInt64}
}

// fromBlock is the condition that a block is not before the one that contains the id $2.
const fromBlock = `first_id >= COALESCE((SELECT MAX(first_id) FROM event_blocks WHERE project_id = $1 AND first_id <= $2), 0)`

// fromNewChunk is the same condition for a new chunk.
const fromNewChunk = `first_id >= COALESCE((SELECT MAX(first_id) FROM event_new_chunks WHERE project_id = $1 AND first_id <= $2), 0)`

// blockFields are the columns of blocks for listBlocks, newFields those of new chunks, which are
// read together.
const (
	blockFields = `project_id, first_id, last_id, level, events, first_time, last_time`
	newFields   = `project_id, MIN(first_id), MAX(last_id), -1, SUM(events), MIN(first_time), MAX(last_time)`
)

// findBlocks returns the blocks that may contain the events of a search, in the order of ids, and
// the ranges of ids of new chunks. Their ranges are cut to the ids of the search.
func (l *Log) findBlocks(ctx context.Context, q Source, s *blockSearch) ([]storedBlock, error) {
	blocks, err := l.searchBlocks(ctx, q, s)
	if err != nil {
		return nil, err
	}
	return l.narrow(ctx, q, blocks, s)
}

const (
	// versionLevel is the level of a row that has a version in its other fields, in a list of blocks.
	versionLevel = -3
	// versionFields selects the version of the sealed blocks of the project $1.
	versionFields = `SELECT 0, 0, ` + sealedEnd + `, -3, 0, COALESCE((SELECT n FROM counters WHERE project_id = $1 AND name = '` + database.CounterSealed + `'), 0), 0`
	// searchedTimes are the conditions of a search for ids and times.
	searchedTimes = ` AND last_id >= $2 AND first_id <= $3 AND last_time >= $4 AND first_time <= $5`
	// searchedNew selects the new chunks of a search, as one row.
	searchedNew = `SELECT ` + newFields + ` FROM event_new_chunks WHERE project_id = $1 AND ` + fromNewChunk + searchedTimes + ` GROUP BY project_id`
)

// searchBlocks returns the blocks in the range of ids and times of a search, and one range of ids of
// all new chunks. Outside of transactions, it reads sealed blocks only if they have changed since the last search.
func (l *Log) searchBlocks(ctx context.Context, q Source, s *blockSearch) ([]storedBlock, error) {
	if q.Files == nil || q.Querier != database.Querier(l.db.Read) {
		return s.list(ctx, q, `SELECT `+blockFields+` FROM event_blocks WHERE project_id = $1 AND `+fromBlock+searchedTimes)
	}
	rest, err := s.list(ctx, q, versionFields+` UNION ALL SELECT `+blockFields+` FROM event_blocks WHERE project_id = $1 AND first_id > `+sealedEnd+searchedTimes)
	if err != nil {
		return nil, err
	}
	rest, version := cutVersion(rest)
	if sealed := l.sealed.get(s.project, version); sealed != nil {
		return s.addSealed(rest, sealed), nil
	}
	all, err := s.list(ctx, q, versionFields+` UNION ALL SELECT `+blockFields+` FROM event_blocks WHERE project_id = $1 AND (first_id <= `+sealedEnd+` OR TRUE`+searchedTimes+`)`)
	if err != nil {
		return nil, err
	}
	all, version = cutVersion(all)
	sealed := &sealedList{version: version}
	rest = rest[:0]
	for i := range all {
		if b := &all[i]; b.level == sealedLevel {
			sealed.blocks = append(sealed.blocks, *b)
		} else if b.level == newLevel || s.mayHave(b) {
			rest = append(rest, *b)
		}
	}
	l.sealed.put(s.project, sealed)
	return s.addSealed(rest, sealed), nil
}

// list reads the blocks that a query selects with the parameters of a search, and one range of ids of all new
// chunks.
func (s *blockSearch) list(ctx context.Context, q Source, text string) ([]storedBlock, error) {
	return listBlocks(ctx, q, text+` UNION ALL `+searchedNew, s.project, s.after+1, s.upTo, s.from, s.to)
}

// cutVersion removes the row of the version from a list.
func cutVersion(list []storedBlock) (rest []storedBlock, version sealedVersion) {
	rest = list[:0]
	for _, b := range list {
		if b.level == versionLevel {
			version = sealedVersion{last: b.last, changes: b.firstTime}
		} else {
			rest = append(rest, b)
		}
	}
	return rest, version
}

// addSealed appends the sealed blocks in the range of ids and times of the search.
func (s *blockSearch) addSealed(list []storedBlock, sealed *sealedList) []storedBlock {
	for i := range sealed.blocks {
		if b := &sealed.blocks[i]; s.mayHave(b) {
			list = append(list, *b)
		}
	}
	return list
}

// narrow removes the blocks that cannot contain the names and distinct ids of a search from a list,
// and prepares the others for reading.
func (l *Log) narrow(ctx context.Context, q Source, blocks []storedBlock, s *blockSearch) (_ []storedBlock, err error) {
	if s.names != nil || s.distinctIDs != nil {
		blocks, err = l.filterBlocks(ctx, q, blocks, s)
	}
	return splitNew(cutBlocks(blocks, s)), err
}

// covers reports whether the range of ids and times of another search is within that of s.
func (s *blockSearch) covers(o *blockSearch) bool {
	return s.project == o.project && s.after <= o.after && s.upTo >= o.upTo && s.from <= o.from && s.to >= o.to
}

// mayHave reports whether a block may have events in the range of ids and times of the search.
func (s *blockSearch) mayHave(b *storedBlock) bool {
	return b.last > s.after && b.first <= s.upTo && b.lastTime >= s.from && b.firstTime <= s.to
}

// newRange is the number of ids of a range of new chunks that is read at a time if there are more
// events than that.
const newRange = 4096

// splitNew divides the range of new chunks of a list of blocks of a project, if it has many events,
// and sorts the list by id.
func splitNew(blocks []storedBlock) []storedBlock {
	slices.SortFunc(blocks, func(a, b storedBlock) int { return cmp.Compare(a.first, b.first) })
	n := len(blocks) - 1
	if n < 0 || blocks[n].level != newLevel || blocks[n].events <= newRange {
		return blocks
	}
	rest := blocks[n]
	blocks = blocks[:n]
	for first := rest.first; first <= rest.last; first += newRange {
		part := rest
		part.unit = unit{first, min(first+newRange-1, rest.last)}
		blocks = append(blocks, part)
	}
	return blocks
}

// Ranges returns the first and the last id of ranges of ids, in order, that contain all
// events of a project with after < id <= upTo and from <= time < to.
func (l *Log) Ranges(ctx context.Context, project, after, upTo, from, to int64) (out [][2]int64, err error) {
	blocks, err := l.findBlocks(ctx, l.Source(), &blockSearch{project: project, after: after, upTo: upTo, from: from, to: to})
	for _, b := range blocks {
		out = append(out, [2]int64{b.first, b.last})
	}
	return out, err
}

// cutBlocks cuts the ranges of blocks to the ids of a search.
func cutBlocks(blocks []storedBlock, s *blockSearch) []storedBlock {
	for i := range blocks {
		b := &blocks[i]
		b.first, b.last = max(b.first, s.after+1), min(b.last, s.upTo)
	}
	return blocks
}

// filterGroup is the number of blocks whose filters are read by one statement.
const filterGroup = 128

// filterBlocks returns the blocks of a list, all of one project, that may contain the names
// and distinct ids of a search according to their filters, or that were replaced.
func (l *Log) filterBlocks(ctx context.Context, q Source, blocks []storedBlock, s *blockSearch) (out []storedBlock, err error) {
	values := s.values()
	for group := range slices.Chunk(blocks, filterGroup) {
		filters, err := l.readFilters(ctx, q, s.project, group)
		if err != nil {
			return nil, err
		}
		for i := range group {
			may := func(v block.Value) bool { return filters[i].MayHave(v) }
			if (s.names == nil || slices.ContainsFunc(values.names, may)) && (s.distinctIDs == nil || slices.ContainsFunc(values.distinctIDs, may)) {
				out = append(out, group[i])
			}
		}
	}
	return out, nil
}

// searchValues are the values of the names and distinct ids of a search.
type searchValues struct{ names, distinctIDs []block.Value }

// values returns the values of the names and distinct ids, which must not change any more.
func (s *blockSearch) values() *searchValues {
	if s.hashed != nil {
		return s.hashed
	}
	s.hashed = &searchValues{}
	for _, name := range s.names {
		s.hashed.names = append(s.hashed.names, block.NameValue(database.CleanText(name)))
	}
	for _, id := range s.distinctIDs {
		s.hashed.distinctIDs = append(s.hashed.distinctIDs, block.DistinctIDValue(capture.StoredDistinctID(id)))
	}
	return s.hashed
}

// readFilters returns the filters of blocks, which are all of one project. The filter of a
// block that was replaced excludes nothing.
func (l *Log) readFilters(ctx context.Context, q Source, project int64, blocks []storedBlock) ([]block.Filter, error) {
	filters := make([]block.Filter, len(blocks))
	missing := map[int64]int{} // the index of the block by its first id
	var ids []int64
	for i := range blocks {
		if blocks[i].level == newLevel { // it has no filter
			continue
		}
		var ok bool
		if filters[i], ok = l.filters.get(filterKey{project, blocks[i].first, blocks[i].last}); !ok {
			missing[blocks[i].first] = i
			ids = append(ids, blocks[i].first)
		}
	}
	if len(ids) == 0 {
		return filters, nil
	}
	isCommitted := q.Querier == database.Querier(l.db.Read) // blocks of a transaction may be rolled back
	return filters, database.Query(ctx, q, func(rows *sql.Rows) error {
		var first int64
		var data []byte
		if err := rows.Scan(&first, &data); err != nil {
			return err
		}
		i := missing[first]
		f, err := block.DecodeFilter(data)
		if err != nil {
			return blocks[i].wrap(err)
		}
		filters[i] = f
		if isCommitted {
			l.filters.add(filterKey{project, first, blocks[i].last}, f)
		}
		return nil
	}, `SELECT first_id, filter FROM event_filters WHERE first_id IN (`+database.JoinNumbers(ids, func(id int64) int64 { return id })+`)`)
}

// eachMatch decodes the blocks of a project that overlap a range of ids, with the
// requested parts, and calls visit with the index of each event in the range that matches
// the names and distinct ids of a search, from the last event to the first.
func (l *Log) eachMatch(ctx context.Context, q Source, s *blockSearch, u unit, parts blockParts, visit func(c *block.Columns, i int)) error {
	return l.eachFound(ctx, q, s, u, parts, func(c *block.Columns, i int, _ *sealedBlock, _ int) { visit(c, i) })
}

// eachFound is eachMatch that also calls visit with the place of the event if it is in a segment: its
// block and its row in it.
func (l *Log) eachFound(ctx context.Context, q Source, s *blockSearch, u unit, parts blockParts, visit foundEvent) error {
	byHash := s.byHash && s.distinctIDs != nil
	switch {
	case byHash:
		parts |= withHashes
	case s.distinctIDs != nil:
		parts |= withPeople
	}
	blocks, err := readBlocks(ctx, q, s.project, u, parts)
	if err != nil {
		return err
	}
	if byHash {
		if blocks, err = s.eachSealedHash(blocks, u, visit); err != nil {
			return err
		}
	}
	return s.decoder.each(blocks, func(b *encodedBlock, c *block.Columns, _ int) error {
		if byHash && b.hashes != nil {
			return s.eachHash(b, c, u, visit)
		}
		m := newMatcher(c, s.names, s.distinctIDs)
		for i := len(c.IDs) - 1; i >= 0 && m.any; i-- {
			if c.IDs[i] >= u.first && c.IDs[i] <= u.last && m.matches(i) {
				visit(c, i, b.sealed, i)
			}
		}
		return nil
	})
}

// eventPosition is the sort key of an event in a page. The timestamp is in
// microseconds.
type eventPosition struct{ timestamp, id int64 }

// eventPlace is the position of an event, and its place if it is in a segment.
type eventPlace struct {
	eventPosition
	sealed *sealedBlock // nil if it is in no segment
	row    int
}

// foundEvent is called with an event: its index in c, and its block and row if it is in a segment.
type foundEvent func(c *block.Columns, i int, sealed *sealedBlock, row int)

// eachHash implements eachMatch for a decoded block and a search by hash.
func (s *blockSearch) eachHash(b *encodedBlock, c *block.Columns, u unit, visit foundEvent) error {
	found, err := c.FindHashes(b.hashes, s.values().distinctIDs)
	if err != nil {
		return b.wrap(err)
	}
	m := newMatcher(c, s.names, nil)
	for _, at := range slices.Backward(found) {
		i := int(at)
		if m.any && c.IDs[i] >= u.first && c.IDs[i] <= u.last && m.matches(i) {
			visit(c, i, nil, 0)
		}
	}
	return nil
}
