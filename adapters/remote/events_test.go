package remote

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// readAll reads a stream to its end.
func readAll(r io.Reader, limit int) (all []event, last *eventReader, err error) {
	last = newEventReader(r, limit)
	for {
		var e event
		if e, err = last.next(); err != nil {
			return all, last, err
		}
		all = append(all, e)
	}
}

// The expectations are those of the standard (WHATWG HTML §9.2.6), including its examples.
func TestEventReader(t *testing.T) {
	comment := event{comment: true}
	tests := map[string]struct {
		stream string
		want   []event
	}{
		"the standard's first example":  {"data: This is the first message.\n\ndata: This is the second message, it\ndata: has two lines.\n\n", []event{{data: []byte("This is the first message.")}, {data: []byte("This is the second message, it\nhas two lines.")}}},
		"names":                         {"event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n", []event{{name: "add", data: []byte("73857293")}, {name: "remove", data: []byte("2153")}}},
		"comments, ids and an empty id": {": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n", []event{comment, {data: []byte("first event"), id: "1"}, {data: []byte("second event")}, {data: []byte(" third event")}}},
		"data without a value":          {"data\n\ndata\ndata\n\ndata:", []event{{}, {data: []byte("\n")}}},
		"a space after the colon":       {"data:test\n\ndata: test\n\n", []event{{data: []byte("test")}, {data: []byte("test")}}},
		"an id stays":                   {"id: 7\ndata: a\n\ndata: b\n\n", []event{{data: []byte("a"), id: "7"}, {data: []byte("b"), id: "7"}}},
		"an id without data":            {"id: 7\n\ndata: b\n\n", []event{{data: []byte("b"), id: "7"}}},
		"an id with NUL":                {"id: 7\x00\ndata: b\n\n", []event{{data: []byte("b")}}},
		"a name without data":           {"event: x\n\ndata: b\n\n", []event{{data: []byte("b")}}},
		"CRLF and a byte order mark":    {"\ufeffevent: x\r\ndata: b\r\n\r\n", []event{{name: "x", data: []byte("b")}}},
		"an unknown field":              {"what: x\ndata: b\n\n", []event{{data: []byte("b")}}},
		"a comment inside of an event":  {"data: a\n:\ndata: b\n\n", []event{{data: []byte("a\nb")}}},
		"not ended":                     {"data: a\n", nil},
		"cut in a line":                 {"data: a\n\ndata: {\"fl", []event{{data: []byte("a")}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, _, err := readAll(strings.NewReader(tt.stream), 1000)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(event{})); diff != "" || !errors.Is(err, io.EOF) {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestEventReader_Retry(t *testing.T) {
	for text, want := range map[string]time.Duration{"1730": 1730 * time.Millisecond, "0": 0, "x": -1, "-1": -1, "1.5": -1, "": -1, "4294967295": maxRetry, "99999999999999": -1} {
		_, r, _ := readAll(strings.NewReader("retry: "+text+"\n\n"), 1000)
		if got := r.retry; r.hasRetry != (want >= 0) || r.hasRetry && got != want {
			t.Errorf("%q: %v %v, want %v", text, r.hasRetry, got, want)
		}
	}
}

func TestEventReader_IsBounded(t *testing.T) {
	const most = 100 << 10
	long := strings.Repeat("x", most)
	for name, stream := range map[string]string{
		"a line": "data: " + long + "\n\n", "a line without an end": long + long, "many lines": strings.Repeat("data: "+long[:1000]+"\n", 110),
	} {
		if got, _, err := readAll(strings.NewReader(stream), most); !errors.Is(err, errLongEvent) || len(got) > 0 {
			t.Errorf("%s: %v, %d events", name, err, len(got))
		}
	}
	fits := long[:most-10]
	if got, _, err := readAll(strings.NewReader("data: "+fits+"\n\n"), most); !errors.Is(err, io.EOF) || len(got) != 1 || string(got[0].data) != fits {
		t.Errorf("what fits: %v, %d events", err, len(got))
	}
}

// The way a stream is split does not change its events; memory is bounded, and encoding the events
// reproduces them.
func FuzzEventReader(f *testing.F) {
	for _, s := range []string{
		"retry: 1730\n\nevent: definitions\nid: 5f3c\ndata: {\"flags\":[]}\n\n:\n\nevent: closing\ndata: {\"code\":\"shutdown\"}\n\n",
		"\ufeffdata\r\n\r\n:x\nid: a\x00\n\n", "data: a\ndata\n\n", "data: a\rdata: b\r\r",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		const most = 64
		want, _, wantErr := readAll(bytes.NewReader(text), most)
		got, _, err := readAll(iotest.OneByteReader(bytes.NewReader(text)), most)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(event{})); diff != "" || !errors.Is(err, wantErr) {
			t.Fatalf("%v, %v: %s", wantErr, err, diff)
		}
		var again bytes.Buffer
		for _, e := range want {
			if len(e.data) > most || len(e.name) > maxField || len(e.id) > maxField {
				t.Fatalf("not bounded: %d bytes, name %q, id %q", len(e.data), e.name, e.id)
			}
			if e.comment {
				again.WriteString(":\n")
				continue
			}
			again.WriteString("event: " + e.name + "\nid: " + e.id + "\n")
			for _, line := range bytes.Split(e.data, []byte{'\n'}) {
				again.WriteString("data: " + string(line) + "\n")
			}
			again.WriteString("\n")
		}
		if bytes.ContainsRune(text, '\r') || bytes.HasPrefix(text, []byte("\ufeff")) {
			return // lines may end with another CR
		}
		got, _, _ = readAll(&again, 4*most+maxField)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(event{})); diff != "" {
			t.Fatalf("written again: %s", diff)
		}
	})
}
