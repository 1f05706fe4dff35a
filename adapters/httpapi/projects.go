package httpapi

import (
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// projectEndpoints are those of projects and their keys (§5.8, §1.11), under all
// names that they have, and of the log of their changes (§5.11).
var projectEndpoints = slices.Concat(
	projectRows(atRoot, "/projects"),
	projectRows(atRoot, "/environments"),
	projectRows(inOrganization, "/projects"),
	[]endpoint{
		{
			method: "GET", area: atRoot, path: "/projects/{project}/environments", scope: "project:read", summary: "List the environments of a project: itself",
			gives: management.List[management.ProjectBasic]{},
			do: inOwnProject(func(c *call) (any, error) {
				p, err := c.service.Projects.Get(c.ctx, c.standing)
				if err != nil {
					return nil, err
				}
				return management.List[management.ProjectBasic]{Count: 1, Results: cut(pageOf(c.query()), []management.ProjectBasic{p.ProjectBasic})}, nil
			}),
		},
		{
			method: "GET", area: inProject, path: "/activity_log", scope: "activity_log:read", summary: "Read who changed what in a project",
			query: activityQuery, gives: activityBody{}, do: activityLog,
		},
	},
)

// projectRows are the endpoints of projects at a path.
func projectRows(a area, path string) []endpoint {
	one := path + "/{project}"
	return []endpoint{
		{
			method: "GET", area: a, path: path, scope: "project:read", summary: "List projects",
			gives: management.List[management.ProjectBasic]{},
			do:    func(c *call) (any, error) { return c.service.Projects.List(c.ctx, c.standing, c.page()) },
		},
		{
			method: "POST", area: a, path: path, scope: "project:write", summary: "Make a project",
			takes: management.NewProjectFields, status: 201, gives: management.Project{},
			do: func(c *call) (any, error) { return c.service.Projects.Create(c.ctx, c.standing, c.body) },
		},
		{
			method: "GET", area: a, path: one, scope: "project:read", summary: "Read a project",
			gives: management.Project{},
			do:    inOwnProject(func(c *call) (any, error) { return c.service.Projects.Get(c.ctx, c.standing) }),
		},
		{
			method: "PATCH", area: a, path: one, scope: "project:read", summary: "Change a project; what is more than configuration needs project:write",
			takes: management.ProjectFields, gives: management.Project{}, do: updateProject,
		},
		{
			method: "PUT", area: a, path: one, scope: "project:read", summary: "Change a project; what is more than configuration needs project:write",
			takes: management.ProjectFields, gives: management.Project{}, do: updateProject,
		},
		{
			method: "DELETE", area: a, path: one, scope: "project:write", summary: "Delete a project",
			status: 204,
			do: inOwnProject(func(c *call) (any, error) {
				return nil, c.service.Projects.Delete(c.ctx, c.standing)
			}),
		},
		{
			method: "PATCH", area: a, path: one + "/reset_token", scope: "project:write", summary: "Give a project another public key",
			gives: management.Project{},
			do:    inOwnProject(func(c *call) (any, error) { return c.service.Projects.ResetToken(c.ctx, c.standing) }),
		},
		{
			method: "PATCH", area: a, path: one + "/rotate_secret_token", scope: "project:write", summary: "Give a project another secret key, which is shown once",
			gives: management.Project{},
			do:    inOwnProject(func(c *call) (any, error) { return c.service.Projects.RotateSecret(c.ctx, c.standing) }),
		},
		{
			method: "PATCH", area: a, path: one + "/delete_secret_token_backup", scope: "project:write", summary: "Revoke the secret key before the last rotation",
			gives: management.Project{},
			do: inOwnProject(func(c *call) (any, error) {
				return c.service.Projects.DeleteSecretBackup(c.ctx, c.standing)
			}),
		},
		{
			method: "POST", area: a, path: one + "/change_organization", scope: "project:write", summary: "Move a project into another organization",
			takes: management.ProjectMoveFields, gives: management.Project{},
			do: inOwnProject(func(c *call) (any, error) { return c.service.Projects.Move(c.ctx, c.standing, c.body) }),
		},
	}
}

// inOwnProject does something in the project of the path, which is not there for
// those who may not be in it.
func inOwnProject(do func(c *call) (any, error)) func(c *call) (any, error) {
	return func(c *call) (any, error) {
		st, err := c.service.VisibleProject(c.ctx, c.standing.Caller, c.part("project"))
		if err != nil {
			return nil, err
		}
		if o := c.standing.Organization; o != nil && o.ID != st.Organization.ID {
			return nil, management.Missing("Project not found.")
		}
		c.standing = st
		return do(c)
	}
}

func updateProject(c *call) (any, error) {
	if !management.ProjectConfigures(c.body) {
		if err := c.standing.Require("project:write"); err != nil {
			return nil, err
		}
	}
	return inOwnProject(func(c *call) (any, error) {
		p, err := c.service.Projects.Update(c.ctx, c.standing, c.body)
		if err != nil {
			return nil, err
		}
		for _, text := range p.Warnings {
			if name, _, _ := strings.Cut(text, ":"); c.body.Members[name] != nil { // what was just asked for
				warn(c.w, text)
			}
		}
		return p, nil
	})(c)
}
