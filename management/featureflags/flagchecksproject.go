package featureflags

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// maxReached is how many flags, and how many cohorts, one flag may depend on,
// directly or through others.
const maxReached = 10_000

// dependencies are the flags and cohorts that one flag depends on, directly or
// through others, as /flags reads them.
type dependencies struct {
	tx      Tx
	project int64
	self    *storedFlag
	flags   map[int64]*storedFlag
	cohorts map[int64]*flagCohort
}

// flagCohort is what a flag needs to know of a cohort.
type flagCohort struct {
	ID           int64
	Name         string
	Record       json.RawMessage
	accessObject management.AccessObject
}

// findCohort is a cohort that is not deleted, nil for none.
func findCohort(tx Tx, project int64, number json.Number) (*flagCohort, error) {
	id, ok := management.Integer([]byte(number), "int")
	if !ok {
		return nil, nil
	}
	d, err := tx.Definition(CohortDefinition, project, id)
	if err != nil || d == nil || d.Deleted {
		return nil, err
	}
	var record struct {
		Name *string `json:"name"`
	}
	_ = json.Unmarshal(d.Record, &record) // one from a file may be a bare tree, which has no name
	var meta cohortMeta
	if len(d.Meta) > 0 {
		if err := json.Unmarshal(d.Meta, &meta); err != nil {
			return nil, fmt.Errorf("the cohort %d is not stored as it should be: %w", id, err)
		}
	}
	c := &flagCohort{ID: id, Name: "Cohort " + number.String(), Record: d.Record, accessObject: management.AccessObject{Kind: kindCohort, ID: number.String(), Author: meta.CreatedBy}}
	if record.Name != nil {
		c.Name = *record.Name
	}
	return c, nil
}

// dependency finds the flag that a requirement names, nil for none: by id first,
// then by key.
func (e *dependencies) dependency(p *propertyShape) (*storedFlag, error) {
	name := p.name()
	if id, err := strconv.ParseInt(name, 10, 64); err == nil && p.Chain == nil {
		if id == e.self.ID && id != 0 {
			return e.self, nil
		}
		if f := e.flags[id]; f != nil {
			return f, nil
		}
		d, err := e.tx.Definition(FlagDefinition, e.project, id)
		if err != nil {
			return nil, err
		}
		if d != nil && !d.Deleted {
			return decodeFlag(e.project, d)
		}
	}
	if name == e.self.Key {
		return e.self, nil
	}
	d, err := e.tx.DefinitionByKey(FlagDefinition, e.project, name)
	if err != nil || d == nil {
		return nil, err
	}
	if d.ID == e.self.ID { // by the key that it had
		return nil, nil
	}
	return decodeFlag(e.project, d)
}

func (s *filterShape) properties(kind string) (out []*propertyShape) {
	for i := range s.Groups {
		for j := range s.Groups[i].Properties {
			if p := &s.Groups[i].Properties[j]; p.Type == kind {
				p.group, p.index = i, j
				out = append(out, p)
			}
		}
	}
	return out
}

// checkDependency looks at a flag that a flag depends on itself.
func (e *dependencies) checkDependency(p *propertyShape) error {
	id, err := strconv.ParseInt(p.name(), 10, 64)
	if err != nil {
		return badFilters("Flag dependencies must reference flag IDs (integers), not flag keys. Invalid reference: '%s'", plainText(p.name()))
	}
	if id == e.self.ID && id != 0 {
		return badFilters("Feature flag '%s' cannot depend on itself", e.self.Key)
	}
	d, err := e.tx.Definition(FlagDefinition, e.project, id)
	if err != nil {
		return err
	}
	if d == nil || d.Deleted {
		return badFilters("Flag dependency references non-existent flag with ID %d", id)
	}
	return nil
}

// reachFlags gathers what a flag depends on; path are the keys on the way to it.
func (e *dependencies) reachFlags(f *storedFlag, path []string) error {
	path = append(path, f.Key)
	for _, p := range f.shape().properties("flag") {
		if err := e.reachFlag(p, path); err != nil {
			return err
		}
	}
	return nil
}

