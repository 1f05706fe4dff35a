package cli

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// Records of a file and the position of each, as "line/number text".
func TestRecords(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte("a\nb"))
	_ = z.Close()
	for _, tt := range []struct {
		name, file string
		want       []string
		err        error
	}{
		{"nothing", "", nil, io.EOF},
		{"lines", "a\n\n b \nc", []string{"1/1 a", "3/3 b", "4/4 c"}, io.EOF},
		{"blank lines first", "\n \n{}\n", []string{"3/3 {}"}, io.EOF},
		{"byte order mark", "\ufeffa", []string{"1/1 a"}, io.EOF},
		{"gzip", zipped.String(), []string{"1/1 a", "2/2 b"}, io.EOF},
		{"list", "\n[1,\n {\"a\": [\"]\\\"\",\n2]} ,3]", []string{"2/1 1", "3/2 {\"a\": [\"]\\\"\",\n2]}", "4/3 3"}, io.EOF},
		{"empty list", " [ ] \n", nil, io.EOF},
		{"nothing between commas", "[1,,2]", []string{"1/1 1", "1/2 ", "1/3 2"}, io.EOF},
		{"a list without end", "[1,\n2", []string{"1/1 1"}, errNoEnd},
		{"long line", "a\n0123456789\nb", []string{"1/1 a", "2/2 too long", "3/3 b"}, io.EOF},
		{"long element", `["a", "0123456789", "b"]`, []string{`1/1 "a"`, "1/2 too long", `1/3 "b"`}, io.EOF},
	} {
		t.Run(tt.name, func(t *testing.T) {
			maxSize := 10
			if !strings.HasPrefix(tt.name, "long") {
				maxSize = 100
			}
			rs, err := NewRecords(strings.NewReader(tt.file), maxSize)
			var got []string
			for err == nil {
				var text []byte
				text, err = rs.Next()
				switch {
				case errors.Is(err, ErrTooLong):
					err, text = nil, []byte("too long")
					fallthrough
				case err == nil:
					got = append(got, fmt.Sprintf("%d/%d %s", rs.Line, rs.Number, text))
				}
			}
			if !slices.Equal(got, tt.want) || !errors.Is(err, tt.err) {
				t.Errorf("%q, %v; want %q, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

// Text after a list is not read as a record, and End reports it.
func TestRecords_End(t *testing.T) {
	for file, want := range map[string]bool{"[1]": true, "[1]\n \n": true, "[1]\n\nx": false, "[1] ]": false} {
		rs, err := NewRecords(strings.NewReader(file), 100)
		for err == nil {
			_, err = rs.Next()
		}
		if got := rs.End(); got != want || !errors.Is(err, io.EOF) {
			t.Errorf("%q: %v, %v; want %v", file, got, err, want)
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte("{}\n\n{}"))
	f.Add([]byte(`[{"a":"]\"},"},[1],2 , ]`))
	f.Add([]byte("\x1f\x8b\x08"))
	f.Fuzz(func(t *testing.T, text []byte) {
		rs, err := NewRecords(bytes.NewReader(text), 100)
		for n := 0; err == nil; n++ {
			if n > len(text)+1 {
				t.Fatalf("%q has more records than bytes", text)
			}
			_, err = rs.Next()
		}
	})
}
