package insights

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// oldProperties converts filters: a list, a tree, or the oldest form, in which names end with
// operators. It returns nil if there are no filters; invalid filters are dropped.
func oldProperties(n document.Node) any {
	filters := unpacked(n)
	switch v := filters.Value.(type) {
	case []any:
		trackFilterMembers(filters)
		return nilIfEmpty(oldFilterList(v))
	case map[string]any:
		values, tree := v["values"].([]any)
		if tree {
			trackFilterMembers(filters)
			return oldGroup(v, values)
		}
		if v["key"] != nil || v["type"] == "AND" || v["type"] == "OR" {
			trackFilterMembers(filters)
			return nilIfEmpty(oldFilterList([]any{v}))
		}
		list := []any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			key, operator := name, "exact"
			if at := strings.LastIndex(name, "__"); at > 0 {
				key, operator = name[:at], name[at+2:]
			}
			list = append(list, map[string]any{"type": "event", "key": key, "operator": operator, "value": v[name]})
		}
		return nilIfEmpty(list)
	}
	return nil
}

// nilIfEmpty returns the list, or nil if it is empty.
func nilIfEmpty(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

// trackFilterMembers records which members filters may have. Faults are ignored here, because parsing the
// resulting query reports them.
func trackFilterMembers(n document.Node) {
	filter.Read(document.Node{Value: n.Value, Attr: n.Attr, Fault: new(*port.Error), Tracker: n.Tracker}, &port.Project{})
}

// oldFilterList returns the filters and groups of a list.
func oldFilterList(list []any) []any {
	out := []any{}
	for _, v := range list {
		m, _ := v.(map[string]any)
		if values, tree := m["values"].([]any); tree {
			out = append(out, oldGroup(m, values))
		} else if m["key"] != nil {
			out = append(out, m)
		}
	}
	return out
}

// oldGroup returns a group of filters.
func oldGroup(group map[string]any, values []any) any {
	return map[string]any{"type": cmp.Or[any](group["type"], "AND"), "values": oldFilterList(values)}
}
