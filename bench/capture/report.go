package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// table contains the results of a run.
type table struct {
	rows   []row
	failed bool
}

// row is one line: the name of the measurement, our result, the result that it is compared with,
// their ratio, the limit, and the verdict.
type row struct{ what, ours, other, ratio, demand, verdict string }

// section begins a part of the table.
func (t *table) section(format string, args ...any) {
	t.rows = append(t.rows, row{what: fmt.Sprintf(format, args...)})
}

// figure adds a row without a limit.
func (t *table) figure(what, ours string) {
	t.rows = append(t.rows, row{what: "  " + what, ours: ours})
}

// compare adds a row of two results without a limit.
func (t *table) compare(what string, ours, other float64, text func(float64) string) {
	t.rows = append(t.rows, row{what: "  " + what, ours: text(ours), other: text(other), ratio: ratio(ours, other)})
}

// judge adds the limit and the verdict to the last row.
func (t *table) judge(demand string, met bool) {
	last := &t.rows[len(t.rows)-1]
	last.demand, last.verdict = demand, "pass"
	if !met {
		last.verdict, t.failed = "FAIL", true
	}
}

// print writes the rows as aligned columns, and sections as plain lines.
func (t *table) print(out io.Writer) {
	rows := append([]row{{"", "ours", "other", "ours/other", "demanded", "verdict"}}, t.rows...)
	var widths [6]int
	for i := range rows {
		for n, cell := range rows[i].cells() {
			if rows[i].ours != "" {
				widths[n] = max(widths[n], utf8.RuneCountInString(cell))
			}
		}
	}
	for i := range rows {
		if rows[i].ours == "" {
			fmt.Fprintln(out, rows[i].what)
			continue
		}
		line := ""
		for n, cell := range rows[i].cells() {
			if n == 0 {
				line = fmt.Sprintf("%-*s", widths[n], cell)
			} else {
				line += fmt.Sprintf("  %*s", widths[n], cell)
			}
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
}

func (r *row) cells() [6]string {
	return [...]string{r.what, r.ours, r.other, r.ratio, r.demand, r.verdict}
}

func ratio(a, b float64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}

func perSecond(v float64) string { return fmt.Sprintf("%.0f/s", v) }
func micros(v float64) string    { return fmt.Sprintf("%.1f µs", v) }
func millis(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}
func formatMegabytes(v float64) string { return megabytes(int64(v)) }
func megabytes(n int64) string         { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }

// each returns a duration divided by a number, in microseconds.
func each(d time.Duration, n int) float64 {
	if n == 0 {
		return 0
	}
	return float64(d) / float64(time.Microsecond) / float64(n)
}

func median[T interface{ ~int64 | ~float64 }](list []T) T {
	list = slices.Sorted(slices.Values(list))
	if len(list) == 0 {
		return 0
	}
	return list[len(list)/2]
}
