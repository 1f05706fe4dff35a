package httpapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

var (
	projectPrefixes = []string{"/api/projects/{project}", "/api/environments/{project}"}
	noPrefix        = []string{""}
	// sdkMethodOrder is the order of methods in the Allow headers of PostHog's flags and capture
	// services.
	sdkMethodOrder = []string{http.MethodGet, http.MethodPost, http.MethodOptions, http.MethodHead}
)

// Areas of the endpoints that manage objects or read captured data.
var (
	inProject = &area{prefixes: projectPrefixes, missing: answerMissingMethod, findScope: scopeInProject}
	// inCurrent is for older paths without a project: they use the current project of the caller.
	inCurrent = &area{prefixes: []string{"/api"}, missing: answerMissingMethod, findScope: scopeInCurrentProject}
	// inHistory is inProject for events, persons and queries. It has no handler for missing
	// methods.
	inHistory      = &area{prefixes: projectPrefixes, findScope: scopeInProject}
	inOrganization = &area{prefixes: []string{"/api/organizations/{organization}"}, missing: answerMissingMethod, findScope: scopeInOrganization}
	atRoot         = &area{prefixes: []string{"/api"}, missing: answerMissingMethod}
	atTop          = &area{prefixes: noPrefix, missing: answerMissingMethod}
)

// Areas of the endpoints for SDKs and monitoring.
var (
	forSDKs     = &area{prefixes: noPrefix, pages: true, allow: sdkMethodOrder}
	forIntake   = &area{prefixes: noPrefix, pages: true, allow: sdkMethodOrder, options: acceptBlindly}
	forBrowser  = &area{prefixes: noPrefix, pages: true}
	forMonitors = &area{prefixes: noPrefix}
)

// scopeInProject returns the scope of the project that the query parameters or the path identify.
func scopeInProject(m *management.Service, c *call, caller *management.Caller) (*management.Scope, error) {
	if token := queryToken(c.r); token != "" {
		return m.ProjectByKey(c.ctx, caller, token)
	}
	return m.Project(c.ctx, caller, c.part("project"))
}

func scopeInCurrentProject(m *management.Service, c *call, caller *management.Caller) (*management.Scope, error) {
	return m.Project(c.ctx, caller, "@current")
}

// queryToken returns the project key in the query parameters of a GET or HEAD request (§1.7), or an
// empty string.
func queryToken(r *http.Request) string {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return ""
	}
	q := r.URL.Query()
	if token := q.Get("token"); token != "" {
		return token
	}
	return q.Get("api_key")
}

func scopeInOrganization(m *management.Service, c *call, caller *management.Caller) (*management.Scope, error) {
	return m.Organization(c.ctx, caller, c.part("organization"))
}

// route is a path with the handlers of its methods. It is built from the endpoints with this path.
type route struct {
	path    string
	area    *area
	methods methods
	// uncompressed contains the methods whose responses are never compressed.
	uncompressed map[string]bool
	// allow is the Allow header of responses to OPTIONS and to unsupported methods.
	allow string
}

// routesOf returns the routes for a table of endpoints, in the order of the table.
func (s *server) routesOf(table []endpoint) (out []*route) {
	byPath := map[string]*route{}
	for i := range table {
		e := &table[i]
		for _, prefix := range e.area.prefixes {
			row := byPath[prefix+e.path]
			if row == nil {
				row = &route{path: prefix + e.path, area: e.area, methods: methods{}, uncompressed: map[string]bool{}}
				byPath[row.path], out = row, append(out, row)
			}
			if row.methods[e.method] = e.serve; e.serve == nil {
				row.methods[e.method] = s.handler(e)
			}
			row.uncompressed[e.method] = e.uncompressed
		}
	}
	for _, row := range out {
		row.complete()
	}
	return out
}

// complete adds the methods that all paths of an area support. HEAD has the handler of GET with the
// same checks, and net/http omits the body; a path whose GET changes data has a HEAD handler of its
// own.
func (row *route) complete() {
	if get := row.methods[http.MethodGet]; get != nil && row.methods[http.MethodHead] == nil {
		row.methods[http.MethodHead] = get
	}
	row.uncompressed[http.MethodHead] = row.uncompressed[http.MethodHead] || row.uncompressed[http.MethodGet]
	allow := []string{http.MethodOptions}
	for method := range row.methods {
		allow = append(allow, method)
	}
	if row.area.options != nil {
		row.methods[http.MethodOptions] = row.area.options
	}
	slices.SortFunc(allow, func(a, b string) int {
		return cmp.Or(slices.Index(row.area.allow, a)-slices.Index(row.area.allow, b), strings.Compare(a, b))
	})
	row.allow = strings.Join(allow, ", ")
}

// headJSON handles HEAD for paths whose GET captures events, since HEAD must not change data.
func headJSON(w http.ResponseWriter, _ *http.Request) error {
	w.Header()["Content-Type"] = contentTypeJSON
	w.WriteHeader(http.StatusOK)
	return nil
}

// inSignIn is the area of endpoints for signing in. It is served only with Config.SignIn.
var inSignIn = &area{prefixes: []string{"/api"}, missing: answerMissingMethod}
