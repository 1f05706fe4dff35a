package charts

import (
	"fmt"
	"math"
	"strings"
)

// The area of points and bars, in units of the picture.
const (
	plotLeft, plotRight = 60.0, 700.0
	plotTop, plotBottom = 20.0, 220.0
	legendTop           = 262.0
	legendRow           = 18.0
	// maxTicks is the maximum number of bucket labels below it.
	maxTicks = 7
	// maxTooltips is the maximum number of points and bars with tooltips.
	maxTooltips = 400
)

// plot is the picture of a chart with axes.
type plot struct {
	pen
	*chart
	axis        axis
	hasTooltips bool
}

// newPlot draws the grid, the scale and the labels of the buckets; x returns the coordinate of a
// bucket.
func newPlot(d *drawing, c *chart, a axis, x func(i int) float64) *plot {
	p := &plot{pen: pen{id: d.ID}, chart: c, axis: a, hasTooltips: len(c.series)*len(c.labels) <= maxTooltips}
	for _, tick := range a.ticks() {
		y := p.y(tick)
		p.line("grid", plotLeft, y, plotRight, y)
		p.text("tick", "end", plotLeft-6, y+4, c.format.tick(tick))
	}
	every := (len(c.labels) + maxTicks - 1) / maxTicks
	for i := 0; i < len(c.labels); i += every {
		p.text("tick", "middle", x(i), plotBottom+18, clean(string(c.labels[i]), 16))
	}
	p.line("axis", plotLeft, p.y(0), plotRight, p.y(0))
	return p
}

func (p *plot) y(v float64) float64 { return p.axis.position(v, plotBottom, plotTop) }

// tooltip returns the tooltip of a point.
func (p *plot) tooltip(s *series, i int) string {
	if !p.hasTooltips {
		return ""
	}
	day := string(p.labels[i])
	if i < len(s.Labels) {
		day = string(s.Labels[i])
	}
	return clean(day, maxLabel) + ": " + p.format.number(s.Data[i].v) + ", " + s.name(maxLabel)
}

// finish draws the legend, in two columns, and completes the picture. sample draws the sample of
// a series in the legend.
func (p *plot) finish(d *drawing, what string, sample func(i int, x, y float64)) {
	for i := range p.series {
		x, y := plotLeft+320*float64(i%2), legendTop+legendRow*float64(i/2)
		sample(i, x, y)
		p.text("key", "start", x+36, y+4, p.series[i].name(maxLabel))
	}
	d.picture(&p.pen, legendTop+legendRow*float64((len(p.series)+1)/2), p.describe(what))
}

// lines draws a line for each series.
func (d *drawing) lines(c *chart, what string) {
	low, high, integer := extremes(c.series)
	n := len(c.labels)
	x := func(i int) float64 {
		if n == 1 {
			return (plotLeft + plotRight) / 2
		}
		return plotLeft + float64(i)*(plotRight-plotLeft)/float64(n-1)
	}
	p := newPlot(d, c, newAxis(low, high, integer), x)
	for i := range c.series {
		p.curve(i, x)
	}
	p.finish(d, what, func(i int, x, y float64) {
		p.path(i, &c.series[i], false, coordinate(x)+","+coordinate(y)+" "+coordinate(x+30)+","+coordinate(y))
		p.marker(i, x+15, y, "")
	})
}

// maxMarked is the maximum number of points of a line with markers on all points.
const maxMarked = 62

// curve draws the line of a series. The line has gaps at missing numbers and is dotted in a
// bucket that is not over.
func (p *plot) curve(nr int, x func(int) float64) {
	s := &p.series[nr]
	last := len(s.Data) - 1
	dotted := p.dotted && s.CompareLabel != "previous" && last == len(p.labels)-1 && last > 0 && s.Data[last].ok && s.Data[last-1].ok
	point := func(i int) string { return coordinate(x(i)) + "," + coordinate(p.y(s.Data[i].v)) }
	var line []string
	flush := func() {
		if len(line) == 1 { // a line of length 0 is a dot, because its ends are round
			line = append(line, line[0])
		}
		if len(line) > 0 {
			p.path(nr, s, false, strings.Join(line, " "))
		}
		line = line[:0]
	}
	for _, i := range thinOut(s.Data) {
		if !s.Data[i].ok {
			flush()
			continue
		}
		if i == last && dotted {
			break
		}
		line = append(line, point(i))
	}
	flush()
	if dotted {
		p.path(nr, s, true, point(last-1)+" "+point(last))
	}
	for i, v := range s.Data {
		if v.ok && (len(s.Data) <= maxMarked || i == last) {
			p.marker(nr, x(i), p.y(v.v), p.tooltip(s, i))
		}
	}
}

// path draws a line of a series through points.
func (p *plot) path(nr int, s *series, dotted bool, points string) {
	dash, class := dashes[nr%len(dashes)], ""
	if dotted {
		dash = "1 5"
	}
	if s.CompareLabel == "previous" {
		class = " previous"
	}
	fmt.Fprintf(p, `<polyline class="line c%d%s"`, nr, class)
	if dash != "" {
		fmt.Fprintf(p, ` stroke-dasharray="%s"`, dash)
	}
	fmt.Fprintf(p, ` points="%s"/>`, points)
}

// maxPoints is the maximum number of points on a line, about one per unit of the plot's width.
const maxPoints = 640

// thinOut returns the indexes of the points to draw: all, or the minimum and maximum of each
// span. A span without numbers is represented by its first point.
func thinOut(data []value) (out []int) {
	every := 1
	if len(data) > maxPoints {
		every = (len(data) + maxPoints/2 - 1) / (maxPoints / 2)
	}
	for from := 0; from < len(data); from += every {
		low, high := from, from
		for i := from; i < min(from+every, len(data)); i++ {
			switch {
			case !data[i].ok:
			case !data[low].ok:
				low, high = i, i
			case data[i].v < data[low].v:
				low = i
			case data[i].v > data[high].v:
				high = i
			}
		}
		out = append(out, min(low, high))
		if low != high {
			out = append(out, max(low, high))
		}
	}
	if every > 1 && out[len(out)-1] != len(data)-1 {
		out = append(out, len(data)-1)
	}
	return out
}

// axis is the scale of the numbers from lo to hi, which includes 0. step is the distance of its
// ticks.
type axis struct{ lo, hi, step float64 }

// newAxis returns an axis that includes low and high. If integer is true, all numbers are
// integers, and so is its step.
func newAxis(low, high float64, integer bool) axis {
	low, high = min(low, 0), max(high, 0)
	if high-low < 1e-300 {
		return axis{0, 1, 1}
	}
	step := niceStep((high - low) / 4)
	if integer {
		step = max(step, 1)
	}
	return axis{math.Floor(low/step) * step, math.Ceil(high/step) * step, step}
}

// niceStep returns the smallest number of the form 1, 2 or 5 times a power of ten that is not
// less than f.
func niceStep(f float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(f)))
	for _, n := range []float64{1, 2, 5} {
		if n*power >= f*(1-1e-9) {
			return n * power
		}
	}
	return 10 * power
}

// ticks returns the labeled numbers, at most six.
func (a axis) ticks() (out []float64) {
	n := int(math.Round((a.hi - a.lo) / a.step))
	for i := range n + 1 {
		out = append(out, a.lo+float64(i)*a.step)
	}
	return out
}

// position maps a number to a coordinate: lo to from and hi to to.
func (a axis) position(v, from, to float64) float64 {
	return from + (v-a.lo)/(a.hi-a.lo)*(to-from)
}
