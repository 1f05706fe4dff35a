package flags

import (
	"maps"
	"reflect"
)

// This file writes a flag that was read and then changed in Go: what its fields
// say goes before the record that it was read from, and what no field stands for
// stays as it was read.

// memberOf is a member of a record and the field that it stands for; nil is a
// member that is left out.
type memberOf struct {
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
	namingMembers = []memberOf{ // of records that cannot be read, too
		{name: "id", value: func(f *Flag) any { return f.ID }},
		{name: "key", value: func(f *Flag) any { return f.Key }},
		{name: "version", value: func(f *Flag) any { return f.Version }},
		{name: "active", value: func(f *Flag) any { return f.Active }},
	}
	recordMembers = []memberOf{
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
	filterMembers = []memberOf{
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
func apply(table []memberOf, out map[string]any, was, is *Flag) {
	for i := range table {
		m := &table[i]
		value := m.value(is)
		if reflect.DeepEqual(m.value(was), value) {
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
	var was Flag
	new(slabs).parseFlag(n, &was)
	if apply(namingMembers, out, &was, f); was.fault != nil {
		return out
	}
	apply(recordMembers, out, &was, f)
	apply(filterMembers, filters, &was, f)
	if !reflect.DeepEqual(was.Conditions, f.Conditions) {
		filters["groups"] = mergeList(was.Conditions, f.Conditions, filters["groups"], mergeCondition)
	}
	if !reflect.DeepEqual(was.Variants, f.Variants) {
		multi, _ := filters["multivariate"].(map[string]any)
		multi = cloneMap(multi)
		multi["variants"] = mergeList(was.Variants, f.Variants, multi["variants"], func(_, is *Variant, old map[string]any) any {
			return over(old, map[string]any{"key": is.Key, "rollout_percentage": is.Rollout})
		})
		filters["multivariate"] = multi
	}
	return out
}

// mergeList writes a list that was changed: elements that were there keep what they
// were read from, others are made from it where the list is as long as before.
func mergeList[T any](was, is []T, source any, merge func(was, is *T, old map[string]any) any) []any {
	read, _ := source.([]any)
	out := make([]any, len(is))
	for i := range is {
		at := -1
		for j := range was {
			if reflect.DeepEqual(was[j], is[i]) && (at < 0 || j == i) {
				at = j
			}
		}
		switch {
		case at >= 0 && at < len(read):
			out[i] = read[at]
		case len(was) == len(is) && i < len(read):
			old, _ := read[i].(map[string]any)
			out[i] = merge(&was[i], &is[i], old)
		default:
			out[i] = merge(new(T), &is[i], nil)
		}
	}
	return out
}

func mergeCondition(was, is *Condition, old map[string]any) any {
	out := over(old, is.record())
	if !is.Aggregation.Set {
		delete(out, "aggregation_group_type_index")
	}
	out["properties"] = mergeList(was.Properties, is.Properties, old["properties"], func(_, is *Property, _ map[string]any) any {
		return is.record()
	})
	return out
}

func over(old, changes map[string]any) map[string]any {
	out := cloneMap(old)
	maps.Copy(out, changes)
	return out
}
