package history

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// matchKey is the key of a temporary flag. The filters of a request become its condition, so that
// operators have the same meaning as in flags.
const matchKey = "match"

// maxFilters is the maximum number of filters in a request.
const maxFilters = 50

// personFilters returns the filters of a query as a JSON list: those in properties, and one for
// email. The result is empty if there are no filters.
func personFilters(params url.Values) (string, error) {
	list, err := filterList[json.RawMessage](params.Get("properties"))
	if err != nil {
		return "", err
	}
	if email := params.Get("email"); email != "" {
		filter, err := json.Marshal(map[string]string{"key": "email", "value": email, "operator": string(flags.Exact), "type": string(flags.PersonProperty)})
		if err != nil {
			return "", err
		}
		list = append(list, filter)
	}
	if err := checkFilters(len(list)); err != nil {
		return "", err
	}
	return filterText(list)
}

// filterText encodes a list of filters as JSON. The result is empty if the list is.
func filterText[T any](list []T) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	all, err := json.Marshal(list)
	return string(all), err
}

func checkFilters(n int) error {
	if n > maxFilters {
		return problem.Invalid("properties", "properties has %d filters, at most %d are allowed.", n, maxFilters)
	}
	return nil
}

// filterList parses the JSON list of filters in a query.
func filterList[T any](text string) (list []T, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, problem.Invalid("properties", "properties must be a JSON list of property filters: %s.", err)
	}
	return list, nil
}

// personMatcher compiles the filters of a request with the settings of a project. The result must
// be used by one goroutine only. It matches no person after ctx has ended.
func personMatcher(ctx context.Context, filters string, settings map[string]json.RawMessage, now time.Time) (func(*capture.StoredPerson) bool, error) {
	d, properties, err := readFilters(filters, settings)
	if err != nil {
		return nil, err
	}
	nodes := make([]flags.CohortNode, len(properties))
	for i := range properties {
		nodes[i].Leaf = &properties[i]
	}
	d.Cohorts = map[int64]flags.Cohort{1: {Tree: &flags.CohortNode{Children: nodes}}}
	d.Flags[0].Conditions[0].Properties = []flags.Property{{Key: "id", Type: flags.CohortProperty, Operator: flags.In, Value: int64(1)}}
	set := flags.Compile(d)
	keys := filteredKeys(properties)
	var out flags.Decisions
	return func(p *capture.StoredPerson) bool {
		if ctx.Err() != nil {
			return false
		}
		sub := flags.Subject{Stored: &flags.Stored{Person: decodeProperties(p.Properties, keys), CreatedAt: p.CreatedAt}}
		if len(p.DistinctIDs) > 0 {
			sub.DistinctID = p.DistinctIDs[0]
		}
		decision, ok := set.EvaluateFlag(matchKey, &sub, now, &out)
		return ok && decision.Enabled
	}, nil
}

// readFilters parses a JSON list of person filters as the condition of the flag matchKey, in
// definitions with the settings of a project. Filters have the semantics of cohorts: a list
// property matches if any element does.
func readFilters(filters string, settings map[string]json.RawMessage) (d flags.Definitions, properties []flags.Property, err error) {
	document := map[string]any{"flags": json.RawMessage(`[{"id":1,"key":"` + matchKey + `","active":true,"filters":{"groups":[{"properties":` + filters + `}]}}]`)}
	for name, value := range settings {
		document[name] = value
	}
	text, err := wire.Encode(document)
	if err != nil {
		return d, nil, err
	}
	if d, err = flags.ParseDefinitions(text); err != nil {
		return d, nil, problem.Invalid("properties", "%s", strings.TrimPrefix(err.Error(), "flags: "))
	}
	if d.Flags[0].Conditions != nil {
		properties = d.Flags[0].Conditions[0].Properties
	}
	for i := range properties {
		p := &properties[i]
		switch p.Type {
		case "":
			p.Type = flags.PersonProperty
		case flags.PersonProperty, flags.PersonMetadata:
		default:
			return d, nil, problem.Invalid("properties", "properties[%d].type: filters of persons must have type person or person_metadata, not %q.", i, problem.Shorten(string(p.Type)))
		}
		p.Negated = false // as in conditions of flags
	}
	for _, fault := range flags.Compile(d).Faults() {
		if fault.Code != flags.NoReason { // the other faults concern values
			return d, nil, problem.Invalid("properties", "%s: %s", strings.TrimPrefix(fault.Path, "flags[0].filters.groups[0]."), fault.Problem)
		}
	}
	for i, p := range properties {
		if _, err := filterOf(&d, p, false); err != nil {
			return d, nil, problem.Invalid("properties", "properties[%d].%s", i, err)
		}
	}
	return d, properties, nil
}

// filterOf returns one comparison with the settings of the definitions. If elements is true, a
// list property matches if any element does.
func filterOf(d *flags.Definitions, p flags.Property, elements bool) (*flags.Filter, error) {
	zone, err := time.LoadLocation(d.Timezone)
	if err != nil {
		zone = time.UTC
	}
	return flags.NewFilter(p, flags.FilterSettings{Zone: zone, PropertyMatchingVersion: d.PropertyMatchingVersion, Elements: elements})
}

// filteredKeys returns the properties that filters read. $initial_x may be computed from $x or x
// (spec/flags.md §8.2).
func filteredKeys(filters []flags.Property) map[string]bool {
	keys := map[string]bool{}
	for _, f := range filters {
		keys[f.Key] = true
		if base, ok := strings.CutPrefix(f.Key, "$initial_"); ok {
			keys[base], keys["$"+base] = true, true
		}
	}
	return keys
}

// decodeProperties decodes the properties in keys, or all properties if keys is nil. Numbers keep
// their text, since 5 and 5.0 are different strings (spec/flags.md §4.2).
func decodeProperties(o capture.Object, keys map[string]bool) flags.Properties {
	out := make(flags.Properties, len(keys))
	for _, m := range o {
		if keys != nil && !keys[m.Key] {
			continue
		}
		var v any
		if wire.Decode([]byte(m.Value), &v) == nil {
			out[m.Key] = v
		}
	}
	return out
}
