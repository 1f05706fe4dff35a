package insights

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// trendsAnswer builds the result of a trends query from its counts (§2.4.4 to §2.4.6).
type trendsAnswer struct {
	*trends
	run     *run
	periods []trendsPeriod
	// more is true if breakdown values were left out or summed.
	more bool
	// cells is the number of cells of the result so far.
	cells int
	// results are the rows of formulas.
	results []*trendsRow
}

// trendsPeriod is the current period, or the one that it is compared with.
type trendsPeriod struct {
	*period
	// label is compare_label, empty without a comparison.
	label  string
	series [][]valuePoints
	// The buckets in the forms that all rows share.
	days, labels, instants []string
}

// trendsRow is a row of the result. Members that a row does not have are nil.
type trendsRow struct {
	Action         any       `json:"action"`
	Label          string    `json:"label"`
	Count          number    `json:"count"`
	Data           []number  `json:"data"`
	Labels         *[]string `json:"labels,omitempty"`
	Days           []string  `json:"days"`
	Aggregated     *number   `json:"aggregated_value,omitempty"`
	BreakdownValue any       `json:"breakdown_value,omitempty"`
	Compare        bool      `json:"compare,omitempty"`
	CompareLabel   string    `json:"compare_label,omitempty"`
}

// number is a number of a result. It is encoded as null if it is not finite.
type number float64

// MarshalJSON encodes integers without exponent up to 1e15.
func (n number) MarshalJSON() ([]byte, error) {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.AppendInt(nil, int64(f), 10), nil
	}
	return strconv.AppendFloat(nil, f, 'g', -1, 64), nil
}

// toNumbers converts points to the type of results.
func toNumbers(points []float64) []number {
	out := make([]number, len(points))
	for i, p := range points {
		out[i] = number(p)
	}
	return out
}

// action describes the series of a row in the result.
type action struct {
	ID             any            `json:"id"`
	Type           string         `json:"type"`
	Order          int            `json:"order"`
	Name           string         `json:"name"`
	CustomName     *string        `json:"custom_name"`
	Math           *string        `json:"math"`
	MathProperty   *string        `json:"math_property"`
	MathHogQL      *string        `json:"math_hogql"`
	MathGroupIndex *int64         `json:"math_group_type_index"`
	Properties     map[string]any `json:"properties"`
	Days           []string       `json:"days,omitempty"`
}

// describe returns the action of a series. order is its index in the query.
func (e *entity) describe(r *run, order int, days []string) *action {
	a := &action{ID: e.id(), Type: e.kind(), Order: order, Name: e.label(r), CustomName: e.customName, Properties: map[string]any{}, Days: days}
	// The name in the query takes precedence.
	if e.name != nil {
		a.Name = *e.name
	}
	a.Math, a.MathProperty, a.MathHogQL = e.node.get("math").optionalText(), e.node.get("math_property").optionalText(), e.node.get("math_hogql").optionalText()
	if index := e.node.get("math_group_type_index"); !index.isAbsent() {
		i := index.intInRange(0, maxGroupTypes-1, 0)
		a.MathGroupIndex = &i
	}
	return a
}

// answerCell is the approximate size in bytes of a number of the result and its JSON, with the
// strings of its bucket.
const answerCell = 100

// rowSize is the approximate size of a row without its numbers, in bytes.
const rowSize = 500

// add computes a period and retains only what the result needs of it.
func (a *trendsAnswer) add(p *period, label string) error {
	var series [][]valuePoints
	err := a.run.releaseAfter(func() (err error) {
		if series, err = a.count(a.run, p); err != nil {
			return err
		}
		// Smooth first, since the rank of a value depends on its points.
		for i, rows := range series {
			for k := range rows {
				if a.display != total { // a single number is not smoothed
					rows[k].points = smooth(rows[k].points, a.smoothing)
				}
			}
			series[i] = a.limitRows(rows)
		}
		return nil
	})
	if err != nil {
		return err
	}
	result := trendsPeriod{period: p, label: label, series: series}
	if a.display != total {
		result.days, result.labels, result.instants = p.days(), p.labels(p.from, p.to), p.instants()
	}
	a.periods = append(a.periods, result)
	// Reserve memory for what remains after releaseAfter.
	for _, rows := range series {
		bytes := int64(0)
		for _, row := range rows {
			bytes += 8 * int64(len(row.points))
			for _, text := range row.value.texts {
				bytes += 3 * int64(len(text)) // also in the label and in JSON
			}
		}
		if err := a.run.reserve(bytes); err != nil {
			return err
		}
		if len(a.formulas) > 0 { // the result has the rows of the formulas instead
			continue
		}
		if err := a.reserveRows(len(rows), p); err != nil {
			return err
		}
	}
	return nil
}

