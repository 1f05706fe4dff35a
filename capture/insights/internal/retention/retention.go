package retention

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/breakdown"
	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Kinds are the kinds of queries about retention.
var Kinds = []scan.Kind{
	{Name: "RetentionQuery", Parse: parseRetention},
}

// retentionQuery is a RetentionQuery (§2.6). Actors enter a row by the target event, and return in
// a column by the returning event.
type retentionQuery struct {
	target, returning filter.Entity
	conditions        filter.AllOf
	dates             calendar.Range
	interval          calendar.Interval
	groupType         int
	rule              retentionRule
	split             breakdown.Split
	// sameEntities is true if target and returning are the same.
	sameEntities bool
	// intervals is the number of rows, counted back from the end, if there is no date_from.
	intervals int
	// amount is the property that is summed; nil: only actors are counted.
	amount *retentionAmount
}

// parseRetention parses a RetentionQuery.
func parseRetention(n document.Node, p *port.Project) scan.Plan { return readRetention(n, p) }

// retentionPeriods are the values of the member period.
var retentionPeriods = map[string]calendar.Interval{"Hour": calendar.Hour, "Day": calendar.Day, "Week": calendar.Week, "Month": calendar.Month}

// readRetention is parseRetention with the concrete type.
func readRetention(n document.Node, p *port.Project) *retentionQuery {
	f := n.Get("retentionFilter").Object()
	f.Get("timeWindowMode").Choice("strict_calendar_dates", "strict_calendar_dates", "24_hour_windows")
	if f.Get("timeWindowMode").Text("") == "24_hour_windows" {
		f.RejectMembers("timeWindowMode")
	}
	q := &retentionQuery{
		target:     retentionEntity(f.Get("targetEntity").Object(), p),
		returning:  retentionEntity(f.Get("returningEntity").Object(), p),
		conditions: filter.ReadAll(n, p),
		dates:      calendar.ReadRange(n.Get("dateRange")),
		interval:   retentionPeriods[f.Get("period").Choice("Day", "Hour", "Day", "Week", "Month")],
		groupType:  scan.ReadGroupType(n),
		split:      breakdown.ReadSplit(n.Get("breakdownFilter").Object(), p, 1, "event", "person", "cohort"),
	}
	q.sameEntities = bytes.Equal(q.target.Node.Raw(), q.returning.Node.Raw())
	q.intervals = int(f.Get("totalIntervals").IntInRange(1, maxColumns, 8))
	q.rule = retentionRule{
		columns:    q.intervals,
		firstTime:  f.Get("retentionType").Choice("retention_recurring", "retention_recurring", "retention_first_time") == "retention_first_time",
		cumulative: f.Get("cumulative").Boolean(),
		minimum:    uint32(f.Get("minimumOccurrences").IntInRange(1, math.MaxInt32, 1)),
	}
	// Brackets replace the columns of totalIntervals.
	for _, b := range f.Get("retentionCustomBrackets").List(maxColumns - 1) {
		q.rule.brackets = append(q.rule.brackets, int(b.IntInRange(1, calendar.MaxBuckets, 1)))
		q.rule.columns = 1 + len(q.rule.brackets)
	}
	q.amount = readRetentionAmount(f)
	return q
}

// maxColumns is the maximum number of columns.
const maxColumns = 100

// retentionEntity converts an entity in the form of retentionFilter to a node of a series. The
// default is $pageview.
func retentionEntity(n document.Node, p *port.Project) filter.Entity {
	series := map[string]any{"kind": "EventsNode", "event": "$pageview"}
	if m, ok := n.Value.(map[string]any); ok && len(m) > 0 {
		id := n.Get("id").Value
		series = map[string]any{"kind": "EventsNode", "event": id, "name": m["name"], "custom_name": m["custom_name"], "properties": n.Get("properties").Value}
		if n.Get("type").Choice("events", "events", "actions") == "actions" {
			series["kind"], series["id"] = "ActionsNode", parseInteger(id)
		}
	}
	return filter.ReadEntity(document.Node{Value: series, Attr: n.Attr, Fault: n.Fault}, p)
}

// retentionRun is one run of a RetentionQuery. Its buckets are the rows.
type retentionRun struct {
	*retentionQuery
	*scan.Run
	*calendar.Buckets
	actors *scan.ActorNumbers
	values *breakdown.Numberer
	// acts are the completed presences by actor.
	acts *scan.Chains[presence]
	// open is, by actor, the presence that is still being counted. There may be several presences
	// for an interval, since events arrive in any order; joinPresences merges them.
	open []presence
	// amounts are nil if no property is summed.
	amounts *amounts
}

