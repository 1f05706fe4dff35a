package trends

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/internal/breakdown"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// applyFormulas computes the rows of the formulas from the series.
func (a *trendsAnswer) applyFormulas() error {
	for _, f := range a.formulas {
		for _, p := range a.periods {
			rows, err := a.formulaRows(f, p)
			if err != nil {
				return err
			}
			a.results = append(a.results, rows...)
		}
	}
	return nil
}

// formulaRows returns the rows of a formula for a period, one for each breakdown value that a
// series has.
func (a *trendsAnswer) formulaRows(f formula, p trendsPeriod) ([]*Row, error) {
	// A formula needs the values of all series, so the rows of the series are joined by breakdown
	// value.
	type values struct {
		value  breakdown.Value
		series [][]float64
	}
	// union are the joined rows in the order in which they were found.
	var union []*values
	byKey := map[string]*values{}
	for i, rows := range p.series {
		for _, row := range rows {
			key := strings.Join(row.value.Texts, "\x00")
			v := byKey[key]
			if v == nil {
				v = &values{value: row.value, series: make([][]float64, len(a.series))}
				byKey[key], union = v, append(union, v)
			}
			v.series[i] = row.points
		}
	}
	if err := a.reserveRows(len(union), p.Period); err != nil {
		return nil, err
	}
	counts := make([]valuePoints, len(union))
	for k, v := range union {
		counts[k] = valuePoints{v.value, f.points(v.series)}
	}
	a.sortFormula(counts)
	rows := make([]*Row, len(counts))
	for k, c := range counts {
		row := a.row(p, c)
		row.Label = cmp.Or(f.name, "Formula ("+f.text+")")
		// A single number is in aggregated_value, not in data.
		if a.display == total {
			row.Data = nil
		} else {
			row.Count = scan.Number(scan.Sum(c.points))
		}
		rows[k] = row
	}
	return rows, nil
}

// sortFormula sorts the rows of a formula (§2.4.5).
func (a *trendsAnswer) sortFormula(rows []valuePoints) {
	if a.breakdown == nil || a.breakdown.ByCohort {
		return
	}
	slices.SortStableFunc(rows, func(x, y valuePoints) int {
		// With a comparison, values are ordered only by their sum and label.
		if a.compare {
			return cmp.Or(cmp.Compare(scan.Sum(y.points), scan.Sum(x.points)), natural(strings.Join(x.value.Texts, "::"), strings.Join(y.value.Texts, "::")))
		}
		return cmp.Or(cmp.Compare(formulaRank(x.value), formulaRank(y.value)), cmp.Compare(scan.Sum(y.points), scan.Sum(x.points)),
			slices.Compare(y.points, x.points), slices.Compare(y.value.Texts, x.value.Texts))
	})
}

// formulaRank orders ordinary values first, then values with a null, then the row of other values.
func formulaRank(v breakdown.Value) int {
	if slices.Contains(v.Texts, breakdown.OtherValue) {
		return 2
	}
	return v.Rank()
}

// points applies a formula bucket by bucket. A series without the breakdown value, and NaN, count
// as 0.
func (f formula) points(series [][]float64) []float64 {
	n := 0
	for _, s := range series {
		n = max(n, len(s))
	}
	out, at := make([]float64, n), make([]float64, len(series))
	for i := range out {
		for k, s := range series {
			if at[k] = 0; i < len(s) && !math.IsNaN(s[i]) {
				at[k] = s[i]
			}
		}
		out[i] = f.value(at)
	}
	return out
}

// natural compares strings without regard to case, and numbers in them by value.
func natural(a, b string) int {
	x, y := naturalParts(strings.ToLower(a)), naturalParts(strings.ToLower(b))
	// Parts are compared by value only if both are numbers.
	return cmp.Or(slices.CompareFunc(x, y, func(p, q string) int {
		m, errM := strconv.ParseFloat(p, 64)
		n, errN := strconv.ParseFloat(q, 64)
		if errM == nil && errN == nil {
			return cmp.Compare(m, n)
		}
		return strings.Compare(p, q)
	}), strings.Compare(a, b))
}

// naturalParts splits a string into runs of digits and runs of other characters.
func naturalParts(s string) []string {
	var out []string
	for s != "" {
		rest := strings.TrimLeft(s, "0123456789")
		if len(rest) == len(s) {
			i := strings.IndexAny(s, "0123456789")
			if i < 0 {
				i = len(s)
			}
			rest = s[i:]
		}
		out = append(out, s[:len(s)-len(rest)])
		s = rest
	}
	return out
}
