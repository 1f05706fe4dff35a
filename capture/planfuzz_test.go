package capture

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// FuzzPlan checks the laws against arbitrary histories.
func FuzzPlan(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(lawHistory(seed, 120))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 2000 {
			return
		}
		checkHistory(t, data)
	})
}

// The following model implements the same rules as the plan in a different way: it applies
// every event immediately, on maps, without commits and copies. Compare it with §9 to §11.

type modelPerson struct {
	uuid       UUID
	created    time.Time
	properties map[string]string
	identified bool
	version    int64
	overrides  map[string]string
}

type modelGroup struct {
	created    time.Time
	properties map[string]string
}

type modelLedger struct {
	byID       map[string]*modelPerson
	personless map[string]bool
	types      []string
	groups     map[GroupID]*modelGroup
	records    []modelRecord
	warnings   map[WarningType]int64
}

type modelRecord struct {
	Event, Person, Mode, Created, PersonProperties, Properties string
}

func modelRecords(records []Record) (out []modelRecord) {
	for _, r := range records {
		out = append(out, modelRecord{
			r.UUID.String(), r.PersonID.String(), r.PersonMode.String(), fmt.Sprint(r.PersonCreatedAt.UTC()), r.PersonProperties, r.Properties,
		})
	}
	return out
}

func (m *modelLedger) play(t testing.TB, steps []planStep) {
	m.warnings = map[WarningType]int64{}
	done := map[string]bool{}
	for _, step := range steps {
		if at := step.override; at[0] != "" {
			if w := m.byID[at[0]]; w != nil && w.overrides[at[1]] == "" {
				w.overrides[at[1]] = at[2]
			}
		}
		if e := step.event; e != nil {
			key := fmt.Sprint(e.UUID, e.Name, e.DistinctID)
			if !done[key] {
				done[key] = true
				m.event(t, e)
			}
		}
	}
}

func (m *modelLedger) event(t testing.TB, e *Event) {
	r := modelRecord{Event: e.UUID.String(), Properties: "{}", PersonProperties: "{}"}
	before := m.ids(e)
	if e.Personless {
		w := m.byID[e.DistinctID]
		if w != nil && e.Timestamp.Sub(w.created) > time.Minute {
			r.Person, r.Mode, r.Created = w.uuid.String(), "force_upgrade", fmt.Sprint(w.created)
		} else {
			r.Person, r.Mode, r.Created = PersonID(1, e.DistinctID).String(), "propertyless", "1970-01-01 00:00:05 +0000 UTC"
			if w == nil {
				m.personless[e.DistinctID] = true
			}
		}
	} else {
		w := m.person(e)
		r.Person, r.Mode, r.Created, r.PersonProperties = w.uuid.String(), "full", fmt.Sprint(w.created), mapText(w.properties)
	}
	m.neverSplit(t, before)
	for _, g := range e.Groups {
		if i := m.groupType(g.Type); i >= 0 {
			r.Properties = fmt.Sprintf(`{"$group_%d":%s}`, i, g.Key)
		}
	}
	if g := e.Group; g != nil {
		if i := m.groupType(g.Type); i >= 0 {
			at := GroupID{i, g.Key}
			if m.groups[at] == nil {
				m.groups[at] = &modelGroup{e.Timestamp, map[string]string{}}
			}
			for _, p := range g.Set {
				m.groups[at].properties[p.Key] = p.Value
			}
		}
	}
	m.records = append(m.records, r)
}

// ids returns pairs of ids that must have the same person.
func (m *modelLedger) ids(*Event) (pairs [][2]string) {
	for a, w := range m.byID {
		for b, v := range m.byID {
			if w == v {
				pairs = append(pairs, [2]string{a, b})
			}
		}
	}
	return pairs
}

func (m *modelLedger) neverSplit(t testing.TB, pairs [][2]string) {
	for _, p := range pairs {
		if m.byID[p[0]] != m.byID[p[1]] {
			t.Fatalf("%s and %s were one person", p[0], p[1])
		}
	}
}

