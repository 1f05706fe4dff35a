package trends

import (
	"github.com/bunting-flags/bunting/capture/insights/internal/breakdown"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// begin returns the tally of the measure and binds what it needs.
func (m *Measure) begin(b *scan.Binder, c *counting) tally {
	buckets := c.buckets()
	switch m.Basis {
	case "values":
		// The duration is a property of the session, so it is aggregated per session instead of per
		// event.
		if m.property == "$session_duration" && m.kind != "person_properties" {
			return &durations{distinctCounts: newDistinctCounts(c, b.BindInterned(b.EventProperty("$session_id"))), sessions: b.Sessions(), id: b.EventProperty("$session_id"), m: m}
		}
		return &values{c: c, number: m.number(b), fold: m.fold, buckets: buckets}
	case "actors":
		t := newDistinctCounts(c, b.Actor(m.Group))
		t.arePersons = m.Group < 0 && b.Mode != scan.ModeNoOverride
		t.cumulative = c.display == cumulative
		return &t
	case "sessions":
		t := newDistinctCounts(c, b.BindInterned(b.EventProperty("$session_id")))
		return &t
	case "window":
		return m.window(b, c)
	case "perActor":
		return &perActor{c: c, actor: b.Actor(m.Group), fold: m.fold, counts: map[scan.Cell]uint32{}}
	case "first", "firstMatching":
		return m.firstTime(b, c)
	case "hogql":
		return newHogqlTally(m.aggregate, b, c)
	}
	return &events{c: c, buckets: buckets}
}

// begin returns the counting of a series, ready to scan.
func (m *Series) begin(b *scan.Binder, t *trends, p *scan.Period, common *filter.Matcher, values *breakdown.ValueReader) *counting {
	c := &counting{Run: b.Run, series: m, display: t.display, period: p, matcher: m.Bind(b), common: common, values: values}
	c.from, c.to = p.CountedRange()
	c.since = c.from
	c.index.Limit = breakdown.MaxValues
	c.index.Reserve = b.Reserve
	if values != nil {
		c.index.AddAll(values.Always)
	}
	c.use(m.Math.begin(b, c))
	return c
}
