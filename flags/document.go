package flags

import (
	"encoding/json"
	"strconv"

	"github.com/bunting-flags/bunting/flags/internal/tape"
	"github.com/bunting-flags/bunting/flags/wire"
)

// A document of flags as code has flags and cohorts without ids, which refer to each other by
// key and name. It is read as definitions by numbering the flags and cohorts in their order.
// These numbers are only valid for one reading. A document has a list of cohorts, which may
// be empty.

// IsDocument reports whether data is a document of flags as code, such as the output of
// bunting flags export, rather than a definitions file or a payload. It returns false for
// text that is not JSON.
func IsDocument(data []byte) bool {
	root, err := open(data)
	return err == nil && isDocument(root)
}

// isDocument checks the structure: lists of flags and cohorts, no projects, no ids, at least
// one item.
func isDocument(root node) bool {
	flags, cohorts := root.at(nFlags), root.at(nCohorts)
	if flags.kind() != tape.List || cohorts.kind() != tape.List || !root.at(nProjects).null() {
		return false
	}
	for _, array := range [...]node{flags, cohorts} {
		for list := array.list(); list.next(); {
			if list.kind() != tape.Object || !list.at(nID).null() {
				return false
			}
		}
	}
	return flags.count()+cohorts.count() > 0
}

// openNumbered opens a document of flags as code. It adds ids and replaces the names in
// references by them.
func openNumbered(data []byte) (node, error) {
	v, err := DecodeJSON(data)
	if err != nil {
		return node{}, err
	}
	addIDs(v.(map[string]any))
	text, err := wire.Encode(v)
	if err != nil {
		return node{}, err
	}
	return open(text)
}

// addIDs adds ids to a document and replaces the names in references by them.
func addIDs(root map[string]any) {
	flags, _ := root["flags"].([]any)
	cohorts, _ := root["cohorts"].([]any)
	number := func(list []any, name string) map[string]int {
		ids := map[string]int{}
		for i, item := range list {
			o := item.(map[string]any)
			o["id"] = json.Number(strconv.Itoa(i + 1))
			if text, ok := o[name].(string); ok && ids[text] == 0 {
				ids[text] = i + 1
			}
		}
		return ids
	}
	keys, names := number(flags, "key"), number(cohorts, "name")
	for _, list := range [][]any{flags, cohorts} {
		for _, item := range list {
			resolveNames(item.(map[string]any)["filters"], keys, names, cohortDepth)
		}
	}
}

// resolveNames replaces names by ids in filters. A name that does not exist remains, and is
// reported as a fault when the filters are parsed.
func resolveNames(v any, keys, names map[string]int, depth int) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			resolveNames(v[i], keys, names, depth)
		}
	case map[string]any:
		if depth == 0 { // deeper filters cannot be read
			return
		}
		switch v["type"] {
		case "cohort":
			name, isText := v["value"].(string)
			if id := names[name]; isText && v["key"] == "name" && id != 0 {
				v["key"], v["value"] = "id", json.Number(strconv.Itoa(id))
			}
		case "flag":
			if key, ok := v["key"].(string); ok && v["dependency_chain"] == nil && keys[key] != 0 {
				v["key"] = strconv.Itoa(keys[key])
			}
		}
		for name, inner := range v {
			if name != "value" { // the value of a property is data, not a filter
				resolveNames(inner, keys, names, depth-1)
			}
		}
	}
}
