package client

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// The sum of a month: 3 + 4 of one SDK, 5 of the other.
func TestUsage_Monthly(t *testing.T) {
	got := monthly([]usageDayView{{1, "events", "project", "web", 3}, {1, "events", "project", "ios", 5}, {1, "events", "project", "web", 4}})
	if len(got) != 2 || got[0] != (usageDayView{1, "events", "project", "web", 7}) || got[1].Count != 5 {
		t.Error(got)
	}
}

// An event is reported as unseen only once, also after more events than the set remembers.
func TestEvents_RecentIsBounded(t *testing.T) {
	s := newRecentEvents(nil)
	for i := range maxPrintedEvents + 5 {
		s.unseen([]eventView{{UUID: fmt.Sprint(i)}})
	}
	if len(s.ids) != maxPrintedEvents || len(s.unseen([]eventView{{UUID: fmt.Sprint(maxPrintedEvents)}})) != 0 {
		t.Errorf("%d are remembered", len(s.ids))
	}
}

// The changes of a version are those to the previous one: members of the flag, the parts of its
// filters that have columns, and its other filters as one.
func TestHistory_Changes(t *testing.T) {
	version := func(name, filters string) *versionView {
		v := &versionView{flagView: flagView{Key: "f", Name: name, Active: true}}
		if err := json.Unmarshal([]byte(filters), &v.Filters); err != nil {
			t.Fatal(err)
		}
		return v
	}
	before := version("", `{"groups": [{"rollout_percentage": 10}], "payloads": {}, "early_exit": true}`)
	for filters, want := range map[string][]string{
		`{"groups": [{"rollout_percentage": 10}], "payloads": {}, "early_exit": true}`:                       {"name"},
		`{"payloads": {}, "early_exit": true, "groups": [{"rollout_percentage":10}], "multivariate": null}`:  {"name"},
		`{"groups": [{"rollout_percentage": 20}], "payloads": {}, "early_exit": true}`:                       {"groups", "name"},
		`{"groups": [{"rollout_percentage": 10}], "payloads": {"true": "1"}, "holdout": {"id": 1}}`:          {"filters", "name", "payloads"},
		`{"groups": [], "multivariate": {"variants": []}, "payloads": {}, "early_exit": true, "holdout": 1}`: {"filters", "groups", "multivariate", "name"},
		`null`: {"filters", "groups", "name", "payloads"},
	} {
		if got := version("new", filters).changes(before); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", filters, got, want)
		}
	}
}

// A list of flags with a long key is cut to the terminal's width, and complete elsewhere.
func TestFlags_ListWithin(t *testing.T) {
	key := strings.Repeat("k", 400)
	for width, full := range map[int]bool{0: true, 80: false} {
		var out strings.Builder
		m := &manager{Program: &cli.Program{Stdout: &out, Width: func(io.Writer) int { return width }}}
		if err := m.showFlags(flagView{Key: key, Active: true, Name: "a\tname\nof two lines"}, flagView{Key: "short"}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 3 || strings.Contains(out.String(), key) != full {
			t.Errorf("%d wide:\n%s", width, out.String())
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); !full && n > width {
				t.Errorf("a line has %d of %d columns: %s", n, width, line)
			}
		}
	}
}
