package httpapi

import (
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// batchExportEndpoints are those of batch exports, their runs and backfills, both
// of a project and of an organization with all its projects (§4.3).
var batchExportEndpoints = slices.Concat(batchExportEndpointsIn(inProject), batchExportEndpointsIn(inOrganization))

const (
	readExports  = "batch_export:read"
	writeExports = "batch_export:write"
)

func batchExportEndpointsIn(place area) []endpoint {
	list := slices.Concat(batchExportRows, batchExportTestRows, batchExportRunRows, batchExportBackfillRows)
	for i := range list {
		list[i].area = place
	}
	return list
}

var batchExportRows = []endpoint{
	{
		method: "GET", path: "/batch_exports", scope: readExports, summary: "List batch exports",
		gives: management.List[management.BatchExport]{},
		do:    func(c *call) (any, error) { return c.service.BatchExports.List(c.ctx, c.standing, c.page()) },
	},
	{
		method: "POST", path: "/batch_exports", scope: writeExports, summary: "Make a batch export",
		takes: management.BatchExportFields, status: 201, gives: management.BatchExport{},
		do: func(c *call) (any, error) { return c.service.BatchExports.Create(c.ctx, c.standing, c.body) },
	},
	{
		method: "GET", path: "/batch_exports/{id}", scope: readExports, summary: "Read a batch export",
		gives: management.BatchExport{},
		do:    func(c *call) (any, error) { return c.service.BatchExports.Get(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "PATCH", path: "/batch_exports/{id}", scope: writeExports, summary: "Change a batch export",
		takes: management.BatchExportFields, gives: management.BatchExport{}, do: updateBatchExport,
	},
	{
		method: "PUT", path: "/batch_exports/{id}", scope: writeExports, summary: "Replace a batch export",
		takes: management.BatchExportFields, gives: management.BatchExport{}, do: updateBatchExport,
	},
	{
		method: "DELETE", path: "/batch_exports/{id}", scope: writeExports, summary: "Delete a batch export",
		status: 204,
		do:     func(c *call) (any, error) { return nil, c.service.BatchExports.Delete(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "POST", path: "/batch_exports/{id}/pause", scope: writeExports, summary: "Pause a batch export",
		gives: management.Paused{}, bare: true,
		do: func(c *call) (any, error) { return c.service.BatchExports.Pause(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "POST", path: "/batch_exports/{id}/unpause", scope: writeExports, summary: "Go on with a batch export",
		takes: management.ExportUnpauseFields, gives: management.Paused{}, bare: true,
		do: func(c *call) (any, error) {
			return c.service.BatchExports.Unpause(c.ctx, c.standing, c.part("id"), c.body)
		},
	},
}

func updateBatchExport(c *call) (any, error) {
	return c.service.BatchExports.Update(c.ctx, c.standing, c.part("id"), c.body, c.r.Method == "PUT")
}

var batchExportTestRows = []endpoint{
	{
		method: "GET", path: "/batch_exports/test", scope: management.Internal, summary: "List the steps of the test of a destination",
		query: []parameterDoc{{"destination", "string", "the type of the destination"}},
		gives: management.ExportTests{}, bare: true, do: batchExportTests,
	},
	{
		method: "POST", path: "/batch_exports/run_test_step_new", scope: management.Internal, summary: "Do a step of the test of a new destination",
		takes: management.BatchExportTestFields, gives: management.ExportTest{}, bare: true,
		do: func(c *call) (any, error) { return c.service.BatchExports.TestNew(c.ctx, c.body) },
	},
	{
		method: "POST", path: "/batch_exports/{id}/run_test_step", scope: management.Internal, summary: "Do a step of the test of a destination",
		takes: management.BatchExportTestFields, gives: management.ExportTest{}, bare: true,
		do: func(c *call) (any, error) {
			return c.service.BatchExports.Test(c.ctx, c.standing, c.part("id"), c.body)
		},
	},
}

// batchExportTests answers a type that there is not with 404 and no body, and no
// type with none at all (§4.3.7).
func batchExportTests(c *call) (any, error) {
	if !c.query().Has("destination") {
		return answer{status: http.StatusOK}, nil
	}
	if tests := c.service.BatchExports.Tests(c.query().Get("destination")); tests != nil {
		return tests, nil
	}
	return answer{status: http.StatusNotFound}, nil
}
