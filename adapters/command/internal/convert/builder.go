package convert

import (
	"cmp"
	"hash/fnv"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// builder collects the converted flags and the omissions.
type builder struct {
	options    Options
	flags      map[string]flags.Flag
	cohorts    map[int64]flags.Cohort
	groupTypes map[int]string
	omissions  []Omission
	seen       map[string]bool

	// State of the current flag.
	key         string
	top         *node
	notes       []Omission
	madeCohorts []int64 // cohorts that were created for it
}

func newBuilder(o Options) *builder {
	return &builder{options: o, flags: map[string]flags.Flag{}, cohorts: map[int64]flags.Cohort{}, seen: map[string]bool{}}
}

// flag converts one flag. read fills in a flag that is active and has no id; if it refuses, the
// flag is left out. The positions of refusals and notes are relative to src.
func (b *builder) flag(key string, src *node, read func(f *flags.Flag)) {
	b.key, b.top, b.notes, b.madeCohorts = key, src, nil, nil
	f := flags.Flag{Key: key, Active: true}
	r := catchRefusal(func() {
		switch {
		case b.seen[key]:
			src.refuse("there are two flags with this key: the first one is used")
		case key == "":
			src.refuse("a flag needs a key")
		case len(key) > maxKey:
			src.refuse("a key has at most %d bytes here", maxKey)
		}
		b.seen[key] = true
		read(&f)
	})
	if r == nil {
		b.flags[key] = f
		b.omissions = append(b.omissions, b.notes...)
		return
	}
	b.dropCohorts()
	b.omissions = append(b.omissions, Omission{Flag: key, Place: r.src.pathFrom(b.top), Reason: r.reason, IsFlagOmitted: true})
}

// dropCohorts removes the cohorts of the current flag.
func (b *builder) dropCohorts() {
	for _, id := range b.madeCohorts {
		delete(b.cohorts, id)
	}
	b.madeCohorts = nil
}

// maxKey is the maximum length of a flag's key, in bytes (§1.5).
const maxKey = 400

// note notes a part of the current flag that was not converted, or that behaves differently. Equal
// notes are listed once.
func (b *builder) note(src *node, reason string) { b.add(Omission{Reason: reason}, src) }

// noteType notes that a type is lost.
func (b *builder) noteType(src *node, reason string) {
	b.add(Omission{Reason: reason, Type: true}, src)
}

func (b *builder) add(l Omission, src *node) {
	l.Flag, l.Place = b.key, src.pathFrom(b.top)
	if !slices.Contains(b.notes, l) {
		b.notes = append(b.notes, l)
	}
}

// notCarried notes members that exist but do not affect the value.
func (b *builder) notCarried(src *node, names ...string) {
	for _, name := range names {
		if v := src.get(name); !empty(v.value) {
			b.note(v, "is not converted")
		}
	}
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// onlyMembers refuses an object with members that are not allowed, since unknown members may affect
// the value.
func (n *node) onlyMembers(allowed ...string) {
	for _, m := range n.members() {
		if !slices.Contains(allowed, m.name) {
			m.refuse("is unknown, and may change answers")
		}
	}
}

// noteIgnored notes the other members of an object in one note.
func (b *builder) noteIgnored(n *node, carried ...string) {
	var ignored []string
	for _, m := range n.members() {
		if !slices.Contains(carried, m.name) && !empty(m.value) {
			ignored = append(ignored, m.name)
		}
	}
	if len(ignored) > 0 {
		b.note(n, "not converted: "+strings.Join(ignored, ", "))
	}
}

// cohort adds a cohort and returns its id, which is derived from its name.
func (b *builder) cohort(name string, tree flags.CohortNode) int64 {
	id := freeID(name, func(id int64) bool { _, isUsed := b.cohorts[id]; return isUsed })
	b.cohorts[id] = flags.Cohort{Name: name, Tree: &tree}
	b.madeCohorts = append(b.madeCohorts, id)
	return id
}

// idSpace is the number of ids. It is large enough to make collisions of names rare.
const idSpace = 100_000_000

// freeID derives an id from a name, so that it does not change when other names are added or
// removed. After a collision, the later name gets the next free id.
func freeID(name string, isUsed func(int64) bool) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	id := int64(h.Sum64()%idSpace) + 1
	for isUsed(id) {
		id = id%idSpace + 1
	}
	return id
}

// result leaves out flags whose dependencies were left out, and assigns ids to flags without one.
func (b *builder) result() *Result {
	b.dropDependants()
	keys := slices.Sorted(maps.Keys(b.flags))
	ids, usedIDs := map[string]int64{}, map[int64]bool{}
	for _, key := range keys {
		if id := b.flags[key].ID; id != 0 {
			ids[key], usedIDs[id] = id, true
		}
	}
	for _, key := range keys {
		if ids[key] == 0 {
			ids[key] = freeID(key, func(id int64) bool { return usedIDs[id] })
			usedIDs[ids[key]] = true
		}
	}
	d := flags.Definitions{Cohorts: b.cohorts, GroupTypes: b.groupTypes}
	for _, key := range keys {
		f := b.flags[key]
		f.ID = ids[key]
		for p := range requirements(f) {
			if p.Type == flags.FlagProperty {
				p.Key = strconv.FormatInt(ids[p.Key], 10)
			}
		}
		d.Flags = append(d.Flags, f)
	}
	p := flags.FileProject{Definitions: d}
	p.ID, p.Name, p.APIKey = 1, "imported", cmp.Or(b.options.ProjectKey, "phc_imported")
	slices.SortStableFunc(b.omissions, byPlace)
	return &Result{File: flags.File{Projects: []flags.FileProject{p}}, Converted: keys, Omissions: b.omissions, rebucket: b.options.Rebucket}
}

// dropDependants leaves out flags that depend on flags that were left out or do not exist, and
// cohorts that are not used.
func (b *builder) dropDependants() {
	dependants := map[string][]string{}
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(b.flags)) {
		for on := range dependencies(b.flags[key]) {
			dependants[on] = append(dependants[on], key)
			if _, there := b.flags[on]; !there {
				missing = append(missing, on)
			}
		}
	}
	reasons := map[string]string{}
	dropTransitively(missing, dependants, func(key, on string) bool {
		if _, there := b.flags[key]; !there {
			return false
		}
		delete(b.flags, key)
		reasons[key] = "depends on the flag " + strconv.Quote(on) + ", which is left out or does not exist"
		return true
	})
	b.omissions = slices.DeleteFunc(b.omissions, func(l Omission) bool { return reasons[l.Flag] != "" && !l.IsFlagOmitted })
	for key, reason := range reasons {
		b.omissions = append(b.omissions, Omission{Flag: key, Reason: reason, IsFlagOmitted: true})
	}
	used := map[int64]bool{}
	for _, f := range b.flags {
		for p := range requirements(f) {
			b.use(p, used)
		}
	}
	maps.DeleteFunc(b.cohorts, func(id int64, _ flags.Cohort) bool { return !used[id] })
}

