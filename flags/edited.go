package flags

import (
	"maps"
	"reflect"

	"github.com/bunting-flags/bunting/flags/internal/values"
)

// This file writes a flag that was parsed and then modified in Go. Modified fields have
// precedence over the record that the flag was parsed from; members of the record without a
// field remain unchanged.

// memberField is a member of a record and the field that it represents. If value returns nil,
// the member is left out.
type memberField struct {
	name  string
	value func(*Flag) any
	// older is an older name of the member, which is removed since it would contradict.
	older string
}

// textOrNil returns nil instead of the empty string.
func textOrNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// wordIf returns word if on is set, otherwise nil.
func wordIf(on bool, word string) any {
	if !on {
		return nil
	}
	return word
}

// The tables of members that are represented by a field. Continuity and experiments are not
// listed: they are always written from their fields.
var (
	namingMembers = []memberField{ // also applied to records that cannot be evaluated
		{name: "id", value: func(f *Flag) any { return f.ID }},
		{name: "key", value: func(f *Flag) any { return f.Key }},
		{name: "version", value: func(f *Flag) any { return f.Version }},
		{name: "active", value: func(f *Flag) any { return f.Active }},
	}
	recordMembers = []memberField{
		{name: "name", value: func(f *Flag) any { return f.Name }},
		{name: "deleted", value: func(f *Flag) any { return f.Deleted }},
		{name: "bucketing_identifier", value: func(f *Flag) any { return wordIf(f.DeviceBucketing, "device_id") }},
		{name: "bucketing_hash", value: func(f *Flag) any { return textOrNil(string(f.Hash)) }},
		{name: "evaluation_runtime", value: func(f *Flag) any { return textOrNil(f.Runtime) }},
		{name: "evaluation_contexts", older: "evaluation_tags", value: func(f *Flag) any {
			if len(f.Contexts) == 0 {
				return nil
			}
			return f.Contexts
		}},
		{name: "evaluation_contexts_match_mode", value: func(f *Flag) any { return wordIf(f.ContextsAll, "all") }},
		{name: "is_remote_configuration", value: func(f *Flag) any { return f.RemoteConfig }},
		{name: "pins", value: func(f *Flag) any {
			if len(f.Pins) == 0 {
				return nil
			}
			return pinRecords(f.Pins)
		}},
		{name: "has_encrypted_payloads", value: func(f *Flag) any { return f.HasEncryptedPayloads }},
	}
	filterMembers = []memberField{
		{name: "aggregation_group_type_index", value: func(f *Flag) any {
			if f.Group == nil {
				return nil
			}
			return *f.Group
		}},
		{name: "payloads", value: func(f *Flag) any { return f.Payloads }},
		{name: "feature_enrollment", older: "super_groups", value: func(f *Flag) any { return f.Enrollment }},
		{name: "early_exit", value: func(f *Flag) any { return f.EarlyExit }},
		{name: "holdout", older: "holdout_groups", value: func(f *Flag) any {
			if f.Holdout == nil {
				return nil
			}
			return f.Holdout.record()
		}},
	}
)

// apply writes the members to out that have different fields in before and after.
func apply(table []memberField, out map[string]any, before, after *Flag) {
	for i := range table {
		m := &table[i]
		value := m.value(after)
		if reflect.DeepEqual(m.value(before), value) {
			continue
		}
		delete(out, m.older)
		if out[m.name] = value; value == nil {
			delete(out, m.name)
		}
	}
}

// merged returns the record that the flag was parsed from, with the changes of its fields.
// The caller may modify the top level of the result and of its filters.
func (f *Flag) merged() map[string]any {
	n, _ := open([]byte(f.source)) // cannot fail, since it was parsed before
	out, _ := n.t.Tree(n.i).(map[string]any)
	filters, _ := out["filters"].(map[string]any)
	var before Flag
	new(slabs).parseFlag(n, &before)
	if apply(namingMembers, out, &before, f); before.fault != nil {
		return out
	}
	apply(recordMembers, out, &before, f)
	apply(filterMembers, filters, &before, f)
	if !reflect.DeepEqual(before.Conditions, f.Conditions) {
		filters["groups"] = mergeList(before.Conditions, f.Conditions, filters["groups"], mergeCondition)
	}
	if !reflect.DeepEqual(before.Variants, f.Variants) {
		multi, _ := filters["multivariate"].(map[string]any)
		multi = values.CloneMap(multi)
		multi["variants"] = mergeList(before.Variants, f.Variants, multi["variants"], func(_, after *Variant, old map[string]any) any {
			return overlay(old, map[string]any{"key": after.Key, "rollout_percentage": after.Rollout})
		})
		filters["multivariate"] = multi
	}
	return out
}

// mergeList writes a modified list. Unchanged elements keep their source records. If the list
// has its former length, other elements are merged into the source record at the same index.
func mergeList[T any](before, after []T, source any, merge func(before, after *T, old map[string]any) any) []any {
	read, _ := source.([]any)
	out := make([]any, len(after))
	for i := range after {
		at := -1
		for j := range before {
			if reflect.DeepEqual(before[j], after[i]) && (at < 0 || j == i) {
				at = j
			}
		}
		switch {
		case at >= 0 && at < len(read):
			out[i] = read[at]
		case len(before) == len(after) && i < len(read):
			old, _ := read[i].(map[string]any)
			out[i] = merge(&before[i], &after[i], old)
		default:
			out[i] = merge(new(T), &after[i], nil)
		}
	}
	return out
}

// mergeCondition writes a modified condition over its source record.
func mergeCondition(before, after *Condition, old map[string]any) any {
	out := overlay(old, after.record())
	if !after.Aggregation.Set {
		delete(out, "aggregation_group_type_index")
	}
	out["properties"] = mergeList(before.Properties, after.Properties, old["properties"], func(_, after *Property, _ map[string]any) any {
		return after.record()
	})
	return out
}

// overlay returns a copy of old with the members of changes.
func overlay(old, changes map[string]any) map[string]any {
	out := values.CloneMap(old)
	maps.Copy(out, changes)
	return out
}
