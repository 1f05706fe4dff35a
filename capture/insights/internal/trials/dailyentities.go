package trials

import (
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// readExposures adds the exposures from an instant on to the history. Exposures after the end of the
// period of the query are included; asOf excludes them later.
func (d *daily) readExposures(from int64) error {
	h, until := d.history, int64(never)
	if !d.End.IsZero() {
		until = d.End.UnixMicro()
	}
	d.entities = h.entities
	number := d.numbers(d.experimentRun, true)
	var seen moments
	err := d.b.ScanBound(port.Scan{From: from, To: until, Names: filter.EventNames(d.matcher)}, func(r *scan.Row) error {
		if !d.matcher.Matches(r) {
			return nil
		}
		variant := d.variant(r)
		if variant < 0 {
			return nil
		}
		actor, ok := number(r)
		if !ok {
			return nil
		}
		if err := d.expose(r, actor, variant); err != nil || !d.isFunnel || d.activation != nil {
			return err
		}
		return seen.add(moment{at: r.Batch.Time[r.Index], id: r.Batch.ID[r.Index], actor: actor, what: 1}, d.Reserve)
	})
	h.entities = d.entities
	if err != nil {
		return err
	}
	d.exposures = seen.take(never, true)
	h.sort()
	// Lists of entities may be longer than the number of entities.
	d.entities = h.entities[:min(len(h.entities), len(h.keys.All))]
	if d.activation != nil {
		if err := d.readActivations(from, until); err != nil {
			return err
		}
	}
	for _, g := range d.groups {
		g.entities, g.number = d.entities, d.numbers(g.experimentRun, false)
	}
	if err := d.Reserve((figuresSize + 8) * int64(len(d.entities))); err != nil {
		return err
	}
	d.measured = make([]figures, len(d.entities))
	return nil
}

// readActivations adds the activations in a range to those before it, and sets the entities to copies
// that are exposed from their activation on. Entities without one are not active, and are exposed never.
func (d *daily) readActivations(from, until int64) error {
	exposed := d.entities
	if err := d.Reserve((8 + exposedSize) * int64(len(exposed))); err != nil {
		return err
	}
	activated := make([]int64, len(exposed))
	copy(activated, d.activated)
	d.activated = activated
	number := d.numbers(d.experimentRun, false)
	err := d.b.ScanBound(port.Scan{From: from, To: until, Names: filter.EventNames(d.activation)}, func(r *scan.Row) error {
		if !d.activation.Matches(r) {
			return nil
		}
		actor, ok := number(r)
		if at := r.Batch.Time[r.Index]; ok && at >= exposed[actor].first && (activated[actor] == 0 || at < activated[actor]) {
			activated[actor] = at
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.entities = slices.Clone(exposed)
	var begins moments
	for actor := range d.entities {
		e, at := &d.entities[actor], activated[actor]
		if e.first, e.active = at, at != 0; at == 0 {
			e.first = never
		}
		if d.isFunnel && at >= from {
			if err := begins.add(moment{at: at, actor: uint32(actor), what: 1}, d.Reserve); err != nil {
				return err
			}
		}
	}
	d.exposures = begins.take(never, true)
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

// numbers returns a function that returns the number in the history of an event's actor. If add is
// true, it adds actors; otherwise it returns false for actors that were not exposed.
func (d *daily) numbers(f *experimentRun, add bool) func(*scan.Row) (uint32, bool) {
	const isAbsent = 1
	keys, numbers := d.history.keys, []uint32(nil) // by the number in this run: 0, isAbsent, or the number in the history plus 2
	return func(r *scan.Row) (uint32, bool) {
		n, ok := f.actors.Number(r)
		if !ok {
			return 0, false
		}
		if int(n) >= len(numbers) {
			var err error
			if numbers, err = scan.Grow(numbers, n, 4, d.Reserve); err != nil {
				f.b.SetErr(err)
				return 0, false
			}
		}
		if numbers[n] == 0 {
			number, ok := uint32(0), false
			if key := f.actorKey(n); add {
				var err error
				number, err = keys.Number(key)
				f.b.SetErr(err)
				ok = true
			} else {
				number, ok = keys.Find(key)
			}
			if numbers[n] = isAbsent; ok {
				numbers[n] = number + 2
			}
		}
		return numbers[n] - 2, numbers[n] != isAbsent
	}
}

// actorKey returns the key of an actor, which is the same in every run.
func (f *experimentRun) actorKey(number uint32) string {
	if f.actors.Keys != nil {
		return f.actors.Keys.All[number]
	}
	id := f.PersonID(number)
	return string(id[:])
}
