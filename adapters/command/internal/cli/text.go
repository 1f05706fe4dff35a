package cli

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Plural formats a number with a noun: 1 flag, 2 flags.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// maxCell is the maximum length of a text in a table, in runes.
const maxCell = 60

// Shorten cuts a text that may be long, such as JSON, to maxCell runes.
func Shorten(s string) string {
	s = strings.ReplaceAll(s, "\t", " ")
	if runes := []rune(s); len(runes) > maxCell {
		return string(runes[:maxCell]) + "…"
	}
	return s
}

// Cell replaces control characters by spaces, so that a text from a file or a server cannot break a
// table. It returns "-" for an empty text.
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

// Table formats rows as columns. The first row may be headings.
func Table(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
	return b.String()
}

// minColumn is the minimum width of a shortened column, in runes.
const minColumn = 8

// TableWithin is Table with lines of at most width runes where possible: long cells in the widest
// columns end with an ellipsis. If width is 0, lines are not limited.
func TableWithin(rows [][]string, width int) string {
	if width <= 0 {
		return Table(rows)
	}
	columns := columnsWithin(rows, width)
	cut := make([][]string, len(rows))
	for i, row := range rows {
		cut[i] = make([]string, len(row))
		for j, cell := range row {
			if runes := []rune(cell); len(runes) > columns[j] {
				cell = string(runes[:columns[j]-1]) + "…"
			}
			cut[i][j] = cell
		}
	}
	return Table(cut)
}

// columnsWithin returns the widths of columns whose sum is at most width.
func columnsWithin(rows [][]string, width int) (columns []int) {
	for _, row := range rows {
		for j, cell := range row {
			if j == len(columns) {
				columns = append(columns, 0)
			}
			columns[j] = max(columns[j], utf8.RuneCountInString(cell))
		}
	}
	total := 2 * (len(columns) - 1) // the spaces between columns
	for _, n := range columns {
		total += n
	}
	for ; total > width; total-- {
		widest := 0
		for j := range columns {
			if columns[j] > columns[widest] {
				widest = j
			}
		}
		if columns[widest] <= minColumn {
			break
		}
		columns[widest]--
	}
	return columns
}

// Names returns the name of each element of a list.
func Names[T any](list []T, name func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = name(v)
	}
	return out
}
