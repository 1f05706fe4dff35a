package manage

import (
	"net/http"
	"slices"

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
	rows := frame.Below(projectOf, []frame.Row[organizations.Projects]{
		frame.Get(one, "Read a project", organizations.Projects.Get),
		frame.Update(one, configuration, configuration, organizations.Bodies.Project, organizations.Projects.Update).WithScope("project:read"),
		frame.Remove(one, "Delete a project", organizations.Projects.Delete).WithProof(),
		frame.Act(http.MethodPatch, one+"/reset_token", "Replace the public key of a project", organizations.Projects.ResetToken).Uncompressed(),
		frame.Act(http.MethodPatch, one+"/rotate_secret_token", "Rotate the secret key of a project; the response is the only one with the new key", organizations.Projects.RotateSecret).WithProof().Uncompressed(),
		frame.Act(http.MethodPatch, one+"/delete_secret_token_backup", "Revoke the secret key that was valid before the last rotation", organizations.Projects.DeleteSecretBackup).WithProof(),
		frame.Change(http.MethodPost, one+"/change_organization", "Move a project to another organization", organizations.Bodies.ProjectMove, organizations.Projects.Move),
	})
	rows[1] = rows[1].WithCheck(requireWrite) // before the project is looked up
	return slices.Concat(
		frame.Resource(a, "project", func(s *frame.Server) organizations.Projects { return s.Management.Organizations.Projects }, []frame.Row[organizations.Projects]{
			frame.Paged(path, "List projects", organizations.Projects.List),
			frame.Create(path, "Create a project", organizations.Bodies.NewProject, organizations.Projects.Create).Uncompressed(),
		}),
		frame.Resource(a, "project", managementOf, rows),
	)
}

// projectOf sets the scope of a call to that in the project of the path. The error is not found if
// the caller has no access to the project.
func projectOf(svc *rooms.Rooms, c *frame.Call) (organizations.Projects, error) {
	scope, err := svc.VisibleProject(c.Ctx, c.Scope.Caller, c.Part("project"))
	if err == nil && c.Scope.Organization != nil && c.Scope.Organization.ID != scope.Organization.ID {
		err = management.Missing("Project not found.")
	}
	if err == nil {
		c.Scope = scope
	}
	return svc.Organizations.Projects, err
}

// requireWrite returns an error if a body changes more than the configuration and the key lacks the
// scope project:write.
func requireWrite(c *frame.Call) error {
	if organizations.OnlyConfigures(c.Body) {
		return nil
	}
	return c.Scope.Require("project:write")
}

func environments(svc *rooms.Rooms, c *frame.Call) (out management.List[organizations.ProjectBasic], err error) {
	projects, err := projectOf(svc, c)
	if err != nil {
		return out, err
	}
	p, err := projects.Get(c.Ctx, c.Scope, "")
	if err != nil {
		return out, err
	}
	return frame.CountedPage(c, []organizations.ProjectBasic{p.ProjectBasic}), nil
}
