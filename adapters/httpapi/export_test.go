package httpapi

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/history"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/intake"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/openapi"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/results"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/sdk"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/signin"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/streams"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/batchexports"
	"github.com/bunting-flags/bunting/management/changes"
	"github.com/bunting-flags/bunting/management/cohorts"
	"github.com/bunting-flags/bunting/management/dashboards"
	"github.com/bunting-flags/bunting/management/earlyaccess"
	"github.com/bunting-flags/bunting/management/errortracking"
	"github.com/bunting-flags/bunting/management/experiments"
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rollouts"
	"github.com/bunting-flags/bunting/management/rooms"
	"github.com/bunting-flags/bunting/management/surveys"
)

// emptyHandler returns a Handler for its tables of endpoints.
func emptyHandler() *Handler {
	s := &frame.Server{}
	return &Handler{server: s, streams: &streams.Streams{}, sdk: &sdk.Service{Server: s}, intake: &intake.Service{Server: s}}
}

// RoutesForTest returns the table of routes: each path with its methods, sorted.
func RoutesForTest() map[string][]string {
	out := map[string][]string{}
	h := emptyHandler()
	for _, row := range h.server.RoutesOf(slices.Concat(h.commonEndpoints(&Config{}), h.sdk.FlagEndpoints())) {
		out[row.Path] = slices.Sorted(maps.Keys(row.Methods))
	}
	return out
}

// FillSharedForTest occupies all slots for rendering shared dashboards until release is called.
func FillSharedForTest(h *Handler) (release func()) {
	for range results.SharedAtOnce {
		h.shared <- struct{}{}
	}
	return func() {
		for range results.SharedAtOnce {
			<-h.shared
		}
	}
}

// BoundResults is results.BoundResults.
var BoundResults = results.BoundResults

var allServices = &rooms.Rooms{
	BatchExports: &batchexports.Service{}, Dashboards: &dashboards.Service{}, ErrorTracking: &errortracking.Service{},
	FeatureFlags: &featureflags.Flags{}, Organizations: &organizations.Service{},
	Changes: &changes.Service{}, Cohorts: &cohorts.Service{}, EarlyAccess: &earlyaccess.Service{}, Experiments: &experiments.Service{},
	Rollouts: &rollouts.Service{}, Surveys: &surveys.Service{},
}

// describedRows returns the endpoints of the management API.
func describedRows(services *rooms.Rooms) []frame.Endpoint {
	h := emptyHandler()
	return slices.Concat(h.managementRows(&Config{Management: services}), history.Endpoints(services, h.streams), results.QueryEndpoints(&rooms.Rooms{}))
}

// SDKRoutesForTest returns method and path of the routes for SDKs and monitors.
func SDKRoutesForTest() (out []string) {
	h := emptyHandler()
	for _, e := range slices.Concat(h.commonEndpoints(&Config{}), h.sdk.FlagEndpoints(), h.sdk.OFREPEndpoints(), h.intake.Endpoints(), h.intake.PageEndpoints()) {
		out = append(out, e.Method+" "+e.Path)
	}
	return out
}

// ManagementRoutesForTest returns the methods of all paths of the management API.
func ManagementRoutesForTest() map[string][]string {
	out := map[string][]string{}
	for _, e := range describedRows(allServices) {
		for _, prefix := range e.Area.Prefixes {
			out[prefix+e.Path] = append(out[prefix+e.Path], e.Method)
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
	// List is true if parameters are checked; Parameters are the supported names, Undone those that
	// are refused.
	List               bool
	Parameters, Undone []string
}

// EndpointsForTest returns all rows, with the first of their paths.
func EndpointsForTest() (out []EndpointForTest) {
	for _, e := range describedRows(allServices) {
		row := EndpointForTest{
			Method: e.Method, Path: e.Area.Prefixes[0] + e.Path + "/", Scope: strings.TrimPrefix(e.KeyScope, frame.AnyKey),
			InProject: e.Area.Prefixes[0] == frame.InProject.Prefixes[0], InOrg: e.Area == frame.InOrganization, Takes: e.BodyFields, Array: e.Array, List: e.IsList(),
		}
		if e.Unread { // the person or group in the path is looked up first
			row.Takes = nil
		}
		for _, q := range e.Query {
			row.Parameters = append(row.Parameters, q.Name)
		}
		for _, p := range frame.Lists[e.Path] {
			row.Parameters = append(row.Parameters, p.Name)
			if p.Kind == frame.KindUnsupported {
				row.Undone = append(row.Undone, p.Name)
			}
		}
		out = append(out, row)
	}
	return out
}

// SetStreamTiming sets the interval of keep-alives, the time limit of a write, and the interval at
// which definitions are checked. It must be called before the first stream.
func (h *Handler) SetStreamTiming(keepAlive, write, look time.Duration) {
	h.streams.Timing = streams.StreamTiming{KeepAlive: keepAlive, Write: write, Poll: look}
}

// SetFeedTiming sets the length of a second for feeds, and the interval at which new events are
// read.
func (h *Handler) SetFeedTiming(second, look time.Duration) {
	h.streams.Feeds.Timing = streams.FeedTiming{Tick: second, Poll: look, Retry: 3 * time.Second}
}

// CountStreams adds n to the number of open streams.
func (h *Handler) CountStreams(n int64) { h.streams.Definitions.Open.Add(n) }

// ComeBackForTest returns a retry delay for the current number of streams.
func (h *Handler) ComeBackForTest() time.Duration { return streams.RetryDelay(h.streams.Spread()) }

// SpreadForTest returns the time over which a change is sent to a number of clients.
func SpreadForTest(clients int) time.Duration { return streams.SpreadOf(clients) }

// PublishForTest sends a change with a version to the streams.
func (h *Handler) PublishForTest(spread time.Duration, version string) {
	h.streams.Publish(spread, version)
}

// CutPattern is frame.CutPattern.
var CutPattern = frame.CutPattern

// OpenAPI30ForTest converts a description to OpenAPI 3.0.3.
var OpenAPI30ForTest = openapi.OpenAPI30

// ConsolePathForTest returns the path in the console for next.
func ConsolePathForTest(base, next string) string { return signin.ConsolePath(base, next) }
