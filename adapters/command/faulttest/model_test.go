//go:build linux

package faulttest

import (
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// model implements spec/capture.md §9 to §11 for persons and groups in the simplest form. It gets
// the stored events in the order of the ledger, one at a time, and shares no code with the server.
type model struct {
	project    int64
	owner      map[string]*modelPerson // by distinct id
	personless map[string]bool
	types      []string
	groups     map[modelGroupID]*modelGroup
	calls      map[[2]string]int64 // reads of flags, by flag and value
}

type modelPerson struct {
	UUID       string
	CreatedAt  time.Time
	Identified bool
	Properties map[string]any
	IDs        []string
}

type modelGroupID struct {
	Type int
	Key  string
}

type modelGroup struct {
	CreatedAt  time.Time
	Properties map[string]any
}

// storedEvent is an event as the ledger contains it (§8.3).
type storedEvent struct {
	ID               int64
	UUID             [16]byte
	Name, DistinctID string
	Properties       string
	Timestamp        time.Time
	Person           storedPerson
}

// storedPerson is the person that is stored with an event.
type storedPerson struct {
	UUID       string
	CreatedAt  time.Time
	Properties string
	Mode       string
}

// attribution is the person of an event.
type attribution struct {
	UUID, Mode string
	CreatedAt  time.Time
	Properties map[string]any
}

func newModel(project int64, types []string) *model {
	return &model{
		project: project, types: types, owner: map[string]*modelPerson{}, personless: map[string]bool{},
		groups: map[modelGroupID]*modelGroup{}, calls: map[[2]string]int64{},
	}
}

// apply processes the next event and returns its person, with the properties after the event.
func (m *model) apply(e *storedEvent) (attribution, error) {
	var props map[string]any
	if err := json.Unmarshal([]byte(e.Properties), &props); err != nil {
		return attribution{}, fmt.Errorf("the stored properties are no JSON object: %w", err)
	}
	personless := props["$process_person_profile"] == false
	if e.Name == "$groupidentify" || e.Name == "$group_identify" {
		m.groupIdentify(e, props)
	}
	if e.Name == "$feature_flag_called" {
		flag, _ := props["$feature_flag"].(string)
		value, _ := props["$feature_flag_response"].(string)
		m.calls[[2]string{flag, value}]++
	}
	if personless {
		return m.attributePersonless(e), nil
	}
	m.groupTypes(props)
	p := m.person(e, props)
	return attribution{p.UUID, "full", p.CreatedAt, p.Properties}, nil
}

// attributePersonless implements §9.1: an existing person gets the events that are more than a
// minute younger than the person.
func (m *model) attributePersonless(e *storedEvent) attribution {
	if p := m.owner[e.DistinctID]; p != nil && e.Timestamp.After(p.CreatedAt.Add(time.Minute)) {
		return attribution{p.UUID, "force_upgrade", p.CreatedAt, map[string]any{}}
	}
	m.personless[e.DistinctID] = true
	return attribution{m.uuid(e.DistinctID), "propertyless", time.Unix(5, 0).UTC(), map[string]any{}}
}

// person merges, creates and updates the event's person.
func (m *model) person(e *storedEvent, props map[string]any) *modelPerson {
	otherID := ""
	switch e.Name {
	case "$identify":
		otherID, _ = props["$anon_distinct_id"].(string)
	case "$create_alias", "$merge_dangerously":
		otherID, _ = props["alias"].(string)
	}
	merging := otherID != "" && otherID != e.DistinctID && isLegalID(otherID) && isLegalID(e.DistinctID)
	into, from := m.owner[e.DistinctID], m.owner[otherID]
	if !merging {
		from = nil
	}

	// §10.3, case by case.
	switch {
	case into == nil && from == nil:
		sender := e.DistinctID
		if merging && m.personless[otherID] && !m.personless[e.DistinctID] {
			sender = otherID
		}
		p := &modelPerson{UUID: m.uuid(sender), CreatedAt: e.Timestamp, Properties: map[string]any{}}
		m.update(p, e, props)
		p.Properties["$creator_event_uuid"] = uuidText(e.UUID)
		m.assignID(e.DistinctID, p)
		if merging {
			m.assignID(otherID, p)
			p.Identified = true
		}
		return p
	case into == nil:
		m.assignID(e.DistinctID, from)
		into = from
	case !merging || into == from:
	case from == nil:
		m.assignID(otherID, into)
	case from.Identified && e.Name != "$merge_dangerously": // refused
	default:
		for k, v := range from.Properties {
			if _, has := into.Properties[k]; !has {
				into.Properties[k] = v
			}
		}
		if from.CreatedAt.Before(into.CreatedAt) {
			into.CreatedAt = from.CreatedAt
		}
		for _, id := range from.IDs {
			m.assignID(id, into)
		}
	}
	if merging {
		into.Identified = true
	}
	m.update(into, e, props)
	return into
}

func (m *model) assignID(id string, p *modelPerson) {
	m.owner[id] = p
	p.IDs = append(p.IDs, id)
}

// update implements §9.4: $set_once, $set, $unset.
func (m *model) update(p *modelPerson, e *storedEvent, props map[string]any) {
	if e.Name == "$exception" {
		return
	}
	set, once := objectOf(props["$set"]), objectOf(props["$set_once"])
	for _, key := range []string{"utm_source", "$app_version"} { // those of §9.5 that the load uses
		if v := props[key]; v != nil {
			setIfMissing(set, key, v)
			setIfMissing(once, "$initial_"+strings.TrimPrefix(key, "$"), v)
		}
	}
	for k, v := range once {
		if old, has := p.Properties[k]; !has || old == nil && v != nil {
			p.Properties[k] = v
		}
	}
	maps.Copy(p.Properties, set)
	switch unset := props["$unset"].(type) {
	case []any:
		for _, k := range unset {
			delete(p.Properties, k.(string))
		}
	case map[string]any:
		for k := range unset {
			delete(p.Properties, k)
		}
	}
}

// groupTypes implements §11.2: an event's groups create their types.
func (m *model) groupTypes(props map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(objectOf(props["$groups"]))) {
		m.groupType(name)
	}
}

