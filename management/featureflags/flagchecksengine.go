package featureflags

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// compile is a flag, switched on, and what it depends on: the engine that answers /flags
// says whether it can evaluate a flag among those it depends on (decision 4).
func (s Flags) compile(tx Tx, scope *management.Scope, f *storedFlag) (*flags.Set, error) {
	var l faultList
	set, err := s.compileAll(tx, scope, f, &l)
	if err == nil {
		err = l.first()
	}
	if err != nil {
		return nil, err
	}
	return set, nil
}

// compileAll is compile that gathers all that is wrong; the set may be nil then.
func (s Flags) compileAll(tx Tx, scope *management.Scope, f *storedFlag, l *faultList) (*flags.Set, error) {
	e, err := readDependencies(tx, scope, f, l)
	if err != nil || l.isFull() {
		return nil, err
	}
	text, err := e.definitions(scope.Project, f.activeCopy())
	if err != nil {
		return nil, err
	}
	definitions, err := flags.ParseDefinitions(text)
	if err != nil {
		return nil, l.add("filters", errCannotEvaluate(": "+err.Error()))
	}
	set := flags.Compile(definitions)
	var groups []any // read once, however many faults there are
	for _, fault := range set.Faults() {
		path := attributePath(fault.Path)
		if l.contains(path) {
			continue
		}
		if groups == nil {
			groups = anyList(anyObject(wire.Value(f.Filters))["groups"])
		}
		if err := l.add(path, translateFault(fault, groups)); err != nil {
			return nil, err
		}
		if l.isFull() {
			break
		}
	}
	return set, nil
}

// attributePath turns flags[0].filters.groups[1] into filters.groups.1.
func attributePath(path string) string {
	return strings.NewReplacer("[", ".", "]", "").Replace(strings.TrimPrefix(strings.TrimPrefix(path, "flags[0]"), "."))
}

// errCannotEvaluate begins with the words of §5.1.2; where follows, or is empty.
func errCannotEvaluate(where string) error {
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
	if nearest := flags.Nearest(plainText(p["operator"]), names); nearest != "" {
		return "; did you mean " + nearest + "?"
	}
	return "; there are " + strings.Join(names, ", ")
}

func operatorText(v any) string {
	if v == nil {
		return string(flags.Exact)
	}
	return plainText(v)
}

// propertyAt is the requirement of conditions that a place names, nil for none.
func propertyAt(groups []any, match []string) map[string]any {
	if match == nil || match[2] == "" {
		return nil
	}
	i, _ := strconv.Atoi(match[1]) // the pattern has digits there
	j, _ := strconv.Atoi(match[2])
	if i >= len(groups) {
		return nil
	}
	if properties := anyList(anyObject(groups[i])["properties"]); j < len(properties) {
		return anyObject(properties[j])
	}
	return nil
}

// activeCopy is a flag as it would be when it is switched on: only then the engine
// looks at it.
func (f *storedFlag) activeCopy() *storedFlag {
	out := *f
	out.Active, out.Deleted = true, false
	return &out
}

// definitions are what /flags would read of a project, one flag first.
func (e *dependencies) definitions(p *management.ProjectRecord, first *storedFlag) ([]byte, error) {
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

// enginePathPattern is where in a flag a fault is: a group, a property of it, and a member.
var enginePathPattern = regexp.MustCompile(`^flags\[0\]\.filters\.groups\[(\d+)\](?:\.properties\[(\d+)\](?:\.(\w+))?)?$`)

// translateFault puts a fault that the engine has found into the words of §5.1.2. What
// does no harm is let through: older forms that are kept, and group types that
// no event has named yet.
func translateFault(e *flags.DefinitionError, groups []any) error {
	if !strings.HasPrefix(e.Path, "flags[0]") {
		return nil
	}
	p := propertyAt(groups, enginePathPattern.FindStringSubmatch(e.Path))
	if e.Code != flags.NoReason {
		where := ": " + strings.TrimPrefix(e.Path, "flags[0].")
		if p != nil {
			where += fmt.Sprintf(" (property %s, operator %s)", plainText(p["key"]), operatorText(p["operator"]))
		}
		return errCannotEvaluate(where + ": " + e.Problem + allowedOperators(e.Problem, p))
	}
	if p == nil {
		return nil
	}
	operator, _ := p["operator"].(string)
	return badValue(operator, p["value"])
}
