package trials

import (
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// figures are the numbers that a metric has for one entity (experiments.md §1.13).
type figures struct {
	// value is the value of the metric, or the numerator of a ratio; below is the denominator;
	// before is the covariate, the value before the exposure.
	value, below, before float64
	// reached is the number of funnel steps.
	reached uint8
	// excluded is true if the entity does not count for the metric.
	excluded bool
}

// measurer computes the figures of entities for one metric from its events.
type measurer interface {
	// bind binds the metric and returns the matchers of the events that can count.
	bind(f *experimentRun) []*filter.Matcher
	// see counts an event of an exposed entity. Events may arrive in any order.
	see(r *scan.Row, actor uint32, e *exposedEntity) error
	// finish sets the figures of the entities when all events have been read.
	finish(f *experimentRun, out []figures) error
}

// boolToFloat returns 1 for true and 0 for false.
func boolToFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
