package cli

import (
	"slices"
	"strings"
	"testing"
)

// Widths of columns: the widest is cut first, of equals the first, and none below eight.
func TestColumnsWithin(t *testing.T) {
	t.Parallel()
	row := func(widths ...int) (out []string) {
		for _, n := range widths {
			out = append(out, strings.Repeat("ü", n))
		}
		return out
	}
	for _, c := range []struct {
		rows  [][]string
		width int
		want  []int
	}{
		{nil, 10, nil},
		{[][]string{row(5, 5)}, 12, []int{5, 5}},
		{[][]string{row(5, 5)}, 11, []int{5, 5}}, // below the minimum already
		{[][]string{row(20, 10)}, 32, []int{20, 10}},
		{[][]string{row(20, 10)}, 31, []int{19, 10}},
		{[][]string{row(20, 10)}, 21, []int{9, 10}},
		{[][]string{row(20, 10)}, 18, []int{8, 8}},
		{[][]string{row(20, 10)}, 1, []int{8, 8}},
		{[][]string{row(1), row(1, 30)}, 23, []int{1, 20}}, // rows of different lengths
		{[][]string{row(30, 1, 30)}, 45, []int{20, 1, 20}},
	} {
		if got := columnsWithin(c.rows, c.width); !slices.Equal(got, c.want) {
			t.Errorf("%q within %d: %v, want %v", c.rows, c.width, got, c.want)
		}
	}
}

// Texts of tables at their maximum length.
func TestShorten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		strings.Repeat("é", 60): strings.Repeat("é", 60), strings.Repeat("é", 61): strings.Repeat("é", 60) + "…", "a\tb": "a b", "": "",
	} {
		if got := Shorten(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"": "-", " ": " ", "\x1b[31mred": " [31mred", "a\r\nb": "a  b", "\u0085é": "\u0085é"} {
		if got := Cell(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The position of an offset, from 1, and the next token after commas and colons.
func TestPositions(t *testing.T) {
	t.Parallel()
	data := []byte("{\n  \"é\": 1,\n\n \"b\" : 2}")
	for offset, want := range map[int64]string{0: "line 1 column 1", 1: "line 1 column 2", 2: "line 2 column 1", 4: "line 2 column 3", 12: "line 2 column 11", 13: "line 3 column 1", 14: "line 4 column 1", 99: "line 4 column 10"} {
		if got := Position(data, offset); got != want {
			t.Errorf("%d: %s, want %s", offset, got, want)
		}
	}
	for from, want := range map[int64]int64{0: 0, 1: 4, 4: 4, 8: 10, 11: 15, 18: 21, 23: 23, 40: 40} {
		if got := NextText(data, from); got != want {
			t.Errorf("after %d: %d, want %d", from, got, want)
		}
	}
}
