package capture

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fill sets every field of a value to something other than zero. It fails for unknown types,
// so that the encoding cannot miss a new field.
func fill(t testing.TB, v reflect.Value, n *int) {
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.UnixMicro(int64(1767225600_000000 + *n)).UTC()))
		return
	case eventKind:
		v.SetUint(uint64(untouchingEvent))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(t, v.Index(i), n)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.String:
		v.SetString(fmt.Sprintf("é\x00 %d", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(-*n) << 20)
	case reflect.Uint8:
		v.SetUint(uint64(*n % 256))
	default:
		t.Fatalf("a %s is not known here", v.Type())
	}
}

func filledBatch(t testing.TB) *Batch {
	b, n := &Batch{}, 0
	fill(t, reflect.ValueOf(b).Elem(), &n)
	return b
}

func TestBatchCode_EveryField(t *testing.T) {
	empty := &Batch{ProjectID: 1, Events: []Event{{Set: Object{}, Unset: []string{}, Groups: []GroupKey{}, Group: &GroupUpdate{}, Flag: &FlagCall{}}}, Usage: []Usage{}}
	for name, b := range map[string]*Batch{"full": filledBatch(t), "zero": {}, "empty": empty, "of zeros": {Events: make([]Event, 3), Seen: make([]SeenName, 1)}} {
		got, err := ParseBatch(string(AppendBatch([]byte("before"), b)[6:]))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(b, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A string that is truncated anywhere, has trailing bytes, or has another version is an
// error.
func TestBatchCode_Damaged(t *testing.T) {
	text := string(AppendBatch(nil, filledBatch(t)))
	for n := range len(text) {
		if _, err := ParseBatch(text[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes are taken for a batch", n, len(text))
		}
	}
	for _, bad := range []string{text + "\x00", "\x02" + text[1:], "\x01\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		if _, err := ParseBatch(bad); err == nil {
			t.Errorf("%d bytes are taken for a batch", len(bad))
		}
	}
}

// A string that can be decoded is equal to its encoding, or longer where it encodes a number
// inefficiently, and the encoding decodes to the same batch.
func FuzzParseBatch(f *testing.F) {
	f.Add(string(AppendBatch(nil, filledBatch(f))))
	f.Add(string(AppendBatch(nil, &Batch{ProjectID: 1, Events: make([]Event, 2)})))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBatch(text)
		if err != nil {
			return
		}
		again, err := ParseBatch(string(AppendBatch(nil, b)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, again); diff != "" {
			t.Error(diff)
		}
	})
}
