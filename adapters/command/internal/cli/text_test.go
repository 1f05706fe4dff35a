package cli

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// No text of a file or of a server breaks a table: rows are lines, and cells are columns.
func TestTable(t *testing.T) {
	got := Table([][]string{{"KEY", "NOTE"}, {Cell("a\nb\tc\x7f"), Cell("")}, {"long-key", Shorten(strings.Repeat("ä", 61))}})
	want := "KEY       NOTE\na b c     -\nlong-key  " + strings.Repeat("ä", 60) + "…\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if one, two := Plural(1, "flag"), Plural(0, "flag"); one != "1 flag" || two != "0 flags" {
		t.Error(one, two)
	}
}

// Lines are as long as the terminal is wide: the widest columns are cut. Without a terminal no
// column is cut.
func TestTable_Within(t *testing.T) {
	key := strings.Repeat("k", 400)
	rows := [][]string{{"KEY", "STATE", "NAME"}, {key, "on", strings.Repeat("ü", 30)}, {"short", "off", "-"}}
	for width, want := range map[int]string{
		0:   "KEY" + strings.Repeat(" ", 399) + "STATE  NAME\n" + key + "  on     " + strings.Repeat("ü", 30) + "\nshort" + strings.Repeat(" ", 397) + "off    -\n",
		439: "KEY" + strings.Repeat(" ", 399) + "STATE  NAME\n" + key + "  on     " + strings.Repeat("ü", 30) + "\nshort" + strings.Repeat(" ", 397) + "off    -\n",
		80:  "KEY" + strings.Repeat(" ", 40) + "STATE  NAME\n" + key[:40] + "…  on     " + strings.Repeat("ü", 30) + "\nshort" + strings.Repeat(" ", 38) + "off    -\n",
		40:  "KEY" + strings.Repeat(" ", 14) + "STATE  NAME\n" + key[:14] + "…  on     " + strings.Repeat("ü", 15) + "…\nshort" + strings.Repeat(" ", 12) + "off    -\n",
		5:   "KEY       STATE  NAME\nkkkkkkk…  on     üüüüüüü…\nshort     off    -\n",
	} {
		var out strings.Builder
		p := &Program{Stdout: &out, Width: func(io.Writer) int { return width }}
		if err := p.PrintTable(rows); err != nil || out.String() != want {
			t.Errorf("%d wide: %v\n%s\nwant\n%s", width, err, out.String(), want)
		}
	}
	if TableWithin(nil, 80) != "" || TerminalWidth(&strings.Builder{}) != 0 {
		t.Error("no rows have a table, or a builder is a terminal")
	}
}

func TestArgs_ListsAndPairs(t *testing.T) {
	var values StringList
	for _, text := range []string{"company=acme", "team=a=b", "empty="} {
		if err := values.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	if groups, err := Groups("eval", values); err != nil || len(groups) != 3 || groups["company"] != "acme" || groups["team"] != "a=b" || groups["empty"] != "" {
		t.Error(groups, err)
	}
	if all := values.String(); all != "company=acme,team=a=b,empty=" {
		t.Error(all)
	}
	for text, want := range map[string]string{
		"acme":  "eval: --group: must be type=key, such as company=acme, not \"acme\"\nsee bunting help eval",
		"=acme": "eval: --group: must be type=key, such as company=acme, not \"=acme\"\nsee bunting help eval",
	} {
		var usage *UsageError
		if _, err := Groups("eval", StringList{text}); !errors.As(err, &usage) || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if properties, err := Properties("eval", StringList{"age=5", "plan=pro"}); err != nil || properties["age"] != json.Number("5") || properties["plan"] != "pro" {
		t.Error(properties, err)
	}
	if list := SplitList(" a, ,b,"); !slices.Equal(list, []string{"a", "b"}) {
		t.Errorf("%q", list)
	}
	if list := SplitList(""); list == nil || len(list) != 0 {
		t.Errorf("%q: want a list without elements", list)
	}
}

// Positions are a line and a column from 1, as in editors.
func TestJSONError(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "f.json: the document is empty",
		" \n":               "f.json: the document is empty",
		"{\n  \"a\": x\n}":  "f.json: line 2 column 8: invalid character 'x' looking for beginning of value",
		"[1,\n":             "f.json: line 2 column 1: the document ends in the middle",
		"{\"a\": 1}\n\n]  ": "f.json: line 3 column 1: invalid character ']' after top-level value",
	} {
		var v any
		err := json.NewDecoder(strings.NewReader(text)).Decode(&v)
		if got := JSONError("f.json", []byte(text), err).Error(); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestIndent(t *testing.T) {
	if got, err := Indent(map[string]any{"a": []string{"<&>"}}); err != nil || got != "{\n  \"a\": [\n    \"<&>\"\n  ]\n}\n" {
		t.Errorf("%q (%v)", got, err)
	}
	if got, err := Indent(math.Inf(1)); err == nil || got != "" {
		t.Errorf("%q", got)
	}
}
