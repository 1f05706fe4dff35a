// Package cli is the framework of bunting's command line: the table of commands, exit codes,
// options, help, completion, and output functions that several commands share.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// Exit codes.
const (
	ExitOK    = 0
	ExitError = 1 // the command failed, or did not find its object
	ExitUsage = 2 // the command line is invalid, or a plan has changes
)

// Program is the environment of a command: its streams, variables and limits.
type Program struct {
	Commands       []Command
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            map[string]string
	// Settings are the environment variables that serve reads.
	Settings []string
	// Grace is how long requests may run after the server begins to stop.
	Grace time.Duration
	// CanPrompt reports whether an input is a terminal on which a user can confirm an action.
	CanPrompt func(io.Reader) bool
	// Width returns the number of columns of an output's terminal, or 0 if the output is not a
	// terminal. If Width is nil, no output is a terminal.
	Width func(io.Writer) int
}

// Command is a row of the table of commands.
type Command struct {
	Name, Summary string
	Run           func(ctx context.Context, p *Program, args []string) error
	Help          string
	Actions       []string // words that may follow the name
	// EndsOnSignal: SIGTERM and SIGINT cancel the context of Run, and do not end the program.
	EndsOnSignal bool
}

// Environment converts variables as os.Environ returns them into a map by name.
func Environment(variables []string) map[string]string {
	out := make(map[string]string, len(variables))
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		out[name] = value
	}
	return out
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, isFile := stream.(*os.File)
	return isFile && term.IsTerminal(int(f.Fd()))
}

// TerminalWidth returns the number of columns of a stream's terminal, or 0 if it is not a terminal.
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

// PrintTable writes rows to the standard output as a table. On a terminal, long cells are cut to
// its width.
func (p *Program) PrintTable(rows [][]string) error {
	width := 0
	if p.Width != nil {
		width = p.Width(p.Stdout)
	}
	return p.Print(TableWithin(rows, width))
}

// Print writes text to the standard output.
func (p *Program) Print(text string) error {
	_, err := io.WriteString(p.Stdout, text)
	return err
}

// Open opens a file, or the standard input if name is a dash. size is 0 if it is unknown.
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

// UsageError is an error of an invalid command line: exit code 2 and a hint.
type UsageError struct{ Problem, Hint string }

// Usage returns a UsageError.
func Usage(problem, hint string) error { return &UsageError{problem, hint} }

func (e *UsageError) Error() string { return e.Problem + "\n" + e.Hint }

// BadUsage returns a UsageError of a command whose hint is the command's help.
func BadUsage(command, format string, args ...any) error {
	return Usage(command+": "+fmt.Sprintf(format, args...), "see bunting help "+command)
}

// Errors that are not printed, since the output has all details.
var (
	ErrReported = errors.New("reported")          // exit code 1
	ErrChanges  = errors.New("there are changes") // exit code 2
)

// HelpRequest is returned as an error to print the help of the named command.
type HelpRequest string

func (e HelpRequest) Error() string { return "help for " + string(e) }

// Run runs the command that the arguments name and returns its exit code.
func (p *Program) Run(ctx context.Context, args []string) int {
	return p.exit(p.dispatch(ctx, args))
}

// dispatch finds and runs the command. It rejects unknown environment variables for all commands
// except version and completion.
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

// exit prints an error and returns its exit code.
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
		"the commands are "+strings.Join(names, ", ")+" and help; see bunting help",
	)
}

// help prints the help of a command, or of the program if args is empty.
func (p *Program) help(args []string) error {
	if len(args) == 0 {
		return p.Print(p.overview())
	}
	switch args[0] {
	case "help":
		return p.Print("Usage: bunting help [COMMAND | --man]\n\nExplains a command, or lists them all.\n\n  --man   print a manual page with all commands, for man\n")
	case "--man":
		return p.Print(p.manual())
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

// ProjectVariable is the environment variable that names the project of a command.
const ProjectVariable = "BUNTING_PROJECT"

// Variables are the environment variables that commands read in addition to the settings of serve.
var Variables = []string{"BUNTING_CONFIG", "BUNTING_SERVER", "BUNTING_KEY", ProjectVariable, "BUNTING_PROJECT_KEY"}

// linkVariables matches the variables that Kubernetes and Docker set for a service whose name is
// bunting, or begins with bunting-.
var linkVariables = regexp.MustCompile(`^BUNTING(_.+)?_(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT|PORT_[0-9]+_(TCP|UDP|SCTP)(_ADDR|_PORT|_PROTO)?)$`)

// isLinkVariable reports whether a variable was set by Kubernetes or Docker. A BUNTING_PORT without
// "://" is not: it is the variable that a user would write by mistake.
func isLinkVariable(name, value string) bool {
	return linkVariables.MatchString(name) && (name != "BUNTING_PORT" || strings.Contains(value, "://"))
}

// checkEnvironment returns an error for unknown variables that begin with BUNTING_, since they
// would have no effect. Empty variables count as unset.
func (p *Program) checkEnvironment() error {
	variables := slices.Concat(Variables, p.Settings)
	var unknown []string
	for name, value := range p.Env {
		if strings.HasPrefix(name, "BUNTING_") && value != "" && !slices.Contains(variables, name) && !isLinkVariable(name, value) {
			unknown = append(unknown, fmt.Sprintf("unknown environment variable %s%s", name, DidYouMean(name, variables, "")))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return Usage(strings.Join(unknown, "\n"), "see bunting help serve for its settings; commands that call a server read "+strings.Join(Variables[1:], ", "))
}