// person implements §10 for events that merge, and §9 for all events.
func (m *modelLedger) person(e *Event) *modelPerson {
	into, other := e.DistinctID, e.Other
	mergeEvent := e.Name == "$identify" || e.Name == "$create_alias" || e.Name == "$merge_dangerously"
	attempt := mergeEvent && e.HasOther && other != into
	if attempt && slices.ContainsFunc([]string{into, other}, func(id string) bool { return id == "anonymous" || id == `"null"` }) {
		m.warnings["cannot_merge_with_illegal_distinct_id"]++
		attempt = false
	}
	w := m.byID[into]
	if !attempt {
		if w == nil {
			w = m.create(e, into)
			m.byID[into] = w
			return w
		}
		m.update(e, w, fmt.Sprint(*w))
		return w
	}
	v := m.byID[other]
	if w == nil && v == nil {
		from := into
		if m.personless[other] && !m.personless[into] {
			from = other
		}
		w = m.create(e, from)
		w.identified = true
		m.byID[into], m.byID[other] = w, w
		return w
	}
	if w == nil {
		w, v = v, nil
		m.byID[into] = w
	}
	was := fmt.Sprint(*w)
	switch {
	case v == nil:
		m.byID[other] = w
	case v == w:
	case v.identified && e.Name != "$merge_dangerously":
		m.warnings["cannot_merge_already_identified"]++
	default:
		for id, owner := range m.byID {
			if owner == v {
				m.byID[id] = w
			}
		}
		for key, value := range v.properties {
			if _, exists := w.properties[key]; !exists {
				w.properties[key] = value
			}
		}
		for flag, hash := range v.overrides {
			if _, exists := w.overrides[flag]; !exists {
				w.overrides[flag] = hash
			}
		}
		if v.created.Before(w.created) {
			w.created = v.created
		}
		w.version = max(w.version, v.version)
		was = "" // a merge always counts as a change
	}
	w.identified = true
	m.update(e, w, was)
	return w
}

func (m *modelLedger) create(e *Event, from string) *modelPerson {
	w := &modelPerson{uuid: PersonID(1, from), created: e.Timestamp, properties: map[string]string{}, overrides: map[string]string{}}
	if e.Name != "$exception" {
		for _, p := range e.SetOnce {
			w.properties[p.Key] = p.Value
		}
		for _, p := range e.Set {
			w.properties[p.Key] = p.Value
		}
		for _, key := range e.Unset {
			delete(w.properties, key)
		}
	}
	w.properties["$creator_event_uuid"] = `"` + e.UUID.String() + `"`
	return w
}

// update implements §9.4, and discards the result where §9.3 requires it. was is the person
// before the event.
func (m *modelLedger) update(e *Event, w *modelPerson, was string) {
	if e.Name != "$exception" {
		after := maps.Clone(w.properties)
		for _, p := range e.SetOnce {
			if old, ok := after[p.Key]; !ok || old == "null" && p.Value != "null" {
				after[p.Key] = p.Value
			}
		}
		for _, p := range e.Set {
			after[p.Key] = p.Value
		}
		for _, key := range e.Unset {
			delete(after, key)
		}
		quiet := e.Name == "e" || e.Name == "$groupidentify"
		for _, key := range lawKeys {
			old, had := w.properties[key]
			value, has := after[key]
			if had != has || old != value && key != "$browser" && key != "$geoip_latitude" {
				quiet = false
			}
		}
		if !quiet {
			w.properties = after
		}
	}
	if fmt.Sprint(*w) != was {
		w.version++
	}
}

func (m *modelLedger) groupType(name string) int {
	if !slices.Contains(m.types, name) {
		if len(m.types) == 5 {
			return -1
		}
		m.types = append(m.types, name)
	}
	return slices.Index(m.types, name)
}

func mapText(properties map[string]string) string {
	var o []Member
	for k, v := range properties {
		o = append(o, Member{k, v})
	}
	slices.SortFunc(o, func(a, b Member) int { return cmp.Compare(a.Key, b.Key) })
	return Object(o).String()
}

func (m *modelLedger) snapshot() planSnapshot {
	out := planSnapshot{People: map[string]string{}, Groups: map[string]string{}, Types: append([]string{}, m.types...)}
	ids := map[*modelPerson][]string{}
	for id, w := range m.byID {
		ids[w] = append(ids[w], id)
	}
	for id := range m.personless {
		if m.byID[id] == nil {
			out.Personless = append(out.Personless, id)
		}
	}
	slices.Sort(out.Personless)
	for w, list := range ids {
		slices.Sort(list)
		o, _ := ParseObject(mapText(w.properties))
		out.People[w.uuid.String()] = personText(list, w.created, w.identified, w.version, o, w.overrides)
	}
	for id, g := range m.groups {
		out.Groups[fmt.Sprint(id)] = fmt.Sprintln(g.created.UTC(), mapText(g.properties))
	}
	return out
}
