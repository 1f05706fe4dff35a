package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// help prints the help of a command, or that of the program.
func (p *program) help(args []string) error {
	if len(args) == 0 {
		return p.print(programHelp())
	}
	if args[0] == "help" {
		return p.print("Usage: bunting help [COMMAND]\n\nExplains a command, or lists them all.\n")
	}
	c := findCommand(args[0])
	if c == nil {
		return unknownCommand(args[0])
	}
	return p.print(c.help())
}

func (p *program) print(text string) error {
	_, err := io.WriteString(p.stdout, text)
	return err
}

func programHelp() string {
	var b strings.Builder
	b.WriteString(`Bunting decides feature flags, takes in events and manages both. It answers
PostHog's SDKs, and has tools for definitions files and for running servers.

Usage: bunting COMMAND [ARGUMENTS]

Commands:
`)
	for _, c := range commands {
		fmt.Fprintf(&b, "  %-11s %s\n", c.name, c.summary)
	}
	b.WriteString(`  help        explain a command: bunting help serve

A first try, from the root of the repository:
  bunting serve --definitions testdata/demo.json
  bunting eval --definitions testdata/demo.json --distinct-id user-1
  bunting check testdata/demo.json

Exit codes: 0 good, 1 it did not work, 2 the command line is wrong.
`)
	return b.String()
}

// newFlags makes an empty set of flags that prints nothing by itself.
func newFlags(command string) *flag.FlagSet {
	fs := flag.NewFlagSet(command, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return fs
}

// parseArgs reads flags and other arguments in any order.
func parseArgs(fs *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, errHelp{fs.Name()}
			}
			if name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); unknown {
				return nil, unknownOption(fs, name)
			}
			return nil, badUsage(fs.Name(), "%s", err)
		}
		left := fs.Args()
		if len(left) == 0 {
			return rest, nil
		}
		if read := len(args) - len(left); read > 0 && args[read-1] == "--" {
			return append(rest, left...), nil
		}
		rest, args = append(rest, left[0]), left[1:]
	}
}

// noArgs refuses what is not a flag.
func noArgs(fs *flag.FlagSet, args []string) error {
	rest, err := parseArgs(fs, args)
	if err == nil && len(rest) > 0 {
		return badUsage(fs.Name(), "unexpected argument %q", rest[0])
	}
	return err
}
