package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// projectEndpoints are those of projects and their keys (§5.8, §1.11), under all
// names that they have.
var projectEndpoints = slices.Concat(
	projectsAt(atRoot, "/projects"),
	projectsAt(atRoot, "/environments"),
	projectsAt(inOrganization, "/projects"),
	resource(atRoot, "project", managementOf, []row[*rooms.Rooms]{
		by(http.MethodGet, "/projects/{project}/environments", "List the environments of a project: itself", environments),
	}),
)

// projectsAt are the endpoints of projects at a path.
func projectsAt(in *area, path string) []endpoint {
	one := path + "/{project}"
	const configuration = "Change a project; what is more than configuration needs project:write"
	return resource(in, "project", managementOf, []row[*rooms.Rooms]{
		by(http.MethodGet, path, "List projects", listProjects),
		by(http.MethodPost, path, "Make a project", createProject).taking(organizations.NewProjectFields).created().uncompressed(),
		by(http.MethodGet, one, "Read a project", own(organizations.Projects.Get)),
		by(http.MethodPatch, one, configuration, updateProject).orPut(configuration).needs("project:read").taking(organizations.ProjectFields),
		by(http.MethodDelete, one, "Delete a project", standingIn(ownProject, deleteProject)).answering(http.StatusNoContent).proven(),
		by(http.MethodPatch, one+"/reset_token", "Give a project another public key", own(organizations.Projects.ResetToken)).uncompressed(),
		by(http.MethodPatch, one+"/rotate_secret_token", "Give a project another secret key, which is shown once", own(organizations.Projects.RotateSecret)).proven().uncompressed(),
		by(http.MethodPatch, one+"/delete_secret_token_backup", "Revoke the secret key before the last rotation", own(organizations.Projects.DeleteSecretBackup)).proven(),
		by(http.MethodPost, one+"/change_organization", "Move a project into another organization", standingIn(ownProject, moveProject)).taking(organizations.ProjectMoveFields),
	})
}

func listProjects(of *rooms.Rooms, c *call) (management.List[organizations.ProjectBasic], error) {
	return of.Organizations.Projects.List(c.ctx, c.standing, c.page())
}

func createProject(of *rooms.Rooms, c *call) (*organizations.Project, error) {
	return of.Organizations.Projects.Create(c.ctx, c.standing, c.body)
}

// own gives a method the project of the path.
func own(do func(organizations.Projects, ctx, standing) (*organizations.Project, error)) func(*rooms.Rooms, *call) (*organizations.Project, error) {
	return standingIn(ownProject, func(of *rooms.Rooms, c *call, st standing) (*organizations.Project, error) {
		return do(of.Organizations.Projects, c.ctx, st)
	})
}

// ownProject is the caller's standing in the project of the path, which is not there
// for those who may not be in it.
func ownProject(of *rooms.Rooms, c *call) (*management.Standing, error) {
	st, err := of.VisibleProject(c.ctx, c.standing.Caller, c.part("project"))
	if err != nil {
		return nil, err
	}
	if o := c.standing.Organization; o != nil && o.ID != st.Organization.ID {
		return nil, management.Missing("Project not found.")
	}
	return st, nil
}

func environments(of *rooms.Rooms, c *call) (out management.List[organizations.ProjectBasic], err error) {
	p, err := own(organizations.Projects.Get)(of, c)
	if err != nil {
		return out, err
	}
	return countedPage(c, []organizations.ProjectBasic{p.ProjectBasic}), nil
}

func deleteProject(of *rooms.Rooms, c *call, st standing) (any, error) {
	return nil, of.Organizations.Projects.Delete(c.ctx, st)
}

func moveProject(of *rooms.Rooms, c *call, st standing) (*organizations.Project, error) {
	return of.Organizations.Projects.Move(c.ctx, st, c.body)
}

func updateProject(of *rooms.Rooms, c *call) (*organizations.Project, error) {
	if !organizations.ProjectConfigures(c.body) {
		if err := c.standing.Require("project:write"); err != nil {
			return nil, err
		}
	}
	st, err := ownProject(of, c)
	if err != nil {
		return nil, err
	}
	p, err := of.Organizations.Projects.Update(c.ctx, st, c.body)
	if err != nil {
		return nil, err
	}
	for _, text := range p.Warnings {
		if name, _, _ := strings.Cut(text, ":"); c.body.Members[name] != nil { // what was just asked for
			warn(c.w, text)
		}
	}
	return p, nil
}
