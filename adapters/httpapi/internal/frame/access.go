package frame

import (
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// accessPaths maps the first segment of a path below a project to the kind of object that access
// rules name (clients.md §11.1).
var accessPaths = map[string]string{
	"actions": "action", "activity_log": "activity_log", "changes": "activity_log", "cohorts": "cohort", "dashboards": "dashboard", "experiments": "experiment",
	"feature_flags": "feature_flag", "insights": "insight", "surveys": "survey",
}

// AccessPathParts returns the kind of object that path addresses, and the name of the path
// parameter that identifies one object. kind is empty if access rules do not apply to the path, and
// parameter is empty if the path does not identify one object.
func AccessPathParts(path string) (kind, parameter string) {
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
func (s *Server) checkAccessRules(c *Call, e *Endpoint) error {
	kind, parameter := AccessPathParts(e.Path)
	if c.Scope.Project == nil || kind == "" {
		return nil
	}
	if strings.HasPrefix(e.KeyScope, "activity_log:") {
		if err := s.Management.Permit(c.Ctx, c.Scope, "activity_log", "", management.Viewer); err != nil {
			return err
		}
	}
	need := management.Editor
	if strings.HasSuffix(e.KeyScope, ":read") || strings.HasPrefix(e.KeyScope, AccessObject) {
		need = management.Viewer // access rules are protected by a check of their own
	}
	id := ""
	if parameter != "" {
		id = c.Part(parameter)
	} else if need == management.Viewer && s.Management.Finders[kind] != nil {
		return nil
	}
	return s.Management.Permit(c.Ctx, c.Scope, kind, id, need)
}

// AccessObject is the object in the scopes of endpoints for access rules.
const AccessObject = "access_control"
