package trials

import (
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// see records what an event means for the exposures and the metrics. Which actors are exposed is known
// only when join is called.
func (d *daily) see(r *scan.Row) error {
	kind := d.kind(r)
	n, ok := d.actors.Number(r)
	if !ok {
		return nil
	}
	if kind.isExposure || kind.isActivation {
		if err := d.seeExposure(r, kind, n, true); err != nil {
			return err
		}
	}
	for i := range kind.metrics {
		m := &kind.metrics[i]
		if err := m.see(r, n, m.parts); err != nil {
			return err
		}
	}
	return nil
}

// kind returns the kind of an event.
func (d *daily) kind(r *scan.Row) *dailyKind {
	if k := d.kinds[r.Batch.Name[r.Index]]; k != nil {
		return k
	}
	return d.others
}

// seeExposure records an event of an actor if it is an exposure or an activation. If isFolded is true,
// the exposure is folded later.
func (d *daily) seeExposure(r *scan.Row, kind *dailyKind, n uint32, isFolded bool) error {
	at := r.Batch.Time[r.Index]
	if at > d.to {
		return nil
	}
	if kind.isExposure && d.matcher.MatchesConditions(r) {
		if variant := d.variant(r); variant >= 0 {
			actor, err := d.add(n)
			if err != nil {
				return err
			}
			h, id := d.history, r.Batch.ID[r.Index]
			if h.entities, err = scan.Grow(h.entities, actor, exposedSize, d.Reserve); err != nil {
				return err
			}
			h.entities[actor].see(at, id, uint8(variant))
			if isFolded && d.isFunnel && d.activation == nil {
				if err := d.exposures.add(moment{at: at, id: id, actor: actor, what: 1}, d.Reserve); err != nil {
					return err
				}
			}
		}
	}
	if kind.isActivation && d.activation.MatchesConditions(r) {
		return d.activations.add(moment{at: at, actor: n}, d.Reserve)
	}
	return nil
}

// join determines the entities that were exposed until the end of a range of events that begins with
// from, and which of the events of the range count for the metrics.
func (d *daily) join(from int64) error {
	h := d.history
	// Lists of entities may be longer than the number of entities.
	d.entities = h.entities[:min(len(h.entities), len(h.keys.All))]
	if d.activation != nil {
		if err := d.activate(); err != nil {
			return err
		}
	}
	for _, m := range d.metrics {
		if m == nil {
			continue
		}
		m.recorded().admit(func(a *moment) bool {
			actor, ok := d.number(a.actor)
			if !ok {
				return false
			}
			a.actor = actor
			e := &d.entities[actor]
			return a.at >= e.first && (d.exposure.firstSeen || e.second >= from) && m.admits(e, a)
		})
	}
	return d.b.Err
}

// activate adds the activations of a range to those before it, and sets the entities to copies that are
// exposed from their activation on. Entities without one are not active, and are exposed never. Funnels
// begin with the activation.
func (d *daily) activate() error {
	exposed := d.entities
	if more := len(exposed) - len(d.activated); more > 0 {
		if err := d.Reserve((8 + exposedSize) * int64(more)); err != nil {
			return err
		}
		d.activated = append(slices.Clip(d.activated), make([]int64, more)...)
	}
	var begun []uint32
	for _, a := range d.activations.take(never) {
		actor, ok := d.number(a.actor)
		if !ok || a.at < exposed[actor].first || d.activated[actor] != 0 && a.at >= d.activated[actor] {
			continue
		}
		if d.activated[actor] == 0 {
			begun = append(begun, actor)
		}
		d.activated[actor] = a.at
	}
	for _, actor := range begun {
		if err := d.exposures.add(moment{at: d.activated[actor], actor: actor, what: 1}, d.Reserve); err != nil {
			return err
		}
	}
	d.entities = slices.Clone(exposed)
	for actor := range d.entities {
		e, at := &d.entities[actor], d.activated[actor]
		if e.first, e.active = at, at != 0; at == 0 {
			e.first = never
		}
	}
	return nil
}

// activatedBefore returns the activations before an instant.
func (d *daily) activatedBefore(end int64) []int64 {
	out := slices.Clone(d.activated)
	for i, at := range out {
		if at >= end {
			out[i] = 0
		}
	}
	return out
}

// sort adds the entities that are new to order.
func (h *history) sort() {
	if len(h.order) == len(h.keys.All) {
		return
	}
	added := make([]uint32, 0, len(h.keys.All)-len(h.order))
	for i := len(h.order); i < len(h.keys.All); i++ {
		added = append(added, uint32(i))
	}
	compare := func(a, b uint32) int { return strings.Compare(h.keys.All[a], h.keys.All[b]) }
	slices.SortFunc(added, compare)
	merged := make([]uint32, 0, len(h.keys.All))
	for _, i := range h.order {
		for len(added) > 0 && compare(added[0], i) < 0 {
			merged, added = append(merged, added[0]), added[1:]
		}
		merged = append(merged, i)
	}
	h.order = append(merged, added...)
}

// isAbsent is the element of daily.numbers for an actor that was not exposed.
const isAbsent = 1

// slot returns the element of numbers for an actor of this run.
func (d *daily) slot(n uint32) (*uint32, error) {
	if int(n) >= len(d.numbers) {
		var err error
		if d.numbers, err = scan.Grow(d.numbers, n, 4, d.Reserve); err != nil {
			return nil, err
		}
	}
	return &d.numbers[n], nil
}

// number returns the number in the history of an actor of this run, and false if it was not exposed.
func (d *daily) number(n uint32) (uint32, bool) {
	slot, err := d.slot(n)
	if err != nil {
		d.b.SetErr(err)
		return 0, false
	}
	if *slot == 0 {
		*slot = isAbsent
		// After an error, an actor may have a number but no exposure.
		if number, ok := d.history.keys.Find(d.actorKey(n)); ok && int(number) < len(d.history.entities) {
			*slot = number + 2
		}
	}
	return *slot - 2, *slot != isAbsent
}

// add returns the number in the history of an actor of this run, which is added if it is new.
func (d *daily) add(n uint32) (uint32, error) {
	slot, err := d.slot(n)
	if err == nil && *slot <= isAbsent {
		var number uint32
		number, err = d.history.keys.Number(d.actorKey(n))
		*slot = number + 2
	}
	if err != nil {
		return 0, err
	}
	return *slot - 2, nil
}

// actorKey returns the key of an actor, which is the same in every run.
func (f *experimentRun) actorKey(number uint32) string {
	if f.actors.Keys != nil {
		return f.actors.Keys.All[number]
	}
	id := f.PersonID(number)
	return string(id[:])
}

// readAhead reads the exposures and activations from an instant on, before the other events: covariates
// are about events before the exposures. The exposures are read a second time with the others.
func (d *daily) readAhead(from int64) error {
	matchers := []*filter.Matcher{d.matcher}
	if d.activation != nil {
		matchers = append(matchers, d.activation)
	}
	err := d.b.ScanBound(port.Scan{From: from, To: d.to, Names: filter.EventNames(matchers...), Detailed: d.detailed}, func(r *scan.Row) error {
		n, ok := d.actors.Number(r)
		if !ok {
			return nil
		}
		return d.seeExposure(r, d.kind(r), n, false)
	})
	if err != nil {
		return err
	}
	return d.join(from)
}

// readEarly reads the events before the exposures for the covariates of metrics.
func (d *daily) readEarly() error {
	latest, lookback := int64(0), d.lookback()
	for i := range d.entities {
		if d.entities[i].active {
			latest = max(latest, d.entities[i].first)
		}
	}
	if latest == 0 {
		return nil
	}
	var early []*dailyMetric
	var matchers []*filter.Matcher
	for _, m := range d.metrics {
		if m != nil && m.lookback() > 0 {
			early, matchers = append(early, m), append(matchers, m.matchers...)
		}
	}
	return d.b.ScanBound(port.Scan{From: d.from - lookback, To: latest - 1, Names: filter.EventNames(matchers...), Detailed: d.detailed}, func(r *scan.Row) error {
		n, ok := d.actors.Number(r)
		if !ok {
			return nil
		}
		actor, ok := d.number(n)
		if !ok || !d.entities[actor].active || r.Batch.Time[r.Index] >= d.entities[actor].first {
			return nil
		}
		for _, m := range early {
			if err := m.seeEarly(r, actor, &d.entities[actor]); err != nil {
				return err
			}
		}
		return nil
	})
}
