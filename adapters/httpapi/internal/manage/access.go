package manage

import (
	"context"
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
)

// accessEndpoints are the endpoints for the access rules of a project and of its kinds of objects
// (clients.md §11). dashboardAccessEndpoints are the endpoints for the access rules of single
// dashboards, insights and actions.
var (
	accessEndpoints = slices.Concat(
		accessControlsAt("/access_controls", "the project"),
		accessControlsAt("/resource_access_controls", "types of objects"),
		accessControlsAt("/global_access_controls", "types of objects, by an older path"),
		frame.Resource(frame.InProject, frame.AccessObject, accessServiceOf, []frame.Row[accessService]{
			usersRow("/users_with_access", "List the users with access to the project, or to objects of one type", accessService.Users),
		}),
	)
	dashboardAccessEndpoints = accessOf("dashboards", "insights", "actions")
)

// accessService is the service with the methods for access rules. Their parameters kind and id name
// the object of a rule.
type accessService = *management.Service

func accessServiceOf(s *frame.Server) accessService { return s.Management.Service }

// usersRow returns a row that passes the kind of its query parameter to do, without an id.
func usersRow[T any](path, summary string, do func(accessService, context.Context, *management.Scope, string, string) (T, error)) frame.Row[accessService] {
	return frame.Handle(http.MethodGet, path, summary, func(svc accessService, c *frame.Call) (T, error) {
		return do(svc, c.Ctx, c.Scope, c.ListValues.Text("resource"), "")
	})
}

// accessOf returns the endpoints for the access rules of single objects below each path segment.
func accessOf(segments ...string) (out []frame.Endpoint) {
	for _, segment := range segments {
		out = append(out, accessControlsAt("/"+segment+"/{id}/access_controls", "one of the "+segment)...)
		out = append(out, frame.Resource(frame.InProject, frame.AccessObject, accessServiceOf, []frame.Row[accessService]{
			objectRow(http.MethodGet, "/"+segment+"/{id}/users_with_access", "List the users with access to one of the "+segment, accessService.Users),
		})...)
	}
	return out
}

// accessControlsAt returns the endpoints that read and change access rules at path. what describes
// the object of the rules in the summaries.
func accessControlsAt(path, what string) []frame.Endpoint {
	put := frame.Handle(http.MethodPut, path, "Create, change or remove an access rule of "+what, func(svc accessService, c *frame.Call) (any, error) {
		kind, id := pathObject(path, c)
		rule, err := svc.SetControl(c.Ctx, c.Scope, kind, id, c.Body)
		if err == nil && rule == nil {
			return frame.Answer{Status: http.StatusNoContent}, nil
		}
		return rule, err
	})
	put.Response = resultType(accessService.SetControl)
	return frame.Resource(frame.InProject, frame.AccessObject, accessServiceOf, []frame.Row[accessService]{
		objectRow(http.MethodGet, path, "Read the access rules for "+what, accessService.Controls),
		put.WithBody(management.AccessFields),
	})
}

// resultType returns a zero value of the type that the method returns, as an example for the
// OpenAPI document.
func resultType[T any](func(accessService, context.Context, *management.Scope, string, string, management.Body) (T, error)) any {
	return frame.Example[T]()
}

// objectRow returns a row that passes the kind and id of the object in its path to do.
func objectRow[T any](method, path, summary string, do func(accessService, context.Context, *management.Scope, string, string) (T, error)) frame.Row[accessService] {
	return frame.Handle(method, path, summary, func(svc accessService, c *frame.Call) (T, error) {
		kind, id := pathObject(path, c)
		return do(svc, c.Ctx, c.Scope, kind, id)
	})
}

// pathObject returns the kind and id of the object in a path of access rules. id is empty if the
// path names a whole kind, and both are empty if the path names no kind.
func pathObject(path string, c *frame.Call) (kind, id string) {
	kind, parameter := frame.AccessPathParts(path)
	switch {
	case path == "/access_controls":
		kind = management.KindProject
	case parameter != "":
		id = c.Part(parameter)
	}
	return kind, id
}
