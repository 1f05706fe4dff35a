package flags

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Compile prepares definitions for evaluation. It never refuses the whole for
// the sake of a part: what cannot work fails alone and is listed by
// [Set.Faults].
func Compile(d Definitions) *Set { return compile(d, nil) }

// compile uses what old has of the same flags, if it is not nil.
func compile(d Definitions, old *Set) *Set {
	fp := d.fingerprint()
	if set := compileWith(&d, fp, old, true); set != nil {
		return set
	}
	return compileWith(&d, fp, old, false)
}

// compileWith uses the cohorts of old as well, with cohorts. It is nil when one of them
// turns out to be no longer asked for.
func compileWith(d *Definitions, fp fingerprint, old *Set, cohorts bool) *Set {
	c := &compiler{
		d:             d,
		set:           &Set{revision: d.Revision, minimal: d.MinimalFlagCalledEvents, contexts: map[string]int32{}, fingerprint: fp},
		preparation:   *newPreparation(nil, d.PropertyMatchingVersion),
		slotIndex:     map[slotKey]int32{},
		cohortIndex:   map[int64]int32{},
		texts:         map[string]string{},
		matchers:      map[uint64]preparedMatcher{},
		variant:       map[string]int32{},
		staticCohorts: d.staticCohorts(),
		reuse:         reuse{reused: make([]bool, len(d.Flags))},
	}
	zone, fault := d.zone()
	if fault != nil {
		c.set.faults = append(c.set.faults, fault)
	}
	c.zone, c.set.zone, c.set.zoneTag = zone, zone, zone.String()
	c.set.faults = append(c.set.faults, d.faults...)
	c.reuseFrom(old, cohorts)
	c.names()
	c.flags()
	if c.cohortsReused && slices.ContainsFunc(c.set.cohorts, func(co compiledCohort) bool { return co.uses == 0 }) {
		return nil
	}
	c.order()
	c.finishNeeds()
	return c.set
}

type compiler struct {
	d   *Definitions
	set *Set
	preparation
	slotIndex     map[slotKey]int32
	texts         map[string]string          // see keep
	matchers      map[uint64]preparedMatcher // see match
	cohortIndex   map[int64]int32
	staticCohorts map[int64]bool // of the definitions: they exist, the store has the members
	reuse

	flag    int              // being compiled
	variant map[string]int32 // its variants by key, the first of each
	nesting int              // how many cohorts deep the compiler is
}

type slotKey struct {
	kind       slotKind
	group, key string
}

// intern returns a text for the set: equal ones are one, and none is a piece of the
// document that the definitions were read from, which would stay in memory with it.
func (c *compiler) intern(text string) string {
	interned, ok := c.texts[text]
	if !ok {
		interned = strings.Clone(text)
		c.texts[interned] = interned
	}
	return interned
}

// report adds a fault about the flag that is being compiled.
func (c *compiler) report(code ReasonCode, path, problem string) {
	f := &c.d.Flags[c.flag]
	c.set.faults = append(c.set.faults, &DefinitionError{
		FlagID: f.ID, Flag: strings.Clone(f.Key), Code: code, Problem: problem,
		Path: "flags[" + strconv.Itoa(c.flag) + "]" + path,
	})
}

// names finds flags by key and by id; a second flag with the same key or id is
// a fault and is not evaluated.
func (c *compiler) names() {
	n := len(c.d.Flags)
	if c.same = c.hasSameNames(); c.same {
		c.set.flags, c.set.byKey, c.set.byID = slices.Clone(c.old.flags), c.old.byKey, c.old.byID
	} else {
		c.set.flags = make([]compiledFlag, n)
		c.set.byKey = make(map[string]int32, n)
		if !c.d.isAscending() {
			c.set.byID = make(map[int64]int32, n)
		}
	}
	prefixes := ""
	if c.old == nil {
		prefixes = c.prefixes()
	}
	for i := range c.d.Flags {
		c.flag = i
		f, out := &c.d.Flags[i], &c.set.flags[i]
		if c.reuseFlag(f, out) {
			c.reused[i] = true
		} else if c.old == nil {
			c.begin(f, out, prefixes[:len(f.Key)+1])
			prefixes = prefixes[len(f.Key)+1:]
		} else {
			c.begin(f, out, f.Key+".")
		}
		if !c.same {
			c.claim(f, out)
		}
	}
	for i, used := range c.oldUsed {
		if !used {
			c.countUses(&c.old.flags[i], -1)
		}
	}
	if c.old != nil && !c.same {
		c.relink()
	}
}

// isAscending reports whether the flags stand in the order of their ids, each of which is
// there once.
func (d *Definitions) isAscending() bool {
	for i := range d.Flags[min(1, len(d.Flags)):] {
		if d.Flags[i].ID >= d.Flags[i+1].ID {
			return false
		}
	}
	return true
}

