package charts

import (
	"cmp"
	"math"
	"strings"
	"time"
)

// cohort is a row of retention results: the people who began in one interval.
type cohort struct {
	Label     text `json:"label"`
	Date      text `json:"date"`
	Breakdown text `json:"breakdown_value"`
	Values    []struct {
		Count value `json:"count"`
		Label text  `json:"label"`
	} `json:"values"`
}

// retention adds two tables for each breakdown value: percentages, shaded by size, and counts.
func (d *drawing) retention() bool {
	var all []cohort
	if !d.read(&all) {
		return false
	}
	for from := 0; from < len(all); {
		to := from
		for to < len(all) && all[to].Breakdown == all[from].Breakdown {
			to++
		}
		if len(d.Tables) >= 2*maxDrawn {
			d.note("Only the first " + count(maxDrawn) + " values are shown.")
			break
		}
		d.cohorts(all[from:to])
		from = to
	}
	return true
}

// cohorts adds the tables of one breakdown value.
func (d *drawing) cohorts(rows []cohort) {
	name := ""
	if value := clean(string(rows[0].Breakdown), maxLabel); value != "" {
		name = value + ": "
	}
	shares := Table{Caption: name + "Share of those who began, by interval", Head: []string{"Began", "People"}, Plain: true}
	counts := Table{Caption: name + "Numbers", Head: []string{"Began"}}
	for _, v := range rows[0].Values {
		shares.Head = append(shares.Head, clean(string(v.Label), maxLabel))
	}
	counts.Head = append(counts.Head, shares.Head[2:]...)
	unfinished := false
	for i := range rows {
		r := &rows[i]
		began := textCell(d.rowDate(r))
		share, row := []Cell{began}, []Cell{began}
		for k, v := range r.Values {
			if k == 0 {
				share = append(share, numberCell(show(v.Count.v)))
			}
			cell, state := shareOf(v.Count.v, r.Values[0].Count.v), d.interval(r, k)
			switch {
			case state == stateNotBegun, i+k >= len(rows): // after the end of the range no people were counted
				cell = textCell("")
			case state == stateOngoing:
				cell.Text, unfinished = cell.Text+"*", true
			}
			share = append(share, cell)
			row = append(row, numberCell(show(v.Count.v)))
		}
		shares.Rows, counts.Rows = append(shares.Rows, share), append(counts.Rows, row)
	}
	d.table(shares)
	d.table(counts)
	if unfinished && !strings.Contains(strings.Join(d.Notes, ""), "*") {
		d.note("* this interval is not over yet.")
	}
}

// shareOf returns a cell with a percentage, shaded in ten steps.
func shareOf(part, total float64) Cell {
	if total == 0 {
		return numberCell("–")
	}
	return Cell{Text: percent(part, total), Number: true, Shade: max(0, min(10, int(math.Round(10*part/total))))}
}

// rowDate returns the date of a row as displayed.
func (d *drawing) rowDate(r *cohort) string {
	if t, err := time.Parse(time.RFC3339, string(r.Date)); err == nil {
		layout := time.DateOnly
		if d.query.Retention.Period == "Hour" {
			layout = "2006-01-02 15:04"
		}
		return t.Format(layout)
	}
	return cmp.Or(clean(string(r.Label), maxLabel), clean(string(r.Date), maxLabel))
}

// state is the position of an interval relative to now.
type state uint8

const (
	stateOver state = iota
	stateOngoing
	stateNotBegun
)

// interval returns the state of the k-th interval of a row (§5.1).
func (d *drawing) interval(r *cohort, k int) state {
	t, err := time.Parse(time.RFC3339, string(r.Date))
	if err != nil {
		return stateOver
	}
	t = t.In(d.Now.Location())
	from := func(k int) time.Time {
		switch d.query.Retention.Period {
		case "Hour":
			return t.Add(time.Duration(k) * time.Hour)
		case "Week":
			return t.AddDate(0, 0, 7*k)
		case "Month":
			return t.AddDate(0, k, 0)
		}
		return t.AddDate(0, 0, k)
	}
	switch {
	case d.Now.Before(from(k)):
		return stateNotBegun
	case d.Now.Before(from(k + 1)):
		return stateOngoing
	}
	return stateOver
}
