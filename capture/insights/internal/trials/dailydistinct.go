package trials

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"

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
	// object returns the object of an event, and false if it has none.
	object  func(*scan.Row) (objectKey, bool)
	reserve func(bytes int64) error
}

// countsPeople reports whether a side of the metric counts persons.
func (q *experimentQuery) countsPeople() bool {
	return slices.ContainsFunc(q.metric.sides, func(s metricSource) bool { return s.math == "dau" })
}

// bindDistinct returns the objects of a side. It returns nil if the side counts every event.
func (s *side) bindDistinct(f *experimentRun) *distinctObjects {
	if s.number == nil {
		return nil
	}
	d := &distinctObjects{seen: map[countedObject]struct{}{}, reserve: f.Reserve}
	if s.math == "dau" {
		person := f.b.People()
		d.object = func(r *scan.Row) (objectKey, bool) { return objectKey(f.PersonID(person(r))), true }
		return d
	}
	name := "$session_id"
	if s.math == "unique_group" {
		name = "$group_" + strconv.Itoa(s.groupType)
	}
	value := f.b.EventProperty(name)
	d.object = func(r *scan.Row) (objectKey, bool) {
		text, _ := scan.Text(value(r))
		sum := sha256.Sum256([]byte(text))
		return objectKey(sum[:16]), text != ""
	}
	return d
}

// setObject stores an object in a moment.
func (m *moment) setObject(key objectKey) {
	m.id, m.bits = int64(binary.LittleEndian.Uint64(key[:])), binary.LittleEndian.Uint64(key[8:])
}

// object returns the object of a moment.
func (m *moment) object() (key objectKey) {
	binary.LittleEndian.PutUint64(key[:], uint64(m.id))
	binary.LittleEndian.PutUint64(key[8:], m.bits)
	return key
}

// add counts an object for an entity, and reports whether it is new.
func (d *distinctObjects) add(actor uint32, object objectKey) (isNew bool, err error) {
	o := countedObject{actor, object}
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
