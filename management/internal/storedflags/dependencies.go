package storedflags

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
)

// maxReached is the maximum number of flags, and of cohorts, that one flag may depend on,
// directly or indirectly.
const maxReached = 10_000

// dependencies collects the flags and cohorts that one flag depends on, directly or indirectly,
// as /flags reads them.
type dependencies struct {
	tx      definitions.Tx
	project int64
	// self is the flag whose dependencies are collected. It is not in flags.
	self *Flag
	// flags and cohorts contain the dependencies by id.
	flags   map[int64]*Flag
	cohorts map[int64]*flagCohort
}

// flagCohort contains the members of a cohort that matter to a flag.
type flagCohort struct {
	ID           int64
	Name         string
	Record       json.RawMessage
	AccessObject management.AccessObject
}

// FindCohort returns a cohort, or nil if it does not exist or is deleted.
func FindCohort(tx definitions.Tx, project int64, number json.Number) (*flagCohort, error) {
	id, ok := plain.Integer([]byte(number), "int")
	if !ok {
		return nil, nil
	}
	d, err := tx.Definition(management.CohortDefinition, project, id)
	if err != nil || d == nil || d.Deleted {
		return nil, err
	}
	var record struct {
		Name *string `json:"name"`
	}
	_ = json.Unmarshal(d.Record, &record) // records from files may be a tree without a name
	var meta storedcohorts.Meta
	if len(d.Meta) > 0 {
		if err := json.Unmarshal(d.Meta, &meta); err != nil {
			return nil, fmt.Errorf("the stored cohort %d is invalid: %w", id, err)
		}
	}
	// Cohorts without a name are shown by their id.
	c := &flagCohort{ID: id, Name: "Cohort " + number.String(), Record: d.Record, AccessObject: management.AccessObject{Kind: storedcohorts.Kind, ID: number.String(), Author: meta.CreatedBy}}
	if record.Name != nil {
		c.Name = *record.Name
	}
	return c, nil
}

// dependency returns the flag that a property refers to, or nil if there is none. The reference
// is resolved as an id first, and then as a key. Flags are decoded anew unless they have been
// collected before.
func (e *dependencies) dependency(p *propertyShape) (*Flag, error) {
	name := p.name()
	// A property with a dependency_chain, as in the definitions that SDKs download, has a flag
	// key.
	if id, err := strconv.ParseInt(name, 10, 64); err == nil && p.Chain == nil {
		if id == e.self.ID && id != 0 {
			return e.self, nil
		}
		if f := e.flags[id]; f != nil {
			return f, nil
		}
		d, err := e.tx.Definition(management.FlagDefinition, e.project, id)
		if err != nil {
			return nil, err
		}
		if d != nil && !d.Deleted {
			return Decode(e.project, d)
		}
	}
	// It is not the id of a flag, but may be the key of one.
	if name == e.self.Key {
		return e.self, nil
	}
	d, err := e.tx.DefinitionByKey(management.FlagDefinition, e.project, name)
	if err != nil || d == nil {
		return nil, err
	}
	if d.ID == e.self.ID { // found by its key before the change
		return nil, nil
	}
	return Decode(e.project, d)
}

// properties returns the properties of one type in all conditions, and sets their positions.
func (s *Shape) properties(kind string) (out []*propertyShape) {
	for i := range s.Groups {
		for j := range s.Groups[i].Properties {
			if p := &s.Groups[i].Properties[j]; p.Type == kind {
				// Faults of the property need its position.
				p.group, p.index = i, j
				out = append(out, p)
			}
		}
	}
	return out
}

// checkDependency checks a direct reference to another flag: it must be an id, refer to a flag
// that exists, and not to the flag itself.
func (e *dependencies) checkDependency(p *propertyShape) error {
	id, err := strconv.ParseInt(p.name(), 10, 64)
	if err != nil {
		return BadFilters("Flag dependencies must reference flag IDs (integers), not flag keys. Invalid reference: '%s'", PlainText(p.name()))
	}
	if id == e.self.ID && id != 0 {
		return BadFilters("Feature flag '%s' cannot depend on itself", e.self.Key)
	}
	d, err := e.tx.Definition(management.FlagDefinition, e.project, id)
	if err != nil {
		return err
	}
	if d == nil || d.Deleted {
		return BadFilters("Flag dependency references non-existent flag with ID %d", id)
	}
	return nil
}

