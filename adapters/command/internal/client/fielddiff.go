package client

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// fieldChange is one changed value. Before is nil if the value was added, After if it was removed.
type fieldChange struct {
	Field         string // for example filters.groups[0].rollout_percentage
	Before, After any
}

// maxValue is the maximum length of a value in a line, in bytes.
const maxValue = 120

func (c *fieldChange) text(arrow string, quote func(string) string) string {
	return fmt.Sprintf("%s: %s %s %s", quote(c.Field), quote(formatValue(c.Before)), arrow, quote(formatValue(c.After)))
}

// formatValue formats a value on one line.
func formatValue(v any) string {
	if v == nil {
		return "(none)"
	}
	line, err := wire.Encode(v)
	if err != nil {
		return "(not shown)"
	}
	text := string(line)
	if len(text) > maxValue {
		text = strings.ToValidUTF8(text[:maxValue], "") + "…"
	}
	return text
}

// fieldChanges appends the values in which two JSON values differ, in order. A list of strings and
// numbers counts as one value.
func fieldChanges(field string, before, after any, out []fieldChange) []fieldChange {
	was, isObject := before.(map[string]any)
	is, stays := after.(map[string]any)
	if isObject && stays {
		names := maps.Clone(was)
		maps.Copy(names, is)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			out = fieldChanges(field+"."+name, was[name], is[name], out)
		}
		return out
	}
	listWas, isList := before.([]any)
	listIs, stays := after.([]any)
	if isList && stays && (isNested(listWas) || isNested(listIs)) {
		for i := range max(len(listWas), len(listIs)) {
			out = fieldChanges(field+"["+strconv.Itoa(i)+"]", element(listWas, i), element(listIs, i), out)
		}
		return out
	}
	if marshalValue(before) != marshalValue(after) {
		out = append(out, fieldChange{field, before, after})
	}
	return out
}

func marshalValue(v any) string {
	text, _ := json.Marshal(v) // decoded JSON can always be encoded
	return string(text)
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func isNested(list []any) bool {
	return slices.ContainsFunc(list, func(v any) bool {
		_, object := v.(map[string]any)
		_, inner := v.([]any)
		return object || inner
	})
}
