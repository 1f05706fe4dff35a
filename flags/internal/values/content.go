package values

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"reflect"
)

// contentDepth limits the depth of Content: definitions built by hand may contain a value
// that refers to itself.
const contentDepth = 1000

// Seed seeds all content hashes of this process.
var Seed = maphash.MakeSeed()

// Content hashes the value that v points to completely, by reflection. It detects changes
// of a source without revisions, even if the source modifies definitions that it has already
// returned. Hashes are only comparable within this process.
func Content(v any) uint64 {
	h := contentHash{}
	h.SetSeed(Seed)
	h.value(reflect.ValueOf(v).Elem(), 0)
	return h.Sum64()
}

type contentHash struct{ maphash.Hash }

func (h *contentHash) number(n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	_, _ = h.Write(b[:]) // never fails
}

func (h *contentHash) text(s string) {
	h.number(uint64(len(s)))
	_, _ = h.WriteString(s) // never fails
}

// value adds a value with its kind. Beyond contentDepth only the kind is added.
func (h *contentHash) value(v reflect.Value, depth int) {
	h.number(uint64(v.Kind()))
	switch {
	case depth > contentDepth:
	case v.CanInt():
		h.number(uint64(v.Int()))
	case v.CanUint():
		h.number(v.Uint())
	case v.CanFloat():
		h.number(math.Float64bits(v.Float()))
	default:
		h.compound(v, depth+1)
	}
}

// compound adds a value that consists of several parts. Lengths precede elements, so that
// parts with other boundaries have another hash.
func (h *contentHash) compound(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			h.number(1)
		}
	case reflect.String:
		h.text(v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			h.text(v.Elem().Type().String())
			h.value(v.Elem(), depth)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			h.value(v.Field(i), depth)
		}
	case reflect.Slice, reflect.Array:
		h.number(uint64(v.Len()))
		for i := range v.Len() {
			h.value(v.Index(i), depth)
		}
	case reflect.Map: // the sum does not depend on the order of the entries
		h.number(uint64(v.Len()))
		sum := uint64(0)
		for entries := v.MapRange(); entries.Next(); {
			entry := contentHash{}
			entry.SetSeed(Seed)
			entry.value(entries.Key(), depth)
			entry.value(entries.Value(), depth)
			sum += entry.Sum64()
		}
		h.number(sum)
	}
}
