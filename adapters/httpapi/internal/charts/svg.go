package charts

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// width is the width of all pictures; the height varies.
const width = 720.0

// pen writes the elements of a picture. Colors are CSS classes of the page.
type pen struct {
	strings.Builder
	id string
}

// coordinate formats a coordinate, rounded to a tenth of a unit, which is not visible.
func coordinate(f float64) string { return strconv.FormatFloat(math.Round(f*10)/10+0, 'f', -1, 64) }

func (p *pen) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(p, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2))
}

// text writes a text. The anchor is start, middle or end.
func (p *pen) text(class, anchor string, x, y float64, s string) {
	fmt.Fprintf(p, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`, class, anchor, coordinate(x), coordinate(y), escape(s))
}

// rect draws a rectangle with the fill of a series. If title is not empty, it is the tooltip.
func (p *pen) rect(series int, x, y, w, h float64, title string) {
	fmt.Fprintf(p, `<rect %s x="%s" y="%s" width="%s" height="%s"`, p.fill(series), coordinate(x), coordinate(y), coordinate(w), coordinate(h))
	p.end("rect", title)
}

// end closes an element, with its tooltip if title is not empty.
func (p *pen) end(name, title string) {
	if title == "" {
		p.WriteString("/>")
		return
	}
	p.WriteString("><title>" + escape(title) + "</title></" + name + ">")
}

// fill returns the attributes for filling an area of a series: a color, and for all series but
// the first a pattern, because some people cannot distinguish colors.
func (p *pen) fill(series int) string {
	if series == 0 {
		return `class="fill c0"`
	}
	return fmt.Sprintf(`class="fill" fill="url(#%s-p%d)"`, p.id, series)
}

// hatches are the patterns, eight units wide and high.
var hatches = []string{"M0 8L8 0", "M0 0L8 8", "M0 4H8", "M4 0V8", "M0 4H8M4 0V8", "M2 2h3v3h-3z", "M0 8L8 0M0 0L8 8", "M0 2H8M0 6H8", "M2 0V8M6 0V8"}

// patterns defines the patterns of the series after the first.
func (p *pen) patterns(series int) {
	if series < 2 {
		return
	}
	p.WriteString("<defs>")
	for i := 1; i < series; i++ {
		fmt.Fprintf(p, `<pattern id="%s-p%d" width="8" height="8" patternUnits="userSpaceOnUse"><rect class="c%d" width="8" height="8"/><path class="hatch" d="%s"/></pattern>`,
			p.id, i, i, hatches[(i-1)%len(hatches)])
	}
	p.WriteString("</defs>")
}

// dashes are the line styles, to distinguish lines without colors.
var dashes = []string{"", "8 4", "3 3", "12 3 3 3", "16 5"}

const markerKinds = 6

// marker draws a symbol around a point. Its shape depends on the series.
func (p *pen) marker(series int, x, y float64, title string) {
	switch series % markerKinds {
	case 0:
		fmt.Fprintf(p, `<circle class="c%d" cx="%s" cy="%s" r="3.5"`, series, coordinate(x), coordinate(y))
		p.end("circle", title)
		return
	case 1:
		p.symbol(series, x, y, "m-3 -3h6v6h-6z", title)
	case 2:
		p.symbol(series, x, y, "m0 -4l4 7h-8z", title)
	case 3:
		p.symbol(series, x, y, "m0 -4l4 4l-4 4l-4 -4z", title)
	case 4:
		p.symbol(series, x, y, "m0 4l-4 -7h8z", title)
	default:
		p.symbol(series, x, y, "m-1 -4h2v3h3v2h-3v3h-2v-3h-3v-2h3z", title)
	}
}

func (p *pen) symbol(series int, x, y float64, path, title string) {
	fmt.Fprintf(p, `<path class="c%d" d="M%s %s%s"`, series, coordinate(x), coordinate(y), path)
	p.end("path", title)
}

// picture completes the SVG element. described is its text alternative.
func (d *drawing) picture(p *pen, height float64, described string) {
	id := d.ID
	d.Picture = template.HTML(fmt.Sprintf(`<svg class="chart" role="img" viewBox="0 0 %s %s" aria-labelledby="%s-t %s-d"><title id="%s-t">%s</title><desc id="%s-d">%s</desc>%s</svg>`,
		coordinate(width), coordinate(height), id, id, id, escape(clean(d.title(), maxCell)), id, escape(described), p.String()))
}
