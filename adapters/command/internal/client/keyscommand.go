package client

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

const keysHelp = `Usage: bunting keys ACTION [OPTIONS]

Manages your personal API keys on a server.

  bunting keys list
  bunting keys create --label NAME [--scopes LIST] [--projects LIST]
  bunting keys roll ID      replaces the secret; the old one is invalid at once
  bunting keys revoke ID    makes the key invalid
  bunting keys recover [--data DIR | --database URL] [--segments DIR]
                       [--email ADDRESS]
                            creates a new key for an owner whose keys are lost,
                            directly in the server's data; stop the server first
                            (not needed with PostgreSQL)

  --label NAME      what the key is for, at most 40 characters
  --scopes LIST     such as feature_flag:read,person:read; * (default) is all
                    scopes
  --projects LIST   ids of the projects that the key can access; all by default
  --data DIR        the server's data folder, as for serve (default bunting-data)
  --database URL    the server's database, as for serve
  --segments DIR    the folder or bucket of its segment files, as for serve
  --email ADDRESS   which owner; the first one by default
` + managerOptions + `  --json            print JSON

A key is shown only once, when it is created or rolled: the server stores its hash.
`

var keyActions = []action{
	{name: "list", run: listKeys},
	{name: "create", options: createKey},
	{name: "roll", args: []string{"ID"}, run: func(ctx context.Context, m *manager, args []string) error {
		return m.newKey(ctx, keysPath+pathPart(args[0])+"/roll/", map[string]any{})
	}},
	{name: "revoke", args: []string{"ID"}, run: revokeKey},
}

const keysPath = "/api/personal_api_keys/"

// keyView contains the members that are read of a personal key.
type keyView struct {
	ID       string   `json:"id"`
	Label    string   `json:"label"`
	Value    *string  `json:"value"`
	Mask     *string  `json:"mask_value"`
	Scopes   []string `json:"scopes"`
	Projects []int64  `json:"scoped_teams"`
	Created  string   `json:"created_at"`
	Used     *string  `json:"last_used_at"`
}

func listKeys(ctx context.Context, m *manager, _ []string) error {
	var list []keyView
	if err := m.send(ctx, "GET", keysPath, nil, &list); err != nil {
		return err
	}
	if *m.asJSON {
		return m.printJSON(list)
	}
	rows := [][]string{{"ID", "LABEL", "KEY", "SCOPES", "PROJECTS", "LAST USED"}}
	for _, k := range list {
		rows = append(rows, []string{k.ID, k.Label, textOr(k.Mask, "-"), strings.Join(k.Scopes, ","), numbers(k.Projects), textOr(k.Used, "never")})
	}
	return m.printTable(rows)
}

func textOr(text *string, or string) string {
	if text == nil || *text == "" {
		return or
	}
	return *text
}

func numbers(list []int64) string {
	if len(list) == 0 {
		return "all"
	}
	return strings.Join(cli.Names(list, func(n int64) string { return strconv.FormatInt(n, 10) }), ",")
}

func createKey(m *manager) runner {
	label, scopes, numbers := m.fs.String("label", "", ""), m.fs.String("scopes", "*", ""), m.fs.String("projects", "", "")
	return func(ctx context.Context, m *manager, _ []string) error {
		if *label == "" {
			return cli.BadUsage("keys", "--label is missing: describe what the key is for")
		}
		projects := []int64{}
		for _, text := range cli.SplitList(*numbers) {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return cli.BadUsage("keys", "--projects: must be ids, which are numbers, not %q", text)
			}
			projects = append(projects, n)
		}
		return m.newKey(ctx, keysPath, map[string]any{
			"label": *label, "scopes": cli.SplitList(*scopes), "scoped_teams": projects, "scoped_organizations": []string{},
		})
	}
}

// newKey creates a key and prints it. Its text cannot be read again later.
func (m *manager) newKey(ctx context.Context, path string, body any) error {
	var k keyView
	if err := m.send(ctx, "POST", path, body, &k); err != nil {
		return err
	}
	if *m.asJSON {
		return m.printJSON(k)
	}
	return m.Print(fmt.Sprintf("%s\n\nThis is key %s (%s). Keep it: it is not shown again.\n", textOr(k.Value, ""), k.ID, k.Label))
}

func revokeKey(ctx context.Context, m *manager, args []string) error {
	if err := m.send(ctx, "DELETE", keysPath+pathPart(args[0])+"/", nil, nil); err != nil {
		return err
	}
	return m.Print("key " + args[0] + " is revoked\n")
}
