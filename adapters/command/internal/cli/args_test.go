package cli

import (
	"errors"
	"flag"
	"strings"
	"testing"
)

// Options and arguments in any order. A hyphen is an argument, and after two hyphens there are no
// options.
func TestParseArgs(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]struct {
		rest  string
		limit int
		names string
		err   string
	}{
		"":                                       {"", 0, "", ""},
		"a b":                                    {"a b", 0, "", ""},
		"a --limit 5 b":                          {"a b", 5, "", ""},
		"a --limit=5":                            {"a", 5, "", ""},
		"-limit 5 a":                             {"a", 5, "", ""},
		"--name x a --name y,z":                  {"a", 0, "x,y,z", ""},
		"a.json --limit 1 b.json -- --json.json": {"a.json b.json --json.json", 1, "", ""},
		"- --limit 1":                            {"-", 1, "", ""},
		"-- --limit 1":                           {"--limit 1", 0, "", ""},
		"a -- b -- c":                            {"a b -- c", 0, "", ""},
		"--":                                     {"", 0, "", ""},
		"--limit 1 --limit 2":                    {"", 2, "", ""},
		"a --limt 5":                             {"", 0, "", "check: there is no option --limt; did you mean --limit?\nsee bunting help check"},
		"a --xyzzy":                              {"", 0, "", "check: there is no option --xyzzy\nsee bunting help check"},
		"--limit":                                {"", 0, "", "check: flag needs an argument: -limit\nsee bunting help check"},
		"a --help":                               {"", 0, "", "help for check"},
		"-h --xyzzy":                             {"", 0, "", "help for check"},
		"--limit=99999999999999999999 a":         {"", 0, "", "check: invalid value \"99999999999999999999\" for flag -limit: value out of range\nsee bunting help check"},
	} {
		fs := NewFlags("check")
		limit, names := fs.Int("limit", 0, ""), StringList{}
		fs.Var(&names, "name", "")
		rest, err := ParseArgs(fs, strings.Fields(args))
		if want.err != "" {
			if err == nil || err.Error() != want.err || rest != nil {
				t.Errorf("%q: %q, %v, want %s", args, rest, err, want.err)
			}
			continue
		}
		if err != nil || strings.Join(rest, " ") != want.rest || *limit != want.limit || names.String() != want.names {
			t.Errorf("%q: %q, limit %d, names %q, %v", args, rest, *limit, names, err)
		}
	}
	if err := NoArgs(NewFlags("check"), []string{"--", "-x"}); err == nil || !strings.HasPrefix(err.Error(), `check: unexpected argument "-x"`) {
		t.Error(err)
	}
	var help HelpRequest
	if _, err := ParseArgs(NewFlags("check"), []string{"--help"}); !errors.As(err, &help) || help != "check" || errors.Is(err, flag.ErrHelp) {
		t.Errorf("%v", err)
	}
}
