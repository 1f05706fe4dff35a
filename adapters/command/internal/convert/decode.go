package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/bunting-flags/bunting/flags"
)

// errSeveral is returned for a file with more than one document.
var errSeveral = errors.New("a second document in one file is not read")

// decode parses a document as JSON or YAML. Its errors contain the line.
func decode(data []byte) (*node, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("is larger than %d MiB", MaxSize>>20)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) == 0 {
		return nil, errors.New("the document is empty")
	}
	v, err := flags.DecodeJSON(data)
	if err == nil {
		if depthOf(v) > maxDepth {
			return nil, fmt.Errorf("is nested deeper than %d levels", maxDepth)
		}
		return &node{value: v}, nil
	}
	if severalJSON(trimmed) {
		return nil, fmt.Errorf("%w: %w", errSeveral, err)
	}
	y, yamlErr := decodeYAML(data)
	if isTOML(data, y, yamlErr) {
		return nil, errors.New("is TOML, which is not supported: convert it to YAML or JSON")
	}
	if yamlErr != nil && (trimmed[0] == '{' || trimmed[0] == '[') {
		// YAML in flow style begins with these characters too, but is rare; JSON's error is more
		// helpful.
		return nil, err
	}
	return y, yamlErr
}

// severalJSON reports whether a text begins with two JSON documents.
func severalJSON(text []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(text))
	var one, two json.RawMessage
	return dec.Decode(&one) == nil && len(one) > 0 && one[0] == '{' && dec.Decode(&two) == nil && len(two) > 0 && two[0] == '{'
}

// Patterns for lines of TOML: [tables] and the values of keys.
var (
	tomlTable = lazy(`(?m)^\[{1,2}[\w."' -]+\]{1,2}[ \t]*(?:#.*)?\r?$`)
	tomlValue = lazy(`(?m)^[ \t]*[\w."'-]+[ \t]*=[ \t]*[^=\s]`)
)

// kubernetesLine matches a line that all Kubernetes resources contain.
var kubernetesLine = lazy(`(?m)^"?apiVersion"?:[ \t]*\S`)

// isTOML reports whether a text that is not valid YAML, or is a single YAML string, looks like
// TOML.
func isTOML(data []byte, y *node, err error) bool {
	if err == nil {
		_, isText := y.value.(string)
		return isText && tomlValue().Match(data)
	}
	return tomlTable().Match(data) && tomlValue().Match(data)
}

// decodeYAML parses a YAML file, which must contain a single document.
func decodeYAML(data []byte) (*node, error) {
	var root yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&root); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		err = fmt.Errorf("line %d: %w", max(second.Line, 1), errSeveral)
		if kubernetesLine().Match(data) {
			err = fmt.Errorf("%w: these are Kubernetes resources, and the flags are inside one of them: give only that one", err)
		}
		return nil, err
	}
	y := yamlReader{remaining: len(data) + 1000}
	v, err := y.value(&root, 0)
	if err != nil {
		return nil, err
	}
	return &node{value: v}, nil
}

// yamlReader limits the size of a document with expanded aliases.
type yamlReader struct{ remaining int }

// value converts a YAML node. Each node counts against remaining, also if it is reached through an
// alias.
func (y *yamlReader) value(n *yaml.Node, depth int) (any, error) {
	if y.remaining--; y.remaining < 0 {
		return nil, fmt.Errorf("line %d: aliases make the document too large", n.Line)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: is nested deeper than %d levels", n.Line, maxDepth)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return y.value(n.Content[0], depth)
	case yaml.AliasNode:
		return y.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, c := range n.Content {
			v, err := y.value(c, depth+1)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	case yaml.MappingNode:
		return y.mapping(n, depth)
	}
	return scalar(n)
}

// mapping converts a YAML mapping. Its own members override those of merge keys, and of several
// merged objects the first one wins.
func (y *yamlReader) mapping(n *yaml.Node, depth int) (any, error) {
	out := make(map[string]any, len(n.Content)/2)
	var merged []map[string]any
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		for key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: the name of a member must be text", key.Line)
		}
		value, err := y.value(v, depth+1)
		if err != nil {
			return nil, err
		}
		if key.ShortTag() == "!!merge" {
			if merged, err = merge(merged, value, key.Line); err != nil {
				return nil, err
			}
			continue
		}
		if _, twice := out[key.Value]; twice {
			return nil, fmt.Errorf("line %d: the member %q is given twice", key.Line, short(key.Value))
		}
		out[key.Value] = value
	}
	for _, m := range merged {
		for name, v := range m {
			if _, own := out[name]; !own {
				out[name] = v
			}
		}
	}
	return out, nil
}

// merge appends the objects of a merge key (<<).
func merge(merged []map[string]any, value any, line int) ([]map[string]any, error) {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for _, m := range list {
		obj, ok := m.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("line %d: << needs an object", line)
		}
		merged = append(merged, obj)
	}
	return merged, nil
}

// scalar decodes a YAML scalar, except that dates remain strings.
func scalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		err := n.Decode(&b)
		return b, err
	case "!!int":
		i, ok := new(big.Int).SetString(strings.ReplaceAll(n.Value, "_", ""), 0)
		if !ok {
			return nil, fmt.Errorf("line %d: %q is not a number", n.Line, short(n.Value))
		}
		return json.Number(i.String()), nil
	case "!!float":
		var f float64
		if err := n.Decode(&f); err != nil {
			return nil, err
		}
		text, err := json.Marshal(f)
		if err != nil {
			return nil, fmt.Errorf("line %d: %q is not a number that JSON has", n.Line, short(n.Value))
		}
		return json.Number(text), nil
	}
	return n.Value, nil
}

// depthOf returns the number of nested lists and objects of a value, 0 for a scalar.
func depthOf(v any) int {
	deepest := 0
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			deepest = max(deepest, depthOf(e))
		}
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, depthOf(e))
		}
	default:
		return 0
	}
	return deepest + 1
}
