package boundedre_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/boundedre"
)

// The longest text is 2^29 divided by the number of instructions: x{1000} has a thousand of them
// and two for the start and the match.
func TestPattern_Fits(t *testing.T) {
	const instructions = 1002
	p, err := boundedre.Compile("x{1000}")
	if err != nil {
		t.Fatal(err)
	}
	longest := strings.Repeat("x", (1<<29)/instructions)
	if !p.Fits(longest) || p.Fits(longest+"x") {
		t.Errorf("a text of %d bytes fits: %v; one byte more: %v", len(longest), p.Fits(longest), p.Fits(longest+"x"))
	}
	if p.MatchString(longest + "x") {
		t.Error("a text that does not fit was searched")
	}
	if !p.MatchString(longest[:2000]) || p.MatchString(longest[:999]) {
		t.Error("x{1000} must match 2000 x, and not 999")
	}
	if _, err := boundedre.Compile("("); err == nil {
		t.Error("want an error for an open parenthesis")
	}
}

// a(.*b)? searches to the end of a text without b for each match. A text of 50,000 bytes needs
// several attempts, after each of which the caller can end the search. All attempts together find
// the same matches as one call of package regexp.
func TestPattern_FindAllSubmatches(t *testing.T) {
	p, err := boundedre.Compile("a(.*b)?")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("a", 50_000)
	attempts := 0
	if found, ok := p.FindAllSubmatches(text, len(text), func() bool { attempts++; return attempts < 2 }); ok || found != nil || attempts != 2 {
		t.Errorf("ended with %v after %d attempts, want none of the matches after 2", ok, attempts)
	}
	short := strings.Repeat("ab ", 2000)
	want := regexp.MustCompile("a(b)").FindAllStringSubmatchIndex(short, -1)
	if p, err = boundedre.Compile("a(b)"); err != nil {
		t.Fatal(err)
	}
	got, ok := p.FindAllSubmatches(short, len(short), func() bool { return true })
	if !ok || !slices.EqualFunc(got, want, slices.Equal[[]int]) {
		t.Errorf("%d matches (%v), want %d", len(got), ok, len(want))
	}
	if one, ok := p.FindAllSubmatches(short, 1, func() bool { return false }); !ok || len(one) != 1 {
		t.Errorf("%d matches (%v), want the first", len(one), ok)
	}
}
