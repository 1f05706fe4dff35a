package results

import (
	"errors"
	"math"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/capture/queries"
)

// problemSharedFull is the error if there is no slot for a shared dashboard.
var problemSharedFull = problem.Problem{Status: 503, Type: "server_error", Code: "too_many", Detail: "Too many shared dashboards are being shown. Please try again in a moment.", RetryAfter: 1}

// Problem converts an error of a query to a problem.
func Problem(err error) error {
	var wrong *port.Error
	var ours *queries.Error
	switch {
	case errors.As(err, &wrong):
		p := problem.Problem{Status: http.StatusBadRequest, Type: "validation_error", Code: wrong.Code}
		return p.With("", wrong.Attr).Detailed("%s", wrong.Detail)
	case errors.As(err, &ours):
		p := queryProblems[ours.Kind]
		p.RetryAfter = int(math.Ceil(ours.RetryAfter.Seconds()))
		return p.With("", "").Detailed("%s", ours.Detail)
	}
	return err
}
