package featureflags

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// cohortLeaf are the members of a filter: those that have to be there, in the
// order in which they are named when they are missing, and those that may, where
// flags does not know them.
type cohortLeaf struct{ required, optional []string }

// THE TABLE: the kinds of filters of a cohort (§5.2).
var cohortLeaves = map[string]cohortLeaf{
	"person":          {required: []string{"key", "value", "operator"}},
	"person_metadata": {required: []string{"key", "value", "operator"}},
	"cohort":          {required: []string{"key", "value"}},
	"behavioral": {[]string{"key", "value", "event_type"}, []string{
		"time_value", "time_interval", "negation", "operator", "operator_value", "total_periods", "min_periods", "event_filters", "explicit_datetime",
	}},
}

// behavioralPrefix begins the members of behavioral filters about sequences.
const behavioralPrefix = "seq_"

// checkFilters looks whether filters have the form of §5.2.
func checkFilters(raw json.RawMessage) error {
	top := management.JSONObject(raw)
	tree := management.JSONObject(top["properties"])
	if tree == nil || tree["type"] == nil || tree["values"] == nil {
		return management.Fault("filters__detail", "Must contain a 'properties' key with type and values")
	}
	return checkTree(top["properties"])
}

func checkNames(what string, object map[string]json.RawMessage, names ...string) error {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(names, name) {
			return management.Fault("filters", "Unknown key in %s: %s", what, name)
		}
	}
	return nil
}

func checkTree(raw json.RawMessage) error {
	node := management.JSONObject(raw)
	if node == nil {
		return management.Fault("filters", "A filter has to be an object.")
	}
	kind := management.JSONText(node["type"])
	if leaf, ok := cohortLeaves[kind]; ok {
		return checkLeaf(kind, node, leaf)
	}
	if kind != "AND" && kind != "OR" {
		return management.Fault("filters", "Unknown filter type %q: it has to be AND, OR, person, cohort or behavioral.", kind)
	}
	var values []json.RawMessage
	if json.Unmarshal(node["values"], &values) != nil || node["values"] == nil || string(node["values"]) == "null" {
		return management.Fault("filters", "The values of a group have to be a list of filters.")
	}
	for _, value := range values {
		if err := checkTree(value); err != nil {
			return err
		}
	}
	return nil
}

func checkLeaf(kind string, node map[string]json.RawMessage, leaf cohortLeaf) error {
	var missing []string
	for _, name := range leaf.required {
		bare := kind != "behavioral" && kind != "cohort" && name == "value" && slices.Contains([]string{"is_set", "is_not_set"}, management.JSONText(node["operator"]))
		if raw := node[name]; !bare && (raw == nil || string(raw) == "null") {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return management.Fault("filters", "Missing required keys for %s filter: %s", kind, strings.Join(missing, ", "))
	}
	if kind == "behavioral" { // the members of others are looked at with those of flags
		node = maps.Clone(node)
		maps.DeleteFunc(node, func(name string, _ json.RawMessage) bool { return strings.HasPrefix(name, behavioralPrefix) })
		return checkNames("behavioral filter", node, slices.Concat([]string{"type"}, leaf.required, leaf.optional)...)
	}
	if kind != "cohort" {
		return nil
	}
	if _, ok := parseInteger(node["value"]); !ok || management.JSONText(node["key"]) != "id" {
		return management.Fault("filters", "Invalid Cohort ID in filter")
	}
	if operator := management.JSONText(node["operator"]); operator != "" && operator != "in" && operator != "not_in" {
		return management.Fault("filters", "Cohort filters must use the 'in' or 'not_in' operator")
	}
	return nil
}

func parseInteger(raw json.RawMessage) (int64, bool) {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(raw)), 10, 64)
	return n, err == nil
}

// parts are what a cohort or a flag is made of: the cohorts that it names itself,
// and whether it has filters on events.
type parts struct {
	cohorts    []int64
	behavioral bool
}

// partsOf looks through any JSON value, so that records of files and old forms
// are understood, too.
func partsOf(raw json.RawMessage) (out parts) {
	out.gather(wire.Value(raw))
	return out
}

func (p *parts) gather(v any) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			p.gather(v[i])
		}
	case map[string]any:
		switch v["type"] {
		case "cohort":
			if id, ok := parseInteger(json.RawMessage(strings.Trim(fmt.Sprint(v["value"]), `"`))); ok {
				p.cohorts = append(p.cohorts, id)
			}
		case "behavioral":
			p.behavioral = true
		}
		p.behavioral = p.behavioral || v["event_id"] != nil || v["action_id"] != nil // the oldest form
		for name, member := range v {
			if name != "value" { // data of a filter
				p.gather(member)
			}
		}
	}
}

// cohortGraph are the cohorts of a project that are not deleted.
type cohortGraph map[int64]parts

func graphOfCohorts(tx Tx, scope *management.Scope) (cohortGraph, error) {
	list, _, err := tx.Definitions(DefinitionQuery{Kind: CohortDefinition, Project: scope.Project.ID})
	if err != nil {
		return nil, err
	}
	out := cohortGraph{}
	for i := range list {
		c, err := decodeCohort(&list[i])
		if err != nil {
			return nil, err
		}
		out[c.ID] = c.parts()
	}
	return out, nil
}

func (c *storedCohort) parts() parts {
	if c.Static {
		return parts{}
	}
	if isPresent(c.Filters) {
		return partsOf(c.Filters)
	}
	return partsOf(c.Groups)
}