// reachFlags collects the flags that f depends on. path contains the keys of the flags on the way
// to f, for the message about a cycle.
func (e *dependencies) reachFlags(f *Flag, path []string) error {
	// The path ends the recursion, too: it is limited to maxReached flags.
	path = append(path, f.Key)
	for _, p := range f.Shape().properties("flag") {
		if err := e.reachFlag(p, path); err != nil {
			return err
		}
	}
	return nil
}

// reachFlag collects the flag that a property refers to and its dependencies. It returns an error
// if they form a cycle or exceed maxReached.
func (e *dependencies) reachFlag(p *propertyShape, path []string) error {
	// A reference to a flag that does not exist leaves next nil.
	next, err := e.dependency(p)
	switch {
	case err != nil:
		return err
	case next == nil:
		return nil // a dangling reference in another flag is not a fault of this one
	case next == e.self:
		return BadFilters("Circular dependency detected: %s", strings.Join(append(path, e.self.Key), " → "))
	// Its dependencies have been collected before.
	case e.flags[next.ID] != nil:
		return nil
	case len(e.flags) == maxReached || len(path) == maxReached:
		return BadFilters("A feature flag may depend on no more than %d others.", maxReached)
	}
	e.flags[next.ID] = next
	return e.reachFlags(next, path)
}

// reachCohort collects a cohort and the cohorts that it references. It returns an error if one of
// them has filters on events, which flags cannot evaluate (§5.1.2). direct is true for references
// in the flag itself: only these must exist.
func (e *dependencies) reachCohort(value json.RawMessage, direct bool) error {
	// Collected cohorts are not visited again, so cycles of cohorts end here.
	id, ok := plain.Integer(value, management.JSONKind(value))
	if ok && e.cohorts[id] != nil {
		return nil
	}
	c, err := FindCohort(e.tx, e.project, json.Number(strings.Trim(string(value), `"`)))
	switch {
	case err != nil:
		return err
	case c == nil && direct:
		return management.CodedFault("cohort_does_not_exist", "filters", "Cohort with id %s does not exist", PlainText(wire.Value(value)))
	case c == nil:
		return nil // the engine decides whether the cohort can still be evaluated
	case len(e.cohorts) == maxReached:
		return BadFilters("A feature flag may depend on no more than %d cohorts.", maxReached)
	}
	e.cohorts[c.ID] = c
	// Search the record for filters, whatever format it has.
	var inner []json.RawMessage
	events := false
	walkJSON(wire.Value(c.Record), func(m map[string]any) {
		switch m["type"] {
		case "behavioral":
			events = true
		case "cohort":
			inner = append(inner, wire.MustEncode(m["value"]))
		}
	})
	if events {
		return management.CodedFault("behavioral_cohort_found", "filters", "Cohort '%s' with filters on events cannot be used in feature flags.", c.Name)
	}
	for _, value := range inner {
		if err := e.reachCohort(value, false); err != nil {
			return err
		}
	}
	return nil
}

// walkJSON calls visit for all objects in a decoded JSON value, at any depth.
func walkJSON(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(v)
		for _, inner := range v {
			walkJSON(inner, visit)
		}
	case []any:
		for _, inner := range v {
			walkJSON(inner, visit)
		}
	}
}

// readDependencies collects the dependencies of a flag, and adds invalid references to l.
func readDependencies(tx definitions.Tx, scope *management.Scope, f *Flag, l *Faults) (*dependencies, error) {
	// The checks of the flag's own properties stop when l is full: with a limit of 1, at the
	// first fault.
	e := &dependencies{tx, scope.Project.ID, f, map[int64]*Flag{}, map[int64]*flagCohort{}}
	// First check that the direct references are valid, then follow them.
	own := f.Shape().properties("flag")
	for _, p := range own {
		if err := l.Add(p.path("key"), e.checkDependency(p)); err != nil || l.isFull() {
			return e, err
		}
	}
	for _, p := range own {
		// The reference itself has been reported.
		if l.contains(p.path("key")) {
			continue
		}
		if err := l.Add(p.path("key"), e.reachFlag(p, []string{f.Key})); err != nil || l.isFull() {
			return e, err
		}
	}
	for _, p := range f.Shape().properties("cohort") {
		if err := l.Add(p.path("value"), e.reachCohort(p.Value, true)); err != nil || l.isFull() {
			return e, err
		}
	}
	for _, other := range e.flags { // missing cohorts were reported when those flags were saved
		for _, p := range other.Shape().properties("cohort") {
			if err := l.Add("filters", e.reachCohort(p.Value, false)); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}
