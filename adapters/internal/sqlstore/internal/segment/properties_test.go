package segment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// checkProperties compares the columns of properties of a group with the members of the JSON objects of
// its events.
func checkProperties(f *File, group int, events []event) error {
	objects := make([]map[string]json.RawMessage, len(events))
	for i := range events {
		if json.Unmarshal([]byte(events[i].properties), &objects[i]) != nil {
			objects[i] = nil // no object has no properties
		}
	}
	var p Property
	for name := range f.properties {
		if err := f.Property(group, name, &p); err != nil {
			return err
		}
		if len(p.Of) != len(events) {
			return fmt.Errorf("%d values of %q for %d events", len(p.Of), name, len(events))
		}
		for i := range events {
			if got, want := p.Values[p.Of[i]], string(objects[i][name]); got != want {
				return fmt.Errorf("event %d has %q = %.100s, the column has %.100s", events[i].ID, name, want, got)
			}
		}
	}
	return nil
}

// withProperties returns events with other properties.
func withProperties(m *maker, n int, properties func(i int) string) []event {
	events := m.events(n)
	for i := range events {
		events[i].properties = properties(i)
	}
	return events
}

// Properties that many events have, with few and short values, have columns. Decided by the first
// 2,048 events, the columns have the values of all events: texts, objects, and nothing.
func TestProperties_Columns(t *testing.T) {
	m := newMaker(13)
	note := strings.Repeat("n", 300_000)
	first := withProperties(m, 3000, func(i int) string {
		more := ""
		switch {
		case i%100 == 7:
			more = `,"rare":null`
		case i == 2500:
			more = fmt.Sprintf(`,"note":%q`, note)
		case i == 2600:
			more = `,"note":{"a":[1,2]}`
		case i%3 == 0:
			more = `,"note":"ok"`
		}
		return fmt.Sprintf(`{"":1,"Plan":"x","a\tb":1,"list":[1],"object":{},"plan":"p%d","price":%d.50,"request":"%016x","text":%q,"\u00fcber":true%s}`,
			i%3, i%10, m.Uint64(), strings.Repeat("t", 130), more)
	})
	second := withProperties(m, 500, func(i int) string {
		return [...]string{`{"plan":null}`, `{"late":1}`, `{}`, `[]`, ` { "plan" : "p\u0031" , "price":-1e3 } `}[i%5]
	})
	third := withProperties(m, 100, func(int) string { return "{}" })
	f := testFile(t, first, second, third)
	if diff := cmp.Diff([]string{"Plan", "note", "price", "rare", "über"}, slices.Sorted(maps.Keys(f.properties))); diff != "" {
		t.Errorf("columns (-want +got)\n%s", diff)
	}
	for i, events := range [][]event{first, second, third} {
		if err := checkProperties(f, i, events); err != nil {
			t.Error(err)
		}
	}
	if bytes, ok := f.PropertyBytes(0, []string{"note", "rare"}); !ok || bytes < int64(len(note)) {
		t.Errorf("%d bytes, %t", bytes, ok)
	}
	if _, ok := f.PropertyBytes(0, []string{"note", "request"}); ok {
		t.Error("there is a column for ids of requests")
	}
	if err := f.Property(0, "request", &Property{}); err == nil {
		t.Error("a column that is not there was read")
	}
	// The file has the names of all other properties: one that is not among them does not occur.
	var p Property
	if bytes, ok := f.PropertyBytes(1, []string{"nothing", "price"}); !ok || bytes == 0 {
		t.Errorf("%d bytes, %t", bytes, ok)
	}
	if err := f.Property(1, "nothing", &p); err != nil || !slices.Equal(p.Values, []string{""}) || !slices.Equal(p.Of, make([]uint16, 500)) {
		t.Error(p, err)
	}
	if _, ok := f.PropertyBytes(1, []string{"late"}); ok {
		t.Error("a property of the second group is not known")
	}
}

// A file has columns of at most 32 properties: of those that most events have.
func TestProperties_AtMost(t *testing.T) {
	f := testFile(t, withProperties(newMaker(14), 400, func(i int) string {
		out := `{"first":1`
		for n := range 300 {
			if n < 100 && i%(n+1) == 0 || n >= 100 && n == i { // the later ones are in few events
				out += fmt.Sprintf(`,"p%03d":true`, n)
			}
		}
		return out + "}"
	}))
	names := slices.Sorted(maps.Keys(f.properties))
	if len(names) != 32 || names[0] != "first" || names[1] != "p000" || names[31] != "p030" {
		t.Errorf("%d columns: %q", len(names), names)
	}
}

