package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// batchVersion is the first byte of an encoded batch. It is incremented when the encoding
// changes. Older versions must stay readable, because a stream may still contain such
// batches.
const batchVersion = 1

// errBatch is the error that ParseBatch returns for a string that is truncated or corrupt.
var errBatch = errors.New("capture: this is not an encoded batch")

// AppendBatch appends the encoding of a batch, as a Stream stores it, to dst and returns the
// extended slice. The encoding is a version byte, followed by the fields in their order:
// numbers are variable-length integers, times are microseconds, strings and lists are
// preceded by their length. A nil batch is encoded like an empty one.
func AppendBatch(dst []byte, b *Batch) []byte {
	if b == nil {
		b = &Batch{}
	}
	w := batchWriter(append(dst, batchVersion))
	w.int(b.ProjectID)
	put(&w, b.Events, (*batchWriter).event)
	put(&w, b.Seen, (*batchWriter).seen)
	put(&w, b.Warnings, (*batchWriter).warning)
	put(&w, b.Usage, (*batchWriter).usage)
	return w
}

// ParseBatch decodes a batch that AppendBatch encoded. The strings of the batch are
// substrings of text and keep it alive. It returns an error if text is malformed or has an
// unsupported version.
func ParseBatch(text string) (*Batch, error) {
	if text == "" {
		return nil, errBatch
	}
	if text[0] != batchVersion {
		return nil, fmt.Errorf("capture: the batch has version %d, which is not supported", text[0])
	}
	r := batchReader{rest: text[1:]}
	b := &Batch{ProjectID: r.int()}
	b.Events = get(&r, (*batchReader).event)
	b.Seen = get(&r, (*batchReader).seen)
	b.Warnings = get(&r, (*batchReader).warning)
	b.Usage = get(&r, (*batchReader).usage)
	if r.bad || r.rest != "" {
		return nil, errBatch
	}
	return b, nil
}

// batchWriter is the buffer that an encoded batch is appended to. It has one method for each
// type of value.
type batchWriter []byte

func (w *batchWriter) int(n int64)       { *w = binary.AppendVarint(*w, n) }
func (w *batchWriter) byte(b byte)       { *w = append(*w, b) }
func (w *batchWriter) text(s string)     { *w = append(binary.AppendUvarint(*w, uint64(len(s))), s...) }
func (w *batchWriter) uuid(u UUID)       { *w = append(*w, u[:]...) }
func (w *batchWriter) time(t time.Time)  { w.int(t.UnixMicro()) }
func (w *batchWriter) member(m *Member)  { w.text(m.Key); w.text(m.Value) }
func (w *batchWriter) group(g *GroupKey) { w.text(g.Type); w.text(g.Key) }
func (w *batchWriter) string(s *string)  { w.text(*s) }
func (w *batchWriter) warning(x *Warning) {
	w.int(x.ProjectID)
	w.text(string(x.Type))
	w.text(x.DistinctID)
	w.uuid(x.EventUUID)
	w.text(x.Detail)
	w.int(x.Count)
	w.time(x.At)
}

func (w *batchWriter) seen(x *SeenName) {
	w.int(x.ProjectID)
	w.byte(byte(x.Kind))
	w.int(int64(x.Group))
	w.text(x.Name)
	w.text(x.Type)
	w.time(x.At)
}

func (w *batchWriter) usage(x *Usage) {
	w.text(x.OrganizationID)
	w.int(x.ProjectID)
	w.text(string(x.Resource))
	w.time(x.At)
	w.int(x.N)
}

// put appends a list. Nil is encoded as 0 and a list of n elements as n+1, so that nil and
// empty lists stay different.
func put[T any](w *batchWriter, list []T, write func(*batchWriter, *T)) {
	n := uint64(0)
	if list != nil {
		n = uint64(len(list)) + 1
	}
	*w = binary.AppendUvarint(*w, n)
	for i := range list {
		write(w, &list[i])
	}
}

// These bits of an encoded event record its boolean fields and which pointers are not nil.
const (
	bitHistorical = 1 << iota
	bitPersonless
	bitOther
	bitGroup
	bitFlag
	eventBits = bitHistorical | bitPersonless | bitOther | bitGroup | bitFlag
)

