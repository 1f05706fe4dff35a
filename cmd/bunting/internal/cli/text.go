package cli

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
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

// minColumn is how narrow columns are made at most, in runes.
const minColumn = 8

// TableWithin is Table with lines of at most so many runes, as far as that can be: what is
// too long in the widest columns ends with an ellipsis. 0: as long as they are.
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

// columnsWithin are the widths of columns that make lines of at most width together.
func columnsWithin(rows [][]string, width int) (columns []int) {
	for _, row := range rows {
		for j, cell := range row {
			if j == len(columns) {
				columns = append(columns, 0)
			}
			columns[j] = max(columns[j], utf8.RuneCountInString(cell))
		}
	}
	total := 2 * (len(columns) - 1) // between them
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

// Names are the names of the elements of a list.
func Names[T any](list []T, name func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = name(v)
	}
	return out
}
