package cli

import (
	"strings"
	"testing"
)

func TestParseArgs_AnyOrder(t *testing.T) {
	fs := NewFlags("check")
	on := fs.Bool("json", false, "")
	rest, err := ParseArgs(fs, []string{"a.json", "--json", "b.json", "--", "--json.json"})
	if err != nil || !*on || strings.Join(rest, " ") != "a.json b.json --json.json" {
		t.Errorf("rest %q, json %v, %v", rest, *on, err)
	}
}
