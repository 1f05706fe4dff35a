package insights

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// applyFormulas makes rows of formulas out of those of series.
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

// formulaRows are a formula's rows of a period.
func (a *trendsAnswer) formulaRows(f formula, p trendsPeriod) ([]*trendsRow, error) {
	type values struct {
		value  breakdownValue
		series [][]float64
	}
	var union []*values
	byKey := map[string]*values{}
	for i, rows := range p.series {
		for _, row := range rows {
			key := strings.Join(row.value.texts, "\x00")
			v := byKey[key]
			if v == nil {
				v = &values{value: row.value, series: make([][]float64, len(a.series))}
				byKey[key], union = v, append(union, v)
			}
			v.series[i] = row.points
		}
	}
	if err := a.reserveRows(len(union), p.period); err != nil {
		return nil, err
	}
	counts := make([]valuePoints, len(union))
	for k, v := range union {
		counts[k] = valuePoints{v.value, f.points(v.series)}
	}
	a.sortFormula(counts)
	rows := make([]*trendsRow, len(counts))
	for k, c := range counts {
		row := a.row(p, c)
		row.Label = cmp.Or(f.name, "Formula ("+f.text+")")
		if a.display == total {
			row.Data = nil
		} else {
			row.Count = number(sum(c.points))
		}
		rows[k] = row
	}
	return rows, nil
}

// sortFormula orders the values of a formula (§2.4.5).
func (a *trendsAnswer) sortFormula(rows []valuePoints) {
	if a.breakdown == nil || a.breakdown.byCohort {
		return
	}
	slices.SortStableFunc(rows, func(x, y valuePoints) int {
		if a.compare {
			return cmp.Or(cmp.Compare(sum(y.points), sum(x.points)), natural(strings.Join(x.value.texts, "::"), strings.Join(y.value.texts, "::")))
		}
		return cmp.Or(cmp.Compare(formulaRank(x.value), formulaRank(y.value)), cmp.Compare(sum(y.points), sum(x.points)),
			slices.Compare(y.points, x.points), slices.Compare(y.value.texts, x.value.texts))
	})
}

// formulaRank orders ordinary values, null, the rest.
func formulaRank(v breakdownValue) int {
	if slices.Contains(v.texts, otherValue) {
		return 2
	}
	return v.rank()
}

// points applies a formula point by point; a series without the value has zeros.
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

// natural compares texts ignoring case, numbers in them by size.
func natural(a, b string) int {
	x, y := naturalParts(strings.ToLower(a)), naturalParts(strings.ToLower(b))
	return cmp.Or(slices.CompareFunc(x, y, func(p, q string) int {
		m, errM := strconv.ParseFloat(p, 64)
		n, errN := strconv.ParseFloat(q, 64)
		if errM == nil && errN == nil {
			return cmp.Compare(m, n)
		}
		return strings.Compare(p, q)
	}), strings.Compare(a, b))
}

// naturalParts cuts a text into runs of digits and others.
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