// reach are the cohorts that some lead to, with themselves.
func (g cohortGraph) reach(ids ...int64) map[int64]bool {
	out := map[int64]bool{}
	for len(ids) > 0 {
		id := ids[len(ids)-1]
		ids = ids[:len(ids)-1]
		if out[id] {
			continue
		}
		out[id] = true
		ids = append(ids, g[id].cohorts...)
	}
	return out
}

// dependents are the cohorts that lead to one, with itself.
func (g cohortGraph) dependents(id int64) map[int64]bool {
	outer := cohortGraph{}
	for container, p := range g {
		for _, member := range p.cohorts {
			outer[member] = parts{cohorts: append(outer[member].cohorts, container)}
		}
	}
	return outer.reach(id)
}

// cohortUsage are the cohorts of a project and the flags that name them, each read
// once, when it is first asked for.
type cohortUsage struct {
	tx    Tx
	scope *management.Scope
	graph cohortGraph
	uses  map[int64][]string // keys of active flags by the cohorts that they name
}

func (a *cohortUsage) cohorts() (_ cohortGraph, err error) {
	if a.graph == nil {
		a.graph, err = graphOfCohorts(a.tx, a.scope)
	}
	return a.graph, err
}

// flagsUsing are the keys of the active flags that name one of some cohorts, in order.
func (a *cohortUsage) flagsUsing(cohorts map[int64]bool) (keys []string, err error) {
	if a.uses == nil {
		a.uses = map[int64][]string{}
		_, _, err = a.tx.Definitions(DefinitionQuery{Kind: FlagDefinition, Project: a.scope.Project.ID, Limit: 1, Match: func(d *Definition) bool {
			record := management.JSONObject(d.Record)
			if string(record["active"]) == "true" {
				for _, id := range partsOf(record["filters"]).cohorts {
					a.uses[id] = append(a.uses[id], d.Key)
				}
			}
			return false
		}})
	}
	for id := range cohorts {
		keys = append(keys, a.uses[id]...)
	}
	slices.Sort(keys)
	return slices.Compact(keys), err
}

// maxNamedFlags is how many flags an error names.
const maxNamedFlags = 50

// check looks whether a cohort may be stored. v says what has been written of it,
// was what it was before.
func (c *storedCohort) check(usage *cohortUsage, before *storedCohort, v management.Values) error {
	if err := checkQuery(c); err != nil {
		return err
	}
	if c.Deleted && !before.Deleted && c.ID != 0 {
		return c.checkDelete(usage)
	}
	if c.Static || !v.Has("filters") && !v.Has("groups") && c.Static == before.Static {
		return nil
	}
	if isPresent(c.Filters) || v.Has("filters") && !v.IsNull("filters") {
		if err := checkFilters(c.Filters); err != nil {
			return err
		}
	}
	graph, err := usage.cohorts()
	if err != nil {
		return err
	}
	own := c.parts()
	for _, id := range own.cohorts {
		if _, ok := graph[id]; !ok && id != c.ID {
			return management.Fault("filters", "Invalid Cohort ID in filter")
		}
	}
	inner := graph.reach(own.cohorts...)
	if c.ID != 0 && inner[c.ID] {
		return management.Fault("filters", "Cohorts cannot reference other cohorts in a loop.")
	}
	if err := checkEvaluable(c); err != nil {
		return err
	}
	behavioral := own.behavioral
	for id := range inner {
		behavioral = behavioral || graph[id].behavioral
	}
	if !behavioral || c.ID == 0 {
		return nil
	}
	keys, err := usage.flagsUsing(graph.dependents(c.ID))
	if err == nil && len(keys) > 0 {
		err = management.CodedFault("behavioral_cohort_found", "filters", "Behavioral filters cannot be added to cohorts used in feature flags.")
	}
	return err
}

func checkQuery(c *storedCohort) error {
	if !isPresent(c.Query) {
		return nil
	}
	switch kind := management.JSONText(management.JSONObject(c.Query)["kind"]); {
	case isPresent(c.Filters):
		return management.Fault("", "Cannot set both query and filters at the same time.")
	case !c.Static:
		return management.Fault("", "Cannot create a dynamic cohort with a query. Set is_static to true.")
	case kind != "ActorsQuery" && kind != "HogQLQuery":
		return management.Fault("query", "Query must be an ActorsQuery or HogQLQuery. Got: %s", kind)
	}
	return nil
}

func (c *storedCohort) checkDelete(usage *cohortUsage) error {
	graph, err := usage.cohorts()
	if err != nil {
		return err
	}
	keys, err := usage.flagsUsing(graph.dependents(c.ID))
	if err != nil || len(keys) == 0 {
		return err
	}
	names := strings.Join(keys[:min(len(keys), maxNamedFlags)], ", ")
	return management.Fault("", "This cohort is used in %d active feature flag(s): %s. Please remove the cohort from these feature flags before deleting it.", len(keys), names)
}

// checkEvaluable asks the engine, which knows operators and values best.
func checkEvaluable(c *storedCohort) error {
	record := c.cohortRecord
	record.ID, record.Deleted = max(c.ID, 1), false
	definitions, err := flags.ParseDefinitions(management.Encode(map[string]any{"flags": []any{}, "cohorts": map[int64]any{record.ID: record}}))
	if err != nil {
		return management.Fault("filters", "The filters cannot be read.")
	}
	for _, fault := range flags.Compile(definitions).Faults() {
		return management.Fault("filters", "%s: %s", strings.TrimPrefix(fault.Path, fmt.Sprintf("cohorts.%d.", record.ID)), fault.Problem)
	}
	return nil
}
