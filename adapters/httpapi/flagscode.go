package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/bunting-flags/bunting/management"
)

var pruneParameter = []parameterDoc{{"prune", "boolean", "delete the flags that the document does not have"}}

// flagsCodeEndpoints are those of flags as code (decision 27), and of the same
// flag in several projects (§5.1.3).
var flagsCodeEndpoints = []endpoint{
	{
		method: "GET", area: inProject, path: "/feature_flags/export", scope: "feature_flag:read", summary: "Export flags and cohorts as one document", long: true,
		gives: object{},
		do: atLength(func(c *call) (any, error) {
			text, warnings, err := c.service.FeatureFlags.Export(c.ctx, c.standing)
			c.warnAll(warnings)
			return answer{status: http.StatusOK, raw: text, kind: "application/json"}, err
		}),
	},
	{
		method: "POST", area: inProject, path: "/feature_flags/plan", scope: "feature_flag:read", summary: "Say what applying a document would change", long: true,
		takes: management.DocumentFields, query: pruneParameter, gives: management.DocumentResult{},
		do: atLength(func(c *call) (any, error) {
			return c.warned(c.service.FeatureFlags.Plan(c.ctx, c.standing, c.body, boolParameter(c.query(), "prune")))
		}),
	},
	{
		method: "POST", area: inProject, path: "/feature_flags/apply", scope: "feature_flag:write", summary: "Make flags and cohorts those of a document", long: true,
		takes: management.DocumentFields, query: pruneParameter, gives: management.DocumentResult{},
		do: atLength(func(c *call) (any, error) {
			return c.warned(c.service.FeatureFlags.Apply(c.ctx, c.standing, c.body, boolParameter(c.query(), "prune")))
		}),
	},
	{
		method: "POST", area: inOrganization, path: "/feature_flags/copy_flags", scope: "feature_flag:write", summary: "Copy a flag to other projects",
		takes: management.CopyFields, gives: management.Copied{},
		do: func(c *call) (any, error) {
			done, err := c.service.FeatureFlags.Copy(c.ctx, c.standing, c.body)
			for known, status := range copyErrors {
				if errors.Is(err, known) {
					return answer{status: status, body: object{"error": known.Error()}}, nil
				}
			}
			return done, err
		},
	},
	{
		method: "GET", area: inOrganization, path: "/feature_flags/{key}", scope: "feature_flag:read", summary: "List the projects that have a flag",
		gives: []management.FlagPlace{},
		do:    func(c *call) (any, error) { return c.service.FeatureFlags.Places(c.ctx, c.standing, c.part("key")) },
	},
}

// documentTime bounds a request for a document, which may be of 10,000 flags, on a
// machine that has other things to do.
const documentTime = 50 * time.Second

func atLength(do func(*call) (any, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		var cancel context.CancelFunc
		c.ctx, cancel = context.WithTimeout(c.ctx, documentTime)
		defer cancel()
		return do(c)
	}
}

// warned puts the warnings of a document into the header, too.
func (c *call) warned(result *management.DocumentResult, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	c.warnAll(result.Warnings)
	return result, nil
}

func (c *call) warnAll(lines []string) {
	for _, line := range lines {
		warn(c.w, line)
	}
}

// copyErrors have bodies of their own (§2.3).
var copyErrors = map[error]int{
	management.ErrMissingFields: http.StatusBadRequest,
	management.ErrNoFlagToCopy:  http.StatusBadRequest,
	management.ErrMayNotCopy:    http.StatusForbidden,
}