// event appends an event. The fields and their order must match batchReader.event.
func (w *batchWriter) event(e *Event) {
	var bits byte
	for _, x := range [...]struct {
		is  bool
		bit byte
	}{{e.Historical, bitHistorical}, {e.Personless, bitPersonless}, {e.HasOther, bitOther}, {e.Group != nil, bitGroup}, {e.Flag != nil, bitFlag}} {
		if x.is {
			bits |= x.bit
		}
	}
	w.byte(bits)
	w.byte(byte(e.Kind))
	w.uuid(e.UUID)
	w.text(e.Name)
	w.text(e.DistinctID)
	w.text(e.Properties)
	w.text(e.ElementsChain)
	w.time(e.Timestamp)
	w.time(e.ReceivedAt)
	put(w, e.Set, (*batchWriter).member)
	put(w, e.SetOnce, (*batchWriter).member)
	put(w, e.Unset, (*batchWriter).string)
	w.text(e.Other)
	put(w, e.Groups, (*batchWriter).group)
	if g := e.Group; g != nil {
		w.text(g.Type)
		w.text(g.Key)
		put(w, g.Set, (*batchWriter).member)
	}
	if f := e.Flag; f != nil {
		w.text(f.Flag)
		w.text(f.Value)
	}
}

// batchReader decodes the values of a batch in the order in which batchWriter wrote them.
// After the first error, bad is true and all methods return zero values.
type batchReader struct {
	rest string
	bad  bool
}

// cut returns the next n bytes, or sets bad if fewer are left.
func (r *batchReader) cut(n uint64) string {
	if r.bad || n > uint64(len(r.rest)) {
		r.bad, r.rest = true, ""
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

// uint reads an unsigned variable-length integer. Unlike binary.Uvarint it reads from a
// string.
func (r *batchReader) uint() (n uint64) {
	for shift := 0; shift < 64; shift += 7 {
		b := r.byte()
		if r.bad || shift == 63 && b > 1 {
			break
		}
		if n |= uint64(b&0x7f) << shift; b < 0x80 {
			return n
		}
	}
	r.bad = true
	return 0
}

func (r *batchReader) int() int64 {
	n := r.uint()
	return int64(n>>1) ^ -int64(n&1)
}

func (r *batchReader) byte() byte {
	if s := r.cut(1); s != "" {
		return s[0]
	}
	return 0
}

func (r *batchReader) text() string { return r.cut(r.uint()) }

func (r *batchReader) uuid() (u UUID) {
	copy(u[:], r.cut(uint64(len(u))))
	return u
}

func (r *batchReader) time() time.Time { return time.UnixMicro(r.int()).UTC() }
func (r *batchReader) member() Member  { return Member{r.text(), r.text()} }
func (r *batchReader) group() GroupKey { return GroupKey{r.text(), r.text()} }
func (r *batchReader) warning() Warning {
	return Warning{r.int(), WarningType(r.text()), r.text(), r.uuid(), r.text(), r.int(), r.time()}
}

func (r *batchReader) seen() SeenName {
	return SeenName{r.int(), SeenKind(r.byte()), int(r.int()), r.text(), r.text(), r.time()}
}

func (r *batchReader) usage() Usage {
	return Usage{r.text(), r.int(), Resource(r.text()), r.time(), r.int()}
}

// get reads a list. The length is checked against the remaining bytes first, so that a
// corrupt length does not allocate memory: each element has at least one byte.
func get[T any](r *batchReader, read func(*batchReader) T) []T {
	n := r.uint()
	if n == 0 {
		return nil
	}
	if n--; n > uint64(len(r.rest)) {
		r.bad = true
		return nil
	}
	list := make([]T, 0, min(n, 1024))
	for range n {
		if list = append(list, read(r)); r.bad {
			return nil
		}
	}
	return list
}

// event reads an event. Unknown bits and kinds are errors.
func (r *batchReader) event() (e Event) {
	bits := r.byte()
	r.bad = r.bad || bits&^eventBits != 0
	e.Historical, e.Personless, e.HasOther = bits&bitHistorical != 0, bits&bitPersonless != 0, bits&bitOther != 0
	e.Kind = eventKind(r.byte())
	r.bad = r.bad || e.Kind > untouchingEvent
	e.UUID = r.uuid()
	e.Name, e.DistinctID = r.text(), r.text()
	e.Properties, e.ElementsChain = r.text(), r.text()
	e.Timestamp, e.ReceivedAt = r.time(), r.time()
	e.Set = get(r, (*batchReader).member)
	e.SetOnce = get(r, (*batchReader).member)
	e.Unset = get(r, (*batchReader).text)
	e.Other = r.text()
	e.Groups = get(r, (*batchReader).group)
	if bits&bitGroup != 0 {
		e.Group = &GroupUpdate{Type: r.text(), Key: r.text(), Set: get(r, (*batchReader).member)}
	}
	if bits&bitFlag != 0 {
		e.Flag = &FlagCall{r.text(), r.text()}
	}
	return e
}
