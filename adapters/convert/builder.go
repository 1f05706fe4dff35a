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

// builder collects what is converted and what is left.
type builder struct {
	options    Options
	flags      map[string]flags.Flag
	cohorts    map[int64]flags.Cohort
	groupTypes map[int]string
	left       []Left
	seen       map[string]bool

	// Of the flag that is being read.
	key   string
	top   *node
	notes []Left
	made  []int64 // cohorts
}

func newBuilder(o Options) *builder {
	return &builder{options: o, flags: map[string]flags.Flag{}, cohorts: map[int64]flags.Cohort{}, seen: map[string]bool{}}
}

// flag reads one flag. Active flags, without id, are what read is given; what it
// refuses is left out, and the places of refusals and notes are below at.
func (b *builder) flag(key string, at *node, read func(f *flags.Flag)) {
	b.key, b.top, b.notes, b.made = key, at, nil, nil
	f := flags.Flag{Key: key, Active: true}
	r := refused(func() {
		switch {
		case b.seen[key]:
			at.refuse("a flag with this key is there twice: the first counts")
		case key == "":
			at.refuse("a flag needs a key")
		case len(key) > maxKey:
			at.refuse("a key has at most %d bytes here", maxKey)
		}
		b.seen[key] = true
		read(&f)
	})
	if r == nil {
		b.flags[key] = f
		b.left = append(b.left, b.notes...)
		return
	}
	b.forget()
	b.left = append(b.left, Left{Flag: key, Place: r.at.pathFrom(b.top), Reason: r.reason, Whole: true})
}

// forget removes the cohorts of the flag that is being read.
func (b *builder) forget() {
	for _, id := range b.made {
		delete(b.cohorts, id)
	}
	b.made = nil
}

// maxKey is the longest key of a flag, in bytes (§1.5).
const maxKey = 400

// note says what is not carried of the flag that is being read, or different. A
// note is listed once.
func (b *builder) note(at *node, reason string) { b.add(Left{Reason: reason}, at) }

// noteType notes that a type is lost.
func (b *builder) noteType(at *node, reason string) { b.add(Left{Reason: reason, Type: true}, at) }

func (b *builder) add(l Left, at *node) {
	l.Flag, l.Place = b.key, at.pathFrom(b.top)
	if !slices.Contains(b.notes, l) {
		b.notes = append(b.notes, l)
	}
}

// notCarried notes members that are there and change no answer.
func (b *builder) notCarried(at *node, names ...string) {
	for _, name := range names {
		if v := at.at(name); !empty(v.value) {
			b.note(v, "is not carried")
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

// onlyMembers refuses an object that has members besides those: what is not
// known may change answers.
func (n *node) onlyMembers(known ...string) {
	for _, m := range n.members() {
		if !slices.Contains(known, m.name) {
			m.refuse("is not known here, and may change answers")
		}
	}
}

// carryOnly notes in one line what else an object has.
func (b *builder) carryOnly(n *node, known ...string) {
	var others []string
	for _, m := range n.members() {
		if !slices.Contains(known, m.name) && !empty(m.value) {
			others = append(others, m.name)
		}
	}
	if len(others) > 0 {
		b.note(n, "not carried: "+strings.Join(others, ", "))
	}
}

// cohort adds a cohort and returns its id, which its name decides.
func (b *builder) cohort(name string, tree flags.CohortNode) int64 {
	id := freeID(name, func(id int64) bool { _, taken := b.cohorts[id]; return taken })
	b.cohorts[id] = flags.Cohort{Name: name, Tree: &tree}
	b.made = append(b.made, id)
	return id
}

// idSpace bounds ids: large enough that names rarely meet.
const idSpace = 100_000_000

// freeID makes an id of a name, so that it stays when others come and go. Where
// two names meet the later takes the next one.
func freeID(name string, taken func(int64) bool) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	id := int64(h.Sum64()%idSpace) + 1
	for taken(id) {
		id = id%idSpace + 1
	}
	return id
}

// result leaves out flags whose dependencies are, and gives ids to those without.
func (b *builder) result() *Result {
	b.dropDependants()
	keys := slices.Sorted(maps.Keys(b.flags))
	ids, taken := map[string]int64{}, map[int64]bool{}
	for _, key := range keys {
		if id := b.flags[key].ID; id != 0 {
			ids[key], taken[id] = id, true
		}
	}
	for _, key := range keys {
		if ids[key] == 0 {
			ids[key] = freeID(key, func(id int64) bool { return taken[id] })
			taken[ids[key]] = true
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
	slices.SortStableFunc(b.left, byPlace)
	return &Result{File: flags.File{Projects: []flags.FileProject{p}}, Converted: keys, Left: b.left, rebucket: b.options.Rebucket}
}

// dropDependants leaves out what depends on what is left out or not there, and
// cohorts that nothing uses.
func (b *builder) dropDependants() {
	dependants := map[string][]string{}
	var gone []string
	for _, key := range slices.Sorted(maps.Keys(b.flags)) {
		for on := range dependencies(b.flags[key]) {
			dependants[on] = append(dependants[on], key)
			if _, there := b.flags[on]; !there {
				gone = append(gone, on)
			}
		}
	}
	reasons := map[string]string{}
	spread(gone, dependants, func(key, on string) bool {
		if _, there := b.flags[key]; !there {
			return false
		}
		delete(b.flags, key)
		reasons[key] = "depends on the flag " + strconv.Quote(on) + ", which is left out or not there"
		return true
	})
	b.left = slices.DeleteFunc(b.left, func(l Left) bool { return reasons[l.Flag] != "" && !l.Whole })
	for key, reason := range reasons {
		b.left = append(b.left, Left{Flag: key, Reason: reason, Whole: true})
	}
	used := map[int64]bool{}
	for _, f := range b.flags {
		for p := range requirements(f) {
			b.use(p, used)
		}
	}
	maps.DeleteFunc(b.cohorts, func(id int64, _ flags.Cohort) bool { return !used[id] })
}

// spread drops what depends on what is gone, and what depends on that. drop is false
// for what has gone before.
func spread(gone []string, dependants map[string][]string, drop func(key, on string) bool) {
	for len(gone) > 0 {
		on := gone[0]
		gone = gone[1:]
		for _, key := range dependants[on] {
			if drop(key, on) {
				gone = append(gone, key)
			}
		}
	}
}

// requirements are all that the conditions of a flag require.
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

// dependencies are the keys of the flags that a flag asks for.
func dependencies(f flags.Flag) map[string]bool {
	out := map[string]bool{}
	for p := range requirements(f) {
		if p.Type == flags.FlagProperty {
			out[p.Key] = true
		}
	}
	return out
}

// leaves are the requirements of a cohort's tree, which may be nil.
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

// use marks the cohorts that a requirement needs.
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
