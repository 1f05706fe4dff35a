package cli

import (
	"fmt"
	"strings"
)

// manual returns the manual page of the program in the format of man, from the table of commands.
func (p *Program) manual() string {
	var b strings.Builder
	b.WriteString(".TH BUNTING 1\n.SH NAME\nbunting \\- feature flags and events in one server\n" +
		".SH SYNOPSIS\n.B bunting\nCOMMAND [ARGUMENTS]\n.SH DESCRIPTION\n")
	manText(&b, p.overview())
	b.WriteString(".SH COMMANDS\n")
	for _, c := range p.Commands {
		fmt.Fprintf(&b, ".SS %s\n", c.Name)
		manText(&b, c.Help)
	}
	return b.String()
}

// manText writes a text whose lines stay as they are.
func manText(b *strings.Builder, text string) {
	b.WriteString(".nf\n")
	for line := range strings.Lines(text) {
		line = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(line)
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line // otherwise it would be a request
		}
		b.WriteString(line)
	}
	b.WriteString(".fi\n")
}
