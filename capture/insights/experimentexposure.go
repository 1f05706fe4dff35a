package insights

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture"
)

// exposure says by which events people come into an experiment (experiments.md §1.3).
type exposure struct {
	entity
	variant    string  // the property that has the variant's key
	activation *entity // who has not done it is not exposed; nil: everybody is
	firstSeen  bool    // who has seen several variants counts to the first one
}

// flagExposures are the exposures of a flag: by either of the events of SDKs.
func flagExposures(p *Project, flag string) entity {
	names := capture.Exposures()
	return entity{project: p, event: &names[0], moreEvents: names[1:], conditions: allOf{textCondition{"$feature_flag", flag}}}
}

// readExposure reads the stored criteria; n is for faults alone.
func readExposure(x trial, n node, p *Project) exposure {
	criteria, _ := decodeQuery(x.Criteria, "")
	criteria.attr, criteria.fault = "query__exposure_criteria", n.fault
	return criteria.exposure(x, p)
}

func (n node) exposure(x trial, p *Project) exposure {
	criteria := n.object()
	config := criteria.get("exposure_config").object()
	e := exposure{variant: "$feature/" + x.FlagKey, firstSeen: criteria.get("multiple_variant_handling").value == "first_seen"}
	switch {
	case config.get("kind").value == "ActionsNode":
		e.entity = config.entity(p)
	default:
		name, filters := config.get("event").text(""), config.get("properties").filters(p)
		usual := name == "" || slices.Contains(capture.Exposures(), name)
		e.entity = entity{project: p, event: &name}
		if usual {
			e.entity, e.variant = flagExposures(p, x.FlagKey), "$feature_flag_response"
		}
		if name != "" { // that one alone
			e.event, e.moreEvents = &name, nil
		}
		e.entity.node, e.conditions = config, append(e.conditions, filters...)
		if activation := criteria.get("activation_config").object(); !activation.isAbsent() && usual {
			done := activation.get("event").text("")
			e.activation = &entity{node: activation, project: p, event: &done, conditions: activation.get("properties").filters(p)}
		}
	}
	tests := criteria.get("filterTestAccounts")
	if tests.isAbsent() || tests.boolean() {
		e.conditions = append(e.conditions, testAccounts(node{value: map[string]any{"filterTestAccounts": true}, fault: n.fault}, p))
	}
	return e
}

// textCondition holds for events with a text as a property.
type textCondition struct{ name, text string }

func (h textCondition) bind(b *binder) func(*row) bool {
	value := b.eventProperty(h.name)
	return func(r *row) bool {
		text, _ := textOf(value(r))
		return text == h.text
	}
}

// exposedEntity is what is known of one entity's exposures.
type exposedEntity struct {
	first   int64 // microseconds since 1970: F of experiments.md §1.5
	id      int64 // of the first exposure: the order of recording
	seen    uint32
	tuple   uint32 // of the breakdown's values
	variant uint8  // of the first exposure
	active  bool   // there is an exposure, and an activation where one is asked for
}

// exposedSize is about the bytes of an exposed.
const exposedSize = 32

// variantIndex is that of the variant that the entity counts to, -1 for several.
func (e *exposedEntity) variantIndex(firstSeen bool) int {
	if !firstSeen && bits.OnesCount32(e.seen) > 1 {
		return -1
	}
	return int(e.variant)
}

// experimentRun is an experiment's events as they are read.
type experimentRun struct {
	*run
	trial
	exposure exposure
	b        *binder
	actors   *actors
	matcher  *matcher
	variant  func(*row) int  // the place of the event's variant, -1 for none
	from, to int64           // the span, in microseconds since 1970
	last     int64           // when the last event may lie that counts, 0: it is not bounded
	entities []exposedEntity // by number; those without an exposure are zero
	parts    []getter
	tuples   *stringTable
}

// newExperimentRun binds what all queries of experiments look at.
func newExperimentRun(r *run, x trial, e exposure, parts []breakdownPart) *experimentRun {
	f := &experimentRun{run: r, trial: x, exposure: e, from: x.Start.UnixMicro(), to: x.end(r.now).UnixMicro(), tuples: newStringTable(r.reserve)}
	f.b = &binder{run: r, from: f.from, to: f.to}
	f.b.needs.columns |= IDs
	f.matcher = e.bind(f.b)
	f.actors = f.b.actors(x.groupType())
	if f.actors.keys != nil {
		f.actors.keys.reserve = r.reserveRetained // again shares them
	}
	f.b.needs.columns |= IDs
	value := f.b.eventProperty(e.variant)
	included := f.included()
	f.variant = func(r *row) int {
		raw := value(r)
		if raw == "" || raw[0] != '"' {
			return -1
		}
		text, _ := textOf(raw)
		if i := x.variant(text); slices.Contains(included, i) {
			return i
		}
		return -1
	}
	for _, part := range parts {
		f.parts = append(f.parts, part.bindValue(f.b))
	}
	return f
}

