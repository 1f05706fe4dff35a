package frame

import (
	"net/http"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

// UnsupportedProduct is the response for products of PostHog that Bunting does not have by
// design (decision 37).
var UnsupportedProduct = problem.Problem{Status: http.StatusNotFound, Type: "invalid_request", Code: "not_found", Detail: "Not part of Bunting."}

// unsupportedPaths are the paths of these products below a project or an organization. Each entry
// covers the paths below it as well.
var unsupportedPaths = []string{
	// Hog functions, and their predecessors.
	"hog_functions", "hog_function_templates", "hog_flows", "hog_flow_templates", "public_hog_function_templates",
	"plugins", "plugin_configs", "pipeline_destinations", "pipeline_transformations",
	// Session replay.
	"session_recordings", "session_recording_playlists", "session_group_summaries",
	// The data warehouse.
	"warehouse_tables", "warehouse_saved_queries", "warehouse_view_link", "warehouse_view_links",
	"warehouse_dag", "warehouse_model_paths", "external_data_sources", "external_data_schemas",
	// Managed proxies.
	"proxy_records",
	// Source maps. The issues of error tracking are supported.
	"error_tracking/symbol_sets", "error_tracking/stack_frames",
}

// isUnsupportedPath reports whether a path belongs to one of these products.
func isUnsupportedPath(path string) bool {
	rest, ok := strings.CutPrefix(path, "/api/")
	if !ok {
		return false
	}
	switch area, below, _ := strings.Cut(rest, "/"); area {
	case "projects", "environments", "organizations":
		_, rest, _ = strings.Cut(below, "/") // skip the id of the project or the organization
	default: // the older paths without a project
		rest = area
	}
	return slices.ContainsFunc(unsupportedPaths, func(p string) bool { return rest == p || strings.HasPrefix(rest, p+"/") })
}
