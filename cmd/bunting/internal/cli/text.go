package cli

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Plural counts things: 1 flag, 2 flags.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// maxCell bounds a long text in a table, in runes.
const maxCell = 60

// Shorten bounds a text that may be long, such as JSON in a table.
func Shorten(s string) string {
	s = strings.ReplaceAll(s, "\t", " ")
	if runes := []rune(s); len(runes) > maxCell {
		return string(runes[:maxCell]) + "…"
	}
	return s
}

// Cell keeps what stands in a file or on a server from breaking a table.
func Cell(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if s == "" {
		return "-"
	}
	return s
}

// Table lays rows out in columns, the first of which may be headings.
func Table(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
	return b.String()
}

// Names are the names of the elements of a list.
func Names[T any](list []T, name func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = name(v)
	}
	return out
}
