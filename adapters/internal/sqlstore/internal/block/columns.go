package block

import (
	"encoding/binary"

	"github.com/bunting-flags/bunting/capture"
)

// The contents of the strings are
//
//	names    number of events; differences of ids, as runs; differences of times; list of names,
//	         and for each event the index of its name
//	people   checksum of names; list of distinct ids, and for each event the index of its distinct
//	         id; list of persons, each its UUID and its time of creation, and for each event the
//	         index of its person
//	origins  checksum of names; times of arrival and modes, as runs; UUIDs
//	short    names, people and origins without the checksums
//
// Numbers are varints of encoding/binary; times and their differences are signed. A list is its
// length, then the lengths of its strings unless they are fixed, then the strings. An index has one
// byte, or two if the list has more than 256 entries: then all low bytes precede all high bytes. Runs are pairs, as long as there are events: the difference to the number of the run
// before, and how many events in a row have the number.

// MaxEvents is the maximum number of events in a block.
const MaxEvents = 1 << 14

const (
	// personSize is the length of a person in a list: UUID and time of creation.
	personSize = 16 + 8
	// maxShort is the maximum length of the content of a string of short columns. A name has at most
	// 200 characters, a distinct id 400.
	maxShort = MaxEvents * 2048
	// historicalMode is the bit of a mode that marks events of a historical migration.
	historicalMode = 4
)

// Event has the short columns of an event. Times are microseconds since 1970.
type Event struct {
	ID, Time, Arrived int64
	Name, DistinctID  string
	UUID, Person      capture.UUID
	// PersonCreated is when the person was created.
	PersonCreated int64
	Mode          capture.PersonMode
	Historical    bool
}

// storedPerson is a person in a list.
type storedPerson struct {
	uuid    capture.UUID
	created int64
}

// Bounds describe which events a block has.
type Bounds struct {
	Events          int
	FirstID, LastID int64
	// The earliest and the latest time, and time of arrival, of an event.
	FirstTime, LastTime       int64
	FirstArrived, LastArrived int64
}

// Writer encodes the short columns of a block. The zero value is an empty block.
type Writer struct {
	bounds              Bounds
	ids, arrived, modes runs
	times, uuids        []byte
	lastTime            int64
	names, distinct     list[string]
	people              list[storedPerson]
	content             []byte // reusable memory
}

// Reset empties the block and keeps its memory.
func (w *Writer) Reset() {
	w.bounds, w.lastTime, w.times, w.uuids = Bounds{}, 0, w.times[:0], w.uuids[:0]
	w.ids.reset()
	w.arrived.reset()
	w.modes.reset()
	w.names.reset()
	w.distinct.reset()
	w.people.reset()
}

// Bounds returns the bounds of the events so far.
func (w *Writer) Bounds() Bounds { return w.bounds }

// Add appends an event. The ids of the events must be positive and ascend, and there must be at
// most MaxEvents.
func (w *Writer) Add(e *Event) {
	w.addNumbers(e)
	w.names.add(numberOf(&w.names, e.Name))
	w.distinct.add(numberOf(&w.distinct, e.DistinctID))
	w.people.add(w.numberOfPerson(storedPerson{e.Person, e.PersonCreated}))
}

// AddAll appends events of which all columns are decoded, except for those with ids in skip. It
// looks up each string of their lists once.
func (w *Writer) AddAll(c *Columns, skip map[int64]bool) {
	var lists [3][]int32 // the indexes of names, distinct ids and persons in w, plus 1
	for i, n := range [...]int{len(c.Names), len(c.DistinctIDs), len(c.Persons)} {
		lists[i] = make([]int32, n)
	}
	for i, id := range c.IDs {
		if skip[id] {
			continue
		}
		e := Event{ID: id, Time: c.Times[i], Arrived: c.Arrived[i], UUID: c.UUIDs[i]}
		e.Mode, e.Historical = c.Mode(i)
		w.addNumbers(&e)
		at := c.NameOf[i]
		if lists[0][at] == 0 {
			lists[0][at] = int32(numberOf(&w.names, c.Names[at])) + 1
		}
		w.names.add(uint16(lists[0][at] - 1))
		at = c.DistinctIDOf[i]
		if lists[1][at] == 0 {
			lists[1][at] = int32(numberOf(&w.distinct, c.DistinctIDs[at])) + 1
		}
		w.distinct.add(uint16(lists[1][at] - 1))
		at = c.PersonOf[i]
		if lists[2][at] == 0 {
			lists[2][at] = int32(w.numberOfPerson(storedPerson{c.Persons[at], c.PersonCreated[at]})) + 1
		}
		w.people.add(uint16(lists[2][at] - 1))
	}
}

