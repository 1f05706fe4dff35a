package block

import "encoding/binary"

// The content of the string with hashes is: checksum of names; for each event, in four bytes, the
// lower half of the value of its distinct id. It finds the events of a distinct id without
// decoding all distinct ids.

// hashSize is the number of bytes of a hash.
const hashSize = 4

// Hashes returns the string with the hashes of the distinct ids. names is the string of the same
// block with names.
func (w *Writer) Hashes(names []byte) []byte {
	hashes := make([]uint32, len(w.distinct.numbers))
	for id, number := range w.distinct.numbers {
		hashes[number] = uint32(DistinctIDValue(id))
	}
	content := binary.LittleEndian.AppendUint32(w.content[:0], checksum(names))
	for i, low := range w.distinct.low {
		content = binary.LittleEndian.AppendUint32(content, hashes[uint16(low)|uint16(w.distinct.high[i])<<8])
	}
	w.content = content
	return seal(nil, kindHashes, content)
}

// FindHashes returns the indexes of the events whose distinct ids have the hashes of the values, in
// order, after DecodeNames. Few of them have another distinct id. It fails if the string belongs
// to another block. The result is valid until the next call.
func (c *Columns) FindHashes(data []byte, values []Value) ([]int32, error) {
	content, err := open(kindHashes, data, maxShort)
	if err != nil {
		return nil, err
	}
	return c.findHashes(content, values)
}

// FindSealedHashes is FindHashes for a block of n events whose columns are not decoded: they are in
// another form than the string of names, of which the hashes have the checksum. It fails if the
// number of events differs.
func (c *Columns) FindSealedHashes(data []byte, n int, values []Value) ([]int32, error) {
	content, err := open(kindHashes, data, maxShort)
	if err != nil {
		return nil, err
	}
	r := reader{text: content}
	r.take(4) // the checksum
	return c.findIn(&r, n, values)
}

// findHashes implements FindHashes for a content.
func (c *Columns) findHashes(content string, values []Value) ([]int32, error) {
	r := c.after(content)
	return c.findIn(&r, len(c.IDs), values)
}

// findIn returns the indexes of n hashes that are those of values.
func (c *Columns) findIn(r *reader, n int, values []Value) ([]int32, error) {
	text := r.take(hashSize * n)
	if err := r.result(); err != nil {
		return nil, err
	}
	// Most events are excluded by a table of bits, whatever the number of values.
	var some [1 << 13]byte
	set := make(map[uint32]bool, len(values))
	for _, v := range values {
		some[uint16(v)>>3] |= 1 << (v & 7)
		set[uint32(v)] = true
	}
	c.found = c.found[:0]
	for i := range len(text) / hashSize {
		h := text[hashSize*i : hashSize*i+hashSize]
		low := uint16(h[0]) | uint16(h[1])<<8
		if some[low>>3]>>(low&7)&1 != 0 && set[uint32(low)|uint32(h[2])<<16|uint32(h[3])<<24] {
			c.found = append(c.found, int32(i))
		}
	}
	return c.found, nil
}
