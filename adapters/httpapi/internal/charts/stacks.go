package charts

import (
	"fmt"
	"strings"
)

// band is the range of one value in a stack.
type band struct{ from, to float64 }

// stack computes the positions of stacked values in each bucket. Negative values are stacked
// downwards.
func (c *chart) stack() (bands [][]band, low, high float64) {
	up, down := make([]float64, len(c.labels)), make([]float64, len(c.labels))
	bands = make([][]band, len(c.series))
	for nr := range c.series {
		bands[nr] = make([]band, len(c.labels))
		for i := range c.labels {
			base := &up[i]
			v := 0.0
			if i < len(c.series[nr].Data) {
				v = c.series[nr].Data[i].v
			}
			if v < 0 {
				base = &down[i]
			}
			bands[nr][i] = band{*base, *base + v}
			*base += v
			low, high = min(low, *base), max(high, *base)
		}
	}
	return bands, low, high
}

// areas draws the series as stacked areas.
func (d *drawing) areas(c *chart, what string) {
	if len(c.labels) > maxPoints {
		d.keepNewest(c, maxPoints)
	}
	if len(c.labels) < 2 { // an area of one point has no width
		d.bars(c, what, true)
		return
	}
	bands, low, high := c.stack()
	_, _, integer := extremes(c.series)
	x := func(i int) float64 {
		return plotLeft + float64(i)*(plotRight-plotLeft)/float64(len(c.labels)-1)
	}
	p := newPlot(d, c, newAxis(low, high, integer), x)
	p.patterns(len(c.series))
	for nr, all := range bands {
		var upper, lower []string
		for i, b := range all {
			upper = append(upper, coordinate(x(i))+","+coordinate(p.y(b.to)))
			lower = append([]string{coordinate(x(i)) + "," + coordinate(p.y(b.from))}, lower...)
		}
		fmt.Fprintf(p, `<polygon %s points="%s %s"/>`, p.fill(nr), strings.Join(upper, " "), strings.Join(lower, " "))
	}
	p.finish(d, what, p.swatch)
}

// bars draws a bar for each value. The bars of a bucket are stacked or side by side.
func (d *drawing) bars(c *chart, what string, stack bool) {
	if maxLabels := maxBars / len(c.series); len(c.labels) > maxLabels {
		d.keepNewest(c, maxLabels)
	}
	low, maxLabels, integer := extremes(c.series)
	bands := make([][]band, len(c.series))
	if stack {
		bands, low, maxLabels = c.stack()
	} else {
		for nr := range c.series {
			for _, v := range c.series[nr].Data {
				bands[nr] = append(bands[nr], band{0, v.v})
			}
		}
	}
	slot := (plotRight - plotLeft) / float64(len(c.labels))
	p := newPlot(d, c, newAxis(low, maxLabels, integer), func(i int) float64 { return plotLeft + (float64(i)+0.5)*slot })
	p.patterns(len(c.series))
	wide, shift := slot*0.8, 0.0
	if !stack {
		wide /= float64(len(c.series))
		shift = wide
	}
	for nr, all := range bands {
		s := &c.series[nr]
		for i, b := range all {
			if b.from != b.to && i < len(s.Data) {
				y, end := p.y(max(b.from, b.to)), p.y(min(b.from, b.to))
				p.rect(nr, plotLeft+(float64(i)+0.1)*slot+float64(nr)*shift, y, wide, end-y, p.tooltip(s, i))
			}
		}
	}
	p.finish(d, what, p.swatch)
}

// swatch draws the fill of a series in the legend.
func (p *plot) swatch(nr int, x, y float64) { p.rect(nr, x+8, y-7, 20, 14, "") }

// keepNewest removes all but the newest buckets.
func (d *drawing) keepNewest(c *chart, maxLabels int) {
	d.note("The picture has the newest " + count(maxLabels) + " of " + count(len(c.labels)) + " points.")
	from := len(c.labels) - maxLabels
	last := func(list []text) []text { return list[min(max(len(list)-maxLabels, 0), len(list)):] }
	c.labels, c.days = last(c.labels), last(c.days)
	own := make([]series, len(c.series))
	copy(own, c.series)
	for i := range own {
		own[i].Data, own[i].Labels = own[i].Data[min(from, len(own[i].Data)):], last(own[i].Labels)
	}
	c.series = own
}
