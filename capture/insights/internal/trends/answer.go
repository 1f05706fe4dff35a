package trends

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/internal/breakdown"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// trendsAnswer builds the result of a trends query from its counts (§2.4.4 to §2.4.6).
type trendsAnswer struct {
	*trends
	run     *scan.Run
	periods []trendsPeriod
	// more is true if breakdown values were left out or summed.
	more bool
	// cells is the number of cells of the result so far.
	cells int
	// results are the rows of formulas.
	results []*Row
}

// trendsPeriod is the current period, or the one that it is compared with.
type trendsPeriod struct {
	*scan.Period
	// label is compare_label, empty without a comparison.
	label  string
	series [][]valuePoints
	// The buckets in the forms that all rows share.
	days, labels, instants []string
}

// Row is a row of the result. Members that a row does not have are nil.
type Row struct {
	Action         any           `json:"action"`
	Label          string        `json:"label"`
	Count          scan.Number   `json:"count"`
	Data           []scan.Number `json:"data"`
	Labels         *[]string     `json:"labels,omitempty"`
	Days           []string      `json:"days"`
	Aggregated     *scan.Number  `json:"aggregated_value,omitempty"`
	BreakdownValue any           `json:"breakdown_value,omitempty"`
	Compare        bool          `json:"compare,omitempty"`
	CompareLabel   string        `json:"compare_label,omitempty"`
}

// reserveRows reserves memory for rows of the result and checks the limit of cells.
func (a *trendsAnswer) reserveRows(rows int, p *scan.Period) error {
	cells := rows
	if a.display != total {
		cells *= p.Len()
	}
	// The limit applies to all rows of the result together.
	if a.cells += cells; a.cells > scan.MaxCells {
		return scan.TooManyCells()
	}
	return a.run.Reserve(scan.AnswerCell*int64(cells) + scan.RowSize*int64(rows))
}

// limitRows sorts the breakdown values and sums those beyond the limit into one row, unless the
// query hides it.
func (a *trendsAnswer) limitRows(rows []valuePoints) []valuePoints {
	if a.breakdown == nil || a.breakdown.ByCohort {
		return rows
	}
	// Values with a null are last; then by sum, descending; then by value.
	slices.SortFunc(rows, func(x, y valuePoints) int {
		return cmp.Or(cmp.Compare(x.value.Rank(), y.value.Rank()), cmp.Compare(scan.Sum(y.points), scan.Sum(x.points)), slices.Compare(x.value.Texts, y.value.Texts))
	})
	if len(rows) <= a.breakdown.Limit {
		return rows
	}
	a.more = true
	rest := rows[a.breakdown.Limit:]
	rows = slices.Clone(rows[:a.breakdown.Limit]) // a copy, so that the rest can be freed
	if a.breakdown.HideOther {
		return rows
	}
	// The row of the rest has a placeholder for each part of the breakdown.
	other := valuePoints{points: make([]float64, len(rest[0].points))}
	for range rest[0].value.Texts {
		other.value.Texts = append(other.value.Texts, breakdown.OtherValue)
	}
	for _, row := range rest {
		for i, p := range row.points {
			other.points[i] += p
		}
	}
	return append(rows, other)
}

// rows returns the result: rows by period, series and value; for cohorts by period, cohort and
// series.
func (a *trendsAnswer) rows() any {
	if len(a.formulas) > 0 {
		return emptyIfNil(a.results)
	}
	out := []*Row{}
	for _, p := range a.periods {
		if a.breakdown != nil && a.breakdown.ByCohort {
			for k := range a.breakdown.Cohorts {
				for i := range a.series {
					out = append(out, a.seriesRow(p, i, p.series[i][k]))
				}
			}
			continue
		}
		for i, rows := range p.series {
			for _, row := range rows {
				out = append(out, a.seriesRow(p, i, row))
			}
		}
	}
	return out
}

// emptyIfNil replaces nil by an empty list, which is encoded as [] instead of null.
func emptyIfNil(rows []*Row) []*Row {
	if rows == nil {
		return []*Row{}
	}
	return rows
}

// seriesRow returns the row of a series for a breakdown value.
func (a *trendsAnswer) seriesRow(p trendsPeriod, series int, c valuePoints) *Row {
	e := &a.series[series].Entity
	row := a.row(p, c)
	var days []string
	if a.display != total {
		days = p.instants
	}
	row.Action = e.Describe(a.run, series, days)
	row.Label = e.Label(a.run)
	if a.breakdown != nil {
		label := a.valueLabel(c.value)
		// With several series, the label begins with that of the series.
		if len(a.series) > 1 {
			label = row.Label + " - " + label
		}
		row.Label = label
	}
	return row
}

// row returns the members that rows of series and rows of formulas have in common.
func (a *trendsAnswer) row(p trendsPeriod, c valuePoints) *Row {
	row := &Row{Data: []scan.Number{}, Days: []string{}, Compare: p.label != "", CompareLabel: p.label}
	if a.breakdown != nil {
		row.BreakdownValue = a.displayValue(c.value)
	}
	if a.display == total {
		n := scan.Number(0)
		if len(c.points) > 0 {
			n = scan.Number(c.points[0])
		}
		row.Aggregated = &n
		return row
	}
	labels := p.labels
	row.Data, row.Days, row.Labels = scan.Numbers(c.points), p.days, &labels
	// The count is the sum of the buckets, or for cumulative displays the last bucket.
	row.Count = scan.Number(scan.Sum(c.points))
	if a.display == cumulative && len(c.points) > 0 {
		row.Count = scan.Number(c.points[len(c.points)-1])
	}
	return row
}

// displayValue returns breakdown_value.
func (a *trendsAnswer) displayValue(v breakdown.Value) any {
	switch {
	case a.breakdown.ByCohort:
		id := a.breakdown.Cohorts[a.cohortAt(v)]
		if id == 0 {
			return "all"
		}
		return id
	case a.breakdown.Several:
		return v.Texts
	}
	return v.Texts[0]
}

// cohortAt returns the index of the cohort that a value stands for.
func (a *trendsAnswer) cohortAt(v breakdown.Value) int {
	i, _ := strconv.Atoi(v.Texts[0])
	return i
}

// valueLabel returns the label of a breakdown value.
func (a *trendsAnswer) valueLabel(v breakdown.Value) string {
	if !a.breakdown.ByCohort {
		return strings.Join(v.Texts, "::")
	}
	id := a.breakdown.Cohorts[a.cohortAt(v)]
	if id == 0 {
		return "all users"
	}
	return cohortName(a.run.Project, id)
}

// cohortName returns the name of a cohort, or its id if it has no name.
func cohortName(p *port.Project, id int64) string {
	if p.Definitions != nil {
		if c, ok := p.Definitions.Cohorts[id]; ok && c.Name != "" {
			return c.Name
		}
	}
	return strconv.FormatInt(id, 10)
}
