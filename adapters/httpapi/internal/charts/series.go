package charts

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// series is one row of the results: numbers over time, or one number.
type series struct {
	Label        text    `json:"label"`
	Data         []value `json:"data"`
	Days         []text  `json:"days"`
	Labels       []text  `json:"labels"`
	Count        value   `json:"count"`
	Aggregated   value   `json:"aggregated_value"`
	Breakdown    text    `json:"breakdown_value"`
	CompareLabel text    `json:"compare_label"`
	Status       text    `json:"status"`
}

// name returns the displayed name of a series, with at most maxLen characters before "
// (previous)".
func (s *series) name(maxLen int) string {
	name := cmp.Or(clean(string(s.Label), maxLen), clean(string(s.Breakdown), maxLen), "(no name)")
	if s.CompareLabel == "previous" {
		name += " (previous)"
	}
	return name
}

// size returns the sum of the absolute values, to compare series.
func (s *series) size() (sum float64) {
	for _, v := range s.Data {
		sum += math.Abs(v.v)
	}
	return sum + math.Abs(s.Aggregated.v)
}

// chart has series over the same buckets.
type chart struct {
	series []series
	days   []text // the starts of the buckets
	labels []text // the labels of the buckets
	format *format
	// dotted reports that the last bucket is not over.
	dotted bool
}

// largestSeries returns the series for the picture, in their order: all, or the maxDrawn largest.
func (d *drawing) largestSeries(all []series) []series {
	if len(all) <= maxDrawn {
		return all
	}
	d.note("The picture has the " + count(maxDrawn) + " largest of " + count(len(all)) + " series.")
	order := make([]int, len(all))
	sizes := make([]float64, len(all))
	for i := range all {
		order[i], sizes[i] = i, all[i].size()
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
	order = order[:maxDrawn]
	slices.Sort(order)
	out := make([]series, 0, maxDrawn)
	for _, i := range order {
		out = append(out, all[i])
	}
	return out
}

// newChart returns a chart of the series, or nil if there are no points.
func (d *drawing) newChart(all []series, f *format) *chart {
	c := &chart{series: d.largestSeries(all), format: f}
	for i := range c.series {
		s := &c.series[i]
		if len(s.Data) > len(c.labels) {
			c.days, c.labels = s.Days, s.Labels
			if len(c.labels) != len(s.Data) {
				c.labels = c.days
			}
			if len(c.labels) != len(s.Data) {
				c.labels = make([]text, len(s.Data))
			}
		}
	}
	if len(c.labels) == 0 {
		return nil
	}
	if n := len(c.days); n > 0 {
		c.dotted = d.isOngoing(string(c.days[n-1]))
	}
	return c
}

// steps map the start of a bucket to its end, by interval.
var steps = map[text]func(time.Time) time.Time{
	"minute": func(t time.Time) time.Time { return t.Add(time.Minute) },
	"hour":   func(t time.Time) time.Time { return t.Add(time.Hour) },
	"day":    func(t time.Time) time.Time { return t.AddDate(0, 0, 1) },
	"week":   func(t time.Time) time.Time { return t.AddDate(0, 0, 7) },
	"month":  func(t time.Time) time.Time { return t.AddDate(0, 1, 0) },
}

// isOngoing reports whether now is in the bucket that starts on a day (§5.1).
func (d *drawing) isOngoing(day string) bool {
	step := steps[cmp.Or(d.query.Interval, "day")]
	for _, layout := range []string{time.DateTime, time.DateOnly} {
		if from, err := time.ParseInLocation(layout, day, d.Now.Location()); err == nil && step != nil {
			return !d.Now.Before(from) && d.Now.Before(step(from))
		}
	}
	return false
}

// extremes returns the minimum and maximum, including 0, and whether all numbers are integers.
func extremes(all []series) (low, high float64, integer bool) {
	integer = true
	for i := range all {
		for _, v := range all[i].Data {
			low, high = min(low, v.v), max(high, v.v)
			integer = integer && v.v == math.Trunc(v.v)
		}
	}
	return low, high, integer
}

// maxDescribed is the maximum number of series in the text of a chart.
const maxDescribed = 3

// describe returns a text alternative for a chart.
func (c *chart) describe(what string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of %s", what, plural(len(c.series), "series", "series"), plural(len(c.labels), "point", "points"))
	if n := len(c.labels); c.labels[0] != "" {
		fmt.Fprintf(&b, ", from %s to %s", clean(string(c.labels[0]), maxLabel), clean(string(c.labels[n-1]), maxLabel))
	}
	b.WriteString(".")
	for i := range c.series[:min(len(c.series), maxDescribed)] {
		s := &c.series[i]
		numbers := slices.DeleteFunc(slices.Clone(s.Data), func(v value) bool { return !v.ok })
		if len(numbers) == 0 {
			continue
		}
		low, high := numbers[0].v, numbers[0].v
		for _, v := range numbers {
			low, high = min(low, v.v), max(high, v.v)
		}
		fmt.Fprintf(&b, " %s: least %s, most %s, last %s.", s.name(maxLabel), c.format.number(low), c.format.number(high), c.format.number(numbers[len(numbers)-1].v))
	}
	return b.String()
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + more
}
