package unpack

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

// unpackLZ64 decompresses LZ-string, which old SDKs call lz64 (decision 9). It accepts all formats
// that the library writes: base64 and its variant for URLs, with or without percent escapes; text
// with 15 bits in each character (compressToUTF16); and bytes (compressToUint8Array). The result is
// UTF-8 of at most limit bytes.
//
// LZ-string is LZ78 over UTF-16 code units. Codes are written least significant bit first and begin
// with two bits: each time the dictionary is full for the current width, the width grows by one
// bit. Code 0 is followed by a new unit of 8 bits, code 1 by one of 16 bits, and code 2 is the end;
// codes from 3 on are entries of the dictionary. After each code, the previous sequence plus the
// first unit of the current one is added to the dictionary.
func unpackLZ64(packed []byte, limit int64) ([]byte, *problem.Body) {
	limit = min(limit, math.MaxInt32)
	if StartsObject(packed) { // it would decode as text with 15 bits in each character
		return nil, undecodable("lz64 decompression failed: the text is JSON as it is")
	}
	digits, width := lzDigits(packed)
	d := lzDecoder{bits: lzBits{digits: digits, width: width}, limit: limit}
	if err := d.run(); err != "" {
		return nil, undecodable(fmt.Sprintf("lz64 decompression failed: %s (at character %d of %d)", err, d.bits.next, len(digits)))
	}
	if d.tooLarge == 0 {
		out := appendUTF16(make([]byte, 0, len(d.out)), d.out)
		if int64(len(out)) <= limit {
			return out, nil
		}
		d.tooLarge = int64(len(out))
	}
	return nil, BodyTooLarge(limit, d.tooLarge)
}

// lzDigits splits packed text into digits of width bits.
func lzDigits(packed []byte) (digits []uint16, width int) {
	if digits, ok := lzBase64(packed); ok {
		return digits, 6
	}
	if utf8.Valid(packed) {
		digits = make([]uint16, 0, len(packed)/2)
		for _, c := range string(packed) {
			if c < 32 || c >= 32+1<<15 {
				digits = nil
				break
			}
			digits = append(digits, uint16(c-32))
		}
		if digits != nil {
			return digits, 15
		}
	}
	digits = make([]uint16, len(packed))
	for i, c := range packed {
		digits[i] = uint16(c)
	}
	return digits, 8
}

// lzBase64 decodes base64 digits in both alphabets of LZ-string. Padding counts as zero bits. A
// blank is a plus sign that a form decoder has replaced.
func lzBase64(packed []byte) (digits []uint16, ok bool) {
	digits = make([]uint16, 0, len(packed))
	text := string(packed)
	if strings.IndexByte(text, '%') >= 0 {
		text = QueryText(strings.ReplaceAll(text, "+", "%2B"))
	}
	for _, c := range []byte(strings.Trim(text, "\r\n\t \"")) {
		switch v := base64Value[c]; {
		case c == '=' || c == '$':
			digits = append(digits, 0)
		case c == ' ':
			digits = append(digits, 62)
		case c == '-': // the last digit of the URL alphabet
			digits = append(digits, 63)
		case v >= 0:
			digits = append(digits, uint16(v))
		case v == -1:
			return nil, false
		}
	}
	return digits, true
}

// lzBits reads numbers from digits. The bits of each digit are read from the highest to the lowest;
// the bits of each number are written from the lowest to the highest.
type lzBits struct {
	digits    []uint16
	width     int
	next      int // index of the next digit
	remaining int // unread bits of the current digit
}

// read returns the next number of n bits. ok is false if there are fewer bits left.
func (b *lzBits) read(n int) (v uint32, ok bool) {
	for i := range n {
		if b.remaining == 0 {
			if b.next == len(b.digits) {
				return 0, false
			}
			b.next, b.remaining = b.next+1, b.width
		}
		b.remaining--
		v |= uint32(b.digits[b.next-1]>>b.remaining&1) << i
	}
	return v, true
}

// lzDecoder contains the output and the dictionary of one text.
type lzDecoder struct {
	bits     lzBits
	width    int // of the next code, in bits
	room     int // free entries until the width grows
	limit    int64
	tooLarge int64 // the size of the output when it exceeded limit, or 0
	out      []uint16
	seen     []lzSpan // the dictionary; its first entry has code lzFirst
}

// lzSpan is a sequence, as a range of the output, so that sequences are not copied.
type lzSpan struct{ start, end uint32 }

const (
	lzUnit8 = iota
	lzUnit16
	lzEnd
	lzFirst
)

// run decodes the text to out. It returns a description of the error, or an empty string.
func (d *lzDecoder) run() string {
	if len(d.bits.digits) == 0 {
		return ""
	}
	d.width, d.room = 2, 1
	var previous lzSpan
	for {
		code, ok := d.bits.read(d.width)
		if !ok {
			return "the text ends early"
		}
		start := uint32(len(d.out))
		entry := code - lzFirst
		switch {
		case code == lzEnd:
			return ""
		case code == lzUnit8, code == lzUnit16:
			unit, ok := d.bits.read(8 << code)
			if !ok {
				return "the text ends early"
			}
			d.out = append(d.out, uint16(unit))
			d.addEntry(lzSpan{start, start + 1})
		case entry < uint32(len(d.seen)):
			d.repeat(d.seen[entry])
		case entry == uint32(len(d.seen)) && previous.end > 0:
			// The code refers to the entry that it completes: the previous sequence and the first
			// unit of that, which is also the next unit of the output.
			d.repeat(lzSpan{previous.start, previous.end})
			d.repeat(lzSpan{previous.start, previous.start + 1})
		default:
			return "the text has an unknown code"
		}
		if size := int64(len(d.out)); size > d.limit {
			d.tooLarge = size
			return ""
		}
		if previous.end > 0 { // in the output, the next unit follows it directly
			d.addEntry(lzSpan{previous.start, previous.end + 1})
		}
		previous = lzSpan{start, uint32(len(d.out))}
	}
}

// repeat appends a sequence to the output, but not much more than limit.
func (d *lzDecoder) repeat(s lzSpan) {
	length := min(int64(s.end-s.start), d.limit+1-min(d.limit, int64(len(d.out))))
	d.out = append(d.out, d.out[s.start:int64(s.start)+length]...)
}

// addEntry adds a sequence to the dictionary.
func (d *lzDecoder) addEntry(s lzSpan) {
	d.seen = append(d.seen, s)
	if d.room--; d.room == 0 {
		d.room = 1 << d.width
		d.width++
	}
}

// appendUTF16 appends units as UTF-8. Unpaired surrogates become U+FFFD.
func appendUTF16(dst []byte, units []uint16) []byte {
	for i := 0; i < len(units); i++ {
		c := rune(units[i])
		if utf16.IsSurrogate(c) {
			c = utf8.RuneError
			if i+1 < len(units) {
				if pair := utf16.DecodeRune(rune(units[i]), rune(units[i+1])); pair != utf8.RuneError {
					c = pair
					i++
				}
			}
		}
		dst = utf8.AppendRune(dst, c)
	}
	return dst
}
