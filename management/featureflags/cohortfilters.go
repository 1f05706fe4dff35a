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

// cohortLeaf lists the members of one kind of filter. Errors name missing required members in the
// order of required. optional only needs entries for kinds whose members the package flags does
// not check.
type cohortLeaf struct{ required, optional []string }

// cohortLeaves are the kinds of filters in a cohort (§5.2).
var cohortLeaves = map[string]cohortLeaf{
	"person":          {required: []string{"key", "value", "operator"}},
	"person_metadata": {required: []string{"key", "value", "operator"}},
	"cohort":          {required: []string{"key", "value"}},
	"behavioral": {[]string{"key", "value", "event_type"}, []string{
		"time_value", "time_interval", "negation", "operator", "operator_value", "total_periods", "min_periods", "event_filters", "explicit_datetime",
	}},
}

// behavioralPrefix is the prefix of the members of behavioral filters about sequences of events.
const behavioralPrefix = "seq_"

// checkFilters checks that the filters of a cohort have the form that §5.2 describes: an object
// with the member properties, which is a tree of groups (AND, OR) and filters.
func checkFilters(raw json.RawMessage) error {
	top := management.JSONObject(raw)
	tree := management.JSONObject(top["properties"])
	if tree == nil || tree["type"] == nil || tree["values"] == nil {
		return management.Fault("filters__detail", "Must contain a 'properties' key with type and values")
	}
	return checkTree(top["properties"])
}

// checkNames returns an error for the first member of an object, in alphabetical order, that is
// not in names.
func checkNames(what string, object map[string]json.RawMessage, names ...string) error {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(names, name) {
			return management.Fault("filters", "Unknown key in %s: %s", what, name)
		}
	}
	return nil
}

// checkTree checks a node of the tree of filters, and all nodes below it.
func checkTree(raw json.RawMessage) error {
	node := management.JSONObject(raw)
	if node == nil {
		return management.Fault("filters", "A filter must be an object.")
	}
	kind := management.JSONText(node["type"])
	if leaf, ok := cohortLeaves[kind]; ok {
		return checkLeaf(kind, node, leaf)
	}
	if kind != "AND" && kind != "OR" {
		return management.Fault("filters", "Unknown filter type %q: it must be AND, OR, person, cohort or behavioral.", kind)
	}
	var values []json.RawMessage
	if json.Unmarshal(node["values"], &values) != nil || node["values"] == nil || string(node["values"]) == "null" {
		return management.Fault("filters", "The values of a group must be a list of filters.")
	}
	for _, value := range values {
		if err := checkTree(value); err != nil {
			return err
		}
	}
	return nil
}

// checkLeaf checks a single filter: that its required members are present, and the member names
// of behavioral and the values of cohort filters. Operators and values of property filters are
// checked later by the evaluation engine (checkEvaluable).
func checkLeaf(kind string, node map[string]json.RawMessage, leaf cohortLeaf) error {
	var missing []string
	for _, name := range leaf.required {
		// The operators is_set and is_not_set need no value.
		bare := kind != "behavioral" && kind != "cohort" && name == "value" && slices.Contains([]string{"is_set", "is_not_set"}, management.JSONText(node["operator"]))
		if raw := node[name]; !bare && (raw == nil || string(raw) == "null") {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return management.Fault("filters", "Missing required keys for %s filter: %s", kind, strings.Join(missing, ", "))
	}
	if kind == "behavioral" { // the members of all other kinds are checked by package flags
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

// parseInteger reads a JSON integer. The second result is false for any other value.
func parseInteger(raw json.RawMessage) (int64, bool) {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(raw)), 10, 64)
	return n, err == nil
}

// parts summarizes the contents of a cohort or of a flag's conditions.
type parts struct {
	// cohorts are the ids of the directly referenced cohorts. They may contain duplicates.
	cohorts []int64
	// behavioral is true if there are filters on events, which flags cannot evaluate.
	behavioral bool
}

// partsOf searches a JSON value of any shape, so that records of definitions files and older
// formats are understood, too.
func partsOf(raw json.RawMessage) (out parts) {
	out.gather(wire.Value(raw))
	return out
}

// gather adds the parts of a decoded JSON value, recursively.
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
		p.behavioral = p.behavioral || v["event_id"] != nil || v["action_id"] != nil // filters of the oldest format
		for name, member := range v {
			if name != "value" { // the operand of a filter is data, not a filter
				p.gather(member)
			}
		}
	}
}

