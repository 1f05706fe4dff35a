package cli

import (
	"fmt"
	"strings"
)

// help prints the help of a command, or of the program if args is empty.
func (p *Program) help(args []string) error {
	if len(args) == 0 {
		return p.Print(p.overview())
	}
	if args[0] == "help" {
		return p.Print("Usage: bunting help [COMMAND]\n\nExplains a command, or lists them all.\n")
	}
	c := p.find(args[0])
	if c == nil {
		return p.unknown(args[0])
	}
	return p.Print(c.Help)
}

func (p *Program) overview() string {
	var b strings.Builder
	b.WriteString(`Bunting evaluates feature flags, captures events and manages both. It serves
PostHog's SDKs, and has tools for definitions files and for running servers.

Usage: bunting COMMAND [ARGUMENTS]

Commands:
`)
	for _, c := range p.Commands {
		fmt.Fprintf(&b, "  %-11s %s\n", c.Name, c.Summary)
	}
	b.WriteString(`  help        explain a command: bunting help serve

A first try, from the root of the repository:
  bunting serve --definitions testdata/demo.json
  bunting eval --definitions testdata/demo.json --distinct-id user-1
  bunting check testdata/demo.json

Exit codes: 0 success, 1 failure, 2 wrong command line.
`)
	return b.String()
}
