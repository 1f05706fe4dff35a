package lists_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Filters of lists match everything if they have no value.
func TestFilters(t *testing.T) {
	yes, no := true, false
	day := func(d int) time.Time { return time.Date(2026, 1, d, 0, 0, 0, 0, time.UTC) }
	third := management.NewStamp(day(3))
	for what, got := range map[string][2]bool{
		"among none":              {lists.MatchesValue(nil, 7), true},
		"among others":            {lists.MatchesValue([]int{1, 2}, 7), false},
		"among them":              {lists.MatchesValue([]int{1, 7}, 7), true},
		"shares none":             {lists.MatchesAny(nil, []string{"a"}), true},
		"shares one":              {lists.MatchesAny([]string{"x", "a"}, []string{"a", "b"}), true},
		"shares nothing":          {lists.MatchesAny([]string{"x"}, []string{"a"}), false},
		"shares with nothing":     {lists.MatchesAny([]string{"x"}, nil), false},
		"is either":               {lists.MatchesBool(nil, false), true},
		"is true":                 {lists.MatchesBool(&yes, true), true},
		"is not false":            {lists.MatchesBool(&no, true), false},
		"within nothing":          {lists.IsBetween(third, time.Time{}, time.Time{}), true},
		"after":                   {lists.IsBetween(third, day(2), time.Time{}), true},
		"not after itself":        {lists.IsBetween(third, day(3), time.Time{}), false},
		"before":                  {lists.IsBetween(third, time.Time{}, day(4)), true},
		"not before itself":       {lists.IsBetween(third, time.Time{}, day(3)), false},
		"between":                 {lists.IsBetween(third, day(2), day(4)), true},
		"holds, in whatever case": {lists.ContainsFold("Größe XL", "GRÖSSE"), false},
		"holds, in upper case":    {lists.ContainsFold("Size XL", "xl"), true},
		"holds nothing":           {lists.ContainsFold("", ""), true},
		"a search of 200":         {lists.CheckSearch(strings.Repeat("ä", 200)) == nil, true},
		"a search of 201":         {lists.CheckSearch(strings.Repeat("ä", 201)) == nil, false},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %v, want %v", what, got[0], got[1])
		}
	}
}

// clients.md §3.3: tags are trimmed, in lower case, unique and not empty.
func TestNormalizeTags(t *testing.T) {
	for _, c := range [][2][]string{
		{{" B ", "a", "b", "A"}, {"b", "a"}},
		{{"", " ", "\t"}, {}},
		{nil, {}},
		{{"Größe", "GRÖẞE"}, {"größe"}},
		{{"two words", "Two Words"}, {"two words"}},
	} {
		if diff := gocmp.Diff(c[1], lists.NormalizeTags(c[0])); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c[0], diff)
		}
	}
}

// SortBy sorts by a field of the table, in reverse with a minus, and leaves the order otherwise.
func TestSortBy(t *testing.T) {
	type item struct {
		Name string
		N    int
	}
	fields := map[string]func(a, b item) int{
		"name": func(a, b item) int { return cmp.Compare(a.Name, b.Name) }, "n": func(a, b item) int { return cmp.Compare(a.N, b.N) },
	}
	for by, want := range map[string]string{"name": "a1 b2 b3 c1", "-name": "c1 b3 b2 a1", "n": "c1 a1 b2 b3", "-n": "b3 b2 a1 c1", "": "b2 c1 a1 b3", "size": "b2 c1 a1 b3", "-": "b2 c1 a1 b3", "--name": "b2 c1 a1 b3", "Name": "b2 c1 a1 b3"} {
		list := []item{{"b", 2}, {"c", 1}, {"a", 1}, {"b", 3}}
		lists.SortBy(list, fields, by)
		var got []string
		for _, x := range list {
			got = append(got, x.Name+string(rune('0'+x.N)))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("by %q: %s, want %s", by, text, want)
		}
	}
}

// §3: pages of a list.
func TestPageOf(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e"}
	for _, c := range []struct {
		page management.Page
		want string
	}{
		{management.Page{Limit: 2}, "a b"},
		{management.Page{Limit: 2, Offset: 2}, "c d"},
		{management.Page{Limit: 2, Offset: 4}, "e"},
		{management.Page{Limit: 2, Offset: 5}, ""},
		{management.Page{Limit: 2, Offset: 50}, ""},
		{management.Page{Limit: 100}, "a b c d e"},
	} {
		page, count := lists.PageOf(all, c.page)
		if got := strings.Join(page, " "); got != c.want || count != 5 {
			t.Errorf("%+v: %q of %d, want %q of 5", c.page, got, count, c.want)
		}
	}
	count, results := management.List[string]{Count: 3}.Counted()
	if text := string(storage.Encode(results)); count != 3 || text != "[]" {
		t.Errorf("a page of nothing: %d, %s, want 3, []", count, text)
	}
}