// groupType returns the number of a type, or -1 if there are already five other types (§11.1).
func (m *model) groupType(name string) int {
	if i := slices.Index(m.types, name); i >= 0 || len(m.types) == 5 {
		return i
	}
	m.types = append(m.types, name)
	return len(m.types) - 1
}

// groupIdentify implements §11.3.
func (m *model) groupIdentify(e *storedEvent, props map[string]any) {
	name, _ := props["$group_type"].(string)
	key, _ := props["$group_key"].(string)
	number := m.groupType(name)
	if number < 0 {
		return
	}
	id := modelGroupID{number, key}
	if m.groups[id] == nil {
		m.groups[id] = &modelGroup{CreatedAt: e.Timestamp, Properties: map[string]any{}}
	}
	maps.Copy(m.groups[id].Properties, objectOf(props["$group_set"]))
}

// uuid returns the id of the person that is created for a distinct id: §9.2, a UUID of version 5.
func (m *model) uuid(distinctID string) string {
	namespace := []byte{0x93, 0x29, 0x79, 0xb4, 0x65, 0xc3, 0x44, 0x24, 0x84, 0x67, 0x0b, 0x66, 0xec, 0x27, 0xbc, 0x22}
	sum := sha1.Sum(fmt.Appendf(namespace, "%d:%s", m.project, distinctID))
	sum[6], sum[8] = sum[6]&0x0f|0x50, sum[8]&0x3f|0x80
	return uuidText([16]byte(sum[:16]))
}

// persons returns all persons by uuid.
func (m *model) persons() map[string]*modelPerson {
	all := map[string]*modelPerson{}
	for _, p := range m.owner {
		all[p.UUID] = p
	}
	return all
}

// isLegalID implements §10.4 for the ids that the load uses.
func isLegalID(id string) bool {
	return id != "undefined" && !strings.EqualFold(id, "anonymous") && id != "0"
}

func objectOf(v any) map[string]any {
	o, _ := v.(map[string]any)
	if o = maps.Clone(o); o == nil {
		o = map[string]any{}
	}
	return o
}

// setIfMissing sets a key if it does not exist.
func setIfMissing(o map[string]any, key string, v any) {
	if _, has := o[key]; !has {
		o[key] = v
	}
}

func uuidText(b [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
