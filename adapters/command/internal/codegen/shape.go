package codegen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// kind is the kind of a payload, or of a part of it.
type kind int

const (
	anything kind = iota // of several kinds, or of an unknown kind
	boolean
	text
	integer
	number
	list
	object
)

// shape is the type of a payload.
type shape struct {
	kind    kind
	null    bool // it may be null
	item    *shape
	members map[string]*member
}

type member struct {
	*shape
	optional bool
}

// payloadShape returns the type of a flag's payloads: that of its schema, or without a schema one
// that fits all of them. It returns nil if the flag has no payloads.
func payloadShape(f *flags.Flag, schema json.RawMessage) (*shape, error) {
	if schema != nil {
		s, err := fromSchema(schema, "", 0)
		if err != nil {
			return nil, fmt.Errorf("the schema of flag %q: %w", f.Key, err)
		}
		return s, nil
	}
	var out *shape
	for _, key := range slices.Sorted(maps.Keys(f.Payloads)) {
		if strings.HasPrefix(key, "holdout-") {
			continue
		}
		s, err := example(f.Payloads[key])
		if err != nil {
			return nil, fmt.Errorf("the payload %s of flag %q is not valid JSON: %w", quote(key), f.Key, err)
		}
		out = merge(out, s)
	}
	return out, nil
}

// example returns the type of one payload. PostHog stores payloads as strings that contain JSON.
func example(raw json.RawMessage) (*shape, error) {
	v, err := decode(raw)
	if text, ok := v.(string); ok && err == nil {
		if inner, innerErr := decode([]byte(text)); innerErr == nil {
			v = inner
		}
	}
	if err != nil {
		return nil, err
	}
	return shapeOf(v), nil
}

func decode(raw []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err = dec.Decode(&v); err == nil && len(bytes.TrimSpace(raw[dec.InputOffset():])) > 0 {
		err = fmt.Errorf("there is more text after the value")
	}
	return v, err
}

// shapeOf returns the type of a decoded JSON value.
func shapeOf(v any) *shape {
	switch v := v.(type) {
	case nil:
		return &shape{null: true}
	case bool:
		return &shape{kind: boolean}
	case string:
		return &shape{kind: text}
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return &shape{kind: integer}
		}
		return &shape{kind: number}
	case []any:
		s := &shape{kind: list}
		for _, item := range v {
			s.item = merge(s.item, shapeOf(item))
		}
		return s
	case map[string]any:
		s := &shape{kind: object, members: map[string]*member{}}
		for name, value := range v {
			s.members[name] = &member{shape: shapeOf(value)}
		}
		return s
	}
	return &shape{}
}

// merge returns the type that fits both a and b.
func merge(a, b *shape) *shape {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.isNull() || b.isNull():
		out := *a
		if a.isNull() {
			out = *b
		}
		out.null = true
		return &out
	}
	out := &shape{kind: a.kind, null: a.null || b.null}
	switch {
	case a.isNumeric() && b.isNumeric():
		out.kind = max(a.kind, b.kind)
	case a.kind != b.kind:
		out.kind = anything
	case a.kind == list:
		out.item = merge(a.item, b.item)
	case a.kind == object:
		out.members = mergeMembers(a.members, b.members)
	}
	return out
}

func (s *shape) isNull() bool    { return s.kind == anything && s.null }
func (s *shape) isNumeric() bool { return s.kind == integer || s.kind == number }

// mergeMembers merges the members of two objects. Members that only one of them has become
// optional.
func mergeMembers(a, b map[string]*member) map[string]*member {
	out := map[string]*member{}
	for name, m := range a {
		second, there := b[name]
		if !there {
			out[name] = &member{m.shape, true}
			continue
		}
		out[name] = &member{merge(m.shape, second.shape), m.optional || second.optional}
	}
	for name, m := range b {
		if a[name] == nil {
			out[name] = &member{m.shape, true}
		}
	}
	return out
}

// names returns the members in the order of the generated code.
func (s *shape) names() []string { return slices.Sorted(maps.Keys(s.members)) }

// maxSchema is the maximum depth of a schema.
const maxSchema = 32

// fromSchema reads the keywords of JSON Schema that define types: type, properties, required, items
// and enum. It returns an error for schemas that it does not support.
func fromSchema(raw json.RawMessage, pointer string, depth int) (*shape, error) {
	var schema struct {
		Type       json.RawMessage            `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Items      json.RawMessage            `json:"items"`
		Enum       []json.RawMessage          `json:"enum"`
		Ref        string                     `json:"$ref"`
	}
	fault := func(format string, args ...any) (*shape, error) {
		memberPointer := pointer
		if memberPointer == "" {
			memberPointer = "its root"
		}
		return nil, fmt.Errorf("at %s: "+format, append([]any{memberPointer}, args...)...)
	}
	if depth > maxSchema {
		return fault("nested more than %d deep", maxSchema)
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		return fault("%v", err)
	}
	if schema.Ref != "" {
		return fault("$ref is not supported, write the type out")
	}
	if len(schema.Enum) > 0 && schema.Type == nil {
		var out *shape
		for _, raw := range schema.Enum {
			v, err := decode(raw) // as numbers of payloads, so that integers are int64
			if err != nil {
				return fault("%v", err)
			}
			out = merge(out, shapeOf(v))
		}
		return out, nil
	}
	out, err := schemaType(schema.Type)
	if err != nil {
		return fault("%v", err)
	}
	if out.kind == list && schema.Items != nil {
		if out.item, err = fromSchema(schema.Items, pointer+"/items", depth+1); err != nil {
			return nil, err
		}
	}
	if out.kind == object {
		out.members = map[string]*member{}
		for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
			s, err := fromSchema(schema.Properties[name], pointer+"/properties/"+name, depth+1)
			if err != nil {
				return nil, err
			}
			out.members[name] = &member{s, !slices.Contains(schema.Required, name)}
		}
	}
	return out, nil
}

var schemaKinds = map[string]kind{"boolean": boolean, "string": text, "integer": integer, "number": number, "array": list, "object": object}

// schemaType converts the keyword type, which may be a name or a list of names. Without it any
// value is allowed.
func schemaType(raw json.RawMessage) (*shape, error) {
	var one string
	names := []string{}
	switch {
	case raw == nil:
	case json.Unmarshal(raw, &one) == nil:
		names = []string{one}
	case json.Unmarshal(raw, &names) != nil:
		return nil, fmt.Errorf("type is %s, must be a name or a list of names", raw)
	}
	var out *shape
	for _, name := range names {
		k, ok := schemaKinds[name]
		switch {
		case name == "null":
			out = merge(out, &shape{null: true})
		case !ok:
			return nil, fmt.Errorf("unknown type %q", name)
		default:
			out = merge(out, &shape{kind: k})
		}
	}
	if out == nil {
		out = &shape{}
	}
	return out, nil
}
