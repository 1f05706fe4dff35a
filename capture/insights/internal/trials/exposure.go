package trials

import (
	"math"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/breakdown"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// exposure defines which events expose an actor to an experiment (experiments.md §1.3).
type exposure struct {
	filter.Entity
	// variant is the name of the property with the key of the variant.
	variant string
	// activation is an event that an actor must have as well to be exposed; nil: it is not needed.
	activation *filter.Entity
	// firstSeen counts an actor with several variants for the first variant; otherwise the actor is
	// excluded.
	firstSeen bool
}

// flagExposures returns the events that expose actors to a flag. SDKs use different names for this
// event.
func flagExposures(p *port.Project, flag string) filter.Entity {
	names := capture.Exposures()
	return filter.Entity{Project: p, Event: &names[0], MoreEvents: names[1:], Conditions: filter.AllOf{textCondition{"$feature_flag", flag}}}
}

// readExposure reads the exposure criteria that are stored with the experiment. n is used only to
// record faults.
func readExposure(x Trial, n document.Node, p *port.Project) exposure {
	criteria, _ := document.Decode(x.Criteria, "")
	criteria.Attr, criteria.Fault = "query__exposure_criteria", n.Fault
	return ReadCriteria(criteria, x, p)
}

// ReadCriteria parses exposure criteria. The exposure is an action, an event of the user's own, or by
// default the events that SDKs send when they read the flag.
func ReadCriteria(n document.Node, x Trial, p *port.Project) exposure {
	criteria := n.Object()
	config := criteria.Get("exposure_config").Object()
	e := exposure{variant: "$feature/" + x.FlagKey, firstSeen: criteria.Get("multiple_variant_handling").Value == "first_seen"}
	switch {
	case config.Get("kind").Value == "ActionsNode":
		e.Entity = filter.ReadEntity(config, p)
	default:
		name, filters := config.Get("event").Text(""), filter.Read(config.Get("properties"), p)
		usual := name == "" || slices.Contains(capture.Exposures(), name)
		e.Entity = filter.Entity{Project: p, Event: &name}
		if usual {
			e.Entity, e.variant = flagExposures(p, x.FlagKey), "$feature_flag_response"
		}
		if name != "" { // only the event with this name
			e.Event, e.MoreEvents = &name, nil
		}
		e.Entity.Node, e.Conditions = config, append(e.Conditions, filters...)
		if activation := criteria.Get("activation_config").Object(); !activation.IsAbsent() && usual {
			done := activation.Get("event").Text("")
			e.activation = &filter.Entity{Node: activation, Project: p, Event: &done, Conditions: filter.Read(activation.Get("properties"), p)}
		}
	}
	tests := criteria.Get("filterTestAccounts")
	// Test accounts are excluded by default.
	if tests.IsAbsent() || tests.Boolean() {
		e.Conditions = append(e.Conditions, filter.ReadTestAccounts(document.Node{Value: map[string]any{"filterTestAccounts": true}, Fault: n.Fault}, p))
	}
	return e
}

// textCondition is true for events that have a property with a particular string.
type textCondition struct{ name, text string }

// Bind compares the property as a string.
func (h textCondition) Bind(b *scan.Binder) func(*scan.Row) bool {
	value := b.EventProperty(h.name)
	return func(r *scan.Row) bool {
		text, _ := scan.Text(value(r))
		return text == h.text
	}
}

// exposedEntity is the common data of the exposures of one entity, that is a person or group.
type exposedEntity struct {
	// first is the time of the first exposure in microseconds since 1970: F of experiments.md §1.5.
	first int64
	// id is the id of the first exposure, which is the order in which events were recorded.
	id int64
	// second is the time of the first exposure to another variant than that of the first exposure;
	// never if there is none.
	second int64
	// tuple is the number of the breakdown values of the first exposure.
	tuple uint32
	// variant is the index of the variant of the first exposure.
	variant uint8
	// active is true if there is an exposure, and an activation if it is required.
	active bool
}

// exposedSize is the approximate size of an exposedEntity in bytes.
const exposedSize = 40

// never is later than the time of any event.
const never = math.MaxInt64

// variantIndex returns the index of the variant for which the entity counts, after the exposures up
// to an instant. It is -1 for entities with several variants, unless firstSeen is true.
func (e *exposedEntity) variantIndex(firstSeen bool, asOf int64) int {
	if !firstSeen && e.second <= asOf && e.second != never {
		return -1
	}
	return int(e.variant)
}

// see records an exposure and reports whether it is the first so far. Exposures may arrive in any
// order, and more than once.
func (e *exposedEntity) see(at, id int64, variant uint8) bool {
	switch {
	case !e.active:
		*e = exposedEntity{second: never, variant: variant, active: true}
	case at < e.first || at == e.first && id < e.id:
		if variant != e.variant {
			e.second = e.first
		}
	default:
		if variant != e.variant {
			e.second = min(e.second, at)
		}
		return false
	}
	e.first, e.id, e.variant = at, id, variant
	return true
}

// experimentRun scans the events of an experiment in one run of a query.
type experimentRun struct {
	*scan.Run
	Trial
	exposure exposure
	b        *scan.Binder
	actors   *scan.ActorNumbers
	matcher  *filter.Matcher
	// variant returns the index of an event's variant, -1 if it has no variant that counts.
	variant func(*scan.Row) int
	// from and to are the range of exposures, in microseconds since 1970.
	from, to int64
	// last is the time of the last event that may count, and asOf that of the last exposure.
	last, asOf int64
	// now is the time at which windows must be over, if only mature entities count.
	now int64
	// entities are by the number of the actor. Those without an exposure are zero.
	entities []exposedEntity
	// parts are the values of the breakdown; tuples numbers their combinations.
	parts  []scan.Getter
	tuples *scan.Strings
}

// newExperimentRun binds the exposures, the variant and the breakdown, which all queries of
// experiments need.
func newExperimentRun(r *scan.Run, x Trial, e exposure, parts []breakdown.Part) *experimentRun {
	f := &experimentRun{Run: r, Trial: x, exposure: e, from: x.Start.UnixMicro(), to: x.end(r.Now).UnixMicro(), last: never, asOf: never, now: r.Now.UnixMicro(), tuples: scan.NewStrings(r.Reserve)}
	f.b = &scan.Binder{Run: r, From: f.from, To: f.to}
	f.b.Needs.Columns |= port.IDs
	f.matcher = e.Bind(f.b)
	f.actors = f.b.Actors(x.groupType())
	if f.actors.Keys != nil {
		f.actors.Keys.Reserve = r.ReserveRetained // fork shares the keys
	}
	f.b.Needs.Columns |= port.IDs
	f.variant = f.bindVariant()
	for _, part := range parts {
		f.parts = append(f.parts, part.BindValue(f.b))
	}
	return f
}

// bindVariant returns the function variant.
func (f *experimentRun) bindVariant() func(*scan.Row) int {
	value, included := f.b.EventProperty(f.exposure.variant), f.included()
	return func(r *scan.Row) int {
		raw := value(r)
		if raw == "" || raw[0] != '"' {
			return -1
		}
		text, _ := scan.Text(raw)
		if i := f.Trial.variant(text); slices.Contains(included, i) {
			return i
		}
		return -1
	}
}

// fork returns a run for another metric of the same experiment. It has the exposures of f, and a
// binder of its own.
func (f *experimentRun) fork() *experimentRun {
	out := newExperimentRun(f.Run, f.Trial, f.exposure, nil)
	out.entities, out.to, out.last, out.asOf, out.now = f.entities, f.to, f.last, f.asOf, f.now
	if keys := f.actors.Keys; keys != nil {
		*out.actors.Keys = *keys
	}
	return out
}

// readExposures scans the exposures, and then the activations if they are required.
func (f *experimentRun) readExposures() error {
	var activation *filter.Matcher
	if f.exposure.activation != nil {
		activation = f.exposure.activation.Bind(f.b)
	}
	err := f.b.ScanBound(port.Scan{From: f.from, To: min(f.to, f.last), Names: filter.EventNames(f.matcher)}, func(r *scan.Row) error {
		if !f.matcher.Matches(r) {
			return nil
		}
		variant := f.variant(r)
		if variant < 0 {
			return nil
		}
		actor, ok := f.actors.Number(r)
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

// expose records an exposure of an actor. Events may arrive in any order.
func (f *experimentRun) expose(r *scan.Row, actor uint32, variant int) (err error) {
	if f.entities, err = scan.Grow(f.entities, actor, exposedSize, f.Reserve); err != nil {
		return err
	}
	e := &f.entities[actor]
	if isFirst := e.see(r.Batch.Time[r.Index], r.Batch.ID[r.Index], uint8(variant)); !isFirst || f.parts == nil {
		return nil
	}
	e.tuple, err = f.tuples.Number(f.tuple(r))
	return err
}

// tuple returns the breakdown values of an event, joined by tupleMark.
func (f *experimentRun) tuple(r *scan.Row) string {
	values := make([]string, len(f.parts))
	for i, part := range f.parts {
		text, ok := scan.Text(part(r))
		if values[i] = text; !ok {
			values[i] = breakdown.NullValue
		}
	}
	return strings.Join(values, tupleMark)
}

// tupleMark separates breakdown values. It is not valid UTF-8, so it does not occur in strings from
// JSON.
const tupleMark = "\x00\xff"

// activate moves the time of each exposure to the first activation at or after it. Entities without
// an activation are not exposed.
func (f *experimentRun) activate(m *filter.Matcher) error {
	if err := f.Reserve(8 * int64(len(f.entities))); err != nil {
		return err
	}
	activated := make([]int64, len(f.entities))
	err := f.b.ScanBound(port.Scan{From: f.from, To: min(f.to, f.last), Names: filter.EventNames(m)}, func(r *scan.Row) error {
		if !m.Matches(r) {
			return nil
		}
		actor, ok := f.actors.Number(r)
		if !ok || int(actor) >= len(f.entities) {
			return nil
		}
		e, at := &f.entities[actor], r.Batch.Time[r.Index]
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

// entity returns the number and data of an event's entity if it was exposed to exactly one variant
// that counts; otherwise nil.
func (f *experimentRun) entity(r *scan.Row) (uint32, *exposedEntity) {
	actor, ok := f.actors.Number(r)
	if !ok || int(actor) >= len(f.entities) {
		return 0, nil
	}
	e := &f.entities[actor]
	if !f.counts(e) {
		return 0, nil
	}
	return actor, e
}

// counts reports whether an entity was exposed to exactly one variant that counts, or to one that
// counts first.
func (f *experimentRun) counts(e *exposedEntity) bool {
	return e.active && e.first <= f.asOf && e.variantIndex(f.exposure.firstSeen, f.asOf) >= 0
}

// ordered returns the numbers of the entities that count, sorted by their ids. A fixed order is
// needed because sums of floating-point numbers depend on it, and results must be the same on every
// server (experiments.md §2.13).
func (f *experimentRun) ordered() ([]uint32, error) {
	var out []uint32
	if err := f.Reserve(28 * int64(len(f.entities))); err != nil {
		return nil, err
	}
	for actor := range f.entities {
		if f.counts(&f.entities[actor]) {
			out = append(out, uint32(actor))
		}
	}
	compare := func(a, b uint32) int { return strings.Compare(f.actors.Keys.All[a], f.actors.Keys.All[b]) }
	if f.actors.Keys == nil {
		compare = func(a, b uint32) int {
			x, y := f.PersonID(a), f.PersonID(b)
			return slices.Compare(x[:], y[:])
		}
	}
	slices.SortFunc(out, compare)
	return out, nil
}
