package events

import (
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// fewRows is the maximum number of events of a sealed block that are read one by one. Decoding all
// columns of a block takes as long as reading some dozen events.
const fewRows = 32

// eachSealedHash calls visit like eachMatch for the sealed blocks of a list in which the hashes find
// few events, and returns the other blocks.
func (s *blockSearch) eachSealedHash(blocks []encodedBlock, u unit, visit func(c *block.Columns, i int)) (rest []encodedBlock, err error) {
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

// sealedHashes implements eachSealedHash for a block. done is false if the hashes find many events,
// or are of another number of events: then the file was rewritten meanwhile.
func (s *blockSearch) sealedHashes(b *encodedBlock, values []block.Value, u unit, visit func(c *block.Columns, i int)) (done bool, err error) {
	file, err := b.sealed.files.Open(b.sealed.name)
	if err != nil {
		return false, err
	}
	defer file.Release()
	group, err := groupOf(file, b.unit)
	if err != nil {
		return false, err
	}
	c := &s.decoder.block
	found, err := c.FindSealedHashes(b.hashes, file.Groups()[group].Events, values)
	if err != nil || len(found) > fewRows {
		return false, nil
	}
	found = slices.Clone(found)
	rows := file.Rows(group)
	defer func() { _ = rows.Close() }()
	for _, row := range slices.Backward(found) {
		if err := rows.Short(int(row), 1, c); err != nil {
			return false, err
		}
		id := c.IDs[0]
		if m := newMatcher(c, s.names, s.distinctIDs); m.any && id >= u.first && id <= u.last && !b.sealed.erased[id] && m.matches(0) {
			visit(c, 0)
		}
	}
	return true, nil
}
