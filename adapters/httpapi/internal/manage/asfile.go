package manage

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management/featureflags"
)

var pruneParameter = frame.Param("prune", "boolean", "delete flags that are not in the document")

// flagsCodeEndpoints are the endpoints for flags as code (decision 27).
var flagsCodeEndpoints = frame.Resource(frame.InProject, "feature_flag", flagServiceOf, withDocumentTimeout([]frame.Row[flagService]{
	frame.Handle(http.MethodGet, "/feature_flags/export", "Export flags and cohorts as one document", exportFlags).WithResponse(frame.Object{}),
	frame.Handle(http.MethodPost, "/feature_flags/plan", "Preview the changes that a document of flags and cohorts would make", planFlags).WithScope(readFlags).WithBody(featureflags.Bodies.Document).WithQuery(pruneParameter),
	frame.Handle(http.MethodPost, "/feature_flags/apply", "Apply a document of flags and cohorts", applyFlags).WithBody(featureflags.Bodies.Document).WithQuery(pruneParameter),
}))

// flagCopyEndpoints are the endpoints for the same flag in several projects (§5.1.3).
var flagCopyEndpoints = frame.Resource(frame.InOrganization, "feature_flag", flagServiceOf, []frame.Row[flagService]{
	frame.Handle(http.MethodPost, "/feature_flags/copy_flags", "Copy a flag to other projects", copyFlag).WithBody(featureflags.Bodies.Copy).WithResponse(featureflags.CopyResult{}),
	frame.Get("/feature_flags/{key}", "List the projects that have a flag", flagService.ListByProject),
})

func exportFlags(svc flagService, c *frame.Call) (any, error) {
	text, warnings, err := svc.Export(c.Ctx, c.Scope)
	warnAll(c, warnings)
	return frame.Answer{Status: http.StatusOK, Raw: text, Kind: "application/json"}, err
}

func planFlags(svc flagService, c *frame.Call) (*featureflags.DocumentResult, error) {
	result, err := svc.Plan(c.Ctx, c.Scope, c.Body, frame.BoolParameter(c.Query(), "prune"))
	return addWarnings(c, result, err)
}

func applyFlags(svc flagService, c *frame.Call) (*featureflags.DocumentResult, error) {
	result, err := svc.Apply(c.Ctx, c.Scope, c.Body, frame.BoolParameter(c.Query(), "prune"))
	return addWarnings(c, result, err)
}

func copyFlag(svc flagService, c *frame.Call) (any, error) {
	result, err := svc.Copy(c.Ctx, c.Scope, c.Body)
	for copyErr, status := range copyErrors {
		if errors.Is(err, copyErr) {
			return frame.Answer{Status: status, Body: frame.Object{"error": copyErr.Error()}}, nil
		}
	}
	return result, err
}

// documentTimeout limits the time for requests with documents. A document may contain 10,000 flags,
// and the machine may be busy.
const documentTimeout = 50 * time.Second

// withDocumentTimeout replaces the general time limit of the rows by documentTimeout.
func withDocumentTimeout(rows []frame.Row[flagService]) []frame.Row[flagService] {
	for i := range rows {
		do := rows[i].Do
		rows[i].NoTimeout, rows[i].Do = true, func(svc flagService, c *frame.Call) (any, error) {
			var cancel context.CancelFunc
			c.Ctx, cancel = context.WithTimeout(c.Ctx, documentTimeout)
			defer cancel()
			return do(svc, c)
		}
	}
	return rows
}

// addWarnings also sends the warnings of a document as response headers.
func addWarnings(c *frame.Call, result *featureflags.DocumentResult, err error) (*featureflags.DocumentResult, error) {
	if err != nil {
		return nil, err
	}
	warnAll(c, result.Warnings)
	return result, nil
}

func warnAll(c *frame.Call, lines []string) {
	for _, line := range lines {
		frame.Warn(c.W, line)
	}
}

// copyErrors maps errors that have a body of a special form to their status (§2.3).
var copyErrors = map[error]int{
	featureflags.ErrMissingFields: http.StatusBadRequest,
	featureflags.ErrNoFlagToCopy:  http.StatusBadRequest,
	featureflags.ErrMayNotCopy:    http.StatusForbidden,
}
