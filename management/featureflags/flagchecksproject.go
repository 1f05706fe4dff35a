package featureflags

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// maxReached is how many flags, and how many cohorts, one flag may depend on,
// directly or through others.
const maxReached = 10_000

// surroundings are the flags and cohorts that one flag depends on, directly or
// through others, as /flags reads them.
type surroundings struct {
	tx      Tx
	project int64
	self    *storedFlag
	flags   map[int64]*storedFlag
	cohorts map[int64]*flagCohort
}

// flagCohort is what a flag needs to know of a cohort.
type flagCohort struct {
	ID     int64
	Name   string
	Record json.RawMessage
	thing  management.Thing
}

// cohortOf is a cohort that is not deleted, nil for none.
func cohortOf(tx Tx, project int64, number json.Number) (*flagCohort, error) {
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
	c := &flagCohort{ID: id, Name: "Cohort " + number.String(), Record: d.Record, thing: management.Thing{Kind: kindCohort, ID: number.String(), Author: meta.CreatedBy}}
	if record.Name != nil {
		c.Name = *record.Name
	}
	return c, nil
}

// dependency finds the flag that a requirement names, nil for none: by id first,
// then by key.
func (e *surroundings) dependency(p *propertyShape) (*storedFlag, error) {
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
				out = append(out, p)
			}
		}
	}
	return out
}

// checkDependencies looks at the flags that a flag depends on itself.
func (e *surroundings) checkDependencies() error {
	for _, p := range e.self.shape().properties("flag") {
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
	}
	return nil
}

// reachFlags gathers what a flag depends on; path are the keys on the way to it.
func (e *surroundings) reachFlags(f *storedFlag, path []string) error {
	path = append(path, f.Key)
	for _, p := range f.shape().properties("flag") {
		next, err := e.dependency(p)
		switch {
		case err != nil:
			return err
		case next == nil:
			continue // of another flag, which has been told of it
		case next == e.self:
			return badFilters("Circular dependency detected: %s", strings.Join(append(path, e.self.Key), " → "))
		case e.flags[next.ID] != nil:
			continue
		case len(e.flags) == maxReached || len(path) == maxReached:
			return badFilters("A feature flag may depend on no more than %d others.", maxReached)
		}
		e.flags[next.ID] = next
		if err := e.reachFlags(next, path); err != nil {
			return err
		}
	}
	return nil
}

