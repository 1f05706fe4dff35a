package capture

import (
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// maxPersonProperties is the greatest length of the JSON text of a person's or a group's
// properties, in bytes (§4.6).
const maxPersonProperties = 655_360

// creatorKey is the property with the UUID of the event that created the person (§9.2).
const creatorKey = "$creator_event_uuid"

// upgradeAfter is the minimum time between the creation of a person and a personless event
// that is attributed to the person (§9.1).
const upgradeAfter = time.Minute

// profile is the state of a person in a plan.
type profile struct {
	// Person is the current state. It is the loaded person until the first change, and then a
	// copy.
	*Person
	isNew, changed bool
	// into is the person that this one was merged into, or nil.
	into *profile
	// inherits are the stored persons that were merged into a person that is new, in order.
	inherits []UUID
	// text is the JSON text of the properties. It is empty until it is needed. cached reports
	// whether the recorder's cache contains it.
	text   string
	cached bool
	// large reports whether events contain {} instead of a copy of the properties.
	large bool
}

// profile returns the person that the id belongs to, after merges. It returns nil if the id
// has no person.
func (i *distinctID) profile() *profile {
	if i.owner == nil || i.owner.into == nil {
		return i.owner
	}
	for i.owner.into != nil {
		i.owner = i.owner.into
	}
	return i.owner
}

// personID returns the UUID of the person that the id creates.
func (i *distinctID) personID(project int64) UUID {
	if i.own.IsZero() {
		i.own = PersonID(project, i.id)
	}
	return i.own
}

// Each event contains a copy of its person's properties. To prevent that one body grows to
// many times its size, properties longer than maxPersonCopy bytes are not copied, and nothing
// is copied after the copies of a commit exceed maxPersonCopies bytes. The copy is {} in
// these cases.
const (
	maxPersonCopy   = 64 << 10
	maxPersonCopies = 32 << 20
)

// copyProperties returns the copy of a person's properties for an event.
func (p *plan) copyProperties(w *profile) string {
	if w.text == "" && !w.large {
		size := w.Properties.size()
		if w.large = size > maxPersonCopy || p.copiedBytes > maxPersonCopies; !w.large {
			w.text = w.Properties.String()
			p.copiedBytes += size
		}
	}
	if w.large || len(w.text) > maxPersonCopy {
		return "{}"
	}
	return w.text
}

// edit replaces Person by a copy that may be modified, unless it is one already.
func (w *profile) edit() {
	if !w.changed {
		copied := *w.Person
		w.Person, w.changed = &copied, true
	}
}

// setProperties replaces the properties. If they are too large, it changes nothing and
// returns false.
func (w *profile) setProperties(o Object) bool {
	if !fits(o) {
		return false
	}
	w.edit()
	w.Properties, w.text, w.large = o, "", false
	return true
}

// fits reports whether properties are within the limit.
func fits(o Object) bool {
	// Quoting makes a name at most six times as long.
	return o.size() <= maxPersonProperties/6 || len(o.AppendJSON(nil)) <= maxPersonProperties
}

// attributePersonless attributes an event without person processing (§9.1). It does not
// change an existing person, and does not copy the person's properties to the event.
func (p *plan) attributePersonless(e *Event, r *Record) {
	id := p.distinctID(e.DistinctID)
	w := id.profile()
	r.PersonProperties = "{}"
	if w != nil && e.Timestamp.After(w.CreatedAt.Add(upgradeAfter)) {
		r.PersonMode, r.PersonID, r.PersonCreatedAt = ForceUpgrade, w.UUID, w.CreatedAt
		return
	}
	r.PersonMode, r.PersonID, r.PersonCreatedAt = Propertyless, id.personID(p.project), personlessSince
	id.personless = true // has no effect if the id has a person
}

// attribute finds or creates the event's person, merges and updates the person, and sets the
// person of the record.
func (p *plan) attribute(e *Event, r *Record) {
	id := p.distinctID(e.DistinctID)
	var w *profile
	switch check := checkMerge(e); check {
	case validMerge:
		w = p.merge(e, id, p.distinctID(e.Other))
	case noMerge:
		w = p.attributeOrdinary(e, id)
	default:
		p.warn(warnIllegalDistinctID, e, check.detail())
		w = p.attributeOrdinary(e, id)
	}
	r.PersonMode, r.PersonID, r.PersonCreatedAt, r.PersonProperties = Full, w.UUID, w.CreatedAt, p.copyProperties(w)
}

// attributeOrdinary handles events that do not merge persons.
func (p *plan) attributeOrdinary(e *Event, id *distinctID) *profile {
	w := id.profile()
	if w == nil {
		return p.create(e, id)
	}
	p.update(e, w, false)
	return w
}

// create creates the person of an event (§9.2). Its UUID is derived from the distinct id.
func (p *plan) create(e *Event, id *distinctID) *profile {
	w := &profile{
		Person: &Person{UUID: id.personID(p.project), CreatedAt: e.Timestamp},
		isNew:  true, changed: true,
	}
	creator := Object{{creatorKey, wire.Quote(e.UUID.String())}}
	switch {
	case e.Kind == untouchingEvent:
		w.Properties = creator
	case !w.setProperties(newProperties(e, creator[0])):
		p.warn(warnPersonTooLarge, e, "the person was created without properties")
		w.Properties = creator
	}
	id.owner = w
	p.profiles = append(p.profiles, w)
	return w
}

// newProperties returns the properties of a new person (§9.4). $set_once, $set and $unset are
// applied in this order, then the creator is set.
func newProperties(e *Event, creator Member) Object {
	o := mergeObjects(make(Object, 0, len(e.SetOnce)+len(e.Set)+1), nil, e.SetOnce, e.Set)
	o = removeKeys(o, e.Unset)
	i, found := o.search(creatorKey)
	if found {
		o[i] = creator
		return o
	}
	return slices.Insert(o, i, creator)
}

// update applies the changes of an event to an existing person (§9.3, §9.4). changed reports
// whether the event has already changed the person. The version is incremented at most one
// time for each event.
func (p *plan) update(e *Event, w *profile, changed bool) {
	if e.Kind != untouchingEvent {
		includeNoisy := e.Kind != ordinaryEvent && e.Kind != groupIdentifyEvent
		o, differs := applyUpdate(w.Properties, e.SetOnce, e.Set, e.Unset, includeNoisy)
		switch {
		case !differs:
		case w.setProperties(o):
			changed = true
		default:
			p.warn(warnPersonTooLarge, e, "the update of the person was refused")
		}
	}
	if changed {
		w.edit()
		w.Version++
	}
}

// noisyKeys are properties that change with nearly every page view. An ordinary event that
// only changes their values does not update the person (§9.3). Browser and operating system
// are in the list together with their versions.
var noisyKeys = nameSetOf(
	"$current_url", "$pathname", "$referrer", "$referring_domain",
	"$screen_height", "$screen_width", "$viewport_height", "$viewport_width",
	"$browser", "$browser_version", "$os", "$os_name", "$os_version", "$raw_user_agent",
)

// steadyGeoKeys are the $geoip_ properties that are not noisy.
var steadyGeoKeys = nameSetOf("$geoip_country_name", "$geoip_country_code", "$geoip_city_name")

// isNoisy reports whether an ordinary event may leave a changed value of the property
// unsaved.
func isNoisy(key string) bool {
	if len(key) == 0 || key[0] != '$' {
		return false
	}
	return noisyKeys[key] || strings.HasPrefix(key, "$geoip_") && !steadyGeoKeys[key]
}

// applyUpdate applies setOnce, set and unset, in this order, to stored properties (§9.4). A
// stored null counts as absent for setOnce (D14). If nothing changes, it returns stored and
// false without an allocation. Unless includeNoisy is true, the same applies if only the
// values of noisy properties differ. Adding or removing a property always counts as a change.
func applyUpdate(stored, setOnce, set Object, unset []string, includeNoisy bool) (o Object, changed bool) {
	if !differs(stored, setOnce, set, unset, includeNoisy) {
		return stored, false
	}
	o = mergeObjects(make(Object, 0, len(stored)+len(setOnce)+len(set)), stored, setOnce, set)
	return removeKeys(o, unset), true
}

// differs reports whether applyUpdate would change the properties. It exists so that the
// common case, in which nothing changes, needs no allocation.
func differs(stored, setOnce, set Object, unset []string, includeNoisy bool) bool {
	for _, key := range unset {
		if _, ok := stored.search(key); ok {
			return true
		}
	}
	unsetNames := sortedNames(unset)
	pos := 0
	for _, m := range set {
		i, ok := stored.seek(&pos, m.Key)
		switch {
		case ok && stored[i].Value == m.Value, unsetNames.has(m.Key):
		case !ok || includeNoisy || !isNoisy(m.Key):
			return true
		}
	}
	pos = 0
	for _, m := range setOnce {
		i, ok := stored.seek(&pos, m.Key)
		switch {
		case ok && (stored[i].Value != "null" || m.Value == "null"), unsetNames.has(m.Key):
		case !ok:
			return true
		case includeNoisy || !isNoisy(m.Key):
			if _, later := set.search(m.Key); !later {
				return true
			}
		}
	}
	return false
}

// seek searches for a key at positions from *pos on, and moves *pos behind it. If the keys
// are searched for in ascending order, all are found in one pass; the steps grow
// exponentially, so that a long object is not scanned linearly.
func (o Object) seek(pos *int, key string) (int, bool) {
	low, step := *pos, 1
	if low < len(o) && o[low].Key == key {
		*pos++
		return low, true
	}
	for low+step <= len(o) && o[low+step-1].Key < key {
		low += step
		step *= 2
	}
	i, ok := o[low:min(low+step, len(o))].search(key)
	i += low
	*pos = i
	if ok {
		*pos++
	}
	return i, ok
}

// mergeObjects appends the merged members of three sorted objects to out. Members of over
// replace those of stored; members of once only do so if the stored value is null. over takes
// precedence over once.
func mergeObjects(out, stored, setOnce, set Object) Object {
	for len(setOnce) > 0 || len(set) > 0 {
		var m Member
		wins := len(set) > 0 && (len(setOnce) == 0 || set[0].Key <= setOnce[0].Key)
		if wins {
			m, set = set[0], set[1:]
			if len(setOnce) > 0 && setOnce[0].Key == m.Key {
				setOnce = setOnce[1:]
			}
		} else {
			m, setOnce = setOnce[0], setOnce[1:]
		}
		n := 0
		for n < len(stored) && stored[n].Key < m.Key {
			n++
		}
		out, stored = append(out, stored[:n]...), stored[n:]
		if len(stored) > 0 && stored[0].Key == m.Key {
			if !wins && stored[0].Value != "null" {
				m = stored[0]
			}
			stored = stored[1:]
		}
		out = append(out, m)
	}
	return append(out, stored...)
}

// removeKeys removes names from o. It modifies o.
func removeKeys(o Object, names []string) Object {
	if len(names) == 0 {
		return o
	}
	for _, name := range names {
		if i, ok := o.search(name); ok {
			o[i].Value = "" // no JSON text is empty
		}
	}
	return slices.DeleteFunc(o, func(m Member) bool { return m.Value == "" })
}

// names is a list of names. It is sorted if it is longer than fewNames.
type names []string

// fewNames is the length up to which a linear search is used.
const fewNames = 8

// sortedNames returns s, or a sorted copy if s is longer than fewNames.
func sortedNames(s []string) names {
	if len(s) > fewNames {
		s = slices.Clone(s)
		slices.Sort(s)
	}
	return s
}

func (n names) has(name string) bool {
	if len(n) <= fewNames {
		return slices.Contains(n, name)
	}
	_, ok := slices.BinarySearch(n, name)
	return ok
}
