package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
)

const yesHelp = `  --yes             do not ask for confirmation; required without a terminal
`

// errDeclined is returned if the user declines an action.
var errDeclined = errors.New("nothing was changed")

// confirm requires a confirmation before an action that is not easily undone, such as "Delete the
// flag x?". With --yes there is no question. Without --yes and without a terminal, it returns a
// usage error (exit code 2), so that scripts must be explicit. The action must set
// needsConfirmation.
func (m *manager) confirm(ctx context.Context, question string) error {
	if m.project != nil {
		question = fmt.Sprintf("%s in project %s?", strings.TrimSuffix(question, "?"), m.project)
	}
	switch {
	case *m.yes:
		return nil
	case !m.CanPrompt(m.Stdin):
		return cli.BadUsage(m.command, "%s There is no terminal to confirm this: add --yes", question)
	}
	_, _ = fmt.Fprintf(m.Stderr, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() { // reading a line cannot be interrupted otherwise
		line, _ := bufio.NewReader(io.LimitReader(m.Stdin, 100)).ReadString('\n')
		answer <- line
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case line := <-answer:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
		return errDeclined
	}
}
