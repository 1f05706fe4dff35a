package flags

import (
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/flags/internal/values"
	"github.com/bunting-flags/bunting/flags/wire"
)

// record returns a flag in the form of the payload: the record that it was parsed from with
// later changes of its fields, or for a flag built by hand the same members. Values that the
// server accepts but SDKs do not are written in the form that SDKs accept. The caller may
// modify the top level of the result.
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

// sourceRecord is record for a flag that was parsed.
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
	deleteUnless[json.Number](out, "rollout_percentage") // obsolete, but posthog-go still decodes it
	filters, ok := out["filters"].(map[string]any)
	if !ok {
		return out
	}
	// Members in older formats remain, and their equivalents are added.
	if f.Enrollment && filters["feature_enrollment"] == nil {
		filters["feature_enrollment"] = true
	}
	if f.Holdout != nil && filters["holdout"] == nil {
		filters["holdout"] = f.Holdout.record()
	}
	setInteger(filters, "aggregation_group_type_index")
	if multi, ok := filters["multivariate"].(map[string]any); ok {
		multi = values.CloneMap(multi)
		multi["variants"] = mapObjects(multi["variants"], func(variant map[string]any) { deleteUnless[string](variant, "name") })
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

// deleteUnless removes a member unless it has the type T.
func deleteUnless[T any](m map[string]any, name string) {
	if _, ok := m[name].(T); !ok && m[name] != nil {
		delete(m, name)
	}
}

// setInteger replaces a number such as 3.0 by 3.
func setInteger(m map[string]any, name string) {
	if num, ok := m[name].(json.Number); ok {
		if i, ok := values.ParseInteger(string(num)); ok {
			m[name] = i
		}
	}
}

// mapObjects returns a copy of a list, with change applied to a copy of each object in it.
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
			m = values.CloneMap(m)
			change(m)
			out[i] = m
		}
	}
	return out
}

// filters returns the filters of a flag built by hand.
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

// MarshalJSON returns the node in the form of PostHog's definitions payload.
func (n CohortNode) MarshalJSON() ([]byte, error) { return wire.Encode(n.record()) }

// MarshalJSON returns the flag in the form of PostHog's definitions payload. For a flag that
// was parsed and then modified, the fields have precedence, and members without a field are
// written as they were read. It returns an error for values without a form in JSON (see
// [Definitions.Payload]).
func (f Flag) MarshalJSON() ([]byte, error) { return wire.Encode(f.record()) }

// pinRecords returns pins in the form of records.
func pinRecords(pins []Pin) []any {
	out := make([]any, len(pins))
	for i := range pins {
		p := &pins[i]
		record := map[string]any{"value": p.Enabled}
		if p.Variant != "" {
			record["value"] = p.Variant
		}
		if p.Cohort != 0 {
			record["cohort"] = p.Cohort
		} else {
			record["group_type"], record["group_key"] = p.GroupType, p.GroupKey
		}
		if !p.Until.IsZero() {
			record["expires_at"] = p.Until.UTC().Format(time.RFC3339Nano)
		}
		out[i] = record
	}
	return out
}
