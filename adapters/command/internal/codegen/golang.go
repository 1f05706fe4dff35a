package codegen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/format"
	"go/token"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// Go generates a package pkg with a function for each flag that is not deleted, and types for the
// variants and the payloads of flags that have any. The functions read flags from a [flags.Reader].
// The value of a remote configuration flag is its payload. schemas are JSON schemas of payloads by
// flag key; without a schema, the type fits all payloads of the flag. from describes the source of
// the flags in a comment. If the keys of several flags result in the same name, the later names get
// a suffix. Go returns an error if pkg is not a valid package name.
func Go(list []flags.Flag, pkg, from string, schemas map[string]json.RawMessage) (Source, error) {
	if !token.IsIdentifier(pkg) {
		return Source{}, fmt.Errorf("%q cannot be the name of a package", pkg)
	}
	all, renamed, err := nameAll(list, schemas, true)
	if err != nil {
		return Source{}, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, generatedMark+" from %s; DO NOT EDIT.\n\n", oneLine(from))
	b.WriteString(renamedComment(renamed))
	fmt.Fprintf(&b, "// Package %s reads feature flags by name. If a flag is deleted, its function is removed.\npackage %s\n", pkg, pkg)
	if len(all) > 0 {
		b.WriteString("\nimport (\n\t\"context\"\n\n\t\"github.com/bunting-flags/bunting/flags\"\n)\n")
	}
	for i := range all {
		all[i].goCode(&b)
	}
	text, err := format.Source(b.Bytes())
	return Source{text, renamed}, err
}

// goCode writes the functions and types of one flag.
func (n *namedFlag) goCode(b *bytes.Buffer) {
	key := quote(n.flag.Key)
	switch {
	case len(n.variants) > 0:
		n.goVariants(b)
	case n.flag.RemoteConfig && n.payload != nil && n.payload.kind != boolean: // its value is only the payload
	default:
		fmt.Fprintf(b, "\n// Read%s reads %s.\n", n.name, n.comment())
		fmt.Fprintf(b, "func Read%s(ctx context.Context, r flags.Reader, s *flags.Subject, fallback bool) bool {\n\treturn r.Bool(ctx, %s, s, fallback)\n}\n", n.name, key)
	}
	if n.payload != nil {
		fmt.Fprintf(b, "\n// %sPayload is the payload of %s.\ntype %sPayload %s\n", n.name, key, n.name, n.payload.goType())
		fmt.Fprintf(b, "\n// Read%sPayload reads the payload.\n", n.name)
		fmt.Fprintf(b, "func Read%sPayload(ctx context.Context, r flags.Reader, s *flags.Subject, fallback %sPayload) %sPayload {\n\treturn flags.JSON(ctx, r, %s, s, fallback)\n}\n", n.name, n.name, n.name, key)
	}
}

// goVariants writes the type of the variants, and a function that returns one of them or its
// fallback.
func (n *namedFlag) goVariants(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n// %s is a variant of %s.\ntype %s string\n", n.name, n.comment(), n.name)
	fmt.Fprintf(b, "\n// The variants of %s.\nconst (\n", quote(n.flag.Key))
	names := make([]string, len(n.variants))
	for i, v := range n.variants {
		names[i] = v.name
		fmt.Fprintf(b, "\t%s %s = %s\n", v.name, n.name, quote(v.key))
	}
	b.WriteString(")\n")
	fmt.Fprintf(b, "\n// Read%s reads the variant. It returns the fallback for a variant that is not listed here.\n", n.name)
	fmt.Fprintf(b, "func Read%s(ctx context.Context, r flags.Reader, s *flags.Subject, fallback %s) %s {\n", n.name, n.name, n.name)
	read := "r.String(ctx, " + quote(n.flag.Key) + ", s, string(fallback))"
	if n.flag.RemoteConfig { // its string is the payload
		fmt.Fprintf(b, "\t_, d := r.JSONDetail(ctx, %s, s, nil)\n", quote(n.flag.Key))
		read = "d.Variant"
	}
	fmt.Fprintf(b, "\tswitch v := %s(%s); v {\n\tcase %s:\n\t\treturn v\n\t}\n\treturn fallback\n}\n", n.name, read, strings.Join(names, ", "))
}

// goType returns the Go type of a shape. Members that may be missing or null are pointers.
func (s *shape) goType() string {
	switch s.kind {
	case boolean:
		return "bool"
	case text:
		return "string"
	case integer:
		return "int64"
	case number:
		return "float64"
	case list:
		if s.item == nil {
			return "[]any"
		}
		return "[]" + s.item.goOptional(false)
	case object:
		return s.goStruct()
	}
	return "any"
}

func (s *shape) goOptional(optional bool) string {
	t := s.goType()
	if (optional || s.null) && s.kind != list && t != "any" && !strings.HasPrefix(t, "map[") {
		return "*" + t
	}
	return t
}

// goStruct returns a struct type, or a map type if a member has no valid name in Go.
func (s *shape) goStruct() string {
	var b strings.Builder
	b.WriteString("struct {\n")
	names := map[string]bool{}
	for _, name := range s.names() {
		field := exportedName(name)
		if names[field] || name == "" || name == "-" || strings.ContainsAny(name, "`\",\\\n") {
			return "map[string]any"
		}
		names[field] = true
		m := s.members[name]
		tag := name
		if m.optional {
			tag += ",omitempty"
		}
		fmt.Fprintf(&b, "%s %s `json:\"%s\"`\n", field, m.goOptional(m.optional), tag)
	}
	b.WriteString("}")
	if len(names) == 0 {
		return "map[string]any"
	}
	return b.String()
}
