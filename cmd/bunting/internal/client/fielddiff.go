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

// fieldChange is one value that is another now. Before or After is nil where it was
// not, or is not, there.
type fieldChange struct {
	Field         string // such as filters.groups[0].rollout_percentage
	Before, After any
}

// maxValue is how much of a value a line shows, in bytes.
const maxValue = 120

func (c *fieldChange) text(arrow string, quote func(string) string) string {
	return fmt.Sprintf("%s: %s %s %s", quote(c.Field), quote(formatValue(c.Before)), arrow, quote(formatValue(c.After)))
}

// formatValue is a value on one line.
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

// fieldChanges are the values in which two JSON values differ, in order. Lists of
// texts and numbers are one value.
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
	text, _ := json.Marshal(v) // decoded JSON marshals always
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
