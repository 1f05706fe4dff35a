package storedflags

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// PreviewKey is the key of the flag in a preview of an unsaved condition. No stored flag has it,
// since keys must not contain spaces.
const PreviewKey = " "

// Compile compiles a flag, as if it were switched on, with the definitions that it depends on. It
// uses the same engine that serves /flags, so a flag that compiles can be evaluated (decision 4).
func (s Store) Compile(tx definitions.Tx, scope *management.Scope, f *Flag) (*flags.Set, error) {
	var l Faults
	set, err := s.compileAll(tx, scope, f, &l)
	if err == nil {
		err = l.First()
	}
	if err != nil {
		return nil, err
	}
	return set, nil
}

// compileAll is like compile but adds all faults to l. The set is nil if the definitions cannot
// be read.
func (s Store) compileAll(tx definitions.Tx, scope *management.Scope, f *Flag, l *Faults) (*flags.Set, error) {
	e, err := readDependencies(tx, scope, f, l)
	if err != nil || l.isFull() {
		return nil, err
	}
	first := f.activeCopy()
	if l.contains("key") { // another flag with this key would be a fault of its own
		first.Key = PreviewKey
	}
	text, err := e.definitions(scope.Project, first)
	if err != nil {
		return nil, err
	}
	parsed, err := flags.ParseDefinitions(text)
	if err != nil {
		return nil, l.Add("filters", errCannotEvaluate(": "+err.Error()))
	}
	set := flags.Compile(parsed)
	var groups []any // decoded at most once
	for _, fault := range set.Faults() {
		// Skip consequences of a fault that an earlier check has reported at the same place.
		path := AttributePath(fault.Path)
		if l.contains(path) {
			continue
		}
		if groups == nil {
			groups = definitions.List(definitions.Object(wire.Value(f.Filters))["groups"])
		}
		if err := l.Add(path, TranslateFault(fault, groups)); err != nil {
			return nil, err
		}
		if l.isFull() {
			break
		}
	}
	return set, nil
}

// AttributePath converts the engine's path of a fault into that of the API, for example
// flags[0].filters.groups[1] into filters.groups.1.
func AttributePath(path string) string {
	return strings.NewReplacer("[", ".", "]", "").Replace(strings.TrimPrefix(strings.TrimPrefix(path, "flags[0]"), "."))
}

// errCannotEvaluate returns the error of §5.1.2 for a flag that cannot be evaluated. where is
// appended to the message and may be empty.
func errCannotEvaluate(where string) error {
	return management.Fault("", "Can't evaluate flag - please check release conditions%s", where)
}

// allowedOperators returns an addition to the message about an unknown operator: the most similar
// operator or, failing that, all operators that the type of property supports. It returns "" for
// any other problem.
func allowedOperators(problem string, p map[string]any) string {
	if p == nil || !strings.HasPrefix(problem, "unknown operator") {
		return ""
	}
	var names []string
	for _, o := range flags.Operators() {
		if o.Only == "" || o.Only == flags.PropertyType(PlainText(p["type"])) {
			names = append(names, string(o.Name))
		}
	}
	if nearest := flags.Nearest(PlainText(p["operator"]), names); nearest != "" {
		return "; did you mean " + nearest + "?"
	}
	return "; there are " + strings.Join(names, ", ")
}

// operatorText returns an operator for an error message. The default operator is exact.
func operatorText(v any) string {
	if v == nil {
		return string(flags.Exact)
	}
	return PlainText(v)
}

// propertyAt returns the property that a path refers to, or nil if the path is not that of a
// property. match is the result of enginePathPattern.
func propertyAt(groups []any, match []string) map[string]any {
	if match == nil || match[2] == "" {
		return nil
	}
	i, _ := strconv.Atoi(match[1]) // the pattern matches only digits here
	j, _ := strconv.Atoi(match[2])
	if i >= len(groups) {
		return nil
	}
	if properties := definitions.List(definitions.Object(groups[i])["properties"]); j < len(properties) {
		return definitions.Object(properties[j])
	}
	return nil
}

// activeCopy returns a copy of the flag that is switched on, because the engine does not check
// flags that are off.
func (f *Flag) activeCopy() *Flag {
	out := *f
	out.Active, out.Deleted = true, false
	return &out
}

// definitions returns a document as /flags reads it, with the flag first and all its
// dependencies.
func (e *dependencies) definitions(p *management.ProjectRecord, first *Flag) ([]byte, error) {
	types, err := e.tx.GroupTypes(e.project)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	// The project's settings, such as its hash function, are members of the document.
	for name, setting := range p.Settings {
		out[name] = setting
	}
	// The flag must be the first: TranslateFault finds its faults by the index 0.
	records := []json.RawMessage{first.Record()}
	for _, f := range e.flags {
		records = append(records, f.Record())
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
	return storage.Encode(out), nil
}

// enginePathPattern matches the engine's path of a fault in the first flag. Its groups are the
// indexes of the condition and of the property, and the member.
var enginePathPattern = regexp.MustCompile(`^flags\[0\]\.filters\.groups\[(\d+)\](?:\.properties\[(\d+)\](?:\.(\w+))?)?$`)

// TranslateFault converts a fault of the engine into the error of §5.1.2. It returns nil for
// faults that are tolerated: those of other flags, older formats that are still stored, and group
// types that no event has used yet.
func TranslateFault(e *flags.DefinitionError, groups []any) error {
	if !strings.HasPrefix(e.Path, "flags[0]") {
		return nil
	}
	p := propertyAt(groups, enginePathPattern.FindStringSubmatch(e.Path))
	// Faults with a code change the result of the flag; the remaining ones do not.
	if e.Code != flags.NoReason {
		where := ": " + strings.TrimPrefix(e.Path, "flags[0].")
		if p != nil {
			where += fmt.Sprintf(" (property %s, operator %s)", PlainText(p["key"]), operatorText(p["operator"]))
		}
		return errCannotEvaluate(where + ": " + e.Problem + allowedOperators(e.Problem, p))
	}
	// Of the remaining faults, only those of a property's value are reported.
	if p == nil {
		return nil
	}
	operator, _ := p["operator"].(string)
	return badValue(operator, p["value"])
}
