// Package cli is the frame of bunting's command line: the table of commands, exit
// codes, options, help, completion, and what more than one command prints with.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// Exit codes.
const (
	ExitOK    = 0
	ExitError = 1 // it did not work, or what was looked for is not there
	ExitUsage = 2 // the command line is wrong, or a plan has changes
)

// Program is all that a command has of the world.
type Program struct {
	Commands       []Command
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            map[string]string
	// Settings are the variables of the environment that serve reads.
	Settings []string
	// Grace is how long requests may take to end when the server stops.
	Grace time.Duration
	// CanPrompt reports whether somebody sits before an input and can be asked.
	CanPrompt func(io.Reader) bool
	// Width is how many columns the terminal of an output has, 0 where it is none. Nil:
	// none is.
	Width func(io.Writer) int
}

// Command is a row of the table of commands.
type Command struct {
	Name, Summary string
	Run           func(ctx context.Context, p *Program, args []string) error
	Help          string
	Actions       []string // words that may follow the name
	// EndsOnSignal: the context of Run ends with SIGTERM and SIGINT, which do not end the
	// program then.
	EndsOnSignal bool
}

// Environment are variables as os.Environ has them, by name.
func Environment(variables []string) map[string]string {
	out := make(map[string]string, len(variables))
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		out[name] = value
	}
	return out
}

// IsTerminal reports whether somebody may sit before a stream.
func IsTerminal(stream any) bool {
	f, isFile := stream.(*os.File)
	return isFile && term.IsTerminal(int(f.Fd()))
}

// TerminalWidth is how many columns a stream's terminal has, 0 where it is none.
func TerminalWidth(stream any) int {
	f, isFile := stream.(*os.File)
	if !isFile {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// PrintTable writes rows to the standard output. Where that is a terminal they are cut to
// its width.
func (p *Program) PrintTable(rows [][]string) error {
	width := 0
	if p.Width != nil {
		width = p.Width(p.Stdout)
	}
	return p.Print(TableWithin(rows, width))
}

// Print writes to the standard output.
func (p *Program) Print(text string) error {
	_, err := io.WriteString(p.Stdout, text)
	return err
}

// Open opens a file, or the standard input for a dash. Its size is 0 where that is not
// known.
func (p *Program) Open(name string) (in io.ReadCloser, size int64, err error) {
	if name == "-" {
		return io.NopCloser(p.Stdin), 0, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	return f, size, nil
}

// UsageError is a wrong command line: exit code 2 and a hint.
type UsageError struct{ Problem, Hint string }

// Usage makes one.
func Usage(problem, hint string) error { return &UsageError{problem, hint} }

func (e *UsageError) Error() string { return e.Problem + "\n" + e.Hint }

// BadUsage is the UsageError of a command.
func BadUsage(command, format string, args ...any) error {
	return Usage(command+": "+fmt.Sprintf(format, args...), "see bunting help "+command)
}

// Errors without a text: the output has everything.
var (
	ErrReported = errors.New("reported")          // exit code 1
	ErrChanges  = errors.New("there are changes") // exit code 2
)

// HelpRequest is the error that asks for the help of a command.
type HelpRequest string

func (e HelpRequest) Error() string { return "help for " + string(e) }

// Run runs the command that the arguments name. It returns the exit code.
func (p *Program) Run(ctx context.Context, args []string) int {
	return p.exit(p.dispatch(ctx, args))
}

func (p *Program) dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return p.help(nil)
	}
	name, args := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		return p.help(args)
	case "-v", "-version", "--version":
		name = "version"
	}
	c := p.find(name)
	if c == nil {
		return p.unknown(name)
	}
	if name != "version" && name != "completion" {
		if err := p.checkEnvironment(); err != nil {
			return err
		}
	}
	if c.EndsOnSignal {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
		defer stop()
	}
	return c.Run(ctx, p, args)
}

// exit tells an error and returns the exit code that goes with it.
func (p *Program) exit(err error) int {
	var usage *UsageError
	var help HelpRequest
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &help):
		return p.exit(p.help([]string{string(help)}))
	case errors.Is(err, ErrReported):
		return ExitError
	case errors.Is(err, ErrChanges):
		return ExitUsage
	}
	for line := range strings.Lines(err.Error()) {
		_, _ = fmt.Fprintf(p.Stderr, "bunting: %s\n", strings.TrimSuffix(line, "\n"))
	}
	if errors.As(err, &usage) {
		return ExitUsage
	}
	return ExitError
}

func (p *Program) find(name string) *Command {
	i := slices.IndexFunc(p.Commands, func(c Command) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Commands[i]
}

func (p *Program) unknown(name string) error {
	names := Names(p.Commands, func(c Command) string { return c.Name })
	return Usage(
		fmt.Sprintf("unknown command %q%s", name, DidYouMean(name, append(names, "help"), "")),
		"there are "+strings.Join(names, ", ")+" and help; bunting help says more",
	)
}
