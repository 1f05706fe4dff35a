package capture

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// maxGroupTypes is how many group types a project may have (§11.1).
const maxGroupTypes = 5

// groupState is a group in a plan.
type groupState struct {
	// Group is as it is now, nil while there is none: what was told until the first
	// change, from then on a copy.
	*Group
	changed bool
}

// seenGroup is a name of a group property that was noted.
type seenGroup struct {
	groupType int
	name      string
}

// groups appends the groups that events change and that the plan does not know
// yet, each once. loadGroup has to be called for all of them. A group whose type
// is new cannot be stored.
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

func (p *plan) groupState(id GroupID) *groupState {
	g := p.groupStates[id]
	if g == nil {
		g = &groupState{}
		mapPut(&p.groupStates, id, g)
		p.groupOrder = append(p.groupOrder, g)
	}
	return g
}

// loadGroup tells what is stored of a group, nil for nothing.
func (p *plan) loadGroup(id GroupID, g *Group) { p.groupState(id).Group = g }

// groupType is the number of a group type. A new one gets the lowest that is free
// (§11.1); -1 when there is none, with a warning once for each type.
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

// addGroupColumns adds $group_<number> to the stored properties for every group of
// the event (§11.2). The groups themselves are not made (D9).
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

// updateGroup makes the group of a $groupidentify, or merges its properties, new
// over old (§11.3). Properties that are too large are refused; the group is made
// all the same.
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

// addSeenGroup notes the names that are new to a group.
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
