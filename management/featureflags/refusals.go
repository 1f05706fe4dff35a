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
	"github.com/bunting-flags/bunting/management/cohorts"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Refusal is a flag or a cohort that the management API would not store, with the reason.
type Refusal struct {
	Flag   string // the key; empty for a cohort
	Cohort int64  // the id; 0 for a flag
	Path   string // position of the fault, for example filters.groups.0.properties.1.value
	Reason string
}

// Refusals checks definitions against the rules of the management API, which apply to every write,
// and returns the definitions that it would refuse. Rules that depend on the target project are not
// checked. Cohorts precede flags in the result. A flag that refers to a refused cohort is refused
// too. At most one refusal is returned for each definition.
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

// refusals is the state of one call of Refusals.
type refusals struct {
	definitions *flags.Definitions
	cohorts     map[int64]string // reason by cohort; no entry if the cohort is accepted
	// engine has the faults that the engine has found, by the key of the flag.
	engine map[string][]*flags.DefinitionError
}

// compile compiles the definitions with the engine and records the faults it reports. The engine
// does not check flags that are switched off, so compile switches on every flag that is not
// deleted.
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

// checkCohort returns the reason why a cohort is refused, or "" if it is accepted. Deleted cohorts
// are accepted.
func (r *refusals) checkCohort(id int64) string {
	c := r.definitions.Cohorts[id]
	if c.Deleted {
		return ""
	}
	_, err := cohorts.Bodies.Cohort.Change(management.Body{Members: map[string]json.RawMessage{"name": wire.MustEncode(c.Name)}})
	if err == nil && !c.Static && c.Tree != nil {
		err = storedcohorts.CheckFilters(wire.MustEncode(map[string]any{"properties": c.Tree}))
	}
	if fault, ok := errors.AsType[*management.Error](err); ok {
		return fault.Message
	}
	return r.cohorts[id]
}

// checkFlag checks a flag in the form of its record, by the rules for writes. It returns the path
// and the error of the first fault, or a nil error if there is no fault.
func (r *refusals) checkFlag(f *flags.Flag) (path string, _ *management.Error) {
	var l storedflags.Faults
	record := definitions.Object(wire.Value(wire.MustEncode(f)))
	if filters := definitions.Object(record["filters"]); filters != nil {
		// Make the defaults explicit that /flags applies to conditions, such as the type of a
		// property.
		storedcohorts.CanonicalConditions(filters)
	}
	_ = l.Add("key", storedflags.CheckKey(f.Key))
	stored, err := storedflags.Decode(0, &management.Definition{Key: f.Key, Record: wire.MustEncode(record)})
	if err != nil {
		return "", management.Fault("", "%s", err)
	}
	_ = l.Add("", stored.CheckSettings(&storedflags.Flag{}))
	// The engine's faults are added only if no setting is at fault and the filters can be read.
	if l.First() == nil && stored.GatherFilters(&l) {
		r.addEngineFaults(f, stored, &l)
	}
	if len(l.List) == 0 {
		return "", nil
	}
	return l.List[0].Path, l.List[0].Err
}

// flagIndex matches the position of a flag at the beginning of the path of an engine's fault.
var flagIndex = regexp.MustCompile(`^flags\[\d+\]`)

// addEngineFaults adds to l the faults that the engine found in a flag, and one fault for each
// property that refers to a refused cohort, directly or through another cohort.
func (r *refusals) addEngineFaults(f *flags.Flag, stored *storedflags.Flag, l *storedflags.Faults) {
	groups := definitions.List(definitions.Object(wire.Value(stored.Filters))["groups"])
	for _, fault := range r.engine[f.Key] {
		// TranslateFault expects the path that a document with only this flag would have.
		local := *fault
		local.Path = flagIndex.ReplaceAllLiteralString(local.Path, "flags[0]")
		_ = l.Add(storedflags.AttributePath(local.Path), storedflags.TranslateFault(&local, groups))
	}
	for i, c := range f.Conditions {
		for j := range c.Properties {
			id := r.findInvalidCohort(&c.Properties[j], map[int64]bool{})
			if id == 0 {
				continue
			}
			name := cmp.Or(r.definitions.Cohorts[id].Name, strconv.FormatInt(id, 10))
			l.Addf(fmt.Sprintf("filters.groups.%d.properties.%d", i, j), "The cohort %q cannot be stored: %s", name, r.cohorts[id])
		}
	}
}

// findInvalidCohort returns the id of a refused cohort to which a property refers, directly or
// through the properties of its cohort; 0 if there is no such cohort. seen has the ids that were
// visited, since cohorts may refer to each other in a cycle.
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

// findInvalidInTree is findInvalidCohort for all properties of a cohort's tree.
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

// notKeyCharacters matches the characters that the key of a flag must not contain.
var notKeyCharacters = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// ProposedKey returns a key similar to key that the management API accepts, or key itself if it is
// valid. Each sequence of invalid characters is replaced by a hyphen. The result is "flag" if no
// valid character remains, and "" if key is too long.
func ProposedKey(key string) string {
	if len(key) > storedflags.MaxKey {
		return ""
	}
	if storedflags.CheckKey(key) == nil {
		return key
	}
	return cmp.Or(string(bytes.Trim(notKeyCharacters.ReplaceAll([]byte(key), []byte("-")), "-")), "flag")
}
