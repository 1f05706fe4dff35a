package codegen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// TypeScript generates a module with a function for each flag that is not deleted, and the types of
// its variants and payloads. The functions read flags from any object with posthog-js's methods
// getFeatureFlag and getFeatureFlagPayload. Otherwise it is like [Go].
func TypeScript(list []flags.Flag, from string, schemas map[string]json.RawMessage) (Source, error) {
	all, renamed, err := nameAll(list, schemas, false)
	if err != nil {
		return Source{}, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, generatedMark+" from %s; DO NOT EDIT.\n\n", oneLine(from))
	b.WriteString(renamedComment(renamed))
	b.WriteString(`/** The client that flags are read from. posthog-js has both methods. */
export interface FlagReader {
  getFeatureFlag(key: string): string | boolean | null | undefined
  getFeatureFlagPayload(key: string): unknown
}
`)
	for i := range all {
		all[i].typeScript(&b)
	}
	return Source{b.Bytes(), renamed}, nil
}

func (n *namedFlag) typeScript(b *bytes.Buffer) {
	key, function := quote(n.flag.Key), "read"+n.name
	about := strings.ReplaceAll(n.comment(), "*/", "* /")
	if len(n.variants) == 0 {
		fmt.Fprintf(b, "\n/** Reads %s. */\nexport function %s(r: FlagReader, fallback = false): boolean {\n", about, function)
		fmt.Fprintf(b, "  const v = r.getFeatureFlag(%s)\n  return v === undefined || v === null ? fallback : v !== false\n}\n", key)
	} else {
		keys := make([]string, len(n.variants))
		for i, v := range n.variants {
			keys[i] = quote(v.key)
		}
		fmt.Fprintf(b, "\n/** A variant of %s. */\nexport type %s = %s\n", about, n.name, strings.Join(keys, " | "))
		fmt.Fprintf(b, "\nconst variantsOf%s: readonly %s[] = [%s]\n", n.name, n.name, strings.Join(keys, ", "))
		fmt.Fprintf(b, "\n/** Reads the variant. Returns the fallback for a variant that is not listed here. */\nexport function %s(r: FlagReader, fallback: %s): %s {\n", function, n.name, n.name)
		fmt.Fprintf(b, "  const v = r.getFeatureFlag(%s)\n  return variantsOf%s.find((known) => known === v) ?? fallback\n}\n", key, n.name)
	}
	if n.payload != nil {
		fmt.Fprintf(b, "\n/** The payload of %s. */\nexport type %sPayload = %s\n", key, n.name, n.payload.tsType(""))
		fmt.Fprintf(b, "\n/** Reads the payload; undefined if there is none. */\nexport function %sPayload(r: FlagReader): %sPayload | undefined {\n", function, n.name)
		fmt.Fprintf(b, "  return (r.getFeatureFlagPayload(%s) ?? undefined) as %sPayload | undefined\n}\n", key, n.name)
	}
}

func (s *shape) tsType(indent string) string {
	t := s.tsBare(indent)
	if s.null && t != "unknown" {
		t += " | null"
	}
	return t
}

func (s *shape) tsBare(indent string) string {
	switch s.kind {
	case boolean:
		return "boolean"
	case text:
		return "string"
	case integer, number:
		return "number"
	case list:
		if s.item == nil {
			return "unknown[]"
		}
		return "Array<" + s.item.tsType(indent) + ">"
	case object:
		if len(s.members) == 0 {
			return "Record<string, unknown>"
		}
		var b strings.Builder
		b.WriteString("{\n")
		for _, name := range s.names() {
			m, mark := s.members[name], ""
			if m.optional {
				mark = "?"
			}
			fmt.Fprintf(&b, "%s  %s%s: %s\n", indent, quote(name), mark, m.tsType(indent+"  "))
		}
		return b.String() + indent + "}"
	}
	return "unknown"
}