// fork is the same experiment, its exposures known, for another metric.
func (f *experimentRun) fork() *experimentRun {
	out := newExperimentRun(f.run, f.trial, f.exposure, nil)
	out.entities = f.entities
	if keys := f.actors.keys; keys != nil {
		*out.actors.keys = *keys
	}
	return out
}

// readExposures finds who was exposed when, and to what.
func (f *experimentRun) readExposures() error {
	var activation *matcher
	if f.exposure.activation != nil {
		activation = f.exposure.activation.bind(f.b)
	}
	err := f.b.scanBound(Scan{From: f.from, To: f.to, Names: eventNames(f.matcher)}, func(r *row) error {
		if !f.matcher.matches(r) {
			return nil
		}
		variant := f.variant(r)
		if variant < 0 {
			return nil
		}
		actor, ok := f.actors.number(r)
		if !ok {
			return nil
		}
		return f.expose(r, actor, variant)
	})
	if err != nil || activation == nil {
		return err
	}
	return f.activate(activation)
}

func (f *experimentRun) expose(r *row, actor uint32, variant int) (err error) {
	if f.entities, err = growTo(f.entities, actor, exposedSize, f.reserve); err != nil {
		return err
	}
	e, at, id := &f.entities[actor], r.b.Time[r.i], r.b.ID[r.i]
	e.seen |= 1 << variant
	if e.active && (e.first < at || e.first == at && e.id < id) {
		return nil
	}
	e.active, e.first, e.id, e.variant = true, at, id, uint8(variant)
	if f.parts == nil {
		return nil
	}
	e.tuple, err = f.tuples.number(f.tuple(r))
	return err
}

// tuple are the values of the breakdown, joined by what no JSON text holds.
func (f *experimentRun) tuple(r *row) string {
	values := make([]string, len(f.parts))
	for i, part := range f.parts {
		text, ok := textOf(part(r))
		if values[i] = text; !ok {
			values[i] = nullValue
		}
	}
	return strings.Join(values, tupleMark)
}

const tupleMark = "\x00\xff"

// activate moves everybody's beginning to the first activation at or after the first
// exposure; who has none is not exposed.
func (f *experimentRun) activate(m *matcher) error {
	if err := f.reserve(8 * int64(len(f.entities))); err != nil {
		return err
	}
	activated := make([]int64, len(f.entities))
	err := f.b.scanBound(Scan{From: f.from, To: f.to, Names: eventNames(m)}, func(r *row) error {
		if !m.matches(r) {
			return nil
		}
		actor, ok := f.actors.number(r)
		if !ok || int(actor) >= len(f.entities) {
			return nil
		}
		e, at := &f.entities[actor], r.b.Time[r.i]
		if e.active && at >= e.first && (activated[actor] == 0 || at < activated[actor]) {
			activated[actor] = at
		}
		return nil
	})
	for i := range f.entities {
		f.entities[i].active = activated[i] != 0
		f.entities[i].first = activated[i]
	}
	return err
}

// entity is what is known of an event's entity, if it was exposed and is in one variant.
func (f *experimentRun) entity(r *row) (uint32, *exposedEntity) {
	actor, ok := f.actors.number(r)
	if !ok || int(actor) >= len(f.entities) {
		return 0, nil
	}
	e := &f.entities[actor]
	if !e.active || e.variantIndex(f.exposure.firstSeen) < 0 {
		return 0, nil
	}
	return actor, e
}

// ordered are the numbers of the entities that count, by their ids: sums are the same
// on every server (experiments.md §2.13).
func (f *experimentRun) ordered() ([]uint32, error) {
	var out []uint32
	if err := f.reserve(28 * int64(len(f.entities))); err != nil {
		return nil, err
	}
	for actor := range f.entities {
		if e := &f.entities[actor]; e.active && e.variantIndex(f.exposure.firstSeen) >= 0 {
			out = append(out, uint32(actor))
		}
	}
	compare := func(a, b uint32) int { return strings.Compare(f.actors.keys.all[a], f.actors.keys.all[b]) }
	if f.actors.keys == nil {
		compare = func(a, b uint32) int {
			x, y := f.personID(a), f.personID(b)
			return slices.Compare(x[:], y[:])
		}
	}
	slices.SortFunc(out, compare)
	return out, nil
}
