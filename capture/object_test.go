package capture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParseObject(t *testing.T) {
	var many strings.Builder
	many.WriteByte('{')
	want := Object{}
	for i := range 100 { // more than are searched linearly
		fmt.Fprintf(&many, `"k%03d":0,`, i)
		want = append(want, Member{fmt.Sprintf("k%03d", i), fmt.Sprint(i % 50)})
	}
	for i := range 100 {
		fmt.Fprintf(&many, `"k%03d":%d,`, 99-i, (99-i)%50)
	}
	text := strings.TrimSuffix(many.String(), ",") + "}"
	for _, c := range []struct {
		src  string
		want Object
	}{
		{` { } `, nil},
		{`{"b": 1 ,"a":[ 1 ],"":"x"}`, Object{{"", `"x"`}, {"a", "[ 1 ]"}, {"b", "1"}}},
		{`{"a":1,"a":2,"\u0061":3}`, Object{{"a", "3"}}},
		{text, want},
	} {
		got, err := ParseObject(c.src)
		if err != nil {
			t.Errorf("%.40s: %v", c.src, err)
		} else if diff := cmp.Diff([]Member(c.want), []Member(got)); diff != "" {
			t.Errorf("%.40s (-want +got)\n%s", c.src, diff)
		}
	}
	for _, src := range []string{``, `[]`, `"a"`, `{`, `{} x`, `{"a":1,}`} {
		if got, err := ParseObject(src); err == nil || got != nil {
			t.Errorf("%s: %v, %v, want an error", src, got, err)
		}
	}
}

func TestNewObject(t *testing.T) {
	got := NewObject([]Member{{"b", "1"}, {"a", "2"}, {"b", "3"}, {"a", "4"}, {"c", "5"}, {"b", "6"}})
	if want := (Object{{"a", "4"}, {"b", "6"}, {"c", "5"}}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestObject(t *testing.T) {
	o, err := ParseObject(`{"n":5,"s":"a\"b","e\n\u0001":null}`)
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := o.Get("n"); v != "5" || !ok {
		t.Errorf("n is %q, %v", v, ok)
	}
	if v, ok := o.Get("m"); v != "" || ok {
		t.Errorf("m is %q, %v", v, ok)
	}
	if v, ok := o.Text("s"); v != `a"b` || !ok {
		t.Errorf("s is %q, %v", v, ok)
	}
	if v, ok := o.Text("n"); v != "" || ok {
		t.Errorf("n is the text %q, %v", v, ok)
	}
	want := `{"e\n\u0001":null,"n":5,"s":"a\"b"}`
	if got := o.String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if root := o.detach(want); !slices.Equal(o, root) {
		t.Errorf("%s, want %s", root, want)
	}
	if got, err := json.Marshal(o); err != nil || string(got) != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
}

// FuzzObject compares ParseObject with encoding/json. The intended differences are the depth
// (128 here), numbers outside of float64 (rejected here), and bytes that are not UTF-8 (which
// must not be passed to ParseObject).
func FuzzObject(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1,"a":{"b":[true,null,"\ud83d\ude00\ud800"]}}`, `{"\u0061":1e5,"a":-0.5E-3}`, `{"a":1e400}`, `{"a":01}`,
		`{"$set":{"plan":"pro"},"$set_once":{"first_plan":"free"},"$unset":["old"],"$is_server":true,"$geoip_disable":true}`,
		`{"$elements_chain":"button:attr__id=\"b\"nth-child=\"2\";body","$time":1795188756.441,"gclid":null}`,
		`{"a":"` + "\x01" + `"}`, `{"a":1}x`, `{"a":[1,]}`, strings.Repeat(`{"a":`, 129),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if !utf8.ValidString(src) || depth(src) > 128 {
			return
		}
		var want map[string]any
		d := json.NewDecoder(strings.NewReader(src))
		d.UseNumber()
		wantErr := d.Decode(&want)
		if wantErr == nil && (want == nil || len(bytes.TrimSpace([]byte(src[d.InputOffset():]))) > 0) {
			wantErr = fmt.Errorf("no object alone")
		}
		if wantErr == nil && outOfRange(want) {
			wantErr = fmt.Errorf("number out of range")
		}
		got, err := ParseObject(src)
		if (err == nil) != (wantErr == nil) && !duplicateOutOfRange(src, err) {
			t.Fatalf("%q: %v, encoding/json says %v", src, err, wantErr)
		}
		if err != nil {
			return
		}
		if diff := cmp.Diff(want, values(t, got)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", src, diff)
		}
		back, err := ParseObject(got.String())
		if err != nil {
			t.Fatalf("%q is written %s: %v", src, got, err)
		}
		if diff := cmp.Diff([]Member(got), []Member(back)); diff != "" {
			t.Errorf("%q is not the same when read back\n%s", src, diff)
		}
		if root := got.detach(got.String()); !slices.Equal(got, root) {
			t.Errorf("%v, want %s", root, got)
		}
	})
}

// depth returns a lower bound of the nesting depth of a text.
func depth(src string) (deepest int) {
	n := 0
	for _, c := range []byte(src) {
		switch c {
		case '{', '[':
			n++
			deepest = max(deepest, n)
		case '}', ']':
			n--
		}
	}
	return deepest
}

// outOfRange reports whether a value contains a number outside of float64.
func outOfRange(v any) bool {
	switch v := v.(type) {
	case json.Number:
		_, err := v.Float64()
		return err != nil
	case []any:
		for _, e := range v {
			if outOfRange(e) {
				return true
			}
		}
	case map[string]any:
		for _, e := range v {
			if outOfRange(e) {
				return true
			}
		}
	}
	return false
}

// duplicateOutOfRange reports whether ParseObject rejected a number that encoding/json
// ignores, because a later member has the same name.
func duplicateOutOfRange(src string, err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "number out of range") && json.Valid([]byte(src))
}

func values(t *testing.T, o Object) map[string]any {
	out := map[string]any{}
	for _, m := range o {
		d := json.NewDecoder(strings.NewReader(m.Value))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("value of %q: %v", m.Key, err)
		}
		out[m.Key] = v
	}
	return out
}
