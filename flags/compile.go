package flags

import (
	"cmp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/internal/values"
)

// Compile prepares definitions for evaluation. It never fails: a flag or cohort that cannot
// be evaluated fails by itself, the rest is compiled, and [Set.Faults] lists the problems.
func Compile(d Definitions) *Set { return compile(d, nil) }

// compile is Compile that reuses the unchanged flags and cohorts of old, unless old is nil.
func compile(d Definitions, old *Set) *Set {
	fp := d.fingerprint()
	if set := compileWith(&d, fp, old, true); set != nil {
		return set
	}
	return compileWith(&d, fp, old, false)
}

// compileWith also reuses the cohorts of old if cohorts is true. It returns nil if one of
// these cohorts is no longer referred to; the caller then repeats the compilation without
// reuse of cohorts.
func compileWith(d *Definitions, fp fingerprint, old *Set, cohorts bool) *Set {
	c := &compiler{
		d:             d,
		set:           &Set{minimal: d.MinimalFlagCalledEvents, contexts: map[string]int32{}, fingerprint: fp},
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

// compiler is the state of one compilation. The embedded preparation prepares operands, the
// embedded reuse refers to the set that the definitions had before.
type compiler struct {
	d   *Definitions
	set *Set
	preparation
	slotIndex     map[slotKey]int32
	texts         map[string]string          // interned strings, see intern
	matchers      map[uint64]preparedMatcher // prepared operands by hash, see match
	cohortIndex   map[int64]int32
	staticCohorts map[int64]bool // static cohorts of the definitions, with members in the store
	reuse

	flag    int              // index of the flag that is being compiled
	variant map[string]int32 // indexes of that flag's variants by key, of duplicates the first
	nesting int              // current depth of nested cohorts
}

type slotKey struct {
	kind       slotKind
	group, key string
}

// intern returns a copy of text that belongs to the set. Equal strings share one copy, and no
// copy refers to the document that the definitions were read from, which would otherwise stay
// in memory as long as the set.
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

// names fills the indexes of flags by key and by id. A second flag with the same key is a
// fault and is not evaluated; one with the same id is reported. Flags that are unchanged
// since the old set are reused.
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

// isAscending reports whether the flags are sorted by id and no id occurs twice. Then findID
// uses a binary search and the set has no map of ids.
func (d *Definitions) isAscending() bool {
	for i := range d.Flags[min(1, len(d.Flags)):] {
		if d.Flags[i].ID >= d.Flags[i+1].ID {
			return false
		}
	}
	return true
}

// begin compiles a flag's identity and state: key, id, version, and whether it is active.
// Settings and conditions follow later.
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

// claim registers the flag that is being compiled under its key and id. A flag with a
// duplicate key is not evaluated. A flag with such a fault is never reused by the next
// compilation.
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

// prefixes returns the keys of all flags, each followed by a dot, in one string. The flags'
// hash prefixes are substrings of it, which saves an allocation for each flag.
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

// claimKey registers the flag that is being compiled under its key. It returns false if the
// key is empty or another flag that is not deleted has it.
func (c *compiler) claimKey(f *Flag) bool {
	if f.Key == "" {
		if f.fault == nil { // otherwise parsing has reported it
			c.report(FlagDataParsingError, ".key", "must not be empty")
		}
		return false
	}
	other, found := c.set.byKey[f.Key]
	if found && f.Deleted {
		return false
	}
	if found && !c.d.Flags[other].Deleted {
		c.report(FlagDataParsingError, ".key", "the key "+values.Quote(f.Key)+" is already used by flags["+strconv.Itoa(int(other))+"], which is evaluated")
		return false
	}
	c.set.byKey[c.set.flags[c.flag].key()] = int32(c.flag)
	return true
}

// claimID registers the flag under its id, unless a valid flag has the id already.
func (c *compiler) claimID(f *Flag) {
	if c.set.byID == nil {
		return
	}
	other, found := c.set.byID[f.ID]
	if !found || c.d.Flags[other].fault != nil || c.d.Flags[other].Deleted {
		c.set.byID[f.ID] = int32(c.flag)
	} else if f.fault == nil && !f.Deleted {
		c.report(NoReason, ".id", "the id "+strconv.FormatInt(f.ID, 10)+" is also that of flags["+strconv.Itoa(int(other))+"]; dependencies by id refer to the first")
	}
}

// flags compiles the flags that could not be reused from the old set.
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
	// All conditions and all filters share one slice each: fewer allocations, and flags that
	// are evaluated one after the other are close in memory.
	room := compiledMemory{make([]compiledCondition, 0, conditions), make([]filter, 0, filters)}
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

// compiledMemory is the memory that the conditions and filters of all flags are appended to.
// Its capacity is computed before, so that appending never moves earlier parts.
type compiledMemory struct {
	conditions []compiledCondition
	filters    []filter
}

// conditions compiles the conditions of a flag. Filters on cohorts are moved to the end of
// each condition (§3.6).
func (c *compiler) conditions(f *Flag, out *compiledFlag, room *compiledMemory) {
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

// cohortsLast orders filters so that filters on cohorts are at the end. The sort is stable.
func cohortsLast(a, b filter) int {
	last := func(f *filter) int {
		if f.kind == filterCohort {
			return 1
		}
		return 0
	}
	return cmp.Compare(last(&a), last(&b))
}

// The functions below prevent work on many flags from delaying evaluations: if goroutines
// share a core, one that does not yield may delay another for ten milliseconds.

// yieldEvery is the number of flags between two yields: about 100 µs of work.
const yieldEvery = 64

// yield yields the processor to other goroutines after every yieldEvery calls.
func yield(done int) {
	if done%yieldEvery == yieldEvery-1 {
		runtime.Gosched()
	}
}
