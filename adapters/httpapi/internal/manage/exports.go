package manage

import (
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/batchexports"
)

// batchExportEndpoints are the endpoints for batch exports, their runs and backfills, below a
// project and below an organization with all its projects (§4.3).
var batchExportEndpoints = slices.Concat(batchExportsIn(frame.InProject), batchExportsIn(frame.InOrganization))

func batchExportsIn(a *frame.Area) []frame.Endpoint {
	return frame.Resource(a, "batch_export", func(s *frame.Server) batchexports.Service { return *s.Management.BatchExports },
		slices.Concat(batchExportRows, batchExportRunRows, batchExportBackfillRows))
}

var batchExportRows = []frame.Row[batchexports.Service]{
	frame.Paged("/batch_exports", "List batch exports", batchexports.Service.List),
	frame.Create("/batch_exports", "Create a batch export", batchexports.Fields, batchexports.Service.Create),
	frame.Get("/batch_exports/{id}", "Read a batch export", batchexports.Service.Get),
	frame.Update("/batch_exports/{id}", "Change a batch export", "Replace a batch export", batchexports.Fields, batchexports.Service.Update),
	frame.Remove("/batch_exports/{id}", "Delete a batch export", batchexports.Service.Delete),
	frame.Act(http.MethodPost, "/batch_exports/{id}/pause", "Pause a batch export", batchexports.Service.Pause).WithoutBody(),
	frame.Change(http.MethodPost, "/batch_exports/{id}/unpause", "Resume a batch export", batchexports.UnpauseFields, batchexports.Service.Unpause).WithoutBody(),
	frame.Handle(http.MethodGet, "/batch_exports/test", "List the steps of the connection test for a type of destination", batchExportTests).WithScope(management.InternalScope).
		WithQuery(frame.Param("destination", "string", "type of destination")).WithResponse(batchexports.ExportTests{}).WithoutBody(),
	frame.Handle(http.MethodPost, "/batch_exports/run_test_step_new", "Run one step of the connection test for a new destination", testNewExport).WithScope(management.InternalScope).
		WithBody(batchexports.TestFields).WithoutBody(),
	frame.Change(http.MethodPost, "/batch_exports/{id}/run_test_step", "Run one step of the connection test for a batch export's destination", batchexports.TestFields, batchexports.Service.Test).
		WithScope(management.InternalScope).WithoutBody(),
}

func testNewExport(svc batchexports.Service, c *frame.Call) (*batchexports.ExportTest, error) {
	return svc.TestNew(c.Ctx, c.Body)
}

// batchExportTests lists the steps of the test of a destination. It returns 404 without a body for
// an unknown type, and 200 without a body if the parameter destination is absent (§4.3.7).
func batchExportTests(svc batchexports.Service, c *frame.Call) (any, error) {
	if !c.Query().Has("destination") {
		return frame.Answer{Status: http.StatusOK}, nil
	}
	if tests := svc.Tests(c.Query().Get("destination")); tests != nil {
		return tests, nil
	}
	return frame.Answer{Status: http.StatusNotFound}, nil
}