// addNumbers appends the columns of an event that have no list.
func (w *Writer) addNumbers(e *Event) {
	b := &w.bounds
	if b.Events == 0 {
		*b = Bounds{FirstID: e.ID, FirstTime: e.Time, LastTime: e.Time, FirstArrived: e.Arrived, LastArrived: e.Arrived}
	}
	w.ids.add(e.ID - b.LastID)
	w.times = binary.AppendVarint(w.times, e.Time-w.lastTime)
	w.lastTime = e.Time
	b.Events++
	b.LastID = e.ID
	b.FirstTime, b.LastTime = min(b.FirstTime, e.Time), max(b.LastTime, e.Time)
	b.FirstArrived, b.LastArrived = min(b.FirstArrived, e.Arrived), max(b.LastArrived, e.Arrived)
	w.arrived.add(e.Arrived)
	w.modes.add(storedMode(e.Mode, e.Historical))
	w.uuids = append(w.uuids, e.UUID[:]...)
}

// storedMode returns the mode of an event as it is stored.
func storedMode(mode capture.PersonMode, historical bool) int64 {
	if historical {
		return int64(mode) | historicalMode
	}
	return int64(mode)
}

// numberOfPerson returns the index of a person, who is added to the list if the person is new.
func (w *Writer) numberOfPerson(p storedPerson) uint16 {
	n, isNew := w.people.number(p)
	if isNew {
		w.people.keys = binary.LittleEndian.AppendUint64(append(w.people.keys, p.uuid[:]...), uint64(p.created))
	}
	return n
}

// appendNames appends the content of the string with ids, times and names to dst.
func (w *Writer) appendNames(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(w.bounds.Events))
	dst = append(w.ids.append(dst), w.times...)
	return w.names.append(dst)
}

// appendPeople appends distinct ids and persons to dst.
func (w *Writer) appendPeople(dst []byte) []byte { return w.people.append(w.distinct.append(dst)) }

// appendOrigins appends uuids, times of arrival and modes to dst.
func (w *Writer) appendOrigins(dst []byte) []byte {
	return append(w.modes.append(w.arrived.append(dst)), w.uuids...)
}

// Names returns the string with ids, times and names.
func (w *Writer) Names() []byte {
	w.content = w.appendNames(w.content[:0])
	return seal(nil, kindNames, w.content)
}

// People returns the string with distinct ids and persons. names is the string of the same block
// with names.
func (w *Writer) People(names []byte) []byte {
	w.content = w.appendPeople(binary.LittleEndian.AppendUint32(w.content[:0], checksum(names)))
	return seal(nil, kindPeople, w.content)
}

// Origins returns the string with uuids, times of arrival and modes. names is the string of the
// same block with names.
func (w *Writer) Origins(names []byte) []byte {
	w.content = w.appendOrigins(binary.LittleEndian.AppendUint32(w.content[:0], checksum(names)))
	return seal(nil, kindOrigins, w.content)
}

// Short appends the string with all short columns to dst.
func (w *Writer) Short(dst []byte) []byte {
	w.content = w.appendOrigins(w.appendPeople(w.appendNames(w.content[:0])))
	return seal(dst, kindShort, w.content)
}

// Columns are decoded short columns, which have the same length. Names, distinct ids and persons
// are indexes into lists. Strings share the memory of the decoded bytes.
type Columns struct {
	// IDs, Times, Names and NameOf are set by DecodeNames.
	IDs, Times []int64
	Names      []string
	NameOf     []uint16
	// DistinctIDs to PersonOf are set by DecodePeople. PersonCreated has the index of the person.
	DistinctIDs   []string
	DistinctIDOf  []uint16
	Persons       []capture.UUID
	PersonCreated []int64
	PersonOf      []uint16
	// Arrived and UUIDs are set by DecodeOrigins, and the modes that Mode returns.
	Arrived  []int64
	UUIDs    []capture.UUID
	modes    []int64
	checksum uint32  // of the string with names
	found    []int32 // reusable memory of FindHashes
}

// Mode returns how an event was attributed to a person, and whether it belongs to a historical
// migration.
func (c *Columns) Mode(i int) (mode capture.PersonMode, historical bool) {
	return capture.PersonMode(c.modes[i] &^ historicalMode), c.modes[i]&historicalMode != 0
}

// ClearModes removes the modes of all events. It and AddMode are for columns that are not decoded
// from strings.
func (c *Columns) ClearModes() { c.modes = c.modes[:0] }

// AddMode appends the mode of an event.
func (c *Columns) AddMode(mode capture.PersonMode, historical bool) {
	c.modes = append(c.modes, storedMode(mode, historical))
}

