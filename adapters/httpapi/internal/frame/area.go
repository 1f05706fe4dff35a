package frame

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

var (
	projectPrefixes = []string{"/api/projects/{project}", "/api/environments/{project}"}
	// NoPrefix is the prefix of endpoints whose paths are complete.
	NoPrefix = []string{""}
	// sdkMethodOrder is the order of methods in the Allow headers of PostHog's flags and capture
	// services.
	sdkMethodOrder = []string{http.MethodGet, http.MethodPost, http.MethodOptions, http.MethodHead}
)

// Areas of the endpoints that manage objects or read captured data.
var (
	InProject = &Area{Prefixes: projectPrefixes, Missing: answerMissingMethod, findScope: scopeInProject}
	// InCurrent is for older paths without a project: they use the current project of the caller.
	InCurrent = &Area{Prefixes: []string{"/api"}, Missing: answerMissingMethod, findScope: scopeInCurrentProject}
	// InHistory is InProject for events, persons and queries. It has no handler for missing
	// methods.
	InHistory      = &Area{Prefixes: projectPrefixes, findScope: scopeInProject}
	InOrganization = &Area{Prefixes: []string{"/api/organizations/{organization}"}, Missing: answerMissingMethod, findScope: scopeInOrganization}
	AtRoot         = &Area{Prefixes: []string{"/api"}, Missing: answerMissingMethod}
	AtTop          = &Area{Prefixes: NoPrefix, Missing: answerMissingMethod}
)

// Areas of the endpoints for SDKs and monitoring.
var (
	ForSDKs     = &Area{Prefixes: NoPrefix, Pages: true, Allow: sdkMethodOrder}
	ForIntake   = &Area{Prefixes: NoPrefix, Pages: true, Allow: sdkMethodOrder, options: AcceptBlindly}
	ForBrowser  = &Area{Prefixes: NoPrefix, Pages: true}
	ForMonitors = &Area{Prefixes: NoPrefix}
)

// scopeInProject returns the scope of the project that the query parameters or the path identify.
func scopeInProject(m *management.Service, c *Call, caller *management.Caller) (*management.Scope, error) {
	if token := queryToken(c.R); token != "" {
		return m.ProjectByKey(c.Ctx, caller, token)
	}
	return m.Project(c.Ctx, caller, c.Part("project"))
}

func scopeInCurrentProject(m *management.Service, c *Call, caller *management.Caller) (*management.Scope, error) {
	return m.Project(c.Ctx, caller, "@current")
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

func scopeInOrganization(m *management.Service, c *Call, caller *management.Caller) (*management.Scope, error) {
	return m.Organization(c.Ctx, caller, c.Part("organization"))
}

// route is a path with the handlers of its methods. It is built from the endpoints with this path.
type route struct {
	Path    string
	area    *Area
	Methods Methods
	// uncompressed contains the methods whose responses are never compressed. It is nil if there
	// are none.
	uncompressed map[string]bool
	// allow is the Allow header of responses to OPTIONS and to unsupported methods.
	allow string
}

// RoutesOf returns the routes for a table of endpoints, in the order of the table.
func (s *Server) RoutesOf(table []Endpoint) (out []*route) {
	byPath := map[string]*route{}
	for i := range table {
		e := &table[i]
		for _, prefix := range e.Area.Prefixes {
			row := byPath[prefix+e.Path]
			if row == nil {
				row = &route{Path: prefix + e.Path, area: e.Area, Methods: Methods{}}
				byPath[row.Path], out = row, append(out, row)
			}
			if row.Methods[e.Method] = e.Serve; e.Serve == nil {
				row.Methods[e.Method] = s.handler(e)
			}
			if e.Uncompressed {
				row.noteUncompressed(e.Method)
			}
		}
	}
	for _, row := range out {
		row.complete()
	}
	return out
}

func (row *route) noteUncompressed(method string) {
	if row.uncompressed == nil {
		row.uncompressed = map[string]bool{}
	}
	row.uncompressed[method] = true
}

// complete adds the methods that all paths of an area support. HEAD has the handler of GET with the
// same checks, and net/http omits the body; a path whose GET changes data has a HEAD handler of its
// own.
func (row *route) complete() {
	if get := row.Methods[http.MethodGet]; get != nil && row.Methods[http.MethodHead] == nil {
		row.Methods[http.MethodHead] = get
	}
	if row.uncompressed[http.MethodGet] {
		row.noteUncompressed(http.MethodHead)
	}
	allow := []string{http.MethodOptions}
	for method := range row.Methods {
		allow = append(allow, method)
	}
	if row.area.options != nil {
		row.Methods[http.MethodOptions] = row.area.options
	}
	slices.SortFunc(allow, func(a, b string) int {
		return cmp.Or(slices.Index(row.area.Allow, a)-slices.Index(row.area.Allow, b), strings.Compare(a, b))
	})
	row.allow = strings.Join(allow, ", ")
}

// HeadJSON handles HEAD for paths whose GET captures events, since HEAD must not change data.
func HeadJSON(w http.ResponseWriter, _ *http.Request) error {
	w.Header()["Content-Type"] = contentTypeJSON
	w.WriteHeader(http.StatusOK)
	return nil
}

// InSignIn is the area of endpoints for signing in. It is served only with Config.SignIn.
var InSignIn = &Area{Prefixes: []string{"/api"}, Missing: answerMissingMethod}
