package client

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// Actions that delete objects require a confirmation on a terminal, and --yes elsewhere.
func TestConfirm(t *testing.T) {
	for name, c := range map[string]struct {
		yes, terminal bool
		typed         string
		refused       bool
		usage, asked  bool
	}{
		"yes":                  {yes: true},
		"no terminal":          {usage: true, typed: "y\n"},
		"typed y":              {terminal: true, asked: true, typed: "y\n"},
		"typed YES":            {terminal: true, asked: true, typed: "YES\n"},
		"typed n":              {terminal: true, asked: true, typed: "n\n", refused: true},
		"only enter":           {terminal: true, asked: true, typed: "\n", refused: true},
		"the input has ended":  {terminal: true, asked: true, refused: true},
		"yes goes before asks": {yes: true, terminal: true, typed: "n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			stderr := clitest.NewOutput()
			m := &manager{
				Program: &cli.Program{Stdin: strings.NewReader(c.typed), Stderr: stderr, CanPrompt: func(io.Reader) bool { return c.terminal }},
				command: "flags", yes: &c.yes,
			}
			err := m.confirm(context.Background(), "Delete the flag x?")
			var usage *cli.UsageError
			if errors.As(err, &usage) != c.usage || errors.Is(err, errDeclined) != c.refused || (err == nil) == (c.usage || c.refused) {
				t.Error(err)
			}
			if prompted := strings.Contains(stderr.String(), "Delete the flag x? [y/N]"); prompted != c.asked {
				t.Errorf("asked: %v, want %v", prompted, c.asked)
			}
		})
	}
}

func TestConfirm_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	in, typing := io.Pipe()
	defer func() { _ = typing.Close() }()
	m := &manager{
		Program: &cli.Program{Stdin: in, Stderr: io.Discard, CanPrompt: func(io.Reader) bool { return true }},
		command: "flags", yes: new(bool),
	}
	if err := m.confirm(ctx, "Delete?"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
