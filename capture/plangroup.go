package capture

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// maxGroupTypes is the greatest number of group types of a project (§11.1).
const maxGroupTypes = 5

// groupState is the state of a group in a plan.
type groupState struct {
	// Group is the current state, nil if the group does not exist. It is the loaded group
	// until the first change, and then a copy.
	*Group
	changed bool
}

// seenGroup is a name of a group property that the plan has recorded as seen.
type seenGroup struct {
	groupType int
	name      string
}

// groups appends the groups that events change and that are not in the plan yet. loadGroup
// must be called for each of them. Groups of a new type are omitted, because they cannot be
// stored yet.
func (p *plan) groups(events []Event, to []GroupID) []GroupID {
	for i := range events {
		g := events[i].Group
		if g == nil {
			continue
		}
		number := slices.Index(p.types, g.Type)
		if number < 0 {
			continue
		}
		id := GroupID{number, g.Key}
		if p.groupStates[id] == nil {
			p.groupState(id)
			to = append(to, id)
		}
	}
	return to
}

// groupState returns the state of a group, and adds an empty one if the group is new.
func (p *plan) groupState(id GroupID) *groupState {
	g := p.groupStates[id]
	if g == nil {
		g = &groupState{}
		mapPut(&p.groupStates, id, g)
		p.groupOrder = append(p.groupOrder, g)
	}
	return g
}

// loadGroup sets the stored state of a group, nil if it is not stored.
func (p *plan) loadGroup(id GroupID, g *Group) { p.groupState(id).Group = g }

// groupType returns the number of a group type. A new type is assigned the lowest free number
// (§11.1). If there is none, groupType returns -1 and adds one warning for each type.
func (p *plan) groupType(name string, e *Event) int {
	if name == "" {
		return -1
	}
	if i := slices.Index(p.types, name); i >= 0 {
		return i
	}
	i := slices.Index(p.types, "")
	switch {
	case i >= 0:
	case len(p.types) < maxGroupTypes:
		i = len(p.types)
		p.types = append(p.types, "")
	default:
		if !p.rejectedTypes[name] {
			mapPut(&p.rejectedTypes, name, true)
			p.warn(warnGroupTypes, e, "group type "+wire.Quote(cutBytes(name, warningID)))
		}
		return -1
	}
	p.types[i] = strings.Clone(name)
	p.newTypes = append(p.newTypes, ProjectGroupType{p.project, i, p.types[i]})
	return i
}

// addGroupColumns adds a property $group_<number> to the stored event for each of its groups
// (§11.2). It does not create the groups (D9).
func (p *plan) addGroupColumns(e *Event, r *Record) {
	var keys [maxGroupTypes]string
	n := 0
	for _, g := range e.Groups {
		if i := p.groupType(g.Type, e); i >= 0 && i < len(keys) {
			keys[i] = g.Key
			n += len(`,"$group_0":`) + len(g.Key)
		}
	}
	if n == 0 {
		return
	}
	var b strings.Builder
	// The properties are JSON text, so the new members are inserted before the closing brace.
	b.Grow(len(r.Properties) + n)
	b.WriteString(strings.TrimSuffix(cmp.Or(r.Properties, "{}"), "}"))
	for i, key := range keys {
		if key == "" {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"$group_`)
		b.WriteByte('0' + byte(i))
		b.WriteString(`":`)
		b.WriteString(key)
	}
	b.WriteByte('}')
	r.Properties = b.String()
}

// updateGroup creates the group of a $groupidentify event, or merges its properties into
// those of the group (§11.3). Properties that are too large are rejected, but the group is
// created nevertheless.
func (p *plan) updateGroup(e *Event) {
	number := p.groupType(e.Group.Type, e)
	if number < 0 {
		return
	}
	g := p.groupState(GroupID{number, e.Group.Key})
	var old Object
	isNew := g.Group == nil
	if isNew {
		g.Group = &Group{GroupID: GroupID{number, e.Group.Key}, CreatedAt: e.Timestamp}
		g.changed = true
	} else {
		old = g.Properties
	}
	o, differs := applyUpdate(old, nil, e.Group.Set, nil, true)
	switch {
	case !differs:
		return
	case !fits(o):
		p.warn(warnGroupTooLarge, e, "the update of the group was refused")
		return
	case !g.changed:
		copied := *g.Group
		g.Group, g.changed = &copied, true
	}
	g.Properties = o
	p.addSeenGroup(number, old, e)
}

// addSeenGroup records the names of the properties that are new to a group.
func (p *plan) addSeenGroup(number int, old Object, e *Event) {
	for _, m := range e.Group.Set {
		if _, exists := old.search(m.Key); exists || m.Key == "" || len(m.Key) > maxSeenName {
			continue
		}
		key := seenGroup{number, m.Key}
		if p.seenBefore[key] {
			continue
		}
		mapPut(&p.seenBefore, key, true)
		p.seen = append(p.seen, SeenName{
			ProjectID: p.project, Kind: SeenGroupProperty, Group: number, Name: m.Key, Type: typeOf(m.Value), At: e.ReceivedAt,
		})
	}
}
