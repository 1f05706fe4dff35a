package wire

import (
	"math"
	"math/bits"
	"testing"
)

// Expected values: RFC 8259, section 7.
func TestUnescape(t *testing.T) {
	for text, want := range map[string]struct {
		c    rune
		n    int
		half bool
	}{
		`\n`:           {'\n', 2, false},
		`\"x`:          {'"', 2, false},
		`\u00e9x`:      {'é', 6, false},
		`\u00E9`:       {'é', 6, false},
		`\ud83d\ude00`: {'😀', 12, false},
		`\ud83d\u0041`: {'\ufffd', 6, true},
		`\ud83d\n`:     {'\ufffd', 6, true},
		`\ude00`:       {'\ufffd', 6, true},
		`\`:            {0, 0, false},
		`\u00e`:        {0, 0, false},
		`\u00eg`:       {0, 0, false},
		`\x41`:         {0, 0, false},
		`\é`:           {0, 0, false},
	} {
		c, n, half := Unescape("ab"+text, 2)
		if c != want.c || n != want.n || half != want.half {
			t.Errorf("%s: %q, %d, %v, want %q, %d, %v", text, c, n, half, want.c, want.n, want.half)
		}
	}
}

// The first byte that is found is the first special one, whatever follows.
func TestSpecial(t *testing.T) {
	for c := range 256 {
		for at := range 8 {
			text := []byte("abc~\x7f e\x20")
			text[at] = byte(c)
			for _, high := range []uint64{0, math.MaxUint64} {
				want := 8
				if c < ' ' || c == '"' || c == '\\' || c >= 0x80 && high != 0 {
					want = at
				}
				if got := bits.TrailingZeros64(Special(EightBytes(string(text)), high)) / 8; got != want {
					t.Errorf("%q: %d, want %d", text, got, want)
				}
			}
		}
	}
}
