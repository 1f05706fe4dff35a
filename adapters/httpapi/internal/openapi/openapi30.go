package openapi

import (
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
)

// OpenAPI30 converts a description in OpenAPI 3.1 to 3.0.3, for generators that do not support
// 3.1 (spec/clients.md §15).
func OpenAPI30(text []byte) ([]byte, error) {
	var d frame.Object
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	d["openapi"] = "3.0.3"
	lowerDocument(d)
	return json.Marshal(d)
}

// lowerDocument converts the parts of a document outside of schemas, and calls lowerSchema for
// each schema.
func lowerDocument(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			lowerDocument(item)
		}
	case frame.Object:
		lowerScopes(v)
		for name, member := range v {
			schemas, many := member.(frame.Object)
			switch {
			case name == "example" || name == "examples":
			case name == "schema" && many:
				lowerSchema(schemas)
			case name == "schemas" && many:
				for _, schema := range schemas {
					lowerSchema(schema)
				}
			default:
				lowerDocument(member)
			}
		}
	}
}

// lowerScopes moves the scopes in the security of an operation to x-scopes, because in 3.0 a
// bearer scheme has no scopes.
func lowerScopes(operation frame.Object) {
	requirements, _ := operation["security"].([]any)
	for _, r := range requirements {
		requirement, _ := r.(frame.Object)
		for scheme, scopes := range requirement {
			if list, _ := scopes.([]any); len(list) > 0 {
				operation["x-scopes"] = list
			}
			requirement[scheme] = []any{}
		}
	}
}

// lowerings are the conversions of a schema object from 3.1 to 3.0, in the order of their
// application.
var lowerings = []func(frame.Object){lowerChoices, lowerTypes, lowerEnum, lowerBounds, lowerWords, lowerReference}

// lowerSchema converts a schema and its subschemas to 3.0.
func lowerSchema(v any) {
	s, ok := v.(frame.Object)
	if !ok {
		return
	}
	for _, lowering := range lowerings {
		lowering(s)
	}
	for _, name := range []string{"items", "additionalProperties", "not"} {
		lowerSchema(s[name])
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[name].([]any)
		for _, schema := range list {
			lowerSchema(schema)
		}
	}
	properties, _ := s["properties"].(frame.Object)
	for _, schema := range properties {
		lowerSchema(schema)
	}
}

// isNull reports whether a schema allows only null.
func isNull(v any) bool {
	s, _ := v.(frame.Object)
	return s["type"] == "null"
}

// lowerChoices replaces null in anyOf and oneOf by nullable. If only one schema is left, it is
// merged into s.
func lowerChoices(s frame.Object) {
	for _, name := range []string{"anyOf", "oneOf"} {
		all, _ := s[name].([]any)
		others := slices.DeleteFunc(slices.Clone(all), isNull)
		if len(others) == len(all) {
			continue
		}
		s["nullable"], s[name] = true, others
		if len(others) > 1 {
			continue
		}
		delete(s, name)
		for _, one := range others {
			for k, v := range one.(frame.Object) {
				s[k] = v
			}
		}
	}
}

// lowerTypes replaces a list of types by one type, or by oneOf if there are several. Null becomes
// nullable.
func lowerTypes(s frame.Object) {
	if s["type"] == "null" {
		delete(s, "type")
		s["nullable"] = true
		return
	}
	list, ok := s["type"].([]any)
	if !ok {
		return
	}
	types := slices.DeleteFunc(slices.Clone(list), func(t any) bool { return t == "null" })
	if len(types) < len(list) {
		s["nullable"] = true
	}
	delete(s, "type")
	if len(types) == 1 {
		s["type"] = types[0]
		return
	}
	choice := []any{}
	for _, t := range types {
		one := frame.Object{"type": t}
		if t == "array" {
			one["items"] = s["items"]
			delete(s, "items")
		}
		choice = append(choice, one)
	}
	s["oneOf"] = choice
}

// lowerEnum replaces null among the enum values by nullable, and const by an enum with one value.
func lowerEnum(s frame.Object) {
	if value, ok := s["const"]; ok {
		s["enum"] = []any{value}
		delete(s, "const")
	}
	values, _ := s["enum"].([]any)
	if others := slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == nil }); len(others) < len(values) {
		s["enum"], s["nullable"] = others, true
	}
}

// lowerBounds replaces numeric exclusive bounds by a bound and a boolean.
func lowerBounds(s frame.Object) {
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if n, ok := s[exclusive].(float64); ok {
			s[bound], s[exclusive] = n, true
		}
	}
}

// lowerWords removes or replaces keywords that 3.0 does not have.
func lowerWords(s frame.Object) {
	if list, _ := s["examples"].([]any); len(list) > 0 {
		s["example"] = list[0]
	}
	if _, ok := s["prefixItems"]; ok && s["items"] == nil {
		s["items"] = frame.Object{}
	}
	for _, word := range []string{"examples", "prefixItems", "$schema", "unevaluatedProperties"} {
		delete(s, word)
	}
}

// lowerReference moves a reference with sibling keywords into allOf, because 3.0 ignores the
// siblings of a reference.
func lowerReference(s frame.Object) {
	if ref, ok := s["$ref"]; ok && len(s) > 1 {
		delete(s, "$ref")
		s["allOf"] = []any{frame.Object{"$ref": ref}}
	}
}