// reachCohort gathers a cohort and those that it consists of. What is made of
// events cannot be evaluated (§5.1.2).
func (e *surroundings) reachCohort(value json.RawMessage, direct bool) error {
	id, ok := management.Integer(value, management.JSONKind(value))
	if ok && e.cohorts[id] != nil {
		return nil
	}
	c, err := cohortOf(e.tx, e.project, json.Number(strings.Trim(string(value), `"`)))
	switch {
	case err != nil:
		return err
	case c == nil && direct:
		return management.Coded("cohort_does_not_exist", "filters", "Cohort with id %s does not exist", plainText(wire.Value(value)))
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
		return management.Coded("behavioral_cohort_found", "filters", "Cohort '%s' with filters on events cannot be used in feature flags.", c.Name)
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

// surround gathers what a flag depends on, and looks whether it is all there.
func surround(tx Tx, st *management.Standing, f *storedFlag) (*surroundings, error) {
	e := &surroundings{tx, st.Project.ID, f, map[int64]*storedFlag{}, map[int64]*flagCohort{}}
	if err := e.checkDependencies(); err != nil {
		return nil, err
	}
	if err := e.reachFlags(f, nil); err != nil {
		return nil, err
	}
	for _, p := range f.shape().properties("cohort") {
		if err := e.reachCohort(p.Value, true); err != nil {
			return nil, err
		}
	}
	for _, other := range e.flags { // those beneath have been told of theirs
		for _, p := range other.shape().properties("cohort") {
			if err := e.reachCohort(p.Value, false); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}

// judge lets the engine that answers /flags say whether it can evaluate a flag
// among those it depends on (decision 4).
func (s Flags) judge(tx Tx, st *management.Standing, f *storedFlag) error {
	_, err := s.compile(tx, st, f)
	return err
}

// compile is a flag, switched on, and what it depends on.
func (s Flags) compile(tx Tx, st *management.Standing, f *storedFlag) (*flags.Set, error) {
	e, err := surround(tx, st, f)
	if err != nil {
		return nil, err
	}
	text, err := e.definitions(st.Project, f.active())
	if err != nil {
		return nil, err
	}
	definitions, err := flags.ParseDefinitions(text)
	if err != nil {
		return nil, cannotEvaluate(": " + err.Error())
	}
	set := flags.Compile(definitions)
	for _, fault := range set.Faults() {
		if err := f.fault(fault); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// cannotEvaluate begins with the words of §5.1.2; where follows, or is empty.
func cannotEvaluate(where string) error {
	return management.Fault("", "Can't evaluate flag - please check release conditions%s", where)
}

// allowedOperators ends the fault of an unknown operator with the one that is most
// likely meant, or with those that there are for such a property.
func allowedOperators(problem string, p map[string]any) string {
	if p == nil || !strings.HasPrefix(problem, "unknown operator") {
		return ""
	}
	var names []string
	for _, o := range flags.Operators() {
		if o.Only == "" || o.Only == flags.PropertyType(plainText(p["type"])) {
			names = append(names, string(o.Name))
		}
	}
	if meant := flags.Nearest(plainText(p["operator"]), names); meant != "" {
		return "; did you mean " + meant + "?"
	}
	return "; there are " + strings.Join(names, ", ")
}

func operatorText(v any) string {
	if v == nil {
		return string(flags.Exact)
	}
	return plainText(v)
}

// property is the requirement that a place names, nil for none.
func (f *storedFlag) property(at []string) map[string]any {
	if at == nil || at[2] == "" {
		return nil
	}
	i, _ := strconv.Atoi(at[1]) // the pattern has digits there
	j, _ := strconv.Atoi(at[2])
	groups := anyList(anyObject(wire.Value(f.Filters))["groups"])
	if i >= len(groups) {
		return nil
	}
	if properties := anyList(anyObject(groups[i])["properties"]); j < len(properties) {
		return anyObject(properties[j])
	}
	return nil
}

// active is a flag as it would be when it is switched on: only then the engine
// looks at it.
func (f *storedFlag) active() *storedFlag {
	on := *f
	on.Active, on.Deleted = true, false
	return &on
}

// definitions are what /flags would read of a project, one flag first.
func (e *surroundings) definitions(p *management.ProjectRecord, first *storedFlag) ([]byte, error) {
	types, err := e.tx.GroupTypes(e.project)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for name, setting := range p.Settings {
		out[name] = setting
	}
	records := []json.RawMessage{first.record()}
	for _, f := range e.flags {
		records = append(records, f.record())
	}
	cohorts := map[string]json.RawMessage{}
	for id, c := range e.cohorts {
		cohorts[strconv.FormatInt(id, 10)] = c.Record
	}
	names := map[string]string{}
	for index, name := range types {
		names[strconv.Itoa(index)] = name
	}
	out["flags"], out["cohorts"], out["group_type_mapping"] = records, cohorts, names
	return management.Encode(out), nil
}

// place is where in a flag a fault is: a group, a property of it, and a member.
var place = regexp.MustCompile(`^flags\[0\]\.filters\.groups\[(\d+)\](?:\.properties\[(\d+)\](?:\.(\w+))?)?$`)

// fault puts a fault that the engine has found into the words of §5.1.2. What
// does no harm is let through: older forms that are kept, and group types that
// no event has named yet.
func (f *storedFlag) fault(e *flags.DefinitionError) error {
	if !strings.HasPrefix(e.Path, "flags[0]") {
		return nil
	}
	p := f.property(place.FindStringSubmatch(e.Path))
	if e.Code != flags.NoReason {
		where := ": " + strings.TrimPrefix(e.Path, "flags[0].")
		if p != nil {
			where += fmt.Sprintf(" (property %s, operator %s)", plainText(p["key"]), operatorText(p["operator"]))
		}
		return cannotEvaluate(where + ": " + e.Problem + allowedOperators(e.Problem, p))
	}
	if p == nil {
		return nil
	}
	operator, _ := p["operator"].(string)
	return badValue(operator, p["value"])
}

// names reports whether a flag depends on another one by the other one's key.
func (f *storedFlag) names(other *storedFlag) bool {
	return slices.ContainsFunc(f.shape().properties("flag"), func(p *propertyShape) bool { return p.name() == other.Key })
}

// dependants are the flags that depend on one directly, by id.
func (s Flags) dependants(tx Tx, st *management.Standing, f *storedFlag) (out []*storedFlag, err error) {
	var failed error
	_, _, err = tx.Definitions(DefinitionQuery{Kind: FlagDefinition, Project: st.Project.ID, Limit: 1, Match: func(d *Definition) bool {
		if d.ID == f.ID || !bytes.Contains(d.Record, []byte(`"flag"`)) {
			return false
		}
		other, err := decodeFlag(st.Project.ID, d)
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
