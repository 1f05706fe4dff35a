package geoip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"
)

// A truncated file is refused, at whatever length it ends.
func TestCheck_EveryTruncation(t *testing.T) {
	for _, name := range []string{"city.mmdb", "country.mmdb", "ipv4.mmdb"} {
		data := read(t, name)
		for n := range data {
			if _, err := openReader(data[:n]); !errors.Is(err, ErrDamaged) {
				t.Fatalf("%s: the first %d of %d bytes: %v", name, n, len(data), err)
			}
		}
	}
}

// A file that lacks a piece in the middle of its tree or before it ends is refused.
func TestCheck_MissingPiece(t *testing.T) {
	data := read(t, "city.mmdb")
	for _, size := range []int{1, 7, 512} {
		for _, at := range []int{0, 100, 1000} {
			cut := append(bytes.Clone(data[:at]), data[at+size:]...)
			if _, err := openReader(cut); err == nil {
				t.Errorf("%d bytes at %d are missing: accepted", size, at)
			}
		}
	}
}

// A node count that differs from that of the tree is refused. The metadata are at the end of the
// file; node_count is a map entry whose value directly follows its name, as a type byte (0xC0 +
// length for uint32) and the number.
func TestCheck_NodeCount(t *testing.T) {
	data := read(t, "city.mmdb")
	at := bytes.LastIndex(data, []byte("node_count")) + len("node_count")
	if data[at] != 0xC2 { // uint32 in two bytes
		t.Fatalf("unexpected encoding %#x", data[at])
	}
	count := binary.BigEndian.Uint16(data[at+1:])
	for _, wrong := range []uint16{0, 1, count - 1, count + 1, 0xFFFF} {
		changed := bytes.Clone(data)
		binary.BigEndian.PutUint16(changed[at+1:], wrong)
		if _, err := openReader(changed); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d nodes instead of %d: %v", wrong, count, err)
		}
	}
}

// The three layouts of a node, from the MaxMind DB specification, calculated by hand for left
// 0x1234567 and right 0xA89ABCD (28 bits), 0x123456 and 0x789ABC (24), 0x12345678 and 0x9ABCDEF0
// (32).
func TestCheck_NodeLayouts(t *testing.T) {
	for _, c := range []struct {
		bits        uint64
		node        []byte
		left, right uint64
	}{
		{24, []byte{0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC}, 0x123456, 0x789ABC},
		{28, []byte{0x23, 0x45, 0x67, 0x1A, 0x89, 0xAB, 0xCD}, 0x1234567, 0xA89ABCD},
		{32, []byte{0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE, 0xF0}, 0x12345678, 0x9ABCDEF0},
	} {
		left, right := nodeReaders[c.bits](c.node)
		if left != c.left || right != c.right {
			t.Errorf("%d bits: %#x %#x, want %#x %#x", c.bits, left, right, c.left, c.right)
		}
	}
}

// Opening arbitrary bytes does not panic, and an accepted database can be queried.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"city.mmdb", "country.mmdb", "ipv4.mmdb", "asn.mmdb", "flat.mmdb", "flat-as-city.mmdb"} {
		data := read(f, name)
		f.Add(data, uint16(0), byte(0))
		f.Add(data, uint16(len(data)-40), byte(0xFF))
		f.Add(data, uint16(3), byte(0xFF))
	}
	f.Fuzz(func(t *testing.T, data []byte, offset uint16, value byte) {
		if len(data) > 0 {
			data = bytes.Clone(data)
			data[int(offset)%len(data)] ^= value
		}
		r, err := openReader(data)
		if err != nil {
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrWrongKind) {
				t.Errorf("an error without a kind: %v", err)
			}
			return
		}
		for _, s := range []string{"192.0.2.1", "203.0.113.250", "2001:db8:1::1", "2001:db8:ffff::"} {
			if record, err := r.City(netip.MustParseAddr(s)); err == nil {
				properties(record)
			}
		}
	})
}
