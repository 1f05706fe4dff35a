package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// ruledPaths are what paths below a project begin with whose things access rules may be
// about, by kind (clients.md §11.1).
var ruledPaths = map[string]string{
	"actions": "action", "activity_log": "activity_log", "changes": "activity_log", "cohorts": "cohort", "dashboards": "dashboard", "experiments": "experiment",
	"feature_flags": "feature_flag", "insights": "insight", "surveys": "survey",
}

// ruledParts is the kind of things that a path is about, empty for none that rules are
// about, and the parameter that names one of them, empty for none.
func ruledParts(path string) (kind, parameter string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	kind = ruledPaths[parts[0]]
	if kind != "" && len(parts) > 1 && strings.HasPrefix(parts[1], "{") {
		parameter = strings.Trim(parts[1], "{}")
	}
	return kind, parameter
}

// rules refuses a caller who may do less with the thing that a path names than an
// endpoint wants: to look at it where its scope is one to read, else to edit it. Where no
// thing is named, as in what makes one, the kind has to be the caller's to edit; what
// lists show is the rooms' to say.
func (s *server) rules(c *call, e *endpoint) error {
	kind, parameter := ruledParts(e.path)
	if c.standing.Project == nil || kind == "" {
		return nil
	}
	if strings.HasPrefix(e.scope, "activity_log:") {
		if err := s.Management.Permit(c.ctx, c.standing, "activity_log", "", management.Viewer); err != nil {
			return err
		}
	}
	need := management.Editor
	if strings.HasSuffix(e.scope, ":read") || strings.HasPrefix(e.scope, accessObject) {
		need = management.Viewer // rules have a refusal of their own
	}
	id := ""
	if parameter != "" {
		id = c.part(parameter)
	} else if need == management.Viewer && s.Management.Things[kind] != nil {
		return nil
	}
	return s.Management.Permit(c.ctx, c.standing, kind, id, need)
}

const accessObject = "access_control"

// accessEndpoints are the access rules of a project and of its kinds of things (clients.md
// §11), flagAccessEndpoints and dashboardAccessEndpoints those of single things.
var (
	accessEndpoints = slices.Concat(
		controlsAt("/access_controls", "the project"),
		controlsAt("/resource_access_controls", "kinds of things"),
		controlsAt("/global_access_controls", "kinds of things, by an older path"),
	)
	flagAccessEndpoints      = accessOf("feature_flags", "cohorts", "experiments", "surveys")
	dashboardAccessEndpoints = accessOf("dashboards", "insights", "actions")
)

// accessDesk are the methods of the desk about access rules: kind and id name what they
// are about.
type accessDesk = *management.Service

func accessDeskOf(s *server) accessDesk { return s.Management.Service }

func accessOf(segments ...string) (out []endpoint) {
	for _, segment := range segments {
		out = append(out, controlsAt("/"+segment+"/{id}/access_controls", "one of "+segment)...)
		out = append(out, resource(inProject, accessObject, accessDeskOf, []row[accessDesk]{
			ofThing(http.MethodGet, "/"+segment+"/{id}/users_with_access", "List who may look at one of "+segment, accessDesk.Users),
		})...)
	}
	return out
}

func controlsAt(path, what string) []endpoint {
	put := by(http.MethodPut, path, "Make, change or remove an access rule of "+what, func(of accessDesk, c *call) (any, error) {
		kind, id := thingOf(path, c)
		rule, err := of.SetControl(c.ctx, c.standing, kind, id, c.body)
		if err == nil && rule == nil {
			return answer{status: http.StatusNoContent}, nil
		}
		return rule, err
	})
	put.gives = result(accessDesk.SetControl)
	return resource(inProject, accessObject, accessDeskOf, []row[accessDesk]{
		ofThing(http.MethodGet, path, "Read the access rules of "+what, accessDesk.Controls),
		put.taking(management.AccessFields),
	})
}

// result is a value of the type that a method returns.
func result[T any](func(accessDesk, ctx, standing, string, string, body) (T, error)) any {
	return example[T]()
}

// ofThing is a row that asks something about what its path names.
func ofThing[T any](method, path, summary string, do func(accessDesk, ctx, standing, string, string) (T, error)) row[accessDesk] {
	return by(method, path, summary, func(of accessDesk, c *call) (T, error) {
		kind, id := thingOf(path, c)
		return do(of, c.ctx, c.standing, kind, id)
	})
}

// thingOf is what a path of access rules is about.
func thingOf(path string, c *call) (kind, id string) {
	kind, parameter := ruledParts(path)
	switch {
	case path == "/access_controls":
		kind = management.KindProject
	case parameter != "":
		id = c.part(parameter)
	}
	return kind, id
}
