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

const yesHelp = `  --yes             do not ask; needed where nobody can be asked
`

// errDeclined ends what somebody has been asked about and does not want.
var errDeclined = errors.New("nothing is changed")

// confirm asks before something that is not easily undone, such as "Delete the
// flag x?". With --yes nobody is asked; without it, and without a terminal, it is
// refused (exit code 2), so that a script says what it means. The action has to
// have asks set.
func (m *manager) confirm(ctx context.Context, question string) error {
	if m.project != nil {
		question = fmt.Sprintf("%s in project %s?", strings.TrimSuffix(question, "?"), m.project)
	}
	switch {
	case *m.yes:
		return nil
	case !m.CanPrompt(m.Stdin):
		return cli.BadUsage(m.command, "%s Nobody can be asked here: --yes is missing", question)
	}
	_, _ = fmt.Fprintf(m.Stderr, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() { // the wait for a line cannot be ended otherwise
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
