package capture

import (
	"slices"
	"strings"
	"time"
)

// plan computes what the events of one commit change in one project. It applies the events in
// order to the stored state.
//
// The steps are: ids and groups return what must be read from the store; loadPerson and
// loadGroup add the result; apply is called for every event; finish and each return the
// changes. A plan does no I/O, and never modifies the persons and groups that were loaded.
type plan struct {
	project int64

	// byID has the distinct ids of the events, and order the same in their order of
	// occurrence.
	byID  map[string]*distinctID
	order []*distinctID
	// byUUID has the stored persons by UUID; profiles has these and the new persons.
	byUUID   map[UUID]*profile
	profiles []*profile
	merges   []Merge

	types []string // indexed by number, empty for a free number
	// newTypes are the group types that this plan adds; rejectedTypes those for which no
	// number was free.
	newTypes      []ProjectGroupType
	rejectedTypes map[string]bool
	groupStates   map[GroupID]*groupState
	groupOrder    []*groupState
	seen          []SeenName
	seenBefore    map[seenGroup]bool

	events      []Record
	copiedBytes int // total length of the copies of person properties in events
	calls       []FlagCalls
	callAt      map[callKey]int
	warnings    []Warning
	warnedAt    map[warningKey]int
}

// distinctID is the state of a distinct id in a plan.
type distinctID struct {
	id string
	// owner is the person that the id was assigned to, or nil. That person may have been
	// merged since; the method profile returns the current person.
	owner      *profile
	personless bool
	// stored is the state in the store: whether the id has a person, and whether events
	// without a person have used it.
	stored struct{ owned, personless bool }
	// own is the UUID of the person that this id would create. It is zero until it is needed.
	own UUID
	// cached reports whether the loaded state is from the recorder's cache.
	cached bool
}

// warningKey identifies warnings that are counted together.
type warningKey struct {
	kind WarningType
	id   string
}

// commitWarnings is the number of warnings of one plan that are distinguished by distinct id.
// Further warnings are counted together, without an id.
const commitWarnings = 1000

// newPlan returns an empty plan. groupTypes are the names of the project's group types, by
// number.
func newPlan(projectID int64, groupTypes []string) *plan {
	return &plan{
		project: projectID,
		byID:    make(map[string]*distinctID),
		byUUID:  make(map[UUID]*profile),
		types:   slices.Clone(groupTypes),
	}
}

// ids adds the distinct ids of the events to the plan and returns the ones that are new to it.
// loadPerson must be called for each of them. An invalid merge does not need its second id.
func (p *plan) ids(events []Event) []*distinctID {
	n := len(p.order)
	for i := range events {
		e := &events[i]
		p.distinctID(e.DistinctID)
		if !e.Personless && checkMerge(e) == validMerge {
			p.distinctID(e.Other)
		}
	}
	return p.order[n:]
}

// distinctID returns the state of a distinct id, and adds an empty one if the id is new.
func (p *plan) distinctID(id string) *distinctID {
	i := p.byID[id]
	if i == nil {
		i = &distinctID{id: id}
		p.byID[id] = i
		p.order = append(p.order, i)
	}
	return i
}

// loadPerson sets the stored state of a distinct id. It must be called before an event with
// the id is applied. Persons with the same UUID are treated as the same person, even if the
// pointers differ.
func (p *plan) loadPerson(i *distinctID, k Identity) {
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

// apply computes the changes of one event, which must not be a duplicate.
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

// mapPut sets a value in a map that is allocated when it is first needed.
func mapPut[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// callKey identifies the reads that are counted together: a flag's value and an hour, as Unix
// time.
type callKey struct {
	FlagCall
	hour int64
}

// countCall counts the read of a flag's value, separately for each hour (§12.3).
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

// warn adds a warning about an event, or adds to the count of a warning with the same key.
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

// finish appends the net changes to out: a person that several events change is saved one
// time, and a person that is created and merged into another is not saved. finish must be
// called once, after the last event.
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
		if w.text == "" {
			w.text = w.Properties.String()
		}
		w.Properties = w.Properties.detach(w.text)
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
	if len(out.Events) == 0 { // usually a commit has one project
		out.Events = p.events
	} else {
		out.Events = append(out.Events, p.events...)
	}
	out.Calls = append(out.Calls, p.calls...)
	out.Seen = append(out.Seen, p.seen...)
	out.Warnings = append(out.Warnings, p.warnings...)
}

// each calls yield with the state of each distinct id after finish, and with the JSON text of
// its person's properties if available. It skips states that the recorder's cache already
// contains. The arguments do not share memory with requests and may be retained.
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

// markCached records that the state of an id was loaded from the recorder's cache. text is
// the JSON text of the person's properties, or empty if it is not available.
func (i *distinctID) markCached(text string) {
	i.cached = true
	if i.owner != nil && text != "" && !i.owner.changed {
		i.owner.text, i.owner.cached = text, true
	}
}

// personlessSince is the creation time in events without a person (§9.1).
var personlessSince = time.Unix(5, 0).UTC()
