package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// defaultServer is the address on which a server listens by default.
const defaultServer = "http://127.0.0.1:8000"

// manager is one run of a command that manages objects of a server.
type manager struct {
	*cli.Program
	command     string
	fs          *flag.FlagSet
	server      *string
	key         *string
	projectName *string     // the project as the command line names it
	project     *projectRef // nil if the action does not need a project
	asJSON      *bool
	yes         *bool // of actions that need a confirmation
	client      *apiClient
}

// projectUse describes how an action uses a project.
type projectUse uint8

const (
	noProject projectUse = iota // it does not need a project
	readsProject
	writesProject // the project's name is printed afterwards
)

// action is an operation of a command: the word after the command's name.
type action struct {
	name    string
	project projectUse
	// args are the names of the required arguments.
	args []string
	// options registers further options, and returns the function to run.
	options func(m *manager) runner
	// orFile: an additional argument may name a file, which is used instead of the server.
	orFile bool
	// worksWithoutKey: a key is optional.
	worksWithoutKey bool
	// needsConfirmation: it deletes objects, and has the option --yes (see confirm).
	needsConfirmation bool
	// run is the function of an action without options of its own.
	run runner
	// offline, if not nil, runs instead of everything else, without a server.
	offline func(ctx context.Context, p *cli.Program, args []string) error
}

// runner runs an action.
type runner func(ctx context.Context, m *manager, args []string) error

const managerOptions = `  --server URL      BUNTING_SERVER by default, else that of the last bunting
                    login, else http://127.0.0.1:8000
  --key KEY         personal API key; BUNTING_KEY by default, else that of
                    bunting login
`

// manage runs the action that the first argument names.
func manage(ctx context.Context, p *cli.Program, command string, actions []action, args []string) error {
	words := cli.Names(actions, func(a action) string { return a.name })
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		if len(args) > 0 && slices.Contains([]string{"-h", "-help", "--help"}, args[0]) {
			return cli.HelpRequest(command)
		}
		return cli.BadUsage(command, "give an action: %s", strings.Join(words, ", "))
	}
	i := slices.Index(words, args[0])
	switch {
	case i < 0:
		return cli.BadUsage(command, "unknown action %q, must be one of %s%s", args[0], strings.Join(words, ", "), cli.DidYouMean(args[0], words, ""))
	case actions[i].offline != nil:
		return actions[i].offline(ctx, p, args[1:])
	}
	return runAction(ctx, p, command, &actions[i], args[1:])
}

// runAction parses the options of an action, connects to the server, resolves the project and runs
// the action.
func runAction(ctx context.Context, p *cli.Program, command string, a *action, args []string) error {
	m := &manager{Program: p, command: command, fs: cli.NewFlags(command)}
	m.server = m.fs.String("server", p.Env["BUNTING_SERVER"], "")
	m.key = m.fs.String("key", p.Env["BUNTING_KEY"], "")
	if a.project != noProject {
		m.projectName = m.fs.String("project", p.Env[cli.ProjectVariable], "")
	}
	m.asJSON = m.fs.Bool("json", false, "")
	if a.needsConfirmation {
		m.yes = m.fs.Bool("yes", false, "")
	}
	run := a.run
	if a.options != nil {
		run = a.options(m)
	}
	remaining, err := cli.ParseArgs(m.fs, args)
	if err != nil {
		return err
	}
	stored, err := readSignIns(p)
	if err != nil {
		return err
	}
	stored.use(m.server, m.key)
	switch {
	case a.orFile && len(remaining) == len(a.args)+1:
		return run(ctx, m, remaining)
	case len(remaining) != len(a.args):
		return cli.BadUsage(command, "%s takes %s", cmp.Or(a.name, command), wantArgs(a.args))
	case *m.key == "" && !a.worksWithoutKey:
		return cli.BadUsage(command, "--key is missing: use the key that the server's first start printed, or run bunting login")
	}
	if err := m.connect(); err != nil {
		return err
	}
	defer m.client.close()
	m.client.onWarning = m.warn
	if a.project != noProject {
		if m.project, err = m.client.findProject(ctx, *m.projectName); err != nil {
			return err
		}
	}
	if err := run(ctx, m, remaining); err != nil {
		return err
	}
	if a.project == writesProject {
		m.nameProject()
	}
	return nil
}

// connect creates the client of the server.
func (m *manager) connect() (err error) {
	if m.client, err = newAPIClient(*m.server, *m.key); err != nil {
		return cli.BadUsage(m.command, "%s", err)
	}
	m.client.onRetry = func(why string, d time.Duration) { _, _ = fmt.Fprintf(m.Stderr, "%s; trying again in %s\n", why, d) }
	return nil
}

// nameProject prints the project of a change. It uses the standard error, since other programs may
// read the output.
func (m *manager) nameProject() { _, _ = fmt.Fprintf(m.Stderr, "in project %s\n", m.project) }

func wantArgs(args []string) string {
	if len(args) == 0 {
		return "no argument"
	}
	return strings.Join(args, " and ")
}

// warn prints a warning about a part of a request that had no effect.
func (m *manager) warn(text string) { _, _ = fmt.Fprintln(m.Stderr, "warning: "+text) }

// inProject returns a path below the project.
func (m *manager) inProject(path string) string {
	return fmt.Sprintf("/api/projects/%d%s", m.project.ID, path)
}

func (m *manager) send(ctx context.Context, method, path string, value, into any) error {
	return m.client.send(ctx, method, path, value, into)
}

// fetch sends a request. With --json it prints the response, else it decodes it into into.
func (m *manager) fetch(ctx context.Context, method, path string, value, into any) (printed bool, err error) {
	if !*m.asJSON {
		return false, m.send(ctx, method, path, value, into)
	}
	var raw json.RawMessage
	if err := m.send(ctx, method, path, value, &raw); err != nil {
		return false, err
	}
	return true, m.printJSON(raw)
}

// printAll prints all elements of a list: as JSON with --json, else with show.
func printAll[T any](ctx context.Context, m *manager, path string, show func(list ...T) error) error {
	if *m.asJSON {
		list, err := pages[json.RawMessage](ctx, m.client, path)
		if err != nil {
			return err
		}
		return m.printJSON(list)
	}
	list, err := pages[T](ctx, m.client, path)
	if err != nil {
		return err
	}
	return show(list...)
}

// printJSON prints a value as JSON.
func (m *manager) printJSON(v any) error {
	text, err := cli.Indent(v)
	if err != nil {
		return err
	}
	return m.Print(text)
}

// printTable prints rows, the first of which are the headings. On a terminal they are cut to its
// width.
func (m *manager) printTable(rows [][]string) error { return m.PrintTable(rows) }

// printFullTable prints rows about one object without cutting them.
func (m *manager) printFullTable(rows [][]string) error { return m.Print(cli.Table(rows)) }

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
