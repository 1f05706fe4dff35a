package capture

import (
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// maxPersonProperties is how long the JSON text of a person's or a group's
// properties may be, in bytes (§4.6).
const maxPersonProperties = 655_360

// creatorKey is the property that names the event that made a person (§9.2).
const creatorKey = "$creator_event_uuid"

// upgradeAfter is how much later than its person a personless event has to be,
// to be attributed to the person (§9.1).
const upgradeAfter = time.Minute

// profile is a person in a plan.
type profile struct {
	// Person is as it is now: what was told until the first change, from then on a
	// copy.
	*Person
	isNew, changed bool
	// into is whom the person was merged into, nil for nobody.
	into *profile
	// inherits are the stored persons that were merged into a new one, in order.
	inherits []UUID
	// text is the properties' JSON text, empty until it is needed; kept: the
	// recorder's memory has it.
	text   string
	cached bool
	// large: events hold no copy of the properties.
	large bool
}

// profile is whom the id belongs to, nil for nobody.
func (i *distinctID) profile() *profile {
	if i.owner == nil || i.owner.into == nil {
		return i.owner
	}
	for i.owner.into != nil {
		i.owner = i.owner.into
	}
	return i.owner
}

// personID is the id of the person that the id makes.
func (i *distinctID) personID(project int64) UUID {
	if i.own.IsZero() {
		i.own = PersonID(project, i.id)
	}
	return i.own
}

// An event holds a copy of its person's properties. Lest one body grow to many
// times its size, there is none of properties that are longer than maxPersonCopy, and
// none any more once the copies of a commit have maxPersonCopies bytes: {} stands for
// them.
const (
	maxPersonCopy   = 64 << 10
	maxPersonCopies = 32 << 20
)

// copyProperties is the copy of a person's properties that an event holds.
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

// edit makes the person one that may be changed.
func (w *profile) edit() {
	if !w.changed {
		copied := *w.Person
		w.Person, w.changed = &copied, true
	}
}

// setProperties replaces the properties; it reports false, and changes nothing,
// when they are too large.
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
	// A byte of a name takes at most six when it is quoted.
	return o.size() <= maxPersonProperties/6 || len(o.AppendJSON(nil)) <= maxPersonProperties
}

// attributePersonless attributes an event without person processing (§9.1). A
// person who is there is not changed, and the event carries none of its
// properties.
func (p *plan) attributePersonless(e *Event, r *Record) {
	id := p.distinctID(e.DistinctID)
	w := id.profile()
	r.PersonProperties = "{}"
	if w != nil && e.Timestamp.After(w.CreatedAt.Add(upgradeAfter)) {
		r.PersonMode, r.PersonID, r.PersonCreatedAt = ForceUpgrade, w.UUID, w.CreatedAt
		return
	}
	r.PersonMode, r.PersonID, r.PersonCreatedAt = Propertyless, id.personID(p.project), personlessSince
	id.personless = true // which says nothing where there is a person
}

// attribute finds or makes the event's person, merges and updates it, and
// attributes the event to it.
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

// attributeOrdinary is for events that merge nothing.
func (p *plan) attributeOrdinary(e *Event, id *distinctID) *profile {
	w := id.profile()
	if w == nil {
		return p.create(e, id)
	}
	p.update(e, w, false)
	return w
}

// create makes the person of an event (§9.2); its UUID is made from by.
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
		p.warn(warnPersonTooLarge, e, "the person was made without properties")
		w.Properties = creator
	}
	id.owner = w
	p.profiles = append(p.profiles, w)
	return w
}

// newProperties are the properties of a new person (§9.4): $set_once, $set over
// it, $unset, then the creator.
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

// update applies what an event changes of a person who is there (§9.3, §9.4). The
// version grows once an event; changed says that the event has changed the person
// already.
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

// noisyKeys properties change with nearly every page: an ordinary event that changes
// only their values is not worth a write (§9.3). Browser and operating system are
// noisy with their versions.
var noisyKeys = nameSetOf(
	"$current_url", "$pathname", "$referrer", "$referring_domain",
	"$screen_height", "$screen_width", "$viewport_height", "$viewport_width",
	"$browser", "$browser_version", "$os", "$os_name", "$os_version", "$raw_user_agent",
)

// steadyGeoKeys are the $geoip_ properties that are not noisy.
var steadyGeoKeys = nameSetOf("$geoip_country_name", "$geoip_country_code", "$geoip_city_name")

func isNoisy(key string) bool {
	if len(key) == 0 || key[0] != '$' {
		return false
	}
	return noisyKeys[key] || strings.HasPrefix(key, "$geoip_") && !steadyGeoKeys[key]
}

// applyUpdate lays an update over stored properties, in the order setOnce, set,
// unset (§9.4). A stored null counts as absent for setOnce (D14). It returns
// stored itself and false, and allocates nothing, when nothing changes, or, unless
// noisyToo, when only values of noisy properties do. A property that is new or
// goes away always counts.
func applyUpdate(stored, setOnce, set Object, unset []string, includeNoisy bool) (o Object, changed bool) {
	if !differs(stored, setOnce, set, unset, includeNoisy) {
		return stored, false
	}
	o = mergeObjects(make(Object, 0, len(stored)+len(setOnce)+len(set)), stored, setOnce, set)
	return removeKeys(o, unset), true
}

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

// seek finds a key, from *at on, and moves *at behind it: keys asked for in their
// order are found in one walk, which jumps where the object is long.
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

// mergeObjects appends stored, with once where it has no value but null, and over over
// both.
func mergeObjects(out, stored, once, over Object) Object {
	for len(once) > 0 || len(over) > 0 {
		var m Member
		wins := len(over) > 0 && (len(once) == 0 || over[0].Key <= once[0].Key)
		if wins {
			m, over = over[0], over[1:]
			if len(once) > 0 && once[0].Key == m.Key {
				once = once[1:]
			}
		} else {
			m, once = once[0], once[1:]
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

// removeKeys takes names out of an object, which it changes.
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

// names are few, or sorted.
type names []string

const fewNames = 8

// sortedNames sorts a copy where there are too many to compare with each.
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