// dropTransitively drops the dependants of the missing flags, and recursively their dependants.
// drop returns false for a flag that was dropped before.
func dropTransitively(missing []string, dependants map[string][]string, drop func(key, on string) bool) {
	for len(missing) > 0 {
		on := missing[0]
		missing = missing[1:]
		for _, key := range dependants[on] {
			if drop(key, on) {
				missing = append(missing, key)
			}
		}
	}
}

// requirements iterates over all property filters of a flag's conditions.
func requirements(f flags.Flag) iter.Seq[*flags.Property] {
	return func(yield func(*flags.Property) bool) {
		for _, c := range f.Conditions {
			for i := range c.Properties {
				if !yield(&c.Properties[i]) {
					return
				}
			}
		}
	}
}

// dependencies returns the keys of the flags on which a flag depends.
func dependencies(f flags.Flag) map[string]bool {
	out := map[string]bool{}
	for p := range requirements(f) {
		if p.Type == flags.FlagProperty {
			out[p.Key] = true
		}
	}
	return out
}

// leaves iterates over the property filters of a cohort's tree, which may be nil.
func leaves(n *flags.CohortNode) iter.Seq[*flags.Property] {
	return func(yield func(*flags.Property) bool) {
		if n == nil || n.Leaf != nil && !yield(n.Leaf) {
			return
		}
		for i := range n.Children {
			for p := range leaves(&n.Children[i]) {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// use marks the cohorts that a property filter refers to, directly or through other cohorts.
func (b *builder) use(p *flags.Property, used map[int64]bool) {
	id, ok := p.Value.(int64)
	if p.Type != flags.CohortProperty || !ok || used[id] {
		return
	}
	used[id] = true
	for p := range leaves(b.cohorts[id].Tree) {
		b.use(p, used)
	}
}
