package client

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
)

func projectsHelp() string {
	return `Usage: bunting projects ACTION [OPTIONS]

Manages the projects of a server.

  bunting projects list
  bunting projects get ID
  bunting projects create NAME [--organization ID] [--api-token KEY]
  bunting projects rename ID NAME
  bunting projects delete ID [--yes]

  --organization ID   whose it is to be; @current (default) is the one that you
                      work in
  --api-token KEY     the project's key, where its clients have one already; for
                      owners
` + yesHelp + managerOptions + `  --json            for programs
`
}

type projectOptions struct{ organization, token *string }

var projectActions = []action{
	{name: "list", run: listProjects},
	{name: "get", args: []string{"ID"}, run: getProject},
	{name: "create", args: []string{"NAME"}, options: func(m *manager) any {
		return &projectOptions{m.fs.String("organization", "@current", ""), m.fs.String("api-token", "", "")}
	}, run: createProject},
	{name: "rename", args: []string{"ID", "NAME"}, run: renameProject},
	{name: "delete", args: []string{"ID"}, asks: true, run: deleteProject},
}

func pathPart(text string) string { return url.PathEscape(text) }

// projectShown is a project as the server shows it.
type projectShown struct {
	ID           int64  `json:"id"`
	Name         string `json:"name"`
	Token        string `json:"api_token"`
	Organization string `json:"organization"`
	Timezone     string `json:"timezone"`
}

func (m *manager) showProjects(list ...projectShown) error {
	rows := [][]string{{"ID", "NAME", "PROJECT KEY", "TIME ZONE", "ORGANIZATION"}}
	for _, p := range list {
		rows = append(rows, []string{strconv.FormatInt(p.ID, 10), p.Name, p.Token, p.Timezone, p.Organization})
	}
	return m.printTable(rows)
}

func listProjects(ctx context.Context, m *manager, _ []string, _ any) error {
	list, err := all[projectShown](ctx, m, "/api/projects/")
	if err != nil {
		return err
	}
	if *m.asJSON {
		return m.printJSON(list)
	}
	return m.showProjects(list...)
}

// oneProject sends a request whose answer is a project.
func (m *manager) oneProject(ctx context.Context, method, path string, body any) error {
	if *m.asJSON {
		var whole any
		if err := m.send(ctx, method, path, body, &whole); err != nil {
			return err
		}
		return m.printJSON(whole)
	}
	var p projectShown
	if err := m.send(ctx, method, path, body, &p); err != nil {
		return err
	}
	return m.showProjects(p)
}

func getProject(ctx context.Context, m *manager, args []string, _ any) error {
	return m.oneProject(ctx, "GET", "/api/projects/"+pathPart(args[0])+"/", nil)
}

func createProject(ctx context.Context, m *manager, args []string, options any) error {
	o := options.(*projectOptions)
	body := map[string]any{"name": args[0]}
	if *o.token != "" {
		body["api_token"] = *o.token
	}
	return m.oneProject(ctx, "POST", "/api/organizations/"+pathPart(*o.organization)+"/projects/", body)
}

func renameProject(ctx context.Context, m *manager, args []string, _ any) error {
	return m.oneProject(ctx, "PATCH", "/api/projects/"+pathPart(args[0])+"/", map[string]any{"name": args[1]})
}

func deleteProject(ctx context.Context, m *manager, args []string, _ any) error {
	if err := m.confirm(ctx, fmt.Sprintf("Delete the project %s?", args[0])); err != nil {
		return err
	}
	if err := m.send(ctx, "DELETE", "/api/projects/"+pathPart(args[0])+"/", nil, nil); err != nil {
		return err
	}
	return m.Print("project " + args[0] + " is deleted\n")
}
