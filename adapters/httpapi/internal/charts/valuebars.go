package charts

import "strings"

// The area of horizontal bars, with one row per value.
const (
	barMinX, barMaxX  = 230.0, 590.0
	barRow            = 28.0
	barHeight         = 18.0
	maxHorizontalBars = 30
)

// horizontalBar is a bar with a name on its left and a title on its right.
type horizontalBar struct {
	name, title string
	value       float64
	series      int
}

// valueBars draws a horizontal bar for each value.
func (d *drawing) valueBars(all []horizontalBar, what string) {
	if len(all) == 0 {
		return
	}
	if len(all) > maxHorizontalBars {
		d.note("The picture has the first " + count(maxHorizontalBars) + " of " + count(len(all)) + " bars.")
		all = all[:maxHorizontalBars]
	}
	a, series := axis{0, 0, 1}, 0
	for _, bar := range all {
		a.lo, a.hi, series = min(a.lo, bar.value), max(a.hi, bar.value), max(series, bar.series+1)
	}
	if a.hi-a.lo < 1e-300 {
		a.hi = 1
	}
	p := &pen{id: d.ID}
	p.patterns(series)
	x := func(v float64) float64 { return a.position(v, barMinX, barMaxX) }
	var titles []string
	for i, bar := range all {
		y := 8 + barRow*float64(i)
		from, to := x(min(bar.value, 0)), x(max(bar.value, 0))
		p.text("key", "end", barMinX-10, y+13, clean(bar.name, 32))
		p.rect(bar.series, from, y, to-from, barHeight, "")
		p.text("key", "start", to+6, y+13, clean(bar.title, maxLabel))
		if i < maxDescribed {
			titles = append(titles, clean(bar.name, maxLabel)+": "+clean(bar.title, maxLabel))
		}
	}
	height := 8 + barRow*float64(len(all))
	p.line("axis", x(0), 2, x(0), height-2)
	d.picture(p, height, what+": "+plural(len(all), "bar", "bars")+". "+strings.Join(titles, ". ")+".")
}

// bigNumber draws a number, with a text below it.
func (d *drawing) bigNumber(number, below string) {
	p := &pen{id: d.ID}
	p.text("big", "middle", width/2, 76, clean(number, maxLabel))
	height := 110.0
	if below != "" {
		p.text("key", "middle", width/2, 112, clean(below, 80))
		height = 130
	}
	described := number
	if below != "" {
		described += ", " + below
	}
	d.picture(p, height, clean(described, maxCell))
}
