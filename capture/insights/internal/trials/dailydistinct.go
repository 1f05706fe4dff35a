package trials

import (
	"crypto/sha256"
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// objectKey identifies an object that counts once for an entity: the UUID of a person, or the first bytes
// of the SHA-256 hash of the id of a session or group. Unlike a number, it is the same in every run.
type objectKey [16]byte

// countedObject is an object that was counted for an entity.
type countedObject struct {
	actor  uint32
	object objectKey
}

const (
	// countedSize is the size of a countedObject, and seenSize that of an entry of distinctObjects.seen
	// with the element of counted, both in bytes.
	countedSize = 20
	seenSize    = 60
)

// distinctObjects are the objects that a side has counted.
type distinctObjects struct {
	// counted are the objects in the order in which they were counted. A state of a day is a prefix.
	counted []countedObject
	seen    map[countedObject]struct{}
	// key returns the key of an object by its number in this run; keys are those that were requested.
	key     func(number uint32) objectKey
	keys    []objectKey
	reserve func(bytes int64) error
}

// countsPeople reports whether a side of the metric counts persons.
func (q *experimentQuery) countsPeople() bool {
	return slices.ContainsFunc(q.metric.sides, func(s metricSource) bool { return s.math == "dau" })
}

// bindDistinct returns the objects of a side, and binds the function that numbers them. It returns nil if
// the side counts every event.
func (s *side) bindDistinct(f *experimentRun) *distinctObjects {
	if s.number == nil {
		return nil
	}
	d := &distinctObjects{seen: map[countedObject]struct{}{}, reserve: f.Reserve}
	if s.math == "dau" {
		d.key = func(number uint32) objectKey { return objectKey(f.PersonID(number)) }
		return d
	}
	ids := f.b.GroupsOf[max(s.groupType, 0)]
	if s.math != "unique_group" {
		ids = f.b.NewInterner(f.b.EventProperty("$session_id"))
		s.number = ids.Number
	}
	d.key = func(number uint32) objectKey {
		sum := sha256.Sum256([]byte(ids.All[number]))
		return objectKey(sum[:16])
	}
	return d
}

// add counts an object for an entity, and reports whether it is new.
func (d *distinctObjects) add(actor, number uint32) (isNew bool, err error) {
	if d.keys, err = scan.Grow(d.keys, number, 16, d.reserve); err != nil {
		return false, err
	}
	if d.keys[number] == (objectKey{}) {
		d.keys[number] = d.key(number)
	}
	o := countedObject{actor, d.keys[number]}
	if _, ok := d.seen[o]; ok {
		return false, nil
	}
	d.seen[o] = struct{}{}
	d.counted = append(d.counted, o)
	return true, d.reserve(seenSize)
}

// load replaces the objects by those of a state.
func (d *distinctObjects) load(counted []countedObject) error {
	clear(d.seen)
	d.counted = counted
	for _, o := range counted {
		d.seen[o] = struct{}{}
	}
	return d.reserve(seenSize * int64(len(counted)))
}
