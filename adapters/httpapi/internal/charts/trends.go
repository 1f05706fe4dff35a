package charts

import (
	"cmp"
	"math"
)

// displays are the methods that draw a trend, by the display of its query (spec/insights.md
// §2.4.3, §5.1).
var displays = map[text]func(*drawing, []series){
	"":                           (*drawing).lineTrend,
	"Auto":                       (*drawing).lineTrend,
	"ActionsLineGraph":           (*drawing).lineTrend,
	"ActionsLineGraphCumulative": (*drawing).cumulativeTrend,
	"ActionsAreaGraph":           (*drawing).areaTrend,
	"ActionsBar":                 (*drawing).stackTrend,
	"ActionsStackedBar":          (*drawing).stackTrend,
	"ActionsUnstackedBar":        (*drawing).barTrend,
	"ActionsBarValue":            (*drawing).valueTrend,
	"WorldMap":                   (*drawing).valueTrend,
	"Progress":                   (*drawing).valueTrend,
	"ActionsPie":                 (*drawing).pieTrend,
	"BoldNumber":                 (*drawing).numberTrend,
	"ActionsTable":               func(*drawing, []series) {},
}

// totals are the displays with one number per series.
var totals = map[text]bool{"BoldNumber": true, "ActionsPie": true, "ActionsBarValue": true, "ActionsTable": true, "WorldMap": true, "Progress": true}

// trends renders trend results by their display.
func (d *drawing) trends() bool {
	var all []series
	draw := displays[d.query.Trends.Display]
	if draw == nil || !d.read(&all) {
		return false
	}
	if len(all) == 0 {
		return true
	}
	draw(d, all)
	if totals[d.query.Trends.Display] {
		d.totalTable(all)
	} else {
		d.seriesTable(all, &d.query.Trends)
	}
	if d.More {
		d.note("There are more values than are shown.")
	}
	return true
}

// drawChart draws series over time, if there are any points.
func (d *drawing) drawChart(all []series, draw func(*chart)) {
	if c := d.newChart(all, &d.query.Trends); c != nil {
		if c.dotted {
			d.note("The last point is not over yet.")
		}
		draw(c)
	}
}

func (d *drawing) lineTrend(all []series) {
	d.drawChart(all, func(c *chart) { d.lines(c, "Lines") })
}

func (d *drawing) cumulativeTrend(all []series) {
	d.drawChart(all, func(c *chart) { d.lines(c, "Lines of sums so far") })
}

func (d *drawing) areaTrend(all []series) {
	d.drawChart(all, func(c *chart) { d.areas(c, "Areas upon each other") })
}

func (d *drawing) stackTrend(all []series) {
	d.drawChart(all, func(c *chart) { d.bars(c, "Bars upon each other", true) })
}

func (d *drawing) barTrend(all []series) {
	d.drawChart(all, func(c *chart) { d.bars(c, "Bars side by side", false) })
}

func (d *drawing) valueTrend(all []series) { d.valueRows(all, "Bars by value", false) }

func (d *drawing) pieTrend(all []series) { d.valueRows(all, "Shares as bars", true) }

// valueRows draws a bar for the total of each series. If shares is true and no total is negative,
// the bars have percentages.
func (d *drawing) valueRows(all []series, what string, shares bool) {
	sum := 0.0
	for i := range all {
		v := all[i].Aggregated.v
		shares = shares && v >= 0
		sum += v
	}
	bars := make([]horizontalBar, len(all))
	for i := range all {
		s := &all[i]
		bars[i] = horizontalBar{name: s.name(maxLabel), title: d.query.Trends.number(s.Aggregated.v), value: s.Aggregated.v}
		if share := percent(s.Aggregated.v, sum); shares && share != "" {
			bars[i].title += " (" + share + ")"
		}
		if s.CompareLabel == "previous" {
			bars[i].series = 1
		}
	}
	d.valueBars(bars, what)
}

// numberTrend draws one number, and the change from the previous period if there is one.
func (d *drawing) numberTrend(all []series) {
	if !all[0].Aggregated.ok {
		d.bigNumber("no number", "")
		return
	}
	now, below := all[0].Aggregated.v, ""
	for i := range all {
		if s := &all[i]; s.CompareLabel == "previous" && s.Aggregated.ok {
			before := s.Aggregated.v
			below = "before: " + d.query.Trends.number(before)
			if change := percent(now-before, math.Abs(before)); change != "" {
				if now > before {
					change = "+" + change
				}
				below = change + ", " + below
			}
			break
		}
	}
	d.bigNumber(d.query.Trends.number(now), below)
}

// lifecycle draws the people in each state; dormant people are below the axis.
func (d *drawing) lifecycle() bool {
	var all []series
	if !d.read(&all) {
		return false
	}
	for i := range all {
		all[i].Label = cmp.Or(all[i].Status, all[i].Label)
	}
	d.drawChart(all, func(c *chart) { d.bars(c, "Bars upon each other, dormant below zero", true) })
	d.seriesTable(all, &format{})
	return true
}

// stickiness draws the number of people by the number of intervals in which they were active.
func (d *drawing) stickiness() bool {
	var all []series
	if !d.read(&all) {
		return false
	}
	if c := d.newChart(all, &format{}); c != nil {
		if d.query.Stickiness.Display == "ActionsBar" {
			d.bars(c, "Bars side by side", false)
		} else {
			d.lines(c, "Lines")
		}
	}
	d.seriesTable(all, &format{})
	return true
}
