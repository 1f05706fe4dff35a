package featureflags

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// Refusal is a flag or a cohort that the API does not store, and why.
type Refusal struct {
	Flag   string // the key; empty for a cohort
	Cohort int64  // the id; 0 for a flag
	Path   string // such as filters.groups.0.properties.1.value
	Reason string
}

// Refusals returns what the API would refuse of definitions, by the rules by which it judges
// whatever is written: what another project may store and this one may not is not
// among them. Cohorts come first. A flag that needs a refused cohort is refused too.
func Refusals(d *flags.Definitions) []Refusal {
	r := &refusals{definitions: d, cohorts: map[int64]string{}, engine: map[string][]*flags.DefinitionError{}}
	r.compile()
	var out []Refusal
	for _, id := range slices.Sorted(maps.Keys(d.Cohorts)) {
		if reason := r.checkCohort(id); reason != "" {
			r.cohorts[id] = reason
			out = append(out, Refusal{Cohort: id, Path: "filters", Reason: reason})
		}
	}
	for i := range d.Flags {
		f := &d.Flags[i]
		if f.Deleted {
			continue
		}
		if path, err := r.checkFlag(f); err != nil {
			out = append(out, Refusal{Flag: f.Key, Path: path, Reason: err.Message})
		}
	}
	return out
}

type refusals struct {
	definitions *flags.Definitions
	cohorts     map[int64]string // why each of them is refused
	engine      map[string][]*flags.DefinitionError
}

// compile asks the engine, about all flags as if they were switched on.
func (r *refusals) compile() {
	d := *r.definitions
	d.Flags = slices.Clone(d.Flags)
	for i := range d.Flags {
		d.Flags[i].Active = !d.Flags[i].Deleted
	}
	for _, fault := range flags.Compile(d).Faults() {
		if list, tail, ok := strings.Cut(fault.Path, "."); ok && list == "cohorts" {
			id, rest, _ := strings.Cut(tail, ".")
			if n, err := strconv.ParseInt(id, 10, 64); err == nil && r.cohorts[n] == "" {
				r.cohorts[n] = rest + ": " + fault.Problem
			}
		} else if fault.Flag != "" {
			r.engine[fault.Flag] = append(r.engine[fault.Flag], fault)
		}
	}
}

// checkCohort is why a cohort is refused, empty for one that is not.
func (r *refusals) checkCohort(id int64) string {
	c := r.definitions.Cohorts[id]
	if c.Deleted {
		return ""
	}
	_, err := CohortFields.Change(management.Body{Members: map[string]json.RawMessage{"name": wire.MustEncode(c.Name)}})
	if err == nil && !c.Static && c.Tree != nil {
		err = checkFilters(wire.MustEncode(map[string]any{"properties": c.Tree}))
	}
	if fault, ok := errors.AsType[*management.Error](err); ok {
		return fault.Message
	}
	return r.cohorts[id]
}

// checkFlag looks at a flag as its record says it, by the rules for what is written.
func (r *refusals) checkFlag(f *flags.Flag) (path string, _ *management.Error) {
	var l faultList
	record := anyObject(wire.Value(wire.MustEncode(f)))
	if filters := anyObject(record["filters"]); filters != nil {
		canonicalConditions(filters)
	}
	_ = l.add("key", checkKeyFormat(f.Key))
	stored, err := decodeFlag(0, &Definition{Key: f.Key, Record: wire.MustEncode(record)})
	if err != nil {
		return "", management.Fault("", "%s", err)
	}
	_ = l.add("", stored.checkSettings(&storedFlag{}))
	if l.first() == nil && stored.gatherFilters(&l) {
		r.addEngineFaults(f, stored, &l)
	}
	if len(l.list) == 0 {
		return "", nil
	}
	return l.list[0].path, l.list[0].err
}

var flagIndex = regexp.MustCompile(`^flags\[\d+\]`)

// addEngineFaults notes what the engine has found in a flag, and the cohorts that it needs and
// that are refused.
func (r *refusals) addEngineFaults(f *flags.Flag, stored *storedFlag, l *faultList) {
	groups := anyList(anyObject(wire.Value(stored.Filters))["groups"])
	for _, fault := range r.engine[f.Key] {
		local := *fault
		local.Path = flagIndex.ReplaceAllLiteralString(local.Path, "flags[0]")
		_ = l.add(attributePath(local.Path), translateFault(&local, groups))
	}
	for i, c := range f.Conditions {
		for j := range c.Properties {
			id := r.findInvalidCohort(&c.Properties[j], map[int64]bool{})
			if id == 0 {
				continue
			}
			name := cmp.Or(r.definitions.Cohorts[id].Name, strconv.FormatInt(id, 10))
			l.addf(fmt.Sprintf("filters.groups.%d.properties.%d", i, j), "The cohort %q cannot be stored: %s", name, r.cohorts[id])
		}
	}
}

// findInvalidCohort is one that a requirement names, or that one named by it is made of; 0: none.
func (r *refusals) findInvalidCohort(p *flags.Property, seen map[int64]bool) int64 {
	id, ok := p.Value.(int64)
	if p.Type != flags.CohortProperty || !ok || seen[id] {
		return 0
	}
	seen[id] = true
	if r.cohorts[id] != "" {
		return id
	}
	return r.findInvalidInTree(r.definitions.Cohorts[id].Tree, seen)
}

func (r *refusals) findInvalidInTree(n *flags.CohortNode, seen map[int64]bool) int64 {
	if n == nil {
		return 0
	}
	if n.Leaf != nil {
		return r.findInvalidCohort(n.Leaf, seen)
	}
	for i := range n.Children {
		if id := r.findInvalidInTree(&n.Children[i], seen); id != 0 {
			return id
		}
	}
	return 0
}

var notKeyCharacters = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// ProposedKey is the key itself where the API takes it, or else a similar one that it takes:
// a hyphen stands for what may not be there. It is "flag" where nothing else is left, and
// empty for keys that are too long.
func ProposedKey(key string) string {
	if len(key) > maxFlagKey {
		return ""
	}
	if checkKeyFormat(key) == nil {
		return key
	}
	return cmp.Or(string(bytes.Trim(notKeyCharacters.ReplaceAll([]byte(key), []byte("-")), "-")), "flag")
}
