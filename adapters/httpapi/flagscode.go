package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/bunting-flags/bunting/management/featureflags"
)

var pruneParameter = param("prune", "boolean", "delete flags that are not in the document")

// flagsCodeEndpoints are the endpoints for flags as code (decision 27).
var flagsCodeEndpoints = resource(inProject, "feature_flag", flagServiceOf, withDocumentTimeout([]row[flagService]{
	handle(http.MethodGet, "/feature_flags/export", "Export flags and cohorts as one document", exportFlags).withResponse(object{}),
	handle(http.MethodPost, "/feature_flags/plan", "Preview the changes that a document of flags and cohorts would make", planFlags).withScope(readFlags).withBody(featureflags.DocumentFields).withQuery(pruneParameter),
	handle(http.MethodPost, "/feature_flags/apply", "Apply a document of flags and cohorts", applyFlags).withBody(featureflags.DocumentFields).withQuery(pruneParameter),
}))

// flagCopyEndpoints are the endpoints for the same flag in several projects (§5.1.3).
var flagCopyEndpoints = resource(inOrganization, "feature_flag", flagServiceOf, []row[flagService]{
	handle(http.MethodPost, "/feature_flags/copy_flags", "Copy a flag to other projects", copyFlag).withBody(featureflags.CopyFields).withResponse(featureflags.CopyResult{}),
	get("/feature_flags/{key}", "List the projects that have a flag", flagService.ListByProject),
})

func exportFlags(svc flagService, c *call) (any, error) {
	text, warnings, err := svc.Export(c.ctx, c.scope)
	warnAll(c, warnings)
	return answer{status: http.StatusOK, raw: text, kind: "application/json"}, err
}

func planFlags(svc flagService, c *call) (*featureflags.DocumentResult, error) {
	result, err := svc.Plan(c.ctx, c.scope, c.body, boolParameter(c.query(), "prune"))
	return addWarnings(c, result, err)
}

func applyFlags(svc flagService, c *call) (*featureflags.DocumentResult, error) {
	result, err := svc.Apply(c.ctx, c.scope, c.body, boolParameter(c.query(), "prune"))
	return addWarnings(c, result, err)
}

func copyFlag(svc flagService, c *call) (any, error) {
	result, err := svc.Copy(c.ctx, c.scope, c.body)
	for copyErr, status := range copyErrors {
		if errors.Is(err, copyErr) {
			return answer{status: status, body: object{"error": copyErr.Error()}}, nil
		}
	}
	return result, err
}

// documentTimeout limits the time for requests with documents. A document may contain 10,000 flags,
// and the machine may be busy.
const documentTimeout = 50 * time.Second

// withDocumentTimeout replaces the general time limit of the rows by documentTimeout.
func withDocumentTimeout(rows []row[flagService]) []row[flagService] {
	for i := range rows {
		do := rows[i].do
		rows[i].noTimeout, rows[i].do = true, func(svc flagService, c *call) (any, error) {
			var cancel context.CancelFunc
			c.ctx, cancel = context.WithTimeout(c.ctx, documentTimeout)
			defer cancel()
			return do(svc, c)
		}
	}
	return rows
}

// addWarnings also sends the warnings of a document as response headers.
func addWarnings(c *call, result *featureflags.DocumentResult, err error) (*featureflags.DocumentResult, error) {
	if err != nil {
		return nil, err
	}
	warnAll(c, result.Warnings)
	return result, nil
}

func warnAll(c *call, lines []string) {
	for _, line := range lines {
		warn(c.w, line)
	}
}

// copyErrors maps errors that have a body of a special form to their status (§2.3).
var copyErrors = map[error]int{
	featureflags.ErrMissingFields: http.StatusBadRequest,
	featureflags.ErrNoFlagToCopy:  http.StatusBadRequest,
	featureflags.ErrMayNotCopy:    http.StatusForbidden,
}
