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
	// sdkMethodOrder is the order in which PostHog's flags and capture name methods.
	sdkMethodOrder = []string{http.MethodGet, http.MethodPost, http.MethodOptions, http.MethodHead}
)

// Areas of what people manage and read back.
var (
	inProject = &area{prefixes: projectPrefixes, missing: answerMissingMethod, findScope: scopeInProject}
	// inCurrent is the caller's current project, by old paths without one.
	inCurrent = &area{prefixes: []string{"/api"}, missing: answerMissingMethod, findScope: scopeInCurrentProject}
	// inHistory is inProject for what was taken in.
	inHistory      = &area{prefixes: projectPrefixes, findScope: scopeInProject}
	inOrganization = &area{prefixes: []string{"/api/organizations/{organization}"}, missing: answerMissingMethod, findScope: scopeInOrganization}
	atRoot         = &area{prefixes: []string{"/api"}, missing: answerMissingMethod}
	atTop          = &area{prefixes: noPrefix, missing: answerMissingMethod}
)

// Areas of what SDKs and monitors ask.
var (
	forSDKs     = &area{prefixes: noPrefix, pages: true, allow: sdkMethodOrder}
	forIntake   = &area{prefixes: noPrefix, pages: true, allow: sdkMethodOrder, options: acceptBlindly}
	forBrowser  = &area{prefixes: noPrefix, pages: true}
	forOFREP    = &area{prefixes: noPrefix, pages: true, allow: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions}, missing: answerMissingOFREPMethod}
	forMonitors = &area{prefixes: noPrefix}
)

func scopeInProject(m *management.Service, c *call, caller *management.Caller) (*management.Scope, error) {
	if token := queryToken(c.r); token != "" {
		return m.ProjectByKey(c.ctx, caller, token)
	}
	return m.Project(c.ctx, caller, c.part("project"))
}

func scopeInCurrentProject(m *management.Service, c *call, caller *management.Caller) (*management.Scope, error) {
	return m.Project(c.ctx, caller, "@current")
}

// queryToken is the project key that stands beside the path of a GET or HEAD (§1.7).
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

// answerMissingMethod answers a method that a path of the management API lacks: whoever
// has no key, or may not be in the place, is not told (§1.5).
func answerMissingMethod(s *server, a *area, w http.ResponseWriter, r *http.Request) error {
	c := s.call(w, r)
	if err := s.signIn(c); err != nil {
		return err
	}
	if err := s.enter(c, &endpoint{keyScope: anyKey, area: a}); err != nil {
		return managementProblem(err)
	}
	return problemMethod.with("", "").setDetail("Method %q not allowed.", r.Method)
}

// route is a path and what answers its methods: made of endpoints.
type route struct {
	path    string
	area    *area
	methods methods
	// uncompressed are the methods whose answers are never compressed.
	uncompressed map[string]bool
	// allow is the Allow header of OPTIONS and of methods that are missing.
	allow string
}

// routesOf are the routes of a table of endpoints, in its order.
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

// complete adds the methods that an area has for all of its paths. HEAD is answered as
// GET is, by the same handler with the same checks, and net/http leaves the body away;
// a path whose GET changes something has a HEAD of its own.
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

// headJSON answers HEAD where GET takes events in, which HEAD must not.
func headJSON(_ *server, w http.ResponseWriter, _ *http.Request) error {
	w.Header()["Content-Type"] = contentTypeJSON
	w.WriteHeader(http.StatusOK)
	return nil
}
