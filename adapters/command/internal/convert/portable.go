package convert

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// notPortable are members that are specific to a project.
var notPortable = []string{"id", "team_id", "version", "deleted", "has_experiment"}

// portableDefaults are the values that a server stores for missing members. They are added so that
// applying a document a second time changes no flags.
var portableDefaults = map[string]any{"evaluation_runtime": "all", "has_encrypted_payloads": false, "is_remote_configuration": false}

// Portable returns the result as a document of bunting flags apply: flags by key and cohorts by
// name, without ids. If several cohorts have the same name, the later ones get their id as a
// suffix, as in a server's export.
func (r *Result) Portable() ([]byte, error) {
	d := &r.File.Projects[0].Definitions
	keys, names := map[string]string{}, map[string]string{}
	for _, f := range d.Flags {
		keys[strconv.FormatInt(f.ID, 10)] = f.Key
	}
	cohorts := []any{}
	usedNames := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(d.Cohorts)) {
		name := d.Cohorts[id].Name
		if name == "" {
			name = "Imported cohort " + strconv.FormatInt(id, 10)
		}
		for usedNames[name] {
			name += " (" + strconv.FormatInt(id, 10) + ")"
		}
		usedNames[name], names[strconv.FormatInt(id, 10)] = true, name
	}
	for _, id := range slices.Sorted(maps.Keys(d.Cohorts)) {
		c := d.Cohorts[id]
		record := cohort(&c)
		record["name"], record["is_static"] = names[strconv.FormatInt(id, 10)], c.Static
		cohorts = append(cohorts, byName(plainJSON(record), keys, names))
	}
	flags := []any{}
	for _, f := range d.Flags {
		record, _ := plainJSON(f).(map[string]any)
		for _, name := range notPortable {
			delete(record, name)
		}
		for name, v := range portableDefaults {
			if record[name] == nil {
				record[name] = v
			}
		}
		withCondition(record)
		flags = append(flags, byName(record, keys, names))
	}
	out := map[string]any{"flags": flags, "cohorts": cohorts}
	if len(d.GroupTypes) > 0 { // must equal those of the project, or the document is rejected
		out["group_type_mapping"] = d.GroupTypes
	}
	return json.MarshalIndent(out, "", "  ")
}

// plainJSON converts a value into decoded JSON.
func plainJSON(v any) any {
	out, err := flags.DecodeJSON(wire.MustEncode(v))
	if err != nil {
		panic(err) // it was just encoded
	}
	return out
}

// withCondition adds a condition that matches no users to a flag without conditions, since the API
// requires a condition (§1.5).
func withCondition(flag map[string]any) {
	filters, ok := flag["filters"].(map[string]any)
	if list, _ := filters["groups"].([]any); ok && len(list) == 0 {
		filters["groups"] = []any{map[string]any{"properties": []any{}, "rollout_percentage": 0}}
	}
}

// byName replaces ids in property filters by keys and names.
func byName(v any, keys, names map[string]string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = byName(v[i], keys, names)
		}
	case map[string]any:
		for name := range v {
			v[name] = byName(v[name], keys, names)
		}
		id := ""
		switch v["type"] {
		case "flag":
			id, _ = v["key"].(string)
			if key, ok := keys[id]; ok && v["dependency_chain"] == nil {
				v["key"] = key
			}
			delete(v, "dependency_chain")
		case "cohort":
			num, _ := v["value"].(json.Number)
			if name, ok := names[string(num)]; ok {
				v["key"], v["value"] = "name", name
			}
		}
	}
	return v
}