// rows returns the intervals that are rows of the result.
func (q *retentionQuery) rows(r *scan.Run) (*calendar.Buckets, error) {
	c := r.Calendar()
	end := c.Next(q.interval, c.StartOf(q.interval, r.DateTo(q.dates, q.interval)))
	begin := c.SubtractIntervals(q.interval, end, q.intervals)
	if q.dates.From.Form != calendar.NoDate {
		from, err := r.DateFrom(q.dates, q.interval)
		if err != nil {
			return nil, err
		}
		begin = c.StartOf(q.interval, from)
	}
	return c.BucketsBetween(q.interval, begin, end.Add(-time.Microsecond))
}

// read scans the events and collects in which intervals actors have target and returning events.
func (q *retentionQuery) read(r *scan.Run) (*retentionRun, error) {
	rows, err := q.rows(r)
	if err != nil {
		return nil, err
	}
	f := &retentionRun{retentionQuery: q, Run: r, Buckets: rows, acts: scan.NewChains[presence](presenceSize+4, r.Reserve)}
	if rows.Len()*q.rule.columns > scan.MaxCells {
		return nil, document.NewFault(document.TooLarge, "", "A result may have at most %d cells: choose a shorter period or fewer intervals.", scan.MaxCells)
	}
	if rows.Len() == 0 {
		return f, nil
	}
	b := &scan.Binder{Run: r, From: rows.Starts[0], To: rows.End - 1}
	target, returning := q.target.Bind(b), q.returning.Bind(b)
	holds := q.conditions.Bind(b)
	f.actors = b.Actors(q.groupType)
	f.values = breakdown.NewNumberer(b, &q.split)
	if q.amount != nil {
		// amounts are stored for each event.
		f.amounts = &amounts{q.amount, q.amount.bindValue(b), map[amountKey][]eventAmount{}}
	}
	// addRow counts an event as target event, returning event, or both.
	addRow := func(row *scan.Row) error {
		p := presence{target: target.Matches(row)}
		returns := p.target
		if !q.sameEntities {
			returns = returning.Matches(row)
		}
		if !p.target && !returns || !holds(row) {
			return nil
		}
		// Interval 0 is before the first row: only target events matter there, for first-time
		// retention.
		if p.interval = uint16(1 + rows.Find(row.Batch.Time[row.Index])); p.interval > 0 && returns {
			p.returns = 1
		}
		actor, ok := f.actors.Number(row)
		if !ok {
			return nil
		}
		p.value = f.values.Number(row)
		if f.amounts != nil {
			if err := f.amounts.add(f, row, actor, p); err != nil {
				return err
			}
		}
		return f.add(actor, p)
	}
	// First-time retention needs to find out whether an actor had a target event before the range.
	if q.rule.firstTime {
		if err := b.ScanBound(port.Scan{From: math.MinInt64, To: b.From - 1, Names: filter.EventNames(target)}, addRow); err != nil {
			return nil, err
		}
	}
	if err := b.ScanBound(port.Scan{From: b.From, To: b.To, Names: filter.EventNames(target, returning)}, addRow); err != nil {
		return nil, err
	}
	return f, f.close()
}

// add counts an event in the open presence of the actor, if it is for the same interval and value;
// otherwise it begins a new one.
func (f *retentionRun) add(actor uint32, p presence) (err error) {
	if f.open, err = scan.Grow(f.open, actor, presenceSize, f.Reserve); err != nil {
		return err
	}
	last := &f.open[actor]
	if last.isSame(p) {
		last.count(p)
		return nil
	}
	if !last.isEmpty() {
		err = f.acts.Add(actor, *last)
	}
	*last = p
	return err
}

// close adds the open presences to acts.
func (f *retentionRun) close() error {
	for actor, p := range f.open {
		if p.isEmpty() {
			continue
		}
		if err := f.acts.Add(uint32(actor), p); err != nil {
			return err
		}
	}
	f.open = nil
	return nil
}

// each calls yield for each row that an actor is in, with the columns in which it counts,
// separately for each breakdown value. For a breakdown by cohorts, a value is a set of cohorts.
func (f *retentionRun) each(yield func(actor, value uint32, row int, columns []int) error) error {
	return f.acts.Each(func(actor uint32, acts []presence) error {
		if err := f.CheckContext(actor); err != nil {
			return err
		}
		acts = joinPresences(acts)
		for from := 0; from < len(acts); {
			to := from + 1
			for to < len(acts) && acts[to].value == acts[from].value {
				to++
			}
			value := acts[from].value
			err := f.rule.each(acts[from:to], func(row int, columns []int) error { return yield(actor, value, row, columns) })
			if err != nil {
				return err
			}
			from = to
		}
		return nil
	})
}

// Row is a row of the result, for one breakdown value.
type Row struct {
	Label          string          `json:"label"`
	Date           string          `json:"date"`
	Values         []retentionCell `json:"values"`
	BreakdownValue *string         `json:"breakdown_value,omitempty"`
}

