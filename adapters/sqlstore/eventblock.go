package sqlstore

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/bunting-flags/bunting/capture"
)

// A block has the short columns of the events that a project has in a whole epoch, in the
// order of their ids: a question reads them twenty times as fast as rows of an index. It
// comes in two texts, most questions about names need the first alone:
//
//	events  version, count; ids, as steps from one to the next; times, as steps in
//	        zigzag; names and which of them each event has
//	people  version, a checksum of the other text; distinct ids, and which of them each event has; ids of persons, as they were
//	        stored with the events, and which of them each event has
//
// Numbers are varints of encoding/binary. Lists are their length, then each text with its
// length before it; persons have sixteen bytes each.

// blockVersion is the first byte of both texts.
const blockVersion = 1

// errBlock is for blocks that cannot be read.
var errBlock = errors.New("a block of events is damaged")

// blockEvents are the columns of a block: of one length, names and ids by their places in
// the lists of texts.
type blockEvents struct {
	ids, times     []int64
	nameOf         []uint16
	names          []string
	idOf, personOf []uint16
	distinctIDs    []string
	persons        []capture.UUID
}

// blockWriter makes the texts of a block, event by event.
type blockWriter struct {
	n                       int
	lastID, lastTime        int64
	ids, times              []byte
	nameOf, idOf, personOf  []byte
	names, distinct, person blockList
}

// blockList is a list of different texts.
type blockList struct {
	indexes map[string]uint64
	text    []byte
	fixed   bool // all of one length
}

func (l *blockList) index(text string) uint64 {
	index, ok := l.indexes[text]
	if !ok {
		if l.indexes == nil {
			l.indexes = map[string]uint64{}
		}
		index = uint64(len(l.indexes))
		l.indexes[text] = index
		if !l.fixed {
			l.text = binary.AppendUvarint(l.text, uint64(len(text)))
		}
		l.text = append(l.text, text...)
	}
	return index
}

func newBlockWriter(epoch int64) *blockWriter {
	return &blockWriter{lastID: epoch<<epochBits - 1, person: blockList{fixed: true}}
}

// add takes an event, the ids of which grow.
func (w *blockWriter) add(id, time int64, name, distinctID string, person []byte) {
	w.n++
	w.ids = binary.AppendUvarint(w.ids, uint64(id-w.lastID))
	w.times = binary.AppendVarint(w.times, time-w.lastTime)
	w.lastID, w.lastTime = id, time
	w.nameOf = binary.AppendUvarint(w.nameOf, w.names.index(name))
	w.idOf = binary.AppendUvarint(w.idOf, w.distinct.index(distinctID))
	w.personOf = binary.AppendUvarint(w.personOf, w.person.index(string(person)))
}

func (w *blockWriter) texts() (events, people []byte) {
	events = binary.AppendUvarint([]byte{blockVersion}, uint64(w.n))
	events = append(append(events, w.ids...), w.times...)
	events = append(w.names.append(events), w.nameOf...)
	people = binary.LittleEndian.AppendUint32([]byte{blockVersion}, crc32.ChecksumIEEE(events))
	people = append(w.distinct.append(people), w.idOf...)
	return events, append(w.person.append(people), w.personOf...)
}

func (l *blockList) append(dst []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(l.indexes))), l.text...)
}

// readEvents reads the first text of the block of an epoch.
func (b *blockEvents) readEvents(epoch int64, text string) error {
	r := newBlockReader(text)
	n := r.length(1 << epochBits)
	b.ids, b.times = b.ids[:0], b.times[:0]
	id, t := epoch<<epochBits-1, int64(0)
	for range n {
		id += int64(r.number(1 << epochBits))
		b.ids = append(b.ids, id)
	}
	for range n {
		t += r.signed()
		b.times = append(b.times, t)
	}
	b.names = r.list(b.names[:0])
	b.nameOf = r.indexes(b.nameOf[:0], n, len(b.names))
	if r.bad || r.text != "" || id >= (epoch+1)<<epochBits {
		return errBlock
	}
	return nil
}

// readPeople reads the second text, after the first.
func (b *blockEvents) readPeople(events, text string) error {
	r := newBlockReader(text)
	if sum := r.take(4); binary.LittleEndian.Uint32([]byte(sum)) != crc32.ChecksumIEEE([]byte(events)) {
		return errBlock
	}
	b.distinctIDs = r.list(b.distinctIDs[:0])
	b.idOf = r.indexes(b.idOf[:0], len(b.ids), len(b.distinctIDs))
	b.persons = b.persons[:0]
	for range r.length(1 << epochBits) {
		b.persons = append(b.persons, capture.UUID([]byte(r.take(16))))
		if r.bad {
			return errBlock
		}
	}
	b.personOf = r.indexes(b.personOf[:0], len(b.ids), len(b.persons))
	if r.bad || r.text != "" {
		return errBlock
	}
	return nil
}

// blockReader reads a text from its beginning. When it is bad all that follows is zero.
type blockReader struct {
	text string
	bad  bool
}

func newBlockReader(text string) *blockReader {
	if text == "" || text[0] != blockVersion {
		return &blockReader{bad: true}
	}
	return &blockReader{text: text[1:]}
}

func (r *blockReader) fail() { r.bad, r.text = true, "" }

// number reads a number up to a most.
func (r *blockReader) number(limit uint64) uint64 {
	if len(r.text) > 0 && r.text[0] < 0x80 { // most are
		v := uint64(r.text[0])
		r.text = r.text[1:]
		if v > limit {
			r.fail()
			return 0
		}
		return v
	}
	return r.longNumber(limit)
}

func (r *blockReader) longNumber(limit uint64) (v uint64) {
	for i := 0; i < len(r.text) && i < binary.MaxVarintLen64; i++ {
		c := r.text[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.text = r.text[i+1:]
			if v > limit {
				break
			}
			return v
		}
	}
	r.fail()
	return 0
}

func (r *blockReader) signed() int64 {
	v := r.number(1<<64 - 1)
	return int64(v>>1) ^ -int64(v&1)
}

func (r *blockReader) length(limit int) int { return int(r.number(uint64(limit))) }

// take gives the next bytes, zeros where there are not so many.
func (r *blockReader) take(n int) string {
	if len(r.text) < n {
		r.fail()
		return string(make([]byte, n))
	}
	out := r.text[:n]
	r.text = r.text[n:]
	return out
}

func (r *blockReader) list(dst []string) []string {
	for range r.length(1 << epochBits) {
		n := r.length(len(r.text))
		if r.bad {
			return dst
		}
		dst = append(dst, r.take(n))
	}
	return dst
}

// indexes reads the places of n events in a list of a length.
func (r *blockReader) indexes(dst []uint16, n, count int) []uint16 {
	if n > 0 && count == 0 {
		r.fail()
	}
	for range n {
		dst = append(dst, uint16(r.number(uint64(max(count, 1)-1))))
	}
	return dst
}
