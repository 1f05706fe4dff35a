package sqlstore

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights"
)

const (
	// ownersBytes bounds what is remembered between questions of whose distinct ids
	// are, in all projects: 32 MiB, some 200,000 ids. A project with more is not
	// remembered, and looked up for every question anew.
	ownersBytes = 32 << 20
	// ownersProjects bounds the projects.
	ownersProjects = 1024
	// ownersStep is how many distinct ids are asked for at a time.
	ownersStep = 2000
)

// owners are to whom distinct ids of a project belong: people have numbers from 0 on.
// One question uses them at a time, and adds to them. They are right as long as the
// project's counter of what was rewritten is what it was before the first of them was
// read: ids that have an owner, or are nobody's, then still do, and new ones are not
// among them.
type owners struct {
	rewritten int64
	people    []insights.Person
	numbers   map[string]uint32 // by distinct id, noPerson where it belongs to nobody
	byUUID    map[capture.UUID]uint32
	size      int64
	// unknown are ids without a row. They may get one, which rewrites nothing.
	unknown []string
	// filling: some of numbers are askedFor.
	filling bool
}

// number is that of a person, a new one where it has none.
func (o *owners) number(p insights.Person) uint32 {
	n, ok := o.byUUID[p.UUID]
	if !ok {
		n = uint32(len(o.people))
		o.byUUID[p.UUID], o.people = n, append(o.people, p)
	} else if p.Exists {
		o.people[n] = p
	}
	return n
}

// ownersCache remembers owners that nobody uses, those used last.
type ownersCache struct {
	mu    sync.Mutex
	of    *simplelru.LRU[int64, *owners]
	bytes int64
}

func newOwnersCache() *ownersCache {
	c := &ownersCache{}
	c.of, _ = simplelru.NewLRU(ownersProjects, func(_ int64, o *owners) { c.bytes -= o.size }) // fails only for sizes below 1
	return c
}

// take gives what is remembered of a project away, nothing where it is no longer right.
func (c *ownersCache) take(project, rewritten int64) *owners {
	c.mu.Lock()
	o, ok := c.of.Peek(project)
	c.of.Remove(project)
	c.mu.Unlock()
	if !ok || o.rewritten != rewritten {
		o = &owners{rewritten: rewritten, numbers: map[string]uint32{}, byUUID: map[capture.UUID]uint32{}}
	}
	return o
}

func (c *ownersCache) put(project int64, o *owners) {
	if o.filling || o.size > ownersBytes {
		return
	}
	for _, id := range o.unknown {
		delete(o.numbers, id)
	}
	o.unknown = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of.Remove(project)
	c.of.Add(project, o)
	for c.bytes += o.size; c.bytes > ownersBytes; {
		c.of.RemoveOldest()
	}
}

// ownersOf asks to whom distinct ids belong, a JSON list of them, with when these
// people were made. (Hundreds of places for arguments take longer than the looking.)
func (d *dialect) ownersOf(created bool) string {
	person, join := "", ""
	if created {
		person, join = ", p.created_at", " LEFT JOIN persons p ON p.project_id = d.project_id AND p.uuid = d.person_uuid"
	}
	return `SELECT d.distinct_id, d.person_uuid` + person + ` FROM ` + d.listed + ` j CROSS JOIN distinct_ids d` + join + ` WHERE d.project_id = $1 AND d.distinct_id = j.value`
}

// resolveSome finds to whom some distinct ids belong, of which nothing is known.
func (r *insightReader) resolveSome(ctx context.Context, ids []string, reserve func(int64) error) error {
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	size := int64(0)
	for _, id := range ids {
		size += int64(len(id)) + knownSize
	}
	known := len(r.owners.people)
	err = plainRows(ctx, r.store.read, func(row []driver.Value) (err error) {
		n := uint32(noPerson)
		if owner, _ := row[1].([]byte); owner != nil {
			var p insights.Person
			p.UUID, err = uuidOf(owner)
			if r.created {
				p.CreatedAt, p.Exists = row[2].(int64)
			}
			n = r.owners.number(p)
		}
		r.numbers[row[0].(string)] = n
		return err
	}, r.store.dialect.ownersOf(r.created), r.project, string(list))
	if err != nil {
		return err
	}
	for _, id := range ids {
		if r.numbers[id] == askedFor {
			r.numbers[id] = noPerson
			r.owners.unknown = append(r.owners.unknown, id)
		}
	}
	size += int64(len(r.owners.people)-known) * numberSize
	if !r.created {
		r.owners.size += size
	}
	if reserve == nil {
		return nil
	}
	return reserve(size)
}
