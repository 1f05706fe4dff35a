package retention

import (
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/capture/insights/internal/breakdown"
	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

var _ scan.ActorsPlan = (*retentionQuery)(nil)

// ActorFinder finds the actors in a row of retention, with the columns in which each returned.
func (q *retentionQuery) ActorFinder(n document.Node) scan.ActorFinder {
	if n.Get("interval").IsAbsent() {
		n.Get("interval").Fail(document.Required, "Actors of a RetentionQuery need the interval, the number of a row.")
	}
	rowIndex := int(n.Get("interval").IntInRange(0, calendar.MaxBuckets, 0))
	texts, anyValue := breakdown.ReadValue(n.Get("breakdown"))
	return func(r *scan.Run) (*scan.ActorSet, error) {
		f, err := q.read(r)
		if err != nil {
			return nil, err
		}
		matches, err := f.matchValue(texts, anyValue)
		if err != nil {
			return nil, err
		}
		out := &scan.ActorSet{GroupType: q.groupType}
		// each yields the breakdown values of an actor one after the other; an actor is added only
		// once.
		last := -1
		err = f.each(func(actor, value uint32, row int, columns []int) error {
			if row != rowIndex || !matches(value) {
				return nil
			}
			if int(actor) != last {
				last = int(actor)
				out.Members = append(out.Members, f.actors.Member(r, actor))
			}
			// An actor may be in the row with several values; their columns are merged.
			m := &out.Members[len(out.Members)-1]
			m.Appearances = append(m.Appearances, columns...)
			slices.Sort(m.Appearances)
			m.Appearances = slices.Compact(m.Appearances)
			return r.Reserve(scan.MemberSize + 8*int64(len(columns)))
		})
		out.Sort()
		return out, err
	}
}

// matchValue returns a function that reports whether the number of a breakdown value is selected by
// texts. The value "other" selects the values that the result does not list.
func (f *retentionRun) matchValue(texts []string, anyValue bool) (func(value uint32) bool, error) {
	switch {
	case anyValue || f.split.Kind == "":
		return func(uint32) bool { return true }, nil
	case f.split.IsByCohort():
		i := f.split.Cohort(texts)
		return func(set uint32) bool { return i >= 0 && f.values.InSet(set, i) }, nil
	case !slices.Contains(texts, breakdown.OtherValue):
		return func(value uint32) bool { return slices.Equal(f.values.List(value), texts) }, nil
	}
	sums, err := f.sums()
	if err != nil {
		return nil, err
	}
	top, _ := sums.Ranked(moreEntering, (*retentionCells).merge)
	listed := map[uint32]bool{}
	for _, g := range top {
		listed[g.Value] = true
	}
	return func(value uint32) bool { return !listed[value] }, nil
}

// Options returns the rows of retention, by which its actors can be selected.
func (q *retentionQuery) Options(r *scan.Run) (map[string]any, error) {
	rows, err := q.rows(r)
	if err != nil {
		return nil, err
	}
	list := []scan.Option{}
	for i := range rows.Len() {
		list = append(list, scan.Option{Label: periodNames[q.interval] + " " + strconv.Itoa(i), Value: i})
	}
	return map[string]any{"interval": list}, nil
}
