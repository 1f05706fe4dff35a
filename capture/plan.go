package capture

import (
	"slices"
	"strings"
	"time"
)

// plan works out what one commit changes in one project: events in order, one
// after the other, over what is known before. First ids and groups tell what has
// to be looked up, then loadPerson and loadGroup are told, then every event is
// applied, then finish and each tell the result. It does no I/O, and never
// changes a person or group that it was told.
type plan struct {
	project int64

	// byID are the distinct ids of the events; order has them as they came.
	byID  map[string]*distinctID
	order []*distinctID
	// byUUID are the stored persons, profiles these and the new ones.
	byUUID   map[UUID]*profile
	profiles []*profile
	merges   []Merge

	types         []string // by number, empty for a free one
	newTypes      []ProjectGroupType
	rejectedTypes map[string]bool
	groupStates   map[GroupID]*groupState
	groupOrder    []*groupState
	seen          []SeenName
	seenBefore    map[seenGroup]bool

	events      []Record
	copiedBytes int // copies of persons' properties in events
	calls       []FlagCalls
	callAt      map[callKey]int
	warnings    []Warning
	warnedAt    map[warningKey]int
}

// distinctID is a distinct id and what is known of it.
type distinctID struct {
	id string
	// owner is whom the id was given to, nil for nobody; profile tells whose it is
	// now.
	owner      *profile
	personless bool
	// stored is what the ledger knows: that somebody owns the id, and that it has
	// been used without a person.
	stored struct{ owned, personless bool }
	// own is the id of the person that this id makes, zero until it is needed.
	own UUID
	// cached: what was told came from the recorder's memory.
	cached bool
}

// warningKey is what makes two warnings one.
type warningKey struct {
	kind WarningType
	id   string
}

// commitWarnings is how many warnings one plan keeps apart by distinct id; more
// are added up without one.
const commitWarnings = 1000

// newPlan begins a plan. loadGroupTypes are the names of the project's group types by
// number.
func newPlan(projectID int64, groupTypes []string) *plan {
	return &plan{
		project: projectID,
		byID:    make(map[string]*distinctID),
		byUUID:  make(map[UUID]*profile),
		types:   slices.Clone(groupTypes),
	}
}

// ids appends the distinct ids that events ask for and that the plan does not
// know yet, each once. loadPerson has to be called for all of them.
func (p *plan) ids(events []Event, to []string) []string {
	p.events = slices.Grow(p.events, len(events))
	for i := range events {
		e := &events[i]
		if _, exists := p.byID[e.DistinctID]; !exists {
			p.distinctID(e.DistinctID)
			to = append(to, e.DistinctID)
		}
		if e.Personless || checkMerge(e) != validMerge {
			continue
		}
		if _, exists := p.byID[e.Other]; !exists {
			p.distinctID(e.Other)
			to = append(to, e.Other)
		}
	}
	return to
}

// distinctID returns what is known of a distinct id: nothing, when it is new.
func (p *plan) distinctID(id string) *distinctID {
	i := p.byID[id]
	if i == nil {
		i = &distinctID{id: id}
		p.byID[id] = i
		p.order = append(p.order, i)
	}
	return i
}

// loadPerson tells what is stored of a distinct id, before an event with it is
// applied. Persons with one UUID are one person, whatever the pointer.
func (p *plan) loadPerson(id string, k Identity) {
	i := p.distinctID(id)
	i.personless = k.Personless
	i.stored.personless = k.Personless
	if k.Person == nil {
		return
	}
	i.stored.owned = true
	i.owner = p.byUUID[k.Person.UUID]
	if i.owner == nil {
		i.owner = &profile{Person: k.Person}
		p.byUUID[k.Person.UUID] = i.owner
		p.profiles = append(p.profiles, i.owner)
	}
}

// apply works out what one event changes. The event is no duplicate.
func (p *plan) apply(e *Event) {
	p.events = append(p.events, Record{
		ProjectID:     p.project,
		UUID:          e.UUID,
		Name:          e.Name,
		Properties:    e.Properties,
		DistinctID:    e.DistinctID,
		ElementsChain: e.ElementsChain,
		Timestamp:     e.Timestamp,
		CreatedAt:     e.ReceivedAt,
		Historical:    e.Historical,
	})
	r := &p.events[len(p.events)-1]
	if e.Personless {
		p.attributePersonless(e, r)
	} else {
		p.attribute(e, r)
	}
	if len(e.Groups) > 0 {
		p.addGroupColumns(e, r)
	}
	if e.Group != nil {
		p.updateGroup(e)
	}
	if e.Flag != nil {
		p.countCall(e)
	}
}

