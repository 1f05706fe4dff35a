package client

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
	"github.com/bunting-flags/bunting/flags/wire"
)

// defaultServer is where a server listens that runs as it comes.
const defaultServer = "http://127.0.0.1:8000"

// manager is one call of a command that manages things on a server.
type manager struct {
	*cli.Program
	command     string
	fs          *flag.FlagSet
	server      *string
	key         *string
	projectName *string     // the project as the command line has it
	project     *projectRef // nil: the action is outside of projects
	asJSON      *bool
	yes         *bool // of actions that ask
	client      *apiClient
}

// projectUse is what an action does to a project.
type projectUse uint8

const (
	noProject projectUse = iota // it is outside of projects
	readsProject
	writesProject // the project is named when it is done
)

// action is what a manager can do: a word after the command.
type action struct {
	name    string
	project projectUse
	// args are the names of the arguments that it wants.
	args []string
	// options adds those of its own, and returns what runs with them.
	options func(m *manager) runner
	// orFile: one more argument is a file that stands for the server, which is not asked.
	orFile bool
	// worksWithoutKey: it does something without a key too.
	worksWithoutKey bool
	// needsConfirmation: it deletes, and has --yes (see confirm).
	needsConfirmation bool
	// run is what runs without options of its own.
	run runner
	// offline, where it is there, runs instead of all this: it needs no server.
	offline func(ctx context.Context, p *cli.Program, args []string) error
}

// runner does what is asked for.
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
		return cli.BadUsage(command, "say what to do: %s", strings.Join(words, ", "))
	}
	i := slices.Index(words, args[0])
	switch {
	case i < 0:
		return cli.BadUsage(command, "there is no %q, only %s%s", args[0], strings.Join(words, ", "), cli.DidYouMean(args[0], words, ""))
	case actions[i].offline != nil:
		return actions[i].offline(ctx, p, args[1:])
	}
	return runAction(ctx, p, command, &actions[i], args[1:])
}

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
		return cli.BadUsage(command, "%s wants %s", cmp.Or(a.name, command), wantArgs(a.args))
	case *m.key == "" && !a.worksWithoutKey:
		return cli.BadUsage(command, "--key is missing: the first start of a server prints one, and bunting login gets one")
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

// connect makes the client of the server.
func (m *manager) connect() (err error) {
	if m.client, err = newAPIClient(*m.server, *m.key); err != nil {
		return cli.BadUsage(m.command, "%s", err)
	}
	m.client.onRetry = func(why string, d time.Duration) { _, _ = fmt.Fprintf(m.Stderr, "%s; trying again in %s\n", why, d) }
	return nil
}

// nameProject says where a change was made. It does so beside the output, which
// may be for programs.
func (m *manager) nameProject() { _, _ = fmt.Fprintf(m.Stderr, "in project %s\n", m.project) }

func wantArgs(args []string) string {
	if len(args) == 0 {
		return "no argument"
	}
	return strings.Join(args, " and ")
}

// warn tells of what had no effect.
func (m *manager) warn(text string) { _, _ = fmt.Fprintln(m.Stderr, "warning: "+text) }

// inProject is a path below the project.
func (m *manager) inProject(path string) string {
	return fmt.Sprintf("/api/projects/%d%s", m.project.ID, path)
}

func (m *manager) send(ctx context.Context, method, path string, value, into any) error {
	return m.client.send(ctx, method, path, value, into)
}

// fetch sends a request whose answer it prints where JSON is wanted, and reads else.
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

// printAll prints all of a list: as it comes where JSON is wanted, else as show shows it.
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

// printJSON prints a value for programs.
func (m *manager) printJSON(v any) error {
	text, err := wire.Indent(v)
	if err != nil {
		return err
	}
	return m.Print(text)
}

// printTable prints rows for people, the first of which are the headings; on a terminal they
// are cut to its width.
func (m *manager) printTable(rows [][]string) error { return m.PrintTable(rows) }

// printFullTable prints rows about one thing for people, as long as they are.
func (m *manager) printFullTable(rows [][]string) error { return m.Print(cli.Table(rows)) }
