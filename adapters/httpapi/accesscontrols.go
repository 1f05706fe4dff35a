package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// accessPaths are what paths below a project begin with whose things access rules may be
// about, by kind (clients.md §11.1).
var accessPaths = map[string]string{
	"actions": "action", "activity_log": "activity_log", "changes": "activity_log", "cohorts": "cohort", "dashboards": "dashboard", "experiments": "experiment",
	"feature_flags": "feature_flag", "insights": "insight", "surveys": "survey",
}

// accessPathParts is the kind of things that a path is about, empty for none that rules are
// about, and the parameter that names one of them, empty for none.
func accessPathParts(path string) (kind, parameter string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	kind = accessPaths[parts[0]]
	if kind != "" && len(parts) > 1 && strings.HasPrefix(parts[1], "{") {
		parameter = strings.Trim(parts[1], "{}")
	}
	return kind, parameter
}

// checkAccessRules refuses a caller who may do less with the thing that a path names than an
// endpoint wants: to look at it where its scope is one to read, else to edit it. Where no
// thing is named, as in what makes one, the kind has to be the caller's to edit; what
// lists show is the rooms' to say.
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
		need = management.Viewer // rules have a refusal of their own
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

// accessEndpoints are the access rules of a project and of its kinds of things (clients.md
// §11), flagAccessEndpoints and dashboardAccessEndpoints those of single things.
var (
	accessEndpoints = slices.Concat(
		accessControlsAt("/access_controls", "the project"),
		accessControlsAt("/resource_access_controls", "kinds of things"),
		accessControlsAt("/global_access_controls", "kinds of things, by an older path"),
	)
	flagAccessEndpoints      = accessOf("feature_flags", "cohorts", "experiments", "surveys")
	dashboardAccessEndpoints = accessOf("dashboards", "insights", "actions")
)

// accessService are the methods of the desk about access rules: kind and id name what they
// are about.
type accessService = *management.Service

func accessServiceOf(s *server) accessService { return s.Management.Service }

func accessOf(segments ...string) (out []endpoint) {
	for _, segment := range segments {
		out = append(out, accessControlsAt("/"+segment+"/{id}/access_controls", "one of "+segment)...)
		out = append(out, resource(inProject, accessObject, accessServiceOf, []row[accessService]{
			objectRow(http.MethodGet, "/"+segment+"/{id}/users_with_access", "List who may look at one of "+segment, accessService.Users),
		})...)
	}
	return out
}

func accessControlsAt(path, what string) []endpoint {
	put := handle(http.MethodPut, path, "Make, change or remove an access rule of "+what, func(svc accessService, c *call) (any, error) {
		kind, id := pathObject(path, c)
		rule, err := svc.SetControl(c.ctx, c.scope, kind, id, c.body)
		if err == nil && rule == nil {
			return answer{status: http.StatusNoContent}, nil
		}
		return rule, err
	})
	put.response = resultType(accessService.SetControl)
	return resource(inProject, accessObject, accessServiceOf, []row[accessService]{
		objectRow(http.MethodGet, path, "Read the access rules of "+what, accessService.Controls),
		put.withBody(management.AccessFields),
	})
}

// resultType is a value of the type that a method returns.
func resultType[T any](func(accessService, context.Context, *management.Scope, string, string, body) (T, error)) any {
	return example[T]()
}

// objectRow is a row that asks something about what its path names.
func objectRow[T any](method, path, summary string, do func(accessService, context.Context, *management.Scope, string, string) (T, error)) row[accessService] {
	return handle(method, path, summary, func(svc accessService, c *call) (T, error) {
		kind, id := pathObject(path, c)
		return do(svc, c.ctx, c.scope, kind, id)
	})
}

// pathObject is what a path of access rules is about.
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
