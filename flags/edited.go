package flags

import (
	"maps"
	"reflect"
)

// This file writes a flag that was read and then changed in Go: what its fields
// say goes before the record that it was read from, and what no field stands for
// stays as it was read.

// memberField is a member of a record and the field that it stands for; nil is a
// member that is left out.
type memberField struct {
	name  string
	value func(*Flag) any
	// older says the same in an older way, and would contradict.
	older string
}

func textOrNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func wordIf(on bool, word string) any {
	if !on {
		return nil
	}
	return word
}

// THE TABLES of members that have a field of their own. Continuity and experiments
// are always written from theirs.
var (
	namingMembers = []memberField{ // of records that cannot be read, too
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

// apply writes the members whose fields are not what they were.
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

// merged is the record that a flag was read from, with the changes of its fields.
// The result may be changed at its top level and at that of its filters.
func (f *Flag) merged() map[string]any {
	n, _ := open([]byte(f.source)) // it was read before
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
		multi = cloneMap(multi)
		multi["variants"] = mergeList(before.Variants, f.Variants, multi["variants"], func(_, after *Variant, old map[string]any) any {
			return overlay(old, map[string]any{"key": after.Key, "rollout_percentage": after.Rollout})
		})
		filters["multivariate"] = multi
	}
	return out
}

// mergeList writes a list that was changed: elements that were there keep what they
// were read from, others are made from it where the list is as long as before.
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

func overlay(old, changes map[string]any) map[string]any {
	out := cloneMap(old)
	maps.Copy(out, changes)
	return out
}