// retentionCell is a cell of a row; column 0 is the interval of the row itself.
type retentionCell struct {
	Count  int64        `json:"count"`
	Amount *scan.Number `json:"aggregation_value,omitempty"`
	Label  string       `json:"label"`
}

// Run computes the cells for each breakdown value.
func (q *retentionQuery) Run(r *scan.Run) (*port.Result, error) {
	f, err := q.read(r)
	if err != nil {
		return nil, err
	}
	out := []Row{}
	if f.Len() == 0 {
		return &port.Result{Results: out}, nil
	}
	result := &port.Result{From: f.Start(0), To: time.UnixMicro(f.End - 1).In(r.Zone)}
	sums, err := f.sums()
	if err != nil {
		return nil, err
	}
	// Without a breakdown, the only value is 0.
	if q.split.Kind == "" {
		sum, err := sums.SumOf(0)
		if err != nil {
			return nil, err
		}
		if err := f.Reserve(scan.AnswerCell * int64(f.Len()*q.rule.columns)); err != nil {
			return nil, err
		}
		result.Results = f.table(out, sum, nil)
		return result, nil
	}
	top, rest := sums.Ranked(moreEntering, (*retentionCells).merge)
	if rest != nil {
		top = append(top, *rest)
	}
	if f.Len()*q.rule.columns*len(top) > scan.MaxCells {
		return nil, document.NewFault(document.TooLarge, "", "A result may have at most %d cells: choose a shorter period, or fewer intervals or values.", scan.MaxCells)
	}
	if err := f.Reserve(scan.AnswerCell * int64(f.Len()*q.rule.columns*len(top))); err != nil {
		return nil, err
	}
	for _, g := range top {
		value := f.label(g.Value, g.Other)
		out = f.table(out, g.Sum, &value)
	}
	result.Results = out
	return result, nil
}

// sums returns the cells of each breakdown value.
func (f *retentionRun) sums() (*breakdown.Sums[*retentionCells], error) {
	n, k := f.Len(), f.rule.columns
	size := 8 * n * k
	if f.amounts != nil {
		size *= 2
	}
	sums := breakdown.NewSums(f.Run, &f.split, f.values, size, func() *retentionCells {
		c := newRetentionCells(n, k)
		if f.amounts != nil {
			c.amounts = make([]float64, n*k)
		}
		return c
	})
	return sums, f.each(func(actor, value uint32, row int, columns []int) error {
		return sums.Add(value, func(c *retentionCells) {
			c.add(row, columns)
			if f.amounts != nil {
				f.amounts.cells(f, actor, value, row, func(column int, sum float64) { c.amounts[row*k+column] += sum })
			}
		})
	})
}

// moreEntering orders values by the sum of their cells in column 0, descending.
func moreEntering(a, b *retentionCells) int { return cmp.Compare(b.entered(), a.entered()) }

// label returns breakdown_value; other is as in funnelRun.label.
func (f *retentionRun) label(value uint32, other bool) string {
	switch {
	case other:
		return breakdown.OtherValue
	case !f.split.IsByCohort():
		return f.values.All[value]
	case f.split.Cohorts[value].ID == 0:
		return "all"
	}
	return strconv.FormatInt(f.split.Cohorts[value].ID, 10)
}

// table appends the rows of one breakdown value to to. value is nil without a breakdown.
func (f *retentionRun) table(to []Row, c *retentionCells, value *string) []Row {
	period := periodNames[f.retentionQuery.interval] + " "
	columns := make([]string, c.columns)
	for k, first := 0, 0; k < c.columns; k++ {
		last := first
		if k > 0 && f.rule.brackets != nil {
			last += f.rule.brackets[k-1] - 1
		}
		columns[k] = period + strconv.Itoa(first)
		if last > first {
			columns[k] += "-" + strconv.Itoa(last)
		}
		first = last + 1
	}
	for s, date := range f.Instants() {
		row := Row{Label: period + strconv.Itoa(s), Date: date, BreakdownValue: value, Values: make([]retentionCell, c.columns)}
		for k, n := range c.row(s) {
			row.Values[k] = retentionCell{Count: n, Label: columns[k]}
			if f.amounts == nil {
				continue
			}
			sum := c.amounts[s*c.columns+k]
			if f.amounts.average && n > 0 {
				sum /= float64(n)
			}
			row.Values[k].Amount = (*scan.Number)(&sum)
		}
		to = append(to, row)
	}
	return to
}

// periodNames are the names of intervals in labels.
var periodNames = map[calendar.Interval]string{calendar.Hour: "Hour", calendar.Day: "Day", calendar.Week: "Week", calendar.Month: "Month"}

// parseInteger converts an id in a string of digits to a number; it returns other values unchanged.
func parseInteger(v any) any {
	if text, ok := v.(string); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return json.Number(strconv.FormatInt(n, 10))
		}
	}
	return v
}
