package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// accessPaths maps the first segment of a path below a project to the kind of object that access
// rules name (clients.md §11.1).
var accessPaths = map[string]string{
	"actions": "action", "activity_log": "activity_log", "changes": "activity_log", "cohorts": "cohort", "dashboards": "dashboard", "experiments": "experiment",
	"feature_flags": "feature_flag", "insights": "insight", "surveys": "survey",
}

// accessPathParts returns the kind of object that path addresses, and the name of the path
// parameter that identifies one object. kind is empty if access rules do not apply to the path, and
// parameter is empty if the path does not identify one object.
func accessPathParts(path string) (kind, parameter string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	kind = accessPaths[parts[0]]
	if kind != "" && len(parts) > 1 && strings.HasPrefix(parts[1], "{") {
		parameter = strings.Trim(parts[1], "{}")
	}
	return kind, parameter
}

// checkAccessRules returns an error if the access rules do not allow the caller to use endpoint e
// on the object that the path identifies: Viewer is required for endpoints with a read scope, and
// Editor for all others. If the path identifies no object, for example when it creates one, Editor
// is required for the kind as a whole. Lists are not checked here if the kind has a finder, since
// the packages of management filter them.
func (s *server) checkAccessRules(c *call, e *endpoint) error {
	kind, parameter := accessPathParts(e.path)
	if c.scope.Project == nil || kind == "" {
		return nil
	}
	if strings.HasPrefix(e.keyScope, "activity_log:") {
		if err := s.Management.Permit(c.ctx, c.scope, "activity_log", "", management.Viewer); err != nil {
			return err
		}
	}
	need := management.Editor
	if strings.HasSuffix(e.keyScope, ":read") || strings.HasPrefix(e.keyScope, accessObject) {
		need = management.Viewer // access rules are protected by a check of their own
	}
	id := ""
	if parameter != "" {
		id = c.part(parameter)
	} else if need == management.Viewer && s.Management.Finders[kind] != nil {
		return nil
	}
	return s.Management.Permit(c.ctx, c.scope, kind, id, need)
}

const accessObject = "access_control"

// accessEndpoints are the endpoints for the access rules of a project and of its kinds of objects
// (clients.md §11). flagAccessEndpoints and dashboardAccessEndpoints are the endpoints for the
// access rules of single objects.
var (
	accessEndpoints = slices.Concat(
		accessControlsAt("/access_controls", "the project"),
		accessControlsAt("/resource_access_controls", "types of objects"),
		accessControlsAt("/global_access_controls", "types of objects, by an older path"),
	)
	flagAccessEndpoints      = accessOf("feature_flags", "cohorts", "experiments", "surveys")
	dashboardAccessEndpoints = accessOf("dashboards", "insights", "actions")
)

// accessService is the service with the methods for access rules. Their parameters kind and id name
// the object of a rule.
type accessService = *management.Service

func accessServiceOf(s *server) accessService { return s.Management.Service }

// accessOf returns the endpoints for the access rules of single objects below each path segment.
func accessOf(segments ...string) (out []endpoint) {
	for _, segment := range segments {
		out = append(out, accessControlsAt("/"+segment+"/{id}/access_controls", "one of the "+segment)...)
		out = append(out, resource(inProject, accessObject, accessServiceOf, []row[accessService]{
			objectRow(http.MethodGet, "/"+segment+"/{id}/users_with_access", "List the users with access to one of the "+segment, accessService.Users),
		})...)
	}
	return out
}

// accessControlsAt returns the endpoints that read and change access rules at path. what describes
// the object of the rules in the summaries.
func accessControlsAt(path, what string) []endpoint {
	put := handle(http.MethodPut, path, "Create, change or remove an access rule of "+what, func(svc accessService, c *call) (any, error) {
		kind, id := pathObject(path, c)
		rule, err := svc.SetControl(c.ctx, c.scope, kind, id, c.body)
		if err == nil && rule == nil {
			return answer{status: http.StatusNoContent}, nil
		}
		return rule, err
	})
	put.response = resultType(accessService.SetControl)
	return resource(inProject, accessObject, accessServiceOf, []row[accessService]{
		objectRow(http.MethodGet, path, "Read the access rules for "+what, accessService.Controls),
		put.withBody(management.AccessFields),
	})
}

// resultType returns a zero value of the type that the method returns, as an example for the
// OpenAPI document.
func resultType[T any](func(accessService, context.Context, *management.Scope, string, string, management.Body) (T, error)) any {
	return example[T]()
}

// objectRow returns a row that passes the kind and id of the object in its path to do.
func objectRow[T any](method, path, summary string, do func(accessService, context.Context, *management.Scope, string, string) (T, error)) row[accessService] {
	return handle(method, path, summary, func(svc accessService, c *call) (T, error) {
		kind, id := pathObject(path, c)
		return do(svc, c.ctx, c.scope, kind, id)
	})
}

// pathObject returns the kind and id of the object in a path of access rules. id is empty if the
// path names a whole kind, and both are empty if the path names no kind.
func pathObject(path string, c *call) (kind, id string) {
	kind, parameter := accessPathParts(path)
	switch {
	case path == "/access_controls":
		kind = management.KindProject
	case parameter != "":
		id = c.part(parameter)
	}
	return kind, id
}
