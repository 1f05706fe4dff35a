package manage

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// projectEndpoints are the endpoints of projects and their keys (§5.8, §1.11), on all of their
// paths.
var projectEndpoints = slices.Concat(
	projectsAt(frame.AtRoot, "/projects"),
	projectsAt(frame.AtRoot, "/environments"),
	projectsAt(frame.InOrganization, "/projects"),
	frame.Resource(frame.AtRoot, "project", managementOf, []frame.Row[*rooms.Rooms]{
		frame.Handle(http.MethodGet, "/projects/{project}/environments", "List the environments of a project, which is its only environment", environments),
	}),
)

// projectsAt returns the endpoints of projects below a path.
func projectsAt(a *frame.Area, path string) []frame.Endpoint {
	one := path + "/{project}"
	const configuration = "Change a project; fields that are more than configuration require project:write"
	return frame.Resource(a, "project", managementOf, []frame.Row[*rooms.Rooms]{
		frame.Handle(http.MethodGet, path, "List projects", listProjects),
		frame.Handle(http.MethodPost, path, "Create a project", createProject).WithBody(organizations.NewProjectFields).Created().Uncompressed(),
		frame.Handle(http.MethodGet, one, "Read a project", withProject(organizations.Projects.Get)),
		frame.Handle(http.MethodPatch, one, configuration, updateProject).WithPut(configuration).WithScope("project:read").WithBody(organizations.ProjectFields),
		frame.Handle(http.MethodDelete, one, "Delete a project", withScope(projectScope, deleteProject)).WithStatus(http.StatusNoContent).WithProof(),
		frame.Handle(http.MethodPatch, one+"/reset_token", "Replace the public key of a project", withProject(organizations.Projects.ResetToken)).Uncompressed(),
		frame.Handle(http.MethodPatch, one+"/rotate_secret_token", "Rotate the secret key of a project; the response is the only one with the new key", withProject(organizations.Projects.RotateSecret)).WithProof().Uncompressed(),
		frame.Handle(http.MethodPatch, one+"/delete_secret_token_backup", "Revoke the secret key that was valid before the last rotation", withProject(organizations.Projects.DeleteSecretBackup)).WithProof(),
		frame.Handle(http.MethodPost, one+"/change_organization", "Move a project to another organization", withScope(projectScope, moveProject)).WithBody(organizations.ProjectMoveFields),
	})
}

func listProjects(svc *rooms.Rooms, c *frame.Call) (management.List[organizations.ProjectBasic], error) {
	return svc.Organizations.Projects.List(c.Ctx, c.Scope, c.Page())
}

func createProject(svc *rooms.Rooms, c *frame.Call) (*organizations.Project, error) {
	return svc.Organizations.Projects.Create(c.Ctx, c.Scope, c.Body)
}

// withProject returns a handler that calls do with the caller's scope in the project of the path.
func withProject(do func(organizations.Projects, context.Context, *management.Scope) (*organizations.Project, error)) func(*rooms.Rooms, *frame.Call) (*organizations.Project, error) {
	return withScope(projectScope, func(svc *rooms.Rooms, c *frame.Call, scope *management.Scope) (*organizations.Project, error) {
		return do(svc.Organizations.Projects, c.Ctx, scope)
	})
}

// projectScope returns the caller's scope in the project of the path. The error is not found if
// the caller has no access to the project.
func projectScope(svc *rooms.Rooms, c *frame.Call) (*management.Scope, error) {
	scope, err := svc.VisibleProject(c.Ctx, c.Scope.Caller, c.Part("project"))
	if err != nil {
		return nil, err
	}
	if o := c.Scope.Organization; o != nil && o.ID != scope.Organization.ID {
		return nil, management.Missing("Project not found.")
	}
	return scope, nil
}

func environments(svc *rooms.Rooms, c *frame.Call) (out management.List[organizations.ProjectBasic], err error) {
	p, err := withProject(organizations.Projects.Get)(svc, c)
	if err != nil {
		return out, err
	}
	return frame.CountedPage(c, []organizations.ProjectBasic{p.ProjectBasic}), nil
}

func deleteProject(svc *rooms.Rooms, c *frame.Call, scope *management.Scope) (any, error) {
	return nil, svc.Organizations.Projects.Delete(c.Ctx, scope)
}

func moveProject(svc *rooms.Rooms, c *frame.Call, scope *management.Scope) (*organizations.Project, error) {
	return svc.Organizations.Projects.Move(c.Ctx, scope, c.Body)
}

func updateProject(svc *rooms.Rooms, c *frame.Call) (*organizations.Project, error) {
	if !organizations.OnlyConfigures(c.Body) {
		if err := c.Scope.Require("project:write"); err != nil {
			return nil, err
		}
	}
	scope, err := projectScope(svc, c)
	if err != nil {
		return nil, err
	}
	p, err := svc.Organizations.Projects.Update(c.Ctx, scope, c.Body)
	if err != nil {
		return nil, err
	}
	for _, text := range p.Warnings {
		if name, _, _ := strings.Cut(text, ":"); c.Body.Members[name] != nil { // only warnings about members of this request
			frame.Warn(c.W, text)
		}
	}
	return p, nil
}