// reachFlag gathers a flag that is depended on, and what it depends on itself.
func (e *dependencies) reachFlag(p *propertyShape, path []string) error {
	next, err := e.dependency(p)
	switch {
	case err != nil:
		return err
	case next == nil:
		return nil // of another flag, which has been told of it
	case next == e.self:
		return badFilters("Circular dependency detected: %s", strings.Join(append(path, e.self.Key), " → "))
	case e.flags[next.ID] != nil:
		return nil
	case len(e.flags) == maxReached || len(path) == maxReached:
		return badFilters("A feature flag may depend on no more than %d others.", maxReached)
	}
	e.flags[next.ID] = next
	return e.reachFlags(next, path)
}

// reachCohort gathers a cohort and those that it consists of. What is made of
// events cannot be evaluated (§5.1.2).
func (e *dependencies) reachCohort(value json.RawMessage, direct bool) error {
	id, ok := management.Integer(value, management.JSONKind(value))
	if ok && e.cohorts[id] != nil {
		return nil
	}
	c, err := findCohort(e.tx, e.project, json.Number(strings.Trim(string(value), `"`)))
	switch {
	case err != nil:
		return err
	case c == nil && direct:
		return management.CodedFault("cohort_does_not_exist", "filters", "Cohort with id %s does not exist", plainText(wire.Value(value)))
	case c == nil:
		return nil // the engine judges
	case len(e.cohorts) == maxReached:
		return badFilters("A feature flag may depend on no more than %d cohorts.", maxReached)
	}
	e.cohorts[c.ID] = c
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

// walkJSON visits all objects of decoded JSON.
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

// readDependencies gathers what a flag depends on, and looks whether it is all there.
func readDependencies(tx Tx, scope *management.Scope, f *storedFlag, l *faultList) (*dependencies, error) {
	e := &dependencies{tx, scope.Project.ID, f, map[int64]*storedFlag{}, map[int64]*flagCohort{}}
	own := f.shape().properties("flag")
	for _, p := range own {
		if err := l.add(p.path("key"), e.checkDependency(p)); err != nil || l.isFull() {
			return e, err
		}
	}
	for _, p := range own {
		if l.contains(p.path("key")) {
			continue
		}
		if err := l.add(p.path("key"), e.reachFlag(p, []string{f.Key})); err != nil || l.isFull() {
			return e, err
		}
	}
	for _, p := range f.shape().properties("cohort") {
		if err := l.add(p.path("value"), e.reachCohort(p.Value, true)); err != nil || l.isFull() {
			return e, err
		}
	}
	for _, other := range e.flags { // those beneath have been told of theirs
		for _, p := range other.shape().properties("cohort") {
			if err := l.add("filters", e.reachCohort(p.Value, false)); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}

// dependsOnKeyOf reports whether a flag depends on another one by the other one's key.
func (f *storedFlag) dependsOnKeyOf(other *storedFlag) bool {
	return slices.ContainsFunc(f.shape().properties("flag"), func(p *propertyShape) bool { return p.name() == other.Key })
}

// loadDependents are the flags that depend on one directly, by id.
func (s Flags) loadDependents(tx Tx, scope *management.Scope, f *storedFlag) (out []*storedFlag, err error) {
	var failed error
	_, _, err = tx.Definitions(DefinitionQuery{Kind: FlagDefinition, Project: scope.Project.ID, Limit: 1, Match: func(d *Definition) bool {
		if d.ID == f.ID || !bytes.Contains(d.Record, []byte(`"flag"`)) {
			return false
		}
		other, err := decodeFlag(scope.Project.ID, d)
		if err != nil {
			failed = err
			return false
		}
		if slices.ContainsFunc(other.shape().properties("flag"), func(p *propertyShape) bool {
			return p.Chain == nil && p.name() == f.itemID() || p.name() == f.Key
		}) {
			out = append(out, other)
		}
		return false
	}})
	if err == nil {
		err = failed
	}
	slices.Reverse(out) // they come newest first
	return out, err
}
