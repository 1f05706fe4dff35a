package settings

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/server"
)

// provided is the value of a setting with its source.
type provided struct {
	Values []string
	origin origin
}

// origin describes the source of a value: source for the output, place for errors.
type origin struct{ source, place string }

func fromDefault() origin         { return origin{"default", "default"} }
func fromFlag(name string) origin { return origin{"command line", "--" + name} }
func fromEnv(name string) origin  { return origin{"environment " + name, name} }
func fromFile(path string) func(member string) origin {
	return func(member string) origin {
		return origin{"config file " + path, fmt.Sprintf("%s: %q", path, member)}
	}
}

// flagValue collects the values of a setting on the command line. The first use replaces the value
// of all other sources; further uses append to a list.
type flagValue struct {
	kind   kind
	used   bool // an empty list is a value too
	values []string
}

func (f *flagValue) String() string   { return strings.Join(f.values, ",") }
func (f *flagValue) IsBoolFlag() bool { return f.kind == Boolean }
func (f *flagValue) Set(s string) error {
	f.used = true
	if f.kind == list {
		f.values = append(f.values, cli.SplitList(s)...)
		return nil
	}
	f.values = []string{s}
	return nil
}

// Resolved contains every setting with its value, and the other options of serve.
type Resolved struct {
	Config      Config
	values      []provided // in the order of All
	File        provided   // the config file itself
	PrintConfig bool
}

// Resolve determines the value of each setting: the command line precedes the environment, then the
// config file, then the default.
func Resolve(p *cli.Program, args []string) (*Resolved, error) {
	return ResolveAs(p, "serve", args, nil)
}

// ResolveAs is Resolve for another command, for which more may define further options.
func ResolveAs(p *cli.Program, command string, args []string, more func(*flag.FlagSet)) (*Resolved, error) {
	fs := cli.NewFlags(command)
	if more != nil {
		more(fs)
	}
	fromArgs := make([]flagValue, len(All))
	for i := range All {
		fromArgs[i].kind = All[i].Kind
		fs.Var(&fromArgs[i], All[i].Name, "")
	}
	path := fs.String("config", "", "")
	r := &Resolved{values: make([]provided, len(All))}
	fs.BoolVar(&r.PrintConfig, "print-config", false, "")
	if err := cli.NoArgs(fs, args); err != nil {
		return nil, err
	}
	r.File = provided{[]string{*path}, fromFlag("config")}
	if *path == "" {
		r.File = provided{[]string{p.Env["BUNTING_CONFIG"]}, fromEnv("BUNTING_CONFIG")}
	}
	members := map[string][]string{}
	if path := r.File.Values[0]; path == "" {
		r.File.origin = fromDefault()
	} else {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.File.origin.place, err)
		}
		if members, err = parseConfigFile(path, data); err != nil {
			return nil, err
		}
	}
	ofFile := fromFile(r.File.Values[0])
	for i := range All {
		s := &All[i]
		v := provided{s.Fallback, fromDefault()}
		if values, ok := members[s.member()]; ok {
			v = provided{values, ofFile(s.member())}
		}
		if value := p.Env[s.Env()]; value != "" {
			v = provided{s.split(value), fromEnv(s.Env())}
		}
		if fromArgs[i].used {
			v = provided{fromArgs[i].values, fromFlag(s.Name)}
		}
		if err := s.apply(&r.Config, v.Values); err != nil {
			return nil, cli.Usage(v.origin.place+": "+err.Error(), "see bunting help serve")
		}
		r.values[i] = v
	}
	return r, nil
}

// split converts the value of an environment variable.
func (s *setting) split(value string) []string {
	if s.Kind == list {
		return cli.SplitList(value)
	}
	return []string{value}
}

// apply checks a value and stores it in the configuration.
func (s *setting) apply(c *Config, v []string) error {
	if s.Kind == Boolean {
		if _, err := strconv.ParseBool(v[0]); err != nil {
			return fmt.Errorf("must be true or false, not %q", v[0])
		}
	}
	return s.set(c, v)
}

// Print formats the effective configuration as JSON, with the source of each value.
func (r *Resolved) Print() (string, error) {
	var b strings.Builder
	b.WriteString("{\n")
	row := func(name string, v any, o origin, end string) error {
		value, err := json.Marshal(v)
		source, err2 := json.Marshal(o.source)
		if err != nil || err2 != nil {
			return fmt.Errorf("%s cannot be printed", name)
		}
		fmt.Fprintf(&b, "  %q: {\"value\": %s, \"source\": %s}%s\n", name, value, source, end)
		return nil
	}
	for i := range All {
		if err := row(All[i].member(), All[i].fileValue(r.values[i].Values), r.values[i].origin, ","); err != nil {
			return "", err
		}
	}
	if err := row("config", r.File.Values[0], r.File.origin, ""); err != nil {
		return "", err
	}
	b.WriteString("}\n")
	return b.String(), nil
}

// fileValue returns a value as it is written in the config file.
func (s *setting) fileValue(v []string) any {
	switch s.Kind {
	case list:
		return append([]string{}, v...) // not null
	case Boolean:
		on, _ := strconv.ParseBool(v[0])
		return on
	case number:
		n, _ := strconv.ParseInt(v[0], 10, 64)
		return n
	}
	return WithoutPassword(v[0])
}

// value returns the value of a setting and its source.
func (r *Resolved) value(name string) provided {
	return r.values[slices.IndexFunc(All, func(s setting) bool { return s.Name == name })]
}

// IsIn reports whether the value of a setting is from a source, such as the command line, which
// every user of the machine can read.
func (r *Resolved) IsIn(name, source string) bool {
	return strings.HasPrefix(r.value(name).origin.source, source)
}

// Value returns the value of a setting, or the first value of a list.
func (r *Resolved) Value(name string) string {
	if values := r.value(name).Values; len(values) > 0 {
		return values[0]
	}
	return ""
}

// IsSet reports whether a setting has a value.
func (r *Resolved) IsSet(name, value string) bool { return r.Value(name) == value }

// DatabaseURL returns the URL of the database. Without --database it is a file in the data folder.
func (c *Config) DatabaseURL() string {
	if c.Database != "" {
		return c.Database
	}
	return "sqlite:" + filepath.Join(c.Data, server.DatabaseFile)
}
