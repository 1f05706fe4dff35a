package httpapi

import (
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/batchexports"
)

// batchExportEndpoints are the endpoints for batch exports, their runs and backfills, below a
// project and below an organization with all its projects (§4.3).
var batchExportEndpoints = slices.Concat(batchExportsIn(inProject), batchExportsIn(inOrganization))

func batchExportsIn(a *area) []endpoint {
	return resource(a, "batch_export", func(s *server) batchexports.Service { return *s.Management.BatchExports },
		slices.Concat(batchExportRows, batchExportRunRows, batchExportBackfillRows))
}

var batchExportRows = []row[batchexports.Service]{
	paged("/batch_exports", "List batch exports", batchexports.Service.List),
	create("/batch_exports", "Create a batch export", batchexports.Fields, batchexports.Service.Create),
	get("/batch_exports/{id}", "Read a batch export", batchexports.Service.Get),
	update("/batch_exports/{id}", "Change a batch export", "Replace a batch export", batchexports.Fields, batchexports.Service.Update),
	remove("/batch_exports/{id}", "Delete a batch export", batchexports.Service.Delete),
	act(http.MethodPost, "/batch_exports/{id}/pause", "Pause a batch export", batchexports.Service.Pause).withoutBody(),
	change(http.MethodPost, "/batch_exports/{id}/unpause", "Resume a batch export", batchexports.UnpauseFields, batchexports.Service.Unpause).withoutBody(),
	handle(http.MethodGet, "/batch_exports/test", "List the steps of the connection test for a type of destination", batchExportTests).withScope(management.InternalScope).
		withQuery(param("destination", "string", "type of destination")).withResponse(batchexports.ExportTests{}).withoutBody(),
	handle(http.MethodPost, "/batch_exports/run_test_step_new", "Run one step of the connection test for a new destination", testNewExport).withScope(management.InternalScope).
		withBody(batchexports.TestFields).withoutBody(),
	change(http.MethodPost, "/batch_exports/{id}/run_test_step", "Run one step of the connection test for a batch export's destination", batchexports.TestFields, batchexports.Service.Test).
		withScope(management.InternalScope).withoutBody(),
}

func testNewExport(svc batchexports.Service, c *call) (*batchexports.ExportTest, error) {
	return svc.TestNew(c.ctx, c.body)
}

// batchExportTests lists the steps of the test of a destination. It returns 404 without a body for
// an unknown type, and 200 without a body if the parameter destination is absent (§4.3.7).
func batchExportTests(svc batchexports.Service, c *call) (any, error) {
	if !c.query().Has("destination") {
		return answer{status: http.StatusOK}, nil
	}
	if tests := svc.Tests(c.query().Get("destination")); tests != nil {
		return tests, nil
	}
	return answer{status: http.StatusNotFound}, nil
}
