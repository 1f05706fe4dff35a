package capture

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// §3.4: the stored form of a distinct id.
func TestCapture_3_4_StoredDistinctID(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " a ": " a ", "a\x00b": "a\uFFFDb",
		strings.Repeat("é", 201): strings.Repeat("é", 200), strings.Repeat("x", 200): strings.Repeat("x", 200),
		strings.Repeat("\x00", 201): strings.Repeat("\uFFFD", 200),
	} {
		if got := StoredDistinctID(in); got != want {
			t.Errorf("%.20q: %.20q, want %.20q", in, got, want)
		}
	}
}

func TestCutBytes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""}, {"abcd", "abcd"}, {"abcde", "abcd"}, {"abé", "abé"}, {"abcé", "abc"}, {"a€", "a€"}, {"ab€", "ab"}, {"😀", "😀"}, {"a😀", "a"},
	} {
		if got := cutBytes(tt.text, 4); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

// Decision 15: the warnings of a batch are bounded, and contain only the beginning of a
// distinct id; the counts are exact nevertheless.
func TestCapture_4_5_WarningsAreBounded(t *testing.T) {
	p := preparer{project: &Project{ID: 1}, now: time.Unix(1767225600, 0).UTC(), random: random}
	out := &Batch{ProjectID: 1}
	for i := range 1000 {
		it := &Item{Name: "e", DistinctID: fmt.Sprintf("%04d%s", i, strings.Repeat("x", 150)), Timestamp: "yesterday"}
		if reason := p.prepare(it, out); reason != NotDropped {
			t.Fatal(reason)
		}
	}
	if len(out.Warnings) != batchWarnings+1 {
		t.Fatalf("%d warnings, want %d by distinct id and one for the rest", len(out.Warnings), batchWarnings)
	}
	total := int64(0)
	for _, w := range out.Warnings {
		total += w.Count
		if w.Type != WarnTimestamp || w.ProjectID != 1 || len(w.DistinctID) > warningID {
			t.Errorf("%+v", w)
		}
	}
	if total != 1000 {
		t.Errorf("%d events are warned of, want 1000", total)
	}
}
