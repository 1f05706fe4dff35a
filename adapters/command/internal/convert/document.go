package convert

import (
	"encoding/json"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
)

// Document returns the result as a definitions file: indented JSON with sorted members, which is
// identical for identical input.
func (r *Result) Document() ([]byte, error) {
	var projects []any
	for i := range r.File.Projects {
		projects = append(projects, r.project(&r.File.Projects[i]))
	}
	text, err := json.MarshalIndent(map[string]any{"projects": projects}, "", "  ")
	return append(text, '\n'), err
}

// project returns a project as it is encoded in a definitions file.
func (r *Result) project(p *flags.FileProject) map[string]any {
	d := &p.Definitions
	list := []any{}
	for _, f := range d.Flags {
		list = append(list, f)
	}
	out := map[string]any{"id": p.ID, "name": p.Name, "api_key": p.APIKey, "flags": list}
	if len(d.GroupTypes) > 0 {
		types := map[string]string{}
		for i, name := range d.GroupTypes {
			types[strconv.Itoa(i)] = name
		}
		out["group_type_mapping"] = types
	}
	if len(d.Cohorts) > 0 {
		cohorts := map[string]any{}
		for id, c := range d.Cohorts {
			raw, ok := r.rawCohorts[id]
			if !ok {
				raw = cohort(&c)
			}
			cohorts[strconv.FormatInt(id, 10)] = raw
		}
		out["cohorts"] = cohorts
	}
	for name, v := range map[string]any{
		"timezone": d.Timezone, "bucketing_hash": string(d.BucketingHash), "property_matching_version": d.PropertyMatchingVersion,
		"minimal_flag_called_events": d.MinimalFlagCalledEvents,
	} {
		if v != "" && v != 0 && v != false {
			out[name] = v
		}
	}
	if len(d.StaticCohorts) > 0 {
		out["static_cohorts"] = d.StaticCohorts
	}
	return out
}

func cohort(c *flags.Cohort) map[string]any {
	out := map[string]any{"name": c.Name}
	switch {
	case c.Static:
		out["is_static"], out["members"] = true, append([]string{}, c.Members...)
	case c.Unsupported:
		out["cohort_type"] = "behavioral"
	}
	if c.Tree != nil {
		out["filters"] = map[string]any{"properties": c.Tree}
	}
	if c.Deleted {
		out["deleted"] = true
	}
	return out
}
