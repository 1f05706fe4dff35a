package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/bunting-flags/bunting/management/featureflags"
)

var pruneParameter = parameterDoc{"prune", "boolean", "delete the flags that the document does not have"}

// flagsCodeEndpoints are those of flags as code (decision 27).
var flagsCodeEndpoints = resource(inProject, "feature_flag", flagDeskOf, atLength([]row[flagDesk]{
	by(http.MethodGet, "/feature_flags/export", "Export flags and cohorts as one document", exportFlags).giving(object{}),
	by(http.MethodPost, "/feature_flags/plan", "Say what applying a document would change", planFlags).needs(readFlags).taking(featureflags.DocumentFields).asking(pruneParameter),
	by(http.MethodPost, "/feature_flags/apply", "Make flags and cohorts those of a document", applyFlags).taking(featureflags.DocumentFields).asking(pruneParameter),
}))

// flagPlaceEndpoints are those of the same flag in several projects (§5.1.3).
var flagPlaceEndpoints = resource(inOrganization, "feature_flag", flagDeskOf, []row[flagDesk]{
	by(http.MethodPost, "/feature_flags/copy_flags", "Copy a flag to other projects", copyFlag).taking(featureflags.CopyFields).giving(featureflags.Copied{}),
	get("/feature_flags/{key}", "List the projects that have a flag", flagDesk.Places),
})

func exportFlags(of flagDesk, c *call) (any, error) {
	text, warnings, err := of.Export(c.ctx, c.standing)
	c.warnAll(warnings)
	return answer{status: http.StatusOK, raw: text, kind: "application/json"}, err
}

func planFlags(of flagDesk, c *call) (*featureflags.DocumentResult, error) {
	return c.warned(of.Plan(c.ctx, c.standing, c.body, boolParameter(c.query(), "prune")))
}

func applyFlags(of flagDesk, c *call) (*featureflags.DocumentResult, error) {
	return c.warned(of.Apply(c.ctx, c.standing, c.body, boolParameter(c.query(), "prune")))
}

func copyFlag(of flagDesk, c *call) (any, error) {
	done, err := of.Copy(c.ctx, c.standing, c.body)
	for known, status := range copyErrors {
		if errors.Is(err, known) {
			return answer{status: status, body: object{"error": known.Error()}}, nil
		}
	}
	return done, err
}

// documentTime bounds a request for a document, which may be of 10,000 flags, on a
// machine that has other things to do.
const documentTime = 50 * time.Second

func atLength(rows []row[flagDesk]) []row[flagDesk] {
	for i := range rows {
		do := rows[i].do
		rows[i].long, rows[i].do = true, func(of flagDesk, c *call) (any, error) {
			var cancel context.CancelFunc
			c.ctx, cancel = context.WithTimeout(c.ctx, documentTime)
			defer cancel()
			return do(of, c)
		}
	}
	return rows
}

// warned puts the warnings of a document into the header, too.
func (c *call) warned(result *featureflags.DocumentResult, err error) (*featureflags.DocumentResult, error) {
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
	featureflags.ErrMissingFields: http.StatusBadRequest,
	featureflags.ErrNoFlagToCopy:  http.StatusBadRequest,
	featureflags.ErrMayNotCopy:    http.StatusForbidden,
}
