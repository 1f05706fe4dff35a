package sqlstore

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"slices"

	"github.com/bunting-flags/bunting/capture/insights"
)

const (
	// noPerson stands for distinct ids that belong to nobody.
	noPerson = ^uint32(0)
	// askedFor stands for distinct ids that are being asked for.
	askedFor = noPerson - 1
	// knownSize and numberSize are the bytes that a distinct id and a person take in
	// memory beside the text of the id, about.
	knownSize, numberSize = 64, 96
)

// errWithoutIDs says that events were read without their ids, which are needed.
var errWithoutIDs = errors.New("the ids of events are needed")

// attribute fills in the people of a piece of events. Those of distinct ids that
// belong to nobody have the person that the event was stored with, which is read now
// where it is not there yet.
func (r *insightReader) attribute(ctx context.Context, e *eventColumnsRead, s *insights.Scan) error {
	r.owners.filling = true
	if err := r.resolve(ctx, e, s); err != nil {
		return err
	}
	r.owners.filling = false
	var lost []int
	for i, n := range e.person {
		switch {
		case n != noPerson:
		case len(e.stored) == 0:
			lost = append(lost, i)
		default:
			e.person[i] = r.owners.number(insights.Person{UUID: e.stored[i]})
		}
	}
	if len(lost) > 0 && len(e.id) == 0 {
		return errWithoutIDs
	}
	return r.attributeLost(ctx, e, lost)
}

func (r *insightReader) attributeLost(ctx context.Context, e *eventColumnsRead, lost []int) error {
	at := make(map[int64]int, min(len(lost), profileStep))
	for chunk := range slices.Chunk(lost, profileStep) {
		clear(at)
		for _, i := range chunk {
			at[e.id[i]] = i
			e.person[i] = noPerson
		}
		err := plainRows(ctx, r.store.read, func(row []driver.Value) error {
			uuid, err := uuidOf(row[1].([]byte))
			e.person[at[row[0].(int64)]] = r.owners.number(insights.Person{UUID: uuid})
			return err
		}, `SELECT id, person_uuid FROM events WHERE id IN (`+numbers(chunk, func(i int) int64 { return e.id[i] })+`)`)
		if err != nil {
			return err
		}
	}
	if len(lost) > 0 { // those that were erased since are gone
		e.drop(func(i int) bool { return e.person[i] == noPerson })
	}
	return nil
}

// resolve finds to whom the distinct ids of a piece belong now.
func (r *insightReader) resolve(ctx context.Context, e *eventColumnsRead, s *insights.Scan) error {
	var unknown []string
	var asked []int // the events of unknown, and of others whose id is one of them
	e.person = e.person[:0]
	before, n := "", uint32(0)
	for i, id := range e.ids {
		if i == 0 || id != before { // indexes are sorted by id
			var known bool
			if n, known = r.numbers[id]; !known {
				n = askedFor
				r.numbers[id] = n
				unknown = append(unknown, id)
			}
			before = id
		}
		if n == askedFor {
			asked = append(asked, i)
		}
		e.person = append(e.person, n)
	}
	for chunk := range slices.Chunk(unknown, ownersStep) {
		if err := r.resolveSome(ctx, chunk, s.Reserve); err != nil {
			return err
		}
		s.Rest(ctx)
	}
	for _, i := range asked {
		e.person[i] = r.numbers[e.ids[i]]
	}
	return nil
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
	return reserve(size)
}