// Event returns an event. All strings of the block must have been decoded.
func (c *Columns) Event(i int) Event {
	e := Event{
		ID: c.IDs[i], Time: c.Times[i], Arrived: c.Arrived[i], Name: c.Names[c.NameOf[i]], DistinctID: c.DistinctIDs[c.DistinctIDOf[i]],
		UUID: c.UUIDs[i], Person: c.Persons[c.PersonOf[i]], PersonCreated: c.PersonCreated[c.PersonOf[i]],
	}
	e.Mode, e.Historical = c.Mode(i)
	return e
}

// DecodeNames decodes the string with names and reuses the memory of c. The other columns of c are
// invalid until they are decoded. data must not be modified later.
func (c *Columns) DecodeNames(data []byte) error {
	content, err := open(kindNames, data, maxShort)
	if err != nil {
		return err
	}
	return c.readNames(content, checksum(data))
}

// readNames decodes a content.
func (c *Columns) readNames(content string, sum uint32) error {
	c.checksum = sum
	r := reader{text: content}
	c.takeNames(&r)
	return r.result()
}

// takeNames reads ids, times and names.
func (c *Columns) takeNames(r *reader) {
	n := r.length(MaxEvents)
	c.IDs = r.ids(c.IDs[:0], n)
	c.Times = r.times(c.Times[:0], n)
	c.Names = r.strings(c.Names[:0], r.length(n))
	c.NameOf = r.indexes(c.NameOf[:0], n, len(c.Names))
}

// result returns ErrDamaged unless everything was decoded.
func (r *reader) result() error {
	if !r.end() {
		return ErrDamaged
	}
	return nil
}

// DecodePeople decodes the string with distinct ids and persons, after DecodeNames. It fails if the
// string belongs to another block. data must not be modified later.
func (c *Columns) DecodePeople(data []byte) error {
	content, err := open(kindPeople, data, maxShort)
	if err != nil {
		return err
	}
	return c.readPeople(content)
}

// readPeople decodes a content.
func (c *Columns) readPeople(content string) error {
	r := c.after(content)
	c.takePeople(&r)
	return r.result()
}

// takePeople reads distinct ids and persons.
func (c *Columns) takePeople(r *reader) {
	n := len(c.IDs)
	c.DistinctIDs = r.strings(c.DistinctIDs[:0], r.length(n))
	c.DistinctIDOf = r.indexes(c.DistinctIDOf[:0], n, len(c.DistinctIDs))
	c.Persons, c.PersonCreated = c.Persons[:0], c.PersonCreated[:0]
	for text := r.take(personSize * r.length(n)); text != ""; text = text[personSize:] {
		c.Persons = append(c.Persons, capture.UUID([]byte(text[:16])))
		c.PersonCreated = append(c.PersonCreated, int64(binary.LittleEndian.Uint64([]byte(text[16:personSize]))))
	}
	c.PersonOf = r.indexes(c.PersonOf[:0], n, len(c.Persons))
}

// after returns a reader for the content of another string, after the checksum of the names.
func (c *Columns) after(content string) reader {
	r := reader{text: content}
	if sum := r.take(4); r.bad || binary.LittleEndian.Uint32([]byte(sum)) != c.checksum {
		r.fail()
	}
	return r
}

// DecodeOrigins decodes the string with uuids, times of arrival and modes, after DecodeNames. It
// fails if the string belongs to another block.
func (c *Columns) DecodeOrigins(data []byte) error {
	content, err := open(kindOrigins, data, maxShort)
	if err != nil {
		return err
	}
	return c.readOrigins(content)
}

// readOrigins decodes a content.
func (c *Columns) readOrigins(content string) error {
	r := c.after(content)
	c.takeOrigins(&r)
	return r.result()
}

// takeOrigins reads uuids, times of arrival and modes.
func (c *Columns) takeOrigins(r *reader) {
	n := len(c.IDs)
	c.Arrived = r.runs(c.Arrived[:0], n)
	c.modes = r.runs(c.modes[:0], n)
	for _, mode := range c.modes {
		if mode < 0 || mode > historicalMode|int64(capture.ForceUpgrade) || mode&^historicalMode > int64(capture.ForceUpgrade) {
			r.fail()
		}
	}
	c.UUIDs = r.uuids(c.UUIDs[:0], n)
}

// DecodeShort decodes the string with all short columns and reuses the memory of c. data must not
// be modified later.
func (c *Columns) DecodeShort(data []byte) error {
	content, err := open(kindShort, data, 3*maxShort)
	if err != nil {
		return err
	}
	return c.readShort(content)
}

// readShort decodes a content.
func (c *Columns) readShort(content string) error {
	c.checksum = 0
	r := reader{text: content}
	c.takeNames(&r)
	c.takePeople(&r)
	c.takeOrigins(&r)
	return r.result()
}
