package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// projectEndpoints are the endpoints of projects and their keys (§5.8, §1.11), on all of their
// paths.
var projectEndpoints = slices.Concat(
	projectsAt(atRoot, "/projects"),
	projectsAt(atRoot, "/environments"),
	projectsAt(inOrganization, "/projects"),
	resource(atRoot, "project", managementOf, []row[*rooms.Rooms]{
		handle(http.MethodGet, "/projects/{project}/environments", "List the environments of a project, which is its only environment", environments),
	}),
)

// projectsAt returns the endpoints of projects below a path.
func projectsAt(a *area, path string) []endpoint {
	one := path + "/{project}"
	const configuration = "Change a project; fields that are more than configuration require project:write"
	return resource(a, "project", managementOf, []row[*rooms.Rooms]{
		handle(http.MethodGet, path, "List projects", listProjects),
		handle(http.MethodPost, path, "Create a project", createProject).withBody(organizations.NewProjectFields).created().uncompressed(),
		handle(http.MethodGet, one, "Read a project", withProject(organizations.Projects.Get)),
		handle(http.MethodPatch, one, configuration, updateProject).withPut(configuration).withScope("project:read").withBody(organizations.ProjectFields),
		handle(http.MethodDelete, one, "Delete a project", withScope(projectScope, deleteProject)).withStatus(http.StatusNoContent).withProof(),
		handle(http.MethodPatch, one+"/reset_token", "Replace the public key of a project", withProject(organizations.Projects.ResetToken)).uncompressed(),
		handle(http.MethodPatch, one+"/rotate_secret_token", "Rotate the secret key of a project; the response is the only one with the new key", withProject(organizations.Projects.RotateSecret)).withProof().uncompressed(),
		handle(http.MethodPatch, one+"/delete_secret_token_backup", "Revoke the secret key that was valid before the last rotation", withProject(organizations.Projects.DeleteSecretBackup)).withProof(),
		handle(http.MethodPost, one+"/change_organization", "Move a project to another organization", withScope(projectScope, moveProject)).withBody(organizations.ProjectMoveFields),
	})
}

func listProjects(svc *rooms.Rooms, c *call) (management.List[organizations.ProjectBasic], error) {
	return svc.Organizations.Projects.List(c.ctx, c.scope, c.page())
}

func createProject(svc *rooms.Rooms, c *call) (*organizations.Project, error) {
	return svc.Organizations.Projects.Create(c.ctx, c.scope, c.body)
}

// withProject returns a handler that calls do with the caller's scope in the project of the path.
func withProject(do func(organizations.Projects, context.Context, *management.Scope) (*organizations.Project, error)) func(*rooms.Rooms, *call) (*organizations.Project, error) {
	return withScope(projectScope, func(svc *rooms.Rooms, c *call, scope *management.Scope) (*organizations.Project, error) {
		return do(svc.Organizations.Projects, c.ctx, scope)
	})
}

// projectScope returns the caller's scope in the project of the path. The error is not found if
// the caller has no access to the project.
func projectScope(svc *rooms.Rooms, c *call) (*management.Scope, error) {
	scope, err := svc.VisibleProject(c.ctx, c.scope.Caller, c.part("project"))
	if err != nil {
		return nil, err
	}
	if o := c.scope.Organization; o != nil && o.ID != scope.Organization.ID {
		return nil, management.Missing("Project not found.")
	}
	return scope, nil
}

func environments(svc *rooms.Rooms, c *call) (out management.List[organizations.ProjectBasic], err error) {
	p, err := withProject(organizations.Projects.Get)(svc, c)
	if err != nil {
		return out, err
	}
	return countedPage(c, []organizations.ProjectBasic{p.ProjectBasic}), nil
}

func deleteProject(svc *rooms.Rooms, c *call, scope *management.Scope) (any, error) {
	return nil, svc.Organizations.Projects.Delete(c.ctx, scope)
}

func moveProject(svc *rooms.Rooms, c *call, scope *management.Scope) (*organizations.Project, error) {
	return svc.Organizations.Projects.Move(c.ctx, scope, c.body)
}

func updateProject(svc *rooms.Rooms, c *call) (*organizations.Project, error) {
	if !organizations.OnlyConfigures(c.body) {
		if err := c.scope.Require("project:write"); err != nil {
			return nil, err
		}
	}
	scope, err := projectScope(svc, c)
	if err != nil {
		return nil, err
	}
	p, err := svc.Organizations.Projects.Update(c.ctx, scope, c.body)
	if err != nil {
		return nil, err
	}
	for _, text := range p.Warnings {
		if name, _, _ := strings.Cut(text, ":"); c.body.Members[name] != nil { // only warnings about members of this request
			warn(c.w, text)
		}
	}
	return p, nil
}