// begin compiles what a flag is.
func (c *compiler) begin(f *Flag, out *compiledFlag, prefix string) {
	*out = compiledFlag{prefix: prefix, id: f.ID, version: f.Version, enrollment: -1}
	if f.Active && !f.Deleted {
		out.bits |= bitActive
	} else if !f.Deleted {
		out.bits |= bitDisabled
	}
	if f.fault != nil {
		out.failure = FlagDataParsingError
	}
	if f.unknown {
		out.bits |= bitUnknown
	}
}

// claim makes the flag that is being compiled the one of its key and id.
func (c *compiler) claim(f *Flag, out *compiledFlag) {
	faults := len(c.set.faults)
	if c.claimKey(f) {
		c.claimID(f)
	} else {
		if c.reused[c.flag] {
			c.discardReused(f, out)
		}
		out.bits &^= bitActive
		c.set.fingerprint.sums[c.flag] = 0
	}
	if len(c.set.faults) > faults {
		c.set.fingerprint.sums[c.flag] = 0
	}
}

// prefixes are the keys of all flags, each with a dot, in one piece of memory.
func (c *compiler) prefixes() string {
	var b strings.Builder
	size := 0
	for i := range c.d.Flags {
		size += len(c.d.Flags[i].Key) + 1
	}
	b.Grow(size)
	for i := range c.d.Flags {
		b.WriteString(c.d.Flags[i].Key)
		b.WriteByte('.')
	}
	return b.String()
}

// claimKey makes the flag that is being compiled the one of its key; false when
// another one is, or nothing could be answered with the key.
func (c *compiler) claimKey(f *Flag) bool {
	if f.Key == "" {
		if f.fault == nil { // else reported on reading
			c.report(FlagDataParsingError, ".key", "must not be empty")
		}
		return false
	}
	other, found := c.set.byKey[f.Key]
	if found && f.Deleted {
		return false
	}
	if found && !c.d.Flags[other].Deleted {
		c.report(FlagDataParsingError, ".key", "the key "+quote(f.Key)+" is taken by flags["+strconv.Itoa(int(other))+"], which is used")
		return false
	}
	c.set.byKey[c.set.flags[c.flag].key()] = int32(c.flag)
	return true
}

// claimID makes it the one of its id, unless a good one is that already.
func (c *compiler) claimID(f *Flag) {
	if c.set.byID == nil {
		return
	}
	other, found := c.set.byID[f.ID]
	if !found || c.d.Flags[other].fault != nil || c.d.Flags[other].Deleted {
		c.set.byID[f.ID] = int32(c.flag)
	} else if f.fault == nil && !f.Deleted {
		c.report(NoReason, ".id", "the id "+strconv.FormatInt(f.ID, 10)+" is that of flags["+strconv.Itoa(int(other))+"] too; dependencies by id mean the first")
	}
}

func (c *compiler) flags() {
	conditions, filters := 0, 0
	for i := range c.d.Flags {
		if c.reused[i] {
			continue
		}
		conditions += len(c.d.Flags[i].Conditions)
		for j := range c.d.Flags[i].Conditions {
			filters += len(c.d.Flags[i].Conditions[j].Properties)
		}
	}
	// One piece of memory for all: less to allocate, and neighbours in memory.
	room := compiledRoom{make([]compiledCondition, 0, conditions), make([]filter, 0, filters)}
	for i := range c.d.Flags {
		f, out := &c.d.Flags[i], &c.set.flags[i]
		c.flag = i
		yield(i)
		if c.reused[i] {
			continue
		}
		faults := len(c.set.faults)
		c.set.faults = append(c.set.faults, f.warnings...)
		if out.has(bitDisabled) {
			c.audience(f, out)
		}
		if out.has(bitActive) && out.failure == NoReason {
			c.settings(f, out)
			c.conditions(f, out, &room)
		}
		c.finishFlag(out, faults)
	}
}

// compiledRoom is memory for the parts of flags.
type compiledRoom struct {
	conditions []compiledCondition
	filters    []filter
}

func (c *compiler) conditions(f *Flag, out *compiledFlag, room *compiledRoom) {
	from := len(room.conditions)
	for j := range f.Conditions {
		fromFilter := len(room.filters)
		cond := c.condition(f, j)
		for k := range f.Conditions[j].Properties {
			room.filters = append(room.filters, filter{})
			if last := len(room.filters) - 1; !c.filter(f, j, k, &cond, &room.filters[last]) {
				room.filters = room.filters[:last]
			}
		}
		cond.filters = room.filters[fromFilter:len(room.filters):len(room.filters)]
		slices.SortStableFunc(cond.filters, cohortsLast)
		room.conditions = append(room.conditions, cond)
	}
	out.conditions = room.conditions[from:len(room.conditions):len(room.conditions)]
}

func cohortsLast(a, b filter) int {
	last := func(f *filter) int {
		if f.kind == filterCohort {
			return 1
		}
		return 0
	}
	return cmp.Compare(last(&a), last(&b))
}