// mapPut puts a value into a map that is made when it is first needed.
func mapPut[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// callKey is a read of a flag's value and its hour since 1970.
type callKey struct {
	FlagCall
	hour int64
}

// countCall counts the read of a flag's value (§12.3), those of each hour by themselves.
func (p *plan) countCall(e *Event) {
	k := callKey{*e.Flag, e.Timestamp.Truncate(time.Hour).Unix()}
	i, again := p.callAt[k]
	if !again {
		mapPut(&p.callAt, k, len(p.calls))
		p.calls = append(p.calls, FlagCalls{ProjectID: p.project, FlagCall: *e.Flag, Calls: 1, First: e.Timestamp, Last: e.Timestamp})
		return
	}
	c := &p.calls[i]
	c.Calls++
	if e.Timestamp.Before(c.First) {
		c.First = e.Timestamp
	}
	if e.Timestamp.After(c.Last) {
		c.Last = e.Timestamp
	}
}

// warn adds a warning about an event, or adds it to one like it.
func (p *plan) warn(kind WarningType, e *Event, detail string) {
	w := Warning{
		ProjectID: p.project, Type: kind, DistinctID: WarningID(e.DistinctID), EventUUID: e.UUID,
		Detail: detail, Count: 1, At: e.ReceivedAt,
	}
	key := warningKey{kind, w.DistinctID}
	i, again := p.warnedAt[key]
	if !again && len(p.warnings) >= commitWarnings {
		w.DistinctID, w.EventUUID = "", UUID{}
		key.id = ""
		i, again = p.warnedAt[key]
	}
	if !again {
		mapPut(&p.warnedAt, key, len(p.warnings))
		p.warnings = append(p.warnings, w)
		return
	}
	w.Count += p.warnings[i].Count
	p.warnings[i] = w
}

// finish appends all changes, netted: a person that ten events change is saved
// once, one that is made and merged away is never saved. It is called once, after
// the last event.
func (p *plan) finish(out *Changes) {
	out.GroupTypes = append(out.GroupTypes, p.newTypes...)
	for _, g := range p.groupOrder {
		if g.changed {
			out.Groups = append(out.Groups, ProjectGroup{p.project, *g.Group})
		}
	}
	out.Merges = append(out.Merges, p.merges...)
	for _, w := range p.profiles {
		if w.into != nil || !w.changed {
			continue
		}
		w.Properties, w.text = w.Properties.rooted()
		out.Persons = append(out.Persons, ProjectPerson{ProjectID: p.project, Person: w.Person, IsNew: w.isNew})
		for _, from := range w.inherits {
			out.Merges = append(out.Merges, Merge{p.project, from, w.UUID})
		}
	}
	for _, i := range p.order {
		switch w := i.profile(); {
		case w != nil && !i.stored.owned:
			out.IDs = append(out.IDs, ProjectID{p.project, i.id, w.UUID})
		case w == nil && i.personless && !i.stored.personless:
			out.Personless = append(out.Personless, ProjectID{ProjectID: p.project, DistinctID: i.id})
		}
	}
	out.Events = append(out.Events, p.events...)
	out.Calls = append(out.Calls, p.calls...)
	out.Seen = append(out.Seen, p.seen...)
	out.Warnings = append(out.Warnings, p.warnings...)
}

// each tells what is known of ids after finish, and the JSON text of their
// persons' properties where it is known, but leaves out what the recorder's memory
// has as it is. Ids, persons and texts are memory of their own and may be kept.
func (p *plan) each(yield func(id string, k Identity, text string)) {
	for _, i := range p.order {
		w := i.profile()
		switch {
		case w == nil:
			if !i.cached || i.personless != i.stored.personless {
				yield(strings.Clone(i.id), Identity{Personless: i.personless}, "")
			}
		case !i.cached || !i.stored.owned || w.changed || !w.cached:
			yield(strings.Clone(i.id), Identity{Person: w.Person}, w.text)
		}
	}
}

// markCached tells that what loadPerson was told came from the recorder's memory, with
// the JSON text of the person's properties, empty when that is not known.
func (p *plan) markCached(id, text string) {
	i := p.byID[id]
	i.cached = true
	if i.owner != nil && text != "" && !i.owner.changed {
		i.owner.text, i.owner.cached = text, true
	}
}

// personlessSince is the creation time of the person of personless events (§9.1).
var personlessSince = time.Unix(5, 0).UTC()
