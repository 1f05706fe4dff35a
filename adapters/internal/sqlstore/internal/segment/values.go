package segment

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/bunting-flags/bunting/capture"
)

// addNumbers writes a column of numbers without a dictionary. number returns that of an event.
func (w *Writer) addNumbers(at int, number func(i int32) int64) (err error) {
	for part := range slices.Chunk(w.keep, shortRows) {
		w.numbers = w.numbers[:0]
		least, greatest := int64(math.MaxInt64), int64(math.MinInt64)
		for _, i := range part {
			n := number(i)
			w.numbers = append(w.numbers, n)
			least, greatest = min(least, n), max(greatest, n)
		}
		if w.values, err = deltaNumbers.EncodeInt64(w.values[:0], w.numbers); err != nil {
			return err
		}
		c := &w.chunks[at]
		c.addBounds(numberBytes(least), numberBytes(greatest))
		if err := w.addPage(c, len(part), w.values); err != nil {
			return err
		}
	}
	return nil
}

// addUUIDs writes a column of UUIDs without a dictionary. uuid returns that of an event.
func (w *Writer) addUUIDs(at int, uuid func(i int32) *capture.UUID) error {
	for part := range slices.Chunk(w.keep, uuidRows) {
		w.values = w.values[:0]
		for _, i := range part {
			w.values = append(w.values, uuid(i)[:]...)
		}
		if err := w.addPage(&w.chunks[at], len(part), w.values); err != nil {
			return err
		}
	}
	return nil
}

// addStrings writes a column of strings without a dictionary. text returns that of an event.
func (w *Writer) addStrings(at int, text func(i int32) string) error {
	for _, i := range w.keep {
		if err := w.appendString(at, text(i)); err != nil {
			return err
		}
	}
	return w.endStrings(&w.chunks[at])
}

// entryColumn describes a column that may have a dictionary to addEntries.
type entryColumn struct {
	at int
	// of has the index in a list of count entries of each event.
	of    []uint16
	count int
	// add is called with each entry that is used, returns its index in the dictionary and adds it there
	// if that is the next one.
	add func(i, next int) int
	// text returns an entry for the bounds. It is nil if the column has none.
	text func(i int) []byte
	// plain writes the column without a dictionary. If it is nil, the column always has one.
	plain func() error
}

// addEntries writes a column with a dictionary, or without one if most values differ: to read the
// value of one event, the whole dictionary is decompressed.
func (w *Writer) addEntries(e *entryColumn) (err error) {
	c, numbers, used := &w.chunks[e.at], make([]int32, e.count), 0 // numbers are the indexes in the dictionary, plus 1
	w.dictionary, w.entries = w.dictionary[:0], w.entries[:0]
	for _, i := range w.keep {
		number := &numbers[e.of[i]]
		if *number == 0 {
			n := e.add(int(e.of[i]), used)
			*number = int32(n) + 1
			used = max(used, n+1)
		}
		w.entries = append(w.entries, *number-1)
	}
	if e.plain != nil && used > len(w.keep)/2 {
		c.pageEncoding = c.plain()
		return e.plain()
	}
	entries := w.entries
	for part := range slices.Chunk(w.keep, shortRows) {
		if e.text != nil {
			c.addStringBounds(part, e.of, e.count, e.text)
		}
		if w.values, err = rleIndexes.EncodeInt32(w.values[:0], entries[:len(part)]); err != nil {
			return err
		}
		entries = entries[len(part):]
		if err := w.addPage(c, len(part), w.values); err != nil {
			return err
		}
	}
	return w.addDictionary(c, used, w.dictionary)
}

// addDictionary adds the dictionary of a column, which has a number of entries.
func (w *Writer) addDictionary(c *chunkWriter, entries int, values []byte) error {
	header, body, err := w.encoder.dictionary(entries, values)
	if err != nil {
		return err
	}
	c.dictionary = slices.Concat(header, body)
	c.size += int64(len(header) + len(values))
	return nil
}

// addString returns a function for entryColumn.add that adds strings of a list.
func (w *Writer) addString(list []string) func(i, next int) int {
	return func(i, next int) int {
		w.dictionary = appendEntry(w.dictionary, list[i])
		return next
	}
}

// appendEntry appends a string to a dictionary.
func appendEntry(dictionary []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32(dictionary, uint32(len(text))), text...)
}

// addOnce returns the number of a key that is in a dictionary; a new one gets the next number and
// is added by add.
func addOnce[K comparable](numbers map[K]int32, key K, next int, add func()) int {
	n, ok := numbers[key]
	if !ok {
		n = int32(next)
		numbers[key] = n
		add()
	}
	return int(n)
}

// appendString appends a string to a column without a dictionary, of which the last page ends with
// endStrings.
func (w *Writer) appendString(at int, text string) error {
	c := &w.chunks[at]
	if rows := len(c.offsets) - 1; rows == shortRows || rows > 0 && len(c.strings)+len(text) > longBytes[at] {
		if err := w.endStrings(c); err != nil {
			return err
		}
	}
	c.strings = append(c.strings, text...)
	c.offsets = append(c.offsets, uint32(len(c.strings)))
	return nil
}

// endStrings writes a page of strings without a dictionary.
func (w *Writer) endStrings(c *chunkWriter) (err error) {
	rows := len(c.offsets) - 1
	if rows == 0 {
		return nil
	}
	if w.values, err = deltaStrings.EncodeByteArray(w.values[:0], c.strings, c.offsets); err != nil {
		return err
	}
	c.strings, c.offsets = c.strings[:0], c.offsets[:1]
	return w.addPage(c, rows, w.values)
}
