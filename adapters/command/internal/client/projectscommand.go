package client

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
)

const projectsHelp = `Usage: bunting projects ACTION [OPTIONS]

Manages the projects of a server.

  bunting projects list
  bunting projects get ID
  bunting projects create NAME [--organization ID] [--api-token KEY]
  bunting projects rename ID NAME
  bunting projects delete ID [--yes]

  --organization ID   the organization of the new project; @current (default) is
                      your current one
  --api-token KEY     the project's key, if its clients use one already; only for
                      owners
` + yesHelp + managerOptions + `  --json            print JSON
`

var projectActions = []action{
	{name: "list", run: listProjects},
	{name: "get", args: []string{"ID"}, run: func(ctx context.Context, m *manager, args []string) error {
		return m.oneProject(ctx, "GET", projectPath(args[0]), nil)
	}},
	{name: "create", args: []string{"NAME"}, options: createProject},
	{name: "rename", args: []string{"ID", "NAME"}, run: func(ctx context.Context, m *manager, args []string) error {
		return m.oneProject(ctx, "PATCH", projectPath(args[0]), map[string]any{"name": args[1]})
	}},
	{name: "delete", args: []string{"ID"}, needsConfirmation: true, run: deleteProject},
}

func projectPath(id string) string { return "/api/projects/" + pathPart(id) + "/" }

func pathPart(text string) string { return url.PathEscape(text) }

// projectView contains the members that are read of a project.
type projectView struct {
	ID           int64  `json:"id"`
	Name         string `json:"name"`
	Token        string `json:"api_token"`
	Organization string `json:"organization"`
	Timezone     string `json:"timezone"`
}

func (m *manager) showProjects(list ...projectView) error {
	rows := [][]string{{"ID", "NAME", "PROJECT KEY", "TIME ZONE", "ORGANIZATION"}}
	for _, p := range list {
		rows = append(rows, []string{strconv.FormatInt(p.ID, 10), p.Name, p.Token, p.Timezone, p.Organization})
	}
	return m.printTable(rows)
}

func listProjects(ctx context.Context, m *manager, _ []string) error {
	list, err := pages[projectView](ctx, m.client, "/api/projects/")
	if err != nil {
		return err
	}
	if *m.asJSON {
		return m.printJSON(list)
	}
	return m.showProjects(list...)
}

// oneProject sends a request whose response is a project, and prints it.
func (m *manager) oneProject(ctx context.Context, method, path string, body any) error {
	var p projectView
	if printed, err := m.fetch(ctx, method, path, body, &p); printed || err != nil {
		return err
	}
	return m.showProjects(p)
}

func createProject(m *manager) runner {
	organization, token := m.fs.String("organization", "@current", ""), m.fs.String("api-token", "", "")
	return func(ctx context.Context, m *manager, args []string) error {
		body := map[string]any{"name": args[0]}
		if *token != "" {
			body["api_token"] = *token
		}
		return m.oneProject(ctx, "POST", "/api/organizations/"+pathPart(*organization)+"/projects/", body)
	}
}

func deleteProject(ctx context.Context, m *manager, args []string) error {
	if err := m.confirm(ctx, fmt.Sprintf("Delete the project %s?", args[0])); err != nil {
		return err
	}
	if err := m.send(ctx, "DELETE", projectPath(args[0]), nil, nil); err != nil {
		return err
	}
	return m.Print("project " + args[0] + " is deleted\n")
}
