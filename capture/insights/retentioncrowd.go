package insights

import (
	"slices"
	"strconv"
)

// crowd finds who is in a row of retention, with the columns in which each returned.
func (q *retentionQuery) crowd(n node) crowdFinder {
	if n.get("interval").absent() {
		n.get("interval").fail(required, "Actors of a RetentionQuery need the interval, the number of a row.")
	}
	wanted := int(n.get("interval").whole(0, maxBuckets, 0))
	texts, every := valueAsGiven(n.get("breakdown"))
	return func(r *run) (*crowd, error) {
		f, err := q.read(r)
		if err != nil {
			return nil, err
		}
		chosen, err := f.chosen(texts, every)
		if err != nil {
			return nil, err
		}
		out := &crowd{groupType: q.groupType}
		last := -1
		err = f.each(func(actor, value uint32, row int, columns []int) error {
			if row != wanted || !chosen(value) {
				return nil
			}
			if int(actor) != last {
				last = int(actor)
				out.members = append(out.members, f.actors.member(r, actor))
			}
			m := &out.members[len(out.members)-1]
			m.appearances = append(m.appearances, columns...)
			slices.Sort(m.appearances)
			m.appearances = slices.Compact(m.appearances)
			return r.reserve(memberSize + 8*int64(len(columns)))
		})
		out.sort()
		return out, err
	}
}

// chosen says which breakdown values are meant.
func (f *retentionRun) chosen(texts []string, every bool) (func(value uint32) bool, error) {
	switch {
	case every || f.split.kind == "":
		return func(uint32) bool { return true }, nil
	case f.split.byCohort():
		i := f.split.cohort(texts)
		return func(set uint32) bool { return i >= 0 && f.values.inSet(set, i) }, nil
	case !slices.Contains(texts, otherValue):
		return func(value uint32) bool { return slices.Equal(f.values.list(value), texts) }, nil
	}
	sums, err := f.sums()
	if err != nil {
		return nil, err
	}
	kept, _ := sums.ranked(moreEntering, (*retentionCells).merge)
	shown := map[uint32]bool{}
	for _, g := range kept {
		shown[g.value] = true
	}
	return func(value uint32) bool { return !shown[value] }, nil
}

// options of retention are its rows.
func (q *retentionQuery) options(r *run) (map[string]any, error) {
	rows, err := q.rows(r)
	if err != nil {
		return nil, err
	}
	list := []option{}
	for i := range rows.len() {
		list = append(list, option{periodNames[q.interval] + " " + strconv.Itoa(i), i})
	}
	return map[string]any{"interval": list}, nil
}
