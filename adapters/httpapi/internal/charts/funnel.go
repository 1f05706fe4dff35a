package charts

import (
	"cmp"
	"encoding/json"
	"strconv"
)

// step is a step of a funnel in the results.
type step struct {
	Name      text  `json:"name"`
	Custom    text  `json:"custom_name"`
	Action    text  `json:"action_id"`
	Count     value `json:"count"`
	Mean      value `json:"average_conversion_time"`
	Median    value `json:"median_conversion_time"`
	Breakdown text  `json:"breakdown_value"`
	Called    text  `json:"breakdown"`
}

// title returns the displayed name of the step.
func (s *step) title() string {
	return cmp.Or(string(s.Custom), string(s.Name), string(s.Action), "All events")
}

// funnel renders a funnel as its query requests: steps, a trend, or the time to convert.
func (d *drawing) funnel() bool {
	switch d.query.Funnel.Viz {
	case "trends":
		return d.funnelTrends()
	case "time_to_convert":
		return d.funnelTimes()
	}
	var one []step
	if len(d.Results) > 0 && d.read(&one) && len(one) > 0 {
		return d.funnelSteps([][]step{one})
	}
	var several [][]step
	return d.read(&several) && d.funnelSteps(several)
}

// funnelSteps draws a bar for each step and each value of the breakdown. values has the steps of
// each value.
func (d *drawing) funnelSteps(values [][]step) bool {
	t := Table{Caption: "Numbers", Head: []string{"Step", "People", "Of the first step", "Of the step before", "Left before", "Average time", "Median time"}}
	broken := len(values) > 1 || len(values) == 1 && len(values[0]) > 0 && values[0][0].Called != ""
	if broken {
		t.Head = append([]string{"Value"}, t.Head...)
	}
	drawn := values
	if len(values) > maxDrawn {
		drawn = values[:maxDrawn]
		d.note("The picture has the first " + count(maxDrawn) + " of " + count(len(values)) + " values.")
	}
	longest := 0
	for _, steps := range drawn {
		longest = max(longest, len(steps))
	}
	var bars []horizontalBar
	for k := range longest {
		for nr, steps := range drawn {
			if k < len(steps) {
				bars = append(bars, d.stepBar(steps, k, nr, broken))
			}
		}
	}
	d.valueBars(bars, "Steps of a funnel")
	for _, steps := range values {
		for k := range steps {
			row := stepRow(steps, k)
			if broken {
				row = append([]Cell{textCell(valueName(&steps[k]))}, row...)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	d.table(t)
	return true
}

// stepBar returns the bar of step k. nr is the index of the breakdown value, if broken is true.
func (d *drawing) stepBar(steps []step, k, nr int, broken bool) horizontalBar {
	s := &steps[k]
	bar := horizontalBar{name: strconv.Itoa(k+1) + ". " + s.title(), title: show(s.Count.v), value: s.Count.v, series: nr}
	if broken {
		bar.name = strconv.Itoa(k+1) + ". " + valueName(s)
	}
	base, suffix := steps[0].Count.v, " of the first"
	if d.query.Funnel.Reference == "previous" {
		base, suffix = steps[max(k-1, 0)].Count.v, " of those before"
	}
	if share := percent(bar.value, base); k > 0 && share != "" {
		bar.title += ", " + share + suffix
	}
	return bar
}

func valueName(s *step) string {
	return cmp.Or(clean(string(s.Called), maxLabel), clean(string(s.Breakdown), maxLabel), "(none)")
}

// stepRow returns the row of step k in the table.
func stepRow(steps []step, k int) []Cell {
	s, duration := &steps[k], &format{Kind: "duration"}
	row := []Cell{textCell(strconv.Itoa(k+1) + ". " + clean(s.title(), maxCell)), numberOf(s.Count, &format{})}
	if k == 0 {
		return append(row, textCell(""), textCell(""), textCell(""), textCell(""), textCell(""))
	}
	before := steps[k-1].Count.v
	return append(row, numberCell(percent(s.Count.v, steps[0].Count.v)), numberCell(percent(s.Count.v, before)), numberCell(show(before-s.Count.v)),
		numberOf(s.Mean, duration), numberOf(s.Median, duration))
}

// funnelTrends draws the percentage of people who converted, over time.
func (d *drawing) funnelTrends() bool {
	var all []series
	if !d.read(&all) {
		return false
	}
	for i := range all {
		all[i].Label = cmp.Or(all[i].Breakdown, "converted")
	}
	f := &format{Kind: "percentage"}
	if c := d.newChart(all, f); c != nil {
		if c.dotted {
			d.note("The last point is not over yet.")
		}
		d.lines(c, "Lines of percents")
	}
	d.seriesTable(all, f)
	return true
}

// funnelTimes draws a histogram of the time that people needed to convert.
func (d *drawing) funnelTimes() bool {
	var times struct {
		Bins    [][2]value      `json:"bins"`
		Average json.RawMessage `json:"average_conversion_time"`
	}
	if !d.read(&times) {
		return false
	}
	s := series{Label: "people"}
	for _, bin := range times.Bins {
		s.Labels, s.Data = append(s.Labels, text(seconds(bin[0].v))), append(s.Data, bin[1])
	}
	all := []series{s}
	if c := d.newChart(all, &format{}); c != nil {
		d.bars(c, "Bars by time from", false)
	}
	var average value
	if _ = average.UnmarshalJSON(times.Average); average.ok {
		d.note("On average it took " + seconds(average.v) + ".")
	}
	d.seriesTable(all, &format{})
	return true
}
