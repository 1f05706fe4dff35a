package cli

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// NewFlags returns an empty set of flags that prints neither errors nor its usage.
func NewFlags(command string) *flag.FlagSet {
	fs := flag.NewFlagSet(command, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return fs
}

// ParseArgs parses options and other arguments in any order, and returns the other arguments.
func ParseArgs(fs *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, HelpRequest(fs.Name())
			}
			if name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); unknown {
				return nil, unknownOption(fs, name)
			}
			return nil, BadUsage(fs.Name(), "%s", err)
		}
		remaining := fs.Args()
		if len(remaining) == 0 {
			return rest, nil
		}
		if read := len(args) - len(remaining); read > 0 && args[read-1] == "--" {
			return append(rest, remaining...), nil
		}
		rest, args = append(rest, remaining[0]), remaining[1:]
	}
}

// NoArgs is ParseArgs for commands without arguments: it returns a usage error if there are any.
func NoArgs(fs *flag.FlagSet, args []string) error {
	rest, err := ParseArgs(fs, args)
	if err == nil && len(rest) > 0 {
		return BadUsage(fs.Name(), "unexpected argument %q", rest[0])
	}
	return err
}

// DidYouMean returns the end of an error about an unknown name, which suggests the most similar of
// names, with prefix before it. It returns "" if no name is similar.
func DidYouMean(name string, names []string, prefix string) string {
	if near := flags.Nearest(name, names); near != "" {
		return "; did you mean " + prefix + near + "?"
	}
	return ""
}

// unknownOption returns the error for an option that a command does not have.
func unknownOption(fs *flag.FlagSet, name string) error {
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return BadUsage(fs.Name(), "there is no option --%s%s", name, DidYouMean(name, names, "--"))
}

// StringList is the value of an option that may be repeated.
type StringList []string

func (t *StringList) String() string { return strings.Join(*t, ",") }

// Set appends s.
func (t *StringList) Set(s string) error { *t = append(*t, s); return nil }

// SplitList splits a comma-separated list and omits empty elements.
func SplitList(s string) []string {
	out := []string{}
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// Properties parses the values of a command's option --property NAME=VALUE. A value that is not
// JSON is a string.
func Properties(command string, values StringList) (map[string]any, error) {
	return pairs(command, "--property: must be name=value", values, jsonOrText)
}

// Groups parses the values of a command's option --group TYPE=KEY.
func Groups(command string, values StringList) (map[string]string, error) {
	return pairs(command, "--group: must be type=key, such as company=acme", values, func(key string) string { return key })
}

func pairs[V any](command, want string, values StringList, read func(string) V) (map[string]V, error) {
	out := make(map[string]V, len(values))
	for _, s := range values {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, BadUsage(command, "%s, not %q", want, s)
		}
		out[name] = read(value)
	}
	return out, nil
}

func jsonOrText(s string) any {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return s
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return s
	}
	return v
}