// A sample with more names and values than it may have decides, too. Properties of which most later
// values differ, or whose values are too long for a dictionary, have plain pages.
func TestProperties_Bounds(t *testing.T) {
	m := newMaker(15)
	many := withProperties(m, 3000, func(i int) string {
		out := `{"plan":"pro"`
		for n := range 60 {
			out += fmt.Sprintf(`,"n%d":%d,"v%d":"%d"`, 60*i+n, n, n, i/2)
		}
		return out + "}"
	})
	differ := withProperties(m, block.MaxEvents, func(i int) string {
		return fmt.Sprintf(`{"plan":"plan %d","v1":"%s %d"}`, i, strings.Repeat("v", 40), i/2)
	})
	var out bytes.Buffer
	w := NewWriter(&out)
	add(t, w, many, nil)
	add(t, w, differ, nil)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := openBytes(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for i, events := range [][]event{many, differ} {
		if err := checkProperties(f, i, events); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"plan", "v1"} {
		if at, ok := f.properties[name]; !ok || f.groups[1].properties[at].hasDictionary() {
			t.Errorf("the column %s is missing, or has a dictionary", name)
		}
	}
	if _, ok := f.PropertyBytes(1, []string{"nothing"}); ok {
		t.Error("all names are known, although there are 180,061")
	}
}

// Decoding a page of a property with any bytes, and a checksum that is right, does not panic, and
// returns as many values as there are rows.
func FuzzProperty(f *testing.F) {
	data := segmentOf(f, small(1)...)
	file, err := openBytes(data)
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range file.groups[0].properties {
		p := c.page(0)
		h, levels, values, err := openPage(data[p.offset:p.offset+int64(p.size)], nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(levels, values, true, uint16(p.rows), uint16(h.DataPageHeaderV2.V.NumNulls))
	}
	f.Add([]byte{2, 1}, []byte("\x80\x01\x04\x01\x02abc"), false, uint16(1), uint16(0))
	f.Add([]byte{3, 5}, []byte{1, 3, 2}, true, uint16(7), uint16(6))
	f.Fuzz(func(t *testing.T, levels, values []byte, hasDictionary bool, rows, nulls uint16) {
		rows = rows%block.MaxEvents + 1
		column := propertyColumn("p")
		encoding := column.encoding
		if !hasDictionary {
			encoding = column.plain()
		}
		var e pageEncoder
		header, body, err := e.data(encoding, int(rows), levels, int(nulls), values)
		if err != nil {
			t.Fatal(err)
		}
		page := slices.Concat(header, body)
		only := place{size: int32(len(page)), rows: int32(rows)}
		g := group{Group: Group{Events: int(rows)}, properties: make([]chunk, 1)}
		r := &reader{file: &File{name: "fuzz", data: bytes.NewReader(page), size: int64(len(page))}, group: &g}
		if err := r.decodeProperty(&r.property, only, encoding); err == nil && len(r.property.entries) != int(rows) {
			t.Fatalf("%d entries for %d rows", len(r.property.entries), rows)
		}
	})
}

// The values of columns are those of the JSON objects, in whatever order the names are, and however
// names and values are written: encoding/json reads the same.
func TestProperties_Orders(t *testing.T) {
	long := strings.Repeat("l", 2*maxNameText)
	texts := []string{
		`{"n":1,"s":"a","t":true}`, `{"n":12,"s":"ab","t":true}`, `{"n":1,"s":"a","t":true}`, `{"s":"a","n":1}`, `{"n":1 ,"s":"a" , "t":true}`,
		`{"\u006e":1,"s":"a"}`, `{ "n":1,"s":"a"}`, `{"n": 1,"s":"a\"b"}`, `{"n":1,"x":{"n":2,"s":"a"},"s":"a"}`, `{}`, `{"n":1}`, `{"n":1.5,"s":"a"}`,
		`{"n":-1,"` + long + `":1,"s":"a","t":false}`, `{"t":true,"s":"a","n":1}`, `{"nn":1,"s":"a"}`, `{"n":1,"s":"a","x":[1]}`, `{"x":"a"}`,
	}
	m := newMaker(15)
	var groups [][]event
	for _, n := range []int{2500, 3000} {
		groups = append(groups, withProperties(m, n, func(int) string { return texts[m.IntN(len(texts))] }))
	}
	f := testFile(t, groups...)
	if names := slices.Sorted(maps.Keys(f.properties)); !slices.Equal(names, []string{"n", "nn", "s", "t"}) {
		t.Errorf("columns %q", names)
	}
	for i, events := range groups {
		if err := checkProperties(f, i, events); err != nil {
			t.Error(err)
		}
	}
}

// More names than a writer remembers, and a file lists, leave the values of columns right.
func TestProperties_ManyNames(t *testing.T) {
	events := withProperties(newMaker(16), maxNames+1000, func(i int) string {
		return fmt.Sprintf(`{"n":%d,"k%d":1,"last":true,"j%d":2}`, i%7, i, i%3000)
	})
	f := testFile(t, events)
	if names := slices.Sorted(maps.Keys(f.properties)); !slices.Contains(names, "n") || !slices.Contains(names, "last") {
		t.Errorf("columns %q", names)
	}
	if err := checkProperties(f, 0, events); err != nil {
		t.Error(err)
	}
	if _, ok := f.PropertyBytes(0, []string{"nothing"}); ok {
		t.Error("a file with too many names knows that one does not occur")
	}
}