// cohortGraph contains the cohorts of a project that are not deleted, by id. Each entry has the
// ids of the cohorts that the cohort references.
type cohortGraph map[int64]parts

// graphOfCohorts reads all cohorts of the project and returns their graph. A project has at most
// MaxCohorts, so this is cheap enough for writes.
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

// parts returns the parts of the cohort's filters. Static cohorts have no filters that count.
func (c *storedCohort) parts() parts {
	if c.Static {
		return parts{}
	}
	// Filters take precedence over groups, the oldest format.
	if isPresent(c.Filters) {
		return partsOf(c.Filters)
	}
	return partsOf(c.Groups)
}

// reach returns the given cohorts and all cohorts that they reference, directly or indirectly.
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

// dependents returns the given cohort and all cohorts that reference it, directly or indirectly.
func (g cohortGraph) dependents(id int64) map[int64]bool {
	// Reverse the edges of the graph, and search from the cohort.
	outer := cohortGraph{}
	for container, p := range g {
		for _, member := range p.cohorts {
			outer[member] = parts{cohorts: append(outer[member].cohorts, container)}
		}
	}
	return outer.reach(id)
}

// cohortUsage caches the cohorts of a project and the flags that reference them for one
// transaction. Both are read at most once, when they are first needed.
type cohortUsage struct {
	tx    Tx
	scope *management.Scope
	graph cohortGraph
	uses  map[int64][]string // keys of active flags, by referenced cohort
}

// cohorts returns the graph of the project's cohorts.
func (a *cohortUsage) cohorts() (_ cohortGraph, err error) {
	if a.graph == nil {
		a.graph, err = graphOfCohorts(a.tx, a.scope)
	}
	return a.graph, err
}

// flagsUsing returns the sorted keys of the active flags that reference one of the cohorts.
func (a *cohortUsage) flagsUsing(cohorts map[int64]bool) (keys []string, err error) {
	if a.uses == nil {
		a.uses = map[int64][]string{}
		// The query visits all flags but returns none: Match collects the ids and reports false.
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

// maxNamedFlags is the maximum number of flags that an error message lists.
const maxNamedFlags = 50

// check returns an error if the cohort may not be stored. before is the cohort before the change
// and v contains the values of the request. Besides the form of the filters it checks that
// referenced cohorts exist, that there are no cycles, and that a cohort used by active flags is
// neither deleted nor extended with filters on events.
func (c *storedCohort) check(usage *cohortUsage, before *storedCohort, v management.Values) error {
	if err := checkQuery(c); err != nil {
		return err
	}
	// A cohort that is being deleted does not need valid filters.
	if c.Deleted && !before.Deleted && c.ID != 0 {
		return c.checkDelete(usage)
	}
	// Filters are only checked if the request contains them, or if a static cohort becomes
	// dynamic, so that older cohorts with invalid filters can still be renamed.
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
	// A cycle exists if one of the referenced cohorts leads back to this one. A new cohort has no
	// id yet, so it cannot be part of a cycle.
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
	// Flags cannot evaluate filters on events, so a cohort that an active flag uses must not get
	// any.
	keys, err := usage.flagsUsing(graph.dependents(c.ID))
	if err == nil && len(keys) > 0 {
		err = management.CodedFault("behavioral_cohort_found", "filters", "Behavioral filters cannot be added to cohorts used in feature flags.")
	}
	return err
}

// checkQuery checks the query of a cohort. Queries are stored for compatibility and never run, so
// only static cohorts may have one.
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

// checkDelete returns an error if active flags use the cohort, directly or through other cohorts.
func (c *storedCohort) checkDelete(usage *cohortUsage) error {
	graph, err := usage.cohorts()
	if err != nil {
		return err
	}
	keys, err := usage.flagsUsing(graph.dependents(c.ID))
	if err != nil || len(keys) == 0 {
		return err
	}
	// The number in the message counts all flags, the list only the first.
	names := strings.Join(keys[:min(len(keys), maxNamedFlags)], ", ")
	return management.Fault("", "This cohort is used in %d active feature flag(s): %s. Please remove the cohort from these feature flags before deleting it.", len(keys), names)
}

// checkEvaluable compiles the cohort with the evaluation engine, which reports invalid operators
// and values, and returns its first fault.
func checkEvaluable(c *storedCohort) error {
	// The engine needs an id and skips deleted cohorts.
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
