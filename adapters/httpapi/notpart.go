package httpapi

import (
	"net/http"
	"strings"
)

// problemNotPart is for what PostHog has and Bunting will not have (decision 37).
var problemNotPart = problem{Status: http.StatusNotFound, Type: "invalid_request", Code: "not_found", Detail: "Not part of Bunting."}

// notPart are the first words of paths below a project or an organization that
// belong to such products.
var notPart = map[string]bool{
	// Hog functions, and what they have come from.
	"hog_functions": true, "hog_function_templates": true, "hog_flows": true, "hog_flow_templates": true, "public_hog_function_templates": true,
	"plugins": true, "plugin_configs": true, "pipeline_destinations": true, "pipeline_transformations": true,
	// Session replay.
	"session_recordings": true, "session_recording_playlists": true, "session_group_summaries": true,
	// The data warehouse.
	"warehouse_tables": true, "warehouse_saved_queries": true, "warehouse_view_link": true, "warehouse_view_links": true,
	"warehouse_dag": true, "warehouse_model_paths": true, "external_data_sources": true, "external_data_schemas": true,
	// Managed proxies.
	"proxy_records": true,
}

// notPartPaths are those whose first word is that of something that is here:
// source maps.
var notPartPaths = []string{"error_tracking/symbol_sets", "error_tracking/stack_frames"}

// isNotPart reports whether a path belongs to a product that will not come.
func isNotPart(path string) bool {
	rest, ok := strings.CutPrefix(path, "/api/")
	if !ok {
		return false
	}
	area, rest, _ := strings.Cut(rest, "/")
	switch area {
	case "projects", "environments", "organizations":
		_, rest, _ = strings.Cut(rest, "/") // whose it is
	default: // the older paths without a project
		rest = area
	}
	first, _, _ := strings.Cut(rest, "/")
	if notPart[first] {
		return true
	}
	for _, p := range notPartPaths {
		if after, ok := strings.CutPrefix(rest, p); ok && (after == "" || after[0] == '/') {
			return true
		}
	}
	return false
}
