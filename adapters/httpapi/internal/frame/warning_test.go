package frame

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// Decision 30: ignored input is reported in Bunting-Warning, up to a limit.
func TestWarn(t *testing.T) {
	w := httptest.NewRecorder()
	Warn(w, `the parameter "x" is unknown and was ignored`)
	Warn(w, `the parameter "x" is unknown and was ignored`)
	Warn(w, "a\r\nSet-Cookie: b=c\x00é\U0001F600\xff")
	want := []string{
		`the parameter "x" is unknown and was ignored`,
		`a\r\nSet-Cookie: b=c\x00\u00e9\U0001f600\ufffd`, // as Go writes them in a text
	}
	if got := w.Header().Values("bunting-warning"); !slices.Equal(got, want) {
		t.Errorf("warnings %q, want %q", got, want)
	}
}

func TestWarnIsBounded(t *testing.T) {
	w := httptest.NewRecorder()
	for i := range 1000 {
		Warn(w, fmt.Sprint(i, strings.Repeat("é", 100_000)))
	}
	got := w.Header().Values("Bunting-Warning")
	if len(got) != maxWarnings || got[maxWarnings-1] != moreWarnings {
		t.Errorf("%d warnings, the last %q; want %d, and the last says that there is more", len(got), got[len(got)-1], maxWarnings)
	}
	for _, line := range got {
		if len(line) > maxWarningBytes {
			t.Errorf("a warning of %d bytes, at most %d are allowed", len(line), maxWarningBytes)
		}
	}
	if !strings.HasPrefix(got[0], `0\u00e9`) || !strings.HasSuffix(got[0], "...") {
		t.Errorf("a long warning begins %.20q and ends %q", got[0], got[0][len(got[0])-5:])
	}
}
