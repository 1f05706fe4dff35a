// Package client contains the commands that talk to a running server: those that manage its
// objects, and those that export and import events, persons and groups.
package client

import (
	"context"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// The commands.
var (
	Flags     = managed("flags", "list, create, change, export and apply the flags of a server", flagActions, flagsHelp)
	Rollout   = managed("rollout", "raise a flag's rollout in steps, and roll back on harm", rolloutActions, rolloutHelp)
	Approvals = managed("approvals", "list, approve, reject and apply requested changes of flags", approvalActions, approvalsHelp)
	Events    = managed("events", "print the newest events of a server", eventActions, eventsHelp)
	Persons   = managed("persons", "show or erase a person of a server", personActions, personsHelp)
	Projects  = managed("projects", "list, create and rename projects", projectActions, projectsHelp)
	Usage     = single("usage", "print an organization's usage in this month", &usageAction, usageHelp)
	Query     = single("query", "query events, with SQL or a query in a JSON file", &queryAction, queryHelp)
	Demo      = single("demo", "fill a project with made-up flags, people and events, and remove them", &demoAction, demoHelp)
	Status    = single("status", "show whether a server is ready, and a project's state", &statusAction, statusHelp)
	Login     = single("login", "sign in to a server with a code that you confirm in its console", &loginAction, loginHelp)
	Logout    = single("logout", "remove the key of a server from this machine", &logoutAction, logoutHelp)
	Generate  = managed("generate", "generate typed functions for flags, in Go or TypeScript", generateActions, generateHelp)
	Unused    = single("unused", "list flags that no code uses, and code that uses unknown flags", &unusedAction, unusedHelp)
	Export    = cli.Command{Name: "export", Summary: "export events, persons and groups of a server to a file", Run: export, Help: exportHelp, EndsOnSignal: true}
	Import    = cli.Command{Name: "import", Summary: "import an export into a server; convert flags of other systems", Run: importFiles, Help: importHelp, EndsOnSignal: true}
)

// Keys returns the command for personal keys. recovery implements its action recover, which creates
// a key without a server.
func Keys(recovery func(ctx context.Context, p *cli.Program, args []string) error) cli.Command {
	actions := append(keyActions[:len(keyActions):len(keyActions)], action{name: "recover", offline: recovery})
	return managed("keys", "create and revoke personal API keys", actions, keysHelp)
}

// managed returns a command with actions.
func managed(name, summary string, actions []action, help string) cli.Command {
	c := cli.Command{Name: name, Summary: summary, Help: help, EndsOnSignal: true, Run: func(ctx context.Context, p *cli.Program, args []string) error {
		return manage(ctx, p, name, actions, args)
	}}
	c.Actions = cli.Names(actions, func(a action) string { return a.name })
	return c
}

// single returns a command that consists of one action.
func single(name, summary string, a *action, help string) cli.Command {
	return cli.Command{Name: name, Summary: summary, Help: help, EndsOnSignal: true, Run: func(ctx context.Context, p *cli.Program, args []string) error {
		return runAction(ctx, p, name, a, args)
	}}
}
