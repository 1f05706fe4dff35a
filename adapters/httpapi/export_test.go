package httpapi

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/batchexports"
	"github.com/bunting-flags/bunting/management/dashboards"
	"github.com/bunting-flags/bunting/management/errortracking"
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// RoutesForTest is the table of routes: path to the methods that it answers,
// sorted.
func RoutesForTest() map[string][]string {
	out := map[string][]string{}
	for _, row := range (&server{}).routesOf(slices.Concat(commonEndpoints, flagEndpoints)) {
		out[row.path] = slices.Sorted(maps.Keys(row.methods))
	}
	return out
}

// FillSharedForTest takes all places in which shared dashboards are shown until leave.
func FillSharedForTest(h *Handler) (release func()) {
	for range sharedAtOnce {
		h.server.sharedSlots <- struct{}{}
	}
	return func() {
		for range sharedAtOnce {
			<-h.server.sharedSlots
		}
	}
}

// BoundResults is boundResults.
var BoundResults = boundResults

var allServices = &rooms.Rooms{
	BatchExports: &batchexports.Service{}, Dashboards: &dashboards.Service{}, ErrorTracking: &errortracking.Service{},
	FeatureFlags: &featureflags.Service{}, Organizations: &organizations.Service{},
}

// describedRows are the endpoints of the management API.
func describedRows(services *rooms.Rooms) []endpoint {
	return slices.Concat(managementRows(services), historyRows(services), queryEndpoints)
}

// SDKRoutesForTest are method and path of what answers SDKs and monitors by itself.
func SDKRoutesForTest() (out []string) {
	for _, e := range slices.Concat(commonEndpoints, flagEndpoints, ofrepEndpoints, captureEndpoints, pageEndpoints) {
		out = append(out, e.method+" "+e.path)
	}
	return out
}

// ManagementRoutesForTest are the methods of all paths of the management API.
func ManagementRoutesForTest() map[string][]string {
	out := map[string][]string{}
	for _, e := range describedRows(allServices) {
		for _, prefix := range e.area.prefixes {
			out[prefix+e.path] = append(out[prefix+e.path], e.method)
		}
	}
	return out
}

// EndpointForTest is a row of the tables of the management API.
type EndpointForTest struct {
	Method, Path, Scope string
	InProject, InOrg    bool
	Takes               management.Fields
	Array               bool
	// List: its parameters are looked at; Parameters are those that it knows, Undone
	// those of them that are refused.
	List               bool
	Parameters, Undone []string
}

// EndpointsForTest are all rows, on the first of their paths.
func EndpointsForTest() (out []EndpointForTest) {
	for _, e := range describedRows(allServices) {
		row := EndpointForTest{
			Method: e.method, Path: e.area.prefixes[0] + e.path + "/", Scope: strings.TrimPrefix(e.keyScope, anyKey),
			InProject: e.area.prefixes[0] == inProject.prefixes[0], InOrg: e.area == inOrganization, Takes: e.bodyFields, Array: e.array, List: e.isList(),
		}
		if e.unread { // the person or group of the path is looked for first
			row.Takes = nil
		}
		for _, q := range e.query {
			row.Parameters = append(row.Parameters, q.name)
		}
		for _, p := range lists[e.path] {
			row.Parameters = append(row.Parameters, p.name)
			if p.kind == kindUnsupported {
				row.Undone = append(row.Undone, p.name)
			}
		}
		out = append(out, row)
	}
	return out
}

// SetStreamTiming changes how long things take, before the first stream: the time
// between keep-alives, that of a write, and that between looks at the definitions.
func (h *Handler) SetStreamTiming(keepAlive, write, look time.Duration) {
	h.server.streams.timing = streamTiming{keepAlive, write, look}
}

// SetFeedTiming does so for what is watched: what counts as a second, and the time between
// looks at new events.
func (h *Handler) SetFeedTiming(second, look time.Duration) {
	h.server.streams.feeds.timing = feedTiming{second, look, 3 * time.Second}
}

// CountStreams counts n streams more than there are.
func (h *Handler) CountStreams(n int64) { h.server.streams.definitions.open.Add(n) }

// ComeBackForTest is a time to come back as one of so many streams.
func (h *Handler) ComeBackForTest() time.Duration { return retryDelay(h.server.streams.spread()) }

// SpreadForTest is over how long so many clients are told of a change.
func SpreadForTest(clients int) time.Duration { return spreadOf(clients) }

// PublishForTest tells streams of changes of a version.
func (h *Handler) PublishForTest(spread time.Duration, version string) {
	h.server.streams.mu.Lock()
	defer h.server.streams.mu.Unlock()
	for id, hub := range h.server.streams.hubs {
		if id.kind == changesStream {
			state := changedState(version)
			state.spread = spread
			close(hub.state.Swap(state).next)
		}
	}
}

// CutPattern is cutPattern.
var CutPattern = cutPattern

// OpenAPI30ForTest puts a description into the words of OpenAPI 3.0.3.
var OpenAPI30ForTest = openAPI30

// ConsolePathForTest is where next leads.
func ConsolePathForTest(base, next string) string { return consolePath(base, next) }
