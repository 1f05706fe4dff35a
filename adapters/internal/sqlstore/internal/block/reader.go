package block

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/bunting-flags/bunting/capture"
)

// reader decodes a content from its beginning. After the first fault all further values are zero,
// so that callers need to check bad only at the end or before they loop.
type reader struct {
	text string
	bad  bool
}

// fail marks the content as damaged.
func (r *reader) fail() { r.bad, r.text = true, "" }

// end reports whether everything was decoded without a fault.
func (r *reader) end() bool { return !r.bad && r.text == "" }

// number reads an unsigned number of at most limit.
func (r *reader) number(limit uint64) uint64 {
	if len(r.text) > 0 && r.text[0] < 0x80 { // one byte, which is the common case
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

// longNumber is the part of number for varints of several bytes, separate so that number can be
// inlined.
func (r *reader) longNumber(limit uint64) (v uint64) {
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

// signed reads a number in zigzag encoding.
func (r *reader) signed() int64 {
	v := r.number(1<<64 - 1)
	return int64(v>>1) ^ -int64(v&1)
}

// length reads a number of entries or bytes of at most limit.
func (r *reader) length(limit int) int { return int(r.number(uint64(limit))) }

// take returns the next n bytes, or an empty string if there are fewer.
func (r *reader) take(n int) string {
	if len(r.text) < n {
		r.fail()
		return ""
	}
	out := r.text[:n]
	r.text = r.text[n:]
	return out
}

// runs reads n numbers in runs and appends them to dst.
func (r *reader) runs(dst []int64, n int) []int64 {
	dst = slices.Grow(dst, n)
	for v := int64(0); n > 0; {
		v += r.signed()
		length := r.length(n)
		if length == 0 { // also after a fault
			r.fail()
			return dst
		}
		n -= length
		for range length {
			dst = append(dst, v)
		}
	}
	return dst
}

// ids reads n ids, whose differences are in runs. They are positive and ascend.
func (r *reader) ids(dst []int64, n int) []int64 {
	dst = r.runs(dst, n)
	id := int64(0)
	for i, step := range dst {
		if step <= 0 || id > math.MaxInt64-step {
			r.fail()
			return dst[:0]
		}
		id += step
		dst[i] = id
	}
	return dst
}

// times reads n times, each as the difference to the one before. Most of the work of decoding names
// is here, so the loop has no calls.
func (r *reader) times(dst []int64, n int) []int64 {
	text, t := r.text, int64(0)
	dst = slices.Grow(dst, n)
	for range n {
		v, shift, i := uint64(0), 0, 0
		for ; i < len(text) && i < binary.MaxVarintLen64 && text[i] >= 0x80; i++ {
			v |= uint64(text[i]&0x7f) << shift
			shift += 7
		}
		if i == len(text) || i == binary.MaxVarintLen64 {
			r.fail()
			return dst
		}
		v |= uint64(text[i]) << shift
		text = text[i+1:]
		t += int64(v>>1) ^ -int64(v&1)
		dst = append(dst, t)
	}
	if !r.bad {
		r.text = text
	}
	return dst
}

// strings reads n strings and appends them to dst: first their lengths. The strings share the memory of the content.
func (r *reader) strings(dst []string, n int) []string {
	from := len(dst)
	lengths := reader{text: r.text}
	total := 0
	for range n {
		total += lengths.length(MaxContent)
		if total > len(r.text) {
			r.fail()
			return dst[:from]
		}
	}
	values := reader{text: lengths.text, bad: lengths.bad}
	dst = slices.Grow(dst, n)
	for range n {
		dst = append(dst, values.take(r.length(MaxContent)))
	}
	r.text, r.bad = values.text, r.bad || values.bad
	return dst
}

// indexes reads the indexes of n events into a list of count entries. They have one byte, or two
// if the list is longer than that: then first all low bytes, then all high bytes, which are shorter
// when they are compressed.
func (r *reader) indexes(dst []uint16, n, count int) []uint16 {
	low := r.take(n)
	high := ""
	if count > 1<<8 {
		high = r.take(n)
	}
	if r.bad {
		return dst[:0]
	}
	dst = slices.Grow(dst, n)
	for i := range len(low) {
		index := uint16(low[i])
		if high != "" {
			index |= uint16(high[i]) << 8
		}
		if int(index) >= count {
			r.fail()
			return dst[:0]
		}
		dst = append(dst, index)
	}
	return dst
}

// uuids reads n UUIDs and appends them to dst.
func (r *reader) uuids(dst []capture.UUID, n int) []capture.UUID {
	text := r.take(16 * n)
	dst = slices.Grow(dst, len(text)/16)
	for ; text != ""; text = text[16:] {
		dst = append(dst, capture.UUID([]byte(text[:16])))
	}
	return dst
}
