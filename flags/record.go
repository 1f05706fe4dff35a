package flags

import (
	"encoding/json"

	"github.com/bunting-flags/bunting/flags/wire"
)

// record is a flag as the payload shows it: what was read, with what has been
// changed in its fields since, or for a flag built by hand the same members. What SDKs cannot read, but the server can, is
// written as they read it. The result may be changed at its top level.
func (f *Flag) record() map[string]any {
	if f.source != "" {
		return f.sourceRecord()
	}
	out := map[string]any{
		"id": f.ID, "key": f.Key, "name": f.Name, "version": f.Version, "active": f.Active, "deleted": f.Deleted,
		"ensure_experience_continuity": f.Continuity, "has_experiment": f.HasExperiment, "filters": f.filters(),
	}
	optional := map[string]any{"evaluation_runtime": f.Runtime, "bucketing_hash": string(f.Hash)}
	if f.DeviceBucketing {
		optional["bucketing_identifier"] = "device_id"
	}
	if f.ContextsAll {
		optional["evaluation_contexts_match_mode"] = "all"
	}
	for name, v := range optional {
		if v != "" {
			out[name] = v
		}
	}
	if len(f.Contexts) > 0 {
		out["evaluation_contexts"] = f.Contexts
	}
	if f.RemoteConfig {
		out["is_remote_configuration"] = true
	}
	if len(f.Pins) > 0 {
		out["pins"] = pinRecords(f.Pins)
	}
	return out
}

func (f *Flag) sourceRecord() map[string]any {
	out := f.merged()
	out["has_experiment"] = f.HasExperiment // without it SDKs send full events (§10.3)
	if tags, ok := out["evaluation_tags"]; ok && out["evaluation_contexts"] == nil {
		out["evaluation_contexts"] = tags
	}
	delete(out, "x_ensure_experience_continuity")
	if out["ensure_experience_continuity"] != nil || f.Continuity {
		out["ensure_experience_continuity"] = f.Continuity
	}
	keepIf[json.Number](out, "rollout_percentage") // a relic that posthog-go still decodes
	filters, ok := out["filters"].(map[string]any)
	if !ok {
		return out
	}
	// Older ways of saying things stay, with what they mean beside them.
	if f.Enrollment && filters["feature_enrollment"] == nil {
		filters["feature_enrollment"] = true
	}
	if f.Holdout != nil && filters["holdout"] == nil {
		filters["holdout"] = f.Holdout.record()
	}
	setInteger(filters, "aggregation_group_type_index")
	if multi, ok := filters["multivariate"].(map[string]any); ok {
		multi = cloneMap(multi)
		multi["variants"] = mapObjects(multi["variants"], func(variant map[string]any) { keepIf[string](variant, "name") })
		filters["multivariate"] = multi
	}
	filters["groups"] = mapObjects(filters["groups"], func(group map[string]any) {
		setInteger(group, "aggregation_group_type_index")
		group["properties"] = mapObjects(group["properties"], func(property map[string]any) {
			setInteger(property, "group_type_index")
			if key, ok := property["key"].(json.Number); ok {
				property["key"] = string(key)
			}
		})
	})
	return out
}

// keepIf removes a member that is not of type T.
func keepIf[T any](m map[string]any, name string) {
	if _, ok := m[name].(T); !ok && m[name] != nil {
		delete(m, name)
	}
}

// setInteger writes 3.0 as 3.
func setInteger(m map[string]any, name string) {
	if num, ok := m[name].(json.Number); ok {
		if i, ok := parseInteger(string(num)); ok {
			m[name] = i
		}
	}
}

// mapObjects returns a copy of a list of objects in which each was changed.
func mapObjects(v any, change func(map[string]any)) any {
	list, ok := v.([]any)
	if !ok {
		if v == nil {
			return []any{}
		}
		return v
	}
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i]
		if m, ok := list[i].(map[string]any); ok {
			m = cloneMap(m)
			change(m)
			out[i] = m
		}
	}
	return out
}

func (f *Flag) filters() map[string]any {
	groups := make([]any, len(f.Conditions))
	for i, c := range f.Conditions {
		groups[i] = c.record()
	}
	out := map[string]any{"groups": groups, "multivariate": nil, "payloads": map[string]json.RawMessage{}}
	if f.Payloads != nil {
		out["payloads"] = f.Payloads
	}
	if len(f.Variants) > 0 {
		variants := make([]any, len(f.Variants))
		for i, v := range f.Variants {
			variants[i] = map[string]any{"key": v.Key, "rollout_percentage": v.Rollout}
		}
		out["multivariate"] = map[string]any{"variants": variants}
	}
	if f.Group != nil {
		out["aggregation_group_type_index"] = *f.Group
	}
	if f.Enrollment {
		out["feature_enrollment"] = true
	}
	if f.EarlyExit {
		out["early_exit"] = true
	}
	if f.Holdout != nil {
		out["holdout"] = f.Holdout.record()
	}
	return out
}

func (h *Holdout) record() map[string]any {
	return map[string]any{"id": h.ID, "exclusion_percentage": h.Exclusion}
}

func (c *Condition) record() map[string]any {
	props := make([]any, len(c.Properties))
	for i := range c.Properties {
		props[i] = c.Properties[i].record()
	}
	out := map[string]any{"properties": props, "rollout_percentage": c.Rollout, "variant": nil}
	if c.Variant != "" {
		out["variant"] = c.Variant
	}
	if c.Aggregation.Set {
		out["aggregation_group_type_index"] = c.Aggregation.Group
	}
	return out
}

func (p *Property) record() map[string]any {
	kind := p.Type
	if kind == "" {
		kind = PersonProperty
	}
	out := map[string]any{"key": p.Key, "type": string(kind), "operator": string(p.Operator.orDefault(kind))}
	if p.hasValue() {
		out["value"] = jsonValue{p.Value}
	}
	if p.GroupType != nil {
		out["group_type_index"] = *p.GroupType
	}
	if p.Negated {
		out["negation"] = true
	}
	if p.Chain != nil {
		out["dependency_chain"] = p.Chain
	}
	return out
}

func (n *CohortNode) record() any {
	if n.Unsupported {
		negated := n.Leaf != nil && n.Leaf.Negated
		return map[string]any{"type": "behavioral", "key": "", "negation": negated}
	}
	if n.Leaf != nil {
		return n.Leaf.record()
	}
	values := make([]any, len(n.Children))
	for i := range n.Children {
		values[i] = n.Children[i].record()
	}
	kind := "AND"
	if n.Any {
		kind = "OR"
	}
	return map[string]any{"type": kind, "values": values}
}

// MarshalJSON writes a node of a cohort's tree as PostHog's definitions payload shows it.
func (n CohortNode) MarshalJSON() ([]byte, error) { return wire.Encode(n.record()) }

// MarshalJSON writes a flag as PostHog's definitions payload shows it. Of a flag
// that was read and then changed the fields hold; what they do not stand for is
// written as it was read. It fails on what JSON has no form for (see [Definitions.Payload]).
func (f Flag) MarshalJSON() ([]byte, error) { return wire.Encode(f.record()) }
