package block

import (
	"encoding/binary"
	"unsafe"
)

// ChunkBytes is the maximum size of a chunk before compression, in bytes, unless it has only one
// event, which may be larger. Larger chunks get hardly better ratios; reading one event from them
// takes longer, and so does compressing them, because zstd copies inputs that exceed its blocks.
const ChunkBytes = 120 << 10

// The content of a chunk is: number of events; differences of ids, as runs; lengths of the
// elements, then the elements; lengths of the properties, then the properties; list of properties
// of persons, and for each event the index of those of its person. The values of a column follow
// one another, because they are similar.

// ChunkWriter encodes a chunk. The zero value is an empty chunk.
type ChunkWriter struct {
	n           int
	first, last int64
	ids         runs
	lengths     [2][]byte
	long        [2][]byte // elements and properties
	states      list[string]
	content     []byte // reusable memory
}

// Reset empties the chunk and keeps its memory.
func (w *ChunkWriter) Reset() {
	w.n, w.first, w.last = 0, 0, 0
	w.ids.reset()
	for i := range w.long {
		w.lengths[i], w.long[i] = w.lengths[i][:0], w.long[i][:0]
	}
	w.states.reset()
}

// Size returns the size of the chunk so far, before compression, in bytes.
func (w *ChunkWriter) Size() int {
	return len(w.ids.text) + len(w.lengths[0]) + len(w.lengths[1]) + len(w.long[0]) + len(w.long[1]) + len(w.states.keys)
}

// Len returns the number of events.
func (w *ChunkWriter) Len() int { return w.n }

// IDs returns the ids of the first and of the last event.
func (w *ChunkWriter) IDs() (first, last int64) { return w.first, w.last }

// HasRoom reports whether the chunk has room for an event whose long columns have the given total
// length. If not, the event should be the first of another chunk.
func (w *ChunkWriter) HasRoom(length int) bool {
	return w.n == 0 || w.n < MaxEvents && w.Size()+length <= ChunkBytes
}

// Add appends an event. The ids of the events must be positive and ascend, and there must be at
// most MaxEvents. person are the properties of the person after the event.
func (w *ChunkWriter) Add(id int64, elements, properties, person string) {
	if w.n++; w.n == 1 {
		w.first = id
	}
	w.ids.add(id - w.last)
	w.last = id
	for i, text := range [...]string{elements, properties} {
		w.lengths[i] = binary.AppendUvarint(w.lengths[i], uint64(len(text)))
		w.long[i] = append(w.long[i], text...)
	}
	w.states.add(numberOf(&w.states, person))
}

// Encode appends the chunk as a string of bytes to dst.
func (w *ChunkWriter) Encode(dst []byte) []byte {
	content := w.ids.append(binary.AppendUvarint(w.content[:0], uint64(w.n)))
	for i := range w.lengths {
		content = append(append(content, w.lengths[i]...), w.long[i]...)
	}
	w.content = w.states.append(content)
	return seal(dst, kindChunk, w.content)
}

// Chunk has decoded long columns, which have the same length. States are distinct properties of
// persons, and StateOf has their indexes by event. Strings share the memory of the decoded bytes.
type Chunk struct {
	IDs                  []int64
	Elements, Properties []string
	States               []string
	StateOf              []uint16
	memory               []byte // of DecodeReused
}

// Decode decodes a chunk and reuses the memory of c. data must not be modified later.
func (c *Chunk) Decode(data []byte) error {
	content, err := open(kindChunk, data, MaxContent)
	if err != nil {
		return err
	}
	return c.read(content)
}

// DecodeReused is like Decode, but the strings of c are valid only until the next call: most of the time
// of decoding many chunks is for new memory.
func (c *Chunk) DecodeReused(data []byte) error {
	content, err := openInto(c.memory, kindChunk, data, MaxContent)
	if err != nil {
		return err
	}
	if data[1]&1 != 0 && len(content) <= 2*ChunkBytes { // large events do not keep their memory
		c.memory = content
	}
	return c.read(unsafe.String(unsafe.SliceData(content), len(content)))
}

// read decodes a content.
func (c *Chunk) read(content string) error {
	r := reader{text: content}
	n := r.length(MaxEvents)
	c.IDs = r.ids(c.IDs[:0], n)
	c.Elements, c.Properties = r.strings(c.Elements[:0], n), r.strings(c.Properties[:0], n)
	c.States = r.strings(c.States[:0], r.length(n))
	c.StateOf = r.indexes(c.StateOf[:0], n, len(c.States))
	return r.result()
}