// reserveRows reserves memory for rows of the result and checks the limit of cells.
func (a *trendsAnswer) reserveRows(rows int, p *period) error {
	cells := rows
	if a.display != total {
		cells *= p.len()
	}
	// The limit applies to all rows of the result together.
	if a.cells += cells; a.cells > maxCells {
		return tooManyCells()
	}
	return a.run.reserve(answerCell*int64(cells) + rowSize*int64(rows))
}

// limitRows sorts the breakdown values and sums those beyond the limit into one row, unless the
// query hides it.
func (a *trendsAnswer) limitRows(rows []valuePoints) []valuePoints {
	if a.breakdown == nil || a.breakdown.byCohort {
		return rows
	}
	// Values with a null are last; then by sum, descending; then by value.
	slices.SortFunc(rows, func(x, y valuePoints) int {
		return cmp.Or(cmp.Compare(x.value.rank(), y.value.rank()), cmp.Compare(sum(y.points), sum(x.points)), slices.Compare(x.value.texts, y.value.texts))
	})
	if len(rows) <= a.breakdown.limit {
		return rows
	}
	a.more = true
	rest := rows[a.breakdown.limit:]
	rows = slices.Clone(rows[:a.breakdown.limit]) // a copy, so that the rest can be freed
	if a.breakdown.hideOther {
		return rows
	}
	// The row of the rest has a placeholder for each part of the breakdown.
	other := valuePoints{points: make([]float64, len(rest[0].points))}
	for range rest[0].value.texts {
		other.value.texts = append(other.value.texts, otherValue)
	}
	for _, row := range rest {
		for i, p := range row.points {
			other.points[i] += p
		}
	}
	return append(rows, other)
}

// sum returns the sum of points.
func sum(points []float64) (s float64) {
	for _, p := range points {
		s += p
	}
	return s
}

// rows returns the result: rows by period, series and value; for cohorts by period, cohort and
// series.
func (a *trendsAnswer) rows() any {
	if len(a.formulas) > 0 {
		return emptyIfNil(a.results)
	}
	out := []*trendsRow{}
	for _, p := range a.periods {
		if a.breakdown != nil && a.breakdown.byCohort {
			for k := range a.breakdown.cohorts {
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
func emptyIfNil(rows []*trendsRow) []*trendsRow {
	if rows == nil {
		return []*trendsRow{}
	}
	return rows
}

// seriesRow returns the row of a series for a breakdown value.
func (a *trendsAnswer) seriesRow(p trendsPeriod, series int, c valuePoints) *trendsRow {
	e := &a.series[series].entity
	row := a.row(p, c)
	var days []string
	if a.display != total {
		days = p.instants
	}
	row.Action = e.describe(a.run, series, days)
	row.Label = e.label(a.run)
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
func (a *trendsAnswer) row(p trendsPeriod, c valuePoints) *trendsRow {
	row := &trendsRow{Data: []number{}, Days: []string{}, Compare: p.label != "", CompareLabel: p.label}
	if a.breakdown != nil {
		row.BreakdownValue = a.displayValue(c.value)
	}
	if a.display == total {
		n := number(0)
		if len(c.points) > 0 {
			n = number(c.points[0])
		}
		row.Aggregated = &n
		return row
	}
	labels := p.labels
	row.Data, row.Days, row.Labels = toNumbers(c.points), p.days, &labels
	// The count is the sum of the buckets, or for cumulative displays the last bucket.
	row.Count = number(sum(c.points))
	if a.display == cumulative && len(c.points) > 0 {
		row.Count = number(c.points[len(c.points)-1])
	}
	return row
}

// displayValue returns breakdown_value.
func (a *trendsAnswer) displayValue(v breakdownValue) any {
	switch {
	case a.breakdown.byCohort:
		id := a.breakdown.cohorts[a.cohortAt(v)]
		if id == 0 {
			return "all"
		}
		return id
	case a.breakdown.several:
		return v.texts
	}
	return v.texts[0]
}

// cohortAt returns the index of the cohort that a value stands for.
func (a *trendsAnswer) cohortAt(v breakdownValue) int {
	i, _ := strconv.Atoi(v.texts[0])
	return i
}

// valueLabel returns the label of a breakdown value.
func (a *trendsAnswer) valueLabel(v breakdownValue) string {
	if !a.breakdown.byCohort {
		return strings.Join(v.texts, "::")
	}
	id := a.breakdown.cohorts[a.cohortAt(v)]
	if id == 0 {
		return "all users"
	}
	return cohortName(a.run.project, id)
}

// cohortName returns the name of a cohort, or its id if it has no name.
func cohortName(p *Project, id int64) string {
	if p.Definitions != nil {
		if c, ok := p.Definitions.Cohorts[id]; ok && c.Name != "" {
			return c.Name
		}
	}
	return strconv.FormatInt(id, 10)
}
