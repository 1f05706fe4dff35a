package httpapi

import (
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/batchexports"
)

// batchExportEndpoints are those of batch exports, their runs and backfills, both
// of a project and of an organization with all its projects (§4.3).
var batchExportEndpoints = slices.Concat(batchExportsIn(inProject), batchExportsIn(inOrganization))

func batchExportsIn(place *area) []endpoint {
	return resource(place, "batch_export", func(s *server) batchexports.Service { return *s.Management.BatchExports },
		slices.Concat(batchExportRows, batchExportRunRows, batchExportBackfillRows))
}

var batchExportRows = []row[batchexports.Service]{
	paged("/batch_exports", "List batch exports", batchexports.Service.List),
	create("/batch_exports", "Make a batch export", batchexports.Fields, batchexports.Service.Create),
	get("/batch_exports/{id}", "Read a batch export", batchexports.Service.Get),
	update("/batch_exports/{id}", "Change a batch export", "Replace a batch export", batchexports.Fields, batchexports.Service.Update),
	remove("/batch_exports/{id}", "Delete a batch export", batchexports.Service.Delete),
	act(http.MethodPost, "/batch_exports/{id}/pause", "Pause a batch export", batchexports.Service.Pause).unlessPreferred(),
	change(http.MethodPost, "/batch_exports/{id}/unpause", "Go on with a batch export", batchexports.UnpauseFields, batchexports.Service.Unpause).unlessPreferred(),
	by(http.MethodGet, "/batch_exports/test", "List the steps of the test of a destination", batchExportTests).needs(management.Internal).
		asking(parameterDoc{"destination", "string", "the type of the destination"}).giving(batchexports.ExportTests{}).unlessPreferred(),
	by(http.MethodPost, "/batch_exports/run_test_step_new", "Do a step of the test of a new destination", testNewExport).needs(management.Internal).
		taking(batchexports.TestFields).unlessPreferred(),
	change(http.MethodPost, "/batch_exports/{id}/run_test_step", "Do a step of the test of a destination", batchexports.TestFields, batchexports.Service.Test).
		needs(management.Internal).unlessPreferred(),
}

func testNewExport(of batchexports.Service, c *call) (*batchexports.ExportTest, error) {
	return of.TestNew(c.ctx, c.body)
}

// batchExportTests answers a type that there is not with 404 and no body, and no
// type with none at all (§4.3.7).
func batchExportTests(of batchexports.Service, c *call) (any, error) {
	if !c.query().Has("destination") {
		return answer{status: http.StatusOK}, nil
	}
	if tests := of.Tests(c.query().Get("destination")); tests != nil {
		return tests, nil
	}
	return answer{status: http.StatusNotFound}, nil
}
