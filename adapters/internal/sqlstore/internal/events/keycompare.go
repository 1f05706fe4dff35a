package events

import (
	"context"
	"fmt"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

const (
	// maxClaimReads is the number of events that a transaction reads in order to compare them with keys.
	// Other writers wait meanwhile, for up to 0.1 ms an event if they are far from each other.
	maxClaimReads = 256
	// maxComparisons is the number of times that comparisons are made before a transaction. After that
	// the transaction makes those that are missing because of erased and sealed events.
	maxComparisons = 3
)

// UncomparedError is the error of Claim if there are many events with the hash of a key, or some may be
// in a bucket: Compare compares them first, while no transaction waits for it.
type UncomparedError struct{ projects []*candidates }

func (e *UncomparedError) Error() string {
	n := 0
	for _, c := range e.projects {
		n += len(c.list)
	}
	return fmt.Sprintf("%d events must be compared with keys before the transaction", n)
}

// KeyComparisons are results of comparing keys with stored events. They are valid until events of the
// project are erased or deleted.
type KeyComparisons struct {
	times    int
	projects map[int64]*projectComparisons
}

// projectComparisons are the comparisons of a project. rewritten is the value of the counter.
type projectComparisons struct {
	rewritten int64
	results   map[comparedKey]comparison
}

// comparedKey is an event and a key.
type comparedKey struct {
	id  int64
	key capture.EventKey
}

// Compare makes the comparisons that a claim lacks, outside of transactions, and returns them with
// earlier ones, which may be nil.
func (l *Log) Compare(ctx context.Context, e *UncomparedError, earlier *KeyComparisons) (*KeyComparisons, error) {
	if earlier == nil {
		earlier = &KeyComparisons{projects: map[int64]*projectComparisons{}}
	}
	earlier.times++
	for _, late := range e.projects {
		rewritten, err := rewrittenCount(ctx, l.db.Read, late.project)
		if err != nil {
			return nil, err
		}
		p := earlier.projects[late.project]
		if p == nil || p.rewritten != rewritten {
			p = &projectComparisons{rewritten, map[comparedKey]comparison{}}
			earlier.projects[late.project] = p
		}
		isNew := make([]bool, len(late.keys))
		for i := range isNew {
			isNew[i] = true
		}
		list := late.list
		late.isNew = isNew
		if err := late.check(ctx, l.Source()); err != nil {
			return nil, fmt.Errorf("comparing keys of project %d: %w", late.project, err)
		}
		for _, f := range list {
			if f.result != uncompared {
				p.results[comparedKey{f.id, late.keys[f.index]}] = f.result
			}
		}
	}
	return earlier, nil
}

// recall sets the results that are known of candidates, and leaves the others of the keys that are still new.
func (d *KeyComparisons) recall(t *database.Tx, c *candidates) error {
	if d == nil || d.projects[c.project] == nil {
		return nil
	}
	p := d.projects[c.project]
	n, err := rewrittenCount(t.Ctx, t.SQL, c.project)
	if err != nil || n != p.rewritten {
		return err
	}
	rest := c.list[:0]
	for _, f := range c.list {
		switch p.results[comparedKey{f.id, c.keys[f.index]}] {
		case isSame:
			c.setResult(f, true)
		case uncompared:
			rest = append(rest, f)
		}
	}
	c.list = rest
	return nil
}

// mayRead reports whether a transaction may read the events of the candidates, after it has read some already, and counts
// them.
func (d *KeyComparisons) mayRead(c *candidates, inBucket bool, read *int) bool {
	n := 0
	for _, f := range c.list {
		if c.isNew[f.index] {
			n++
		}
	}
	if n == 0 || d != nil && d.times >= maxComparisons {
		return true
	}
	*read += n
	return !inBucket && *read <= maxClaimReads
}
