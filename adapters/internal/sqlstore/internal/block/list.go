package block

import "encoding/binary"

// list is an encoded list of distinct keys, with the index of a key for each event.
type list[K comparable] struct {
	numbers map[K]uint16
	// lengths and keys are the encoded keys.
	lengths, keys []byte
	// low and high are the bytes of the indexes of the events.
	low, high []byte
}

// number returns the index of a key, and reports whether the key is new. Then the caller must append
// it to keys, and its length to lengths if readers do not know it.
func (l *list[K]) number(key K) (n uint16, isNew bool) {
	n, ok := l.numbers[key]
	if !ok {
		if l.numbers == nil {
			l.numbers = make(map[K]uint16, 64)
		}
		n = uint16(len(l.numbers))
		l.numbers[key] = n
	}
	return n, !ok
}

// add appends the index of a key for an event.
func (l *list[K]) add(n uint16) { l.low, l.high = append(l.low, byte(n)), append(l.high, byte(n>>8)) }

// numberOf returns the index of a string, which is added to the list if it is new.
func numberOf(l *list[string], text string) uint16 {
	n, isNew := l.number(text)
	if isNew {
		l.lengths = binary.AppendUvarint(l.lengths, uint64(len(text)))
		l.keys = append(l.keys, text...)
	}
	return n
}

// append appends the encoded list and the indexes to dst.
func (l *list[K]) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(l.numbers)))
	dst = append(append(append(dst, l.lengths...), l.keys...), l.low...)
	if len(l.numbers) > 1<<8 {
		dst = append(dst, l.high...)
	}
	return dst
}

// reset empties the list and keeps its memory.
func (l *list[K]) reset() {
	clear(l.numbers)
	l.lengths, l.keys, l.low, l.high = l.lengths[:0], l.keys[:0], l.low[:0], l.high[:0]
}

// runs is an encoded column of numbers in which neighbours are often equal: for each run of equal
// numbers the difference to the run before, and its length.
type runs struct {
	text  []byte
	value int64
	// previous is the value of the run before, length the length of the last run.
	previous int64
	length   uint64
}

// add appends a number.
func (r *runs) add(v int64) {
	if r.length > 0 && v != r.value {
		r.text = r.appendLast(r.text)
		r.previous, r.length = r.value, 0
	}
	r.value = v
	r.length++
}

// appendLast appends the last run to dst.
func (r *runs) appendLast(dst []byte) []byte {
	if r.length == 0 {
		return dst
	}
	return binary.AppendUvarint(binary.AppendVarint(dst, r.value-r.previous), r.length)
}

// append appends the column to dst. Readers know its end by the number of events.
func (r *runs) append(dst []byte) []byte { return r.appendLast(append(dst, r.text...)) }

// reset empties the column and keeps its memory.
func (r *runs) reset() { *r = runs{text: r.text[:0]} }
