package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// area is where the paths of an endpoint begin.
type area int

const (
	// inProject is below /api/projects/{project} and /api/environments/{project}.
	inProject area = iota
	// inOrganization is below /api/organizations/{organization}.
	inOrganization
	// atRoot is below /api.
	atRoot
	// atTop is below nothing.
	atTop
)

var areaPrefixes = map[area][]string{
	inProject:      {"/api/projects/{project}", "/api/environments/{project}"},
	inOrganization: {"/api/organizations/{organization}"},
	atRoot:         {"/api"},
	atTop:          {""},
}

// anyKey is the scope of endpoints that every personal key opens, public of those
// that need none.
const (
	anyKey = ""
	public = "public"
)

// endpoint is one operation of the management API: a row of the tables of this
// room, out of which the router and the API's description are made.
type endpoint struct {
	method string
	area   area
	path   string // below the area's prefix, with names in braces
	scope  string
	also   string // a second scope that the key must have, empty for none
	// summary says in a few words what it does.
	summary string
	// takes are the fields that the body may have; nil: the body is not read.
	takes management.Fields
	// array: the body is an array of such objects.
	array bool
	// query are the parameters that it looks at, beside limit and offset of lists.
	query []parameterDoc
	// status is that of success, 200 when zero.
	status int
	// gives is a value of the answer's type, nil for no body. A management.List is a
	// paginated list.
	gives any
	// bare answers have no body, unless the caller prefers one (decision 18).
	bare bool
	// reads events or persons, which has limits of its own (§2.6).
	reads bool
	// long: without a limit of time, for what bounds itself.
	long bool
	do   func(c *call) (any, error)
}

// parameterDoc is a parameter of the query.
type parameterDoc struct{ name, kind, help string } // kind: string, integer, boolean

// call is one request to an endpoint.
type call struct {
	*server
	ctx      context.Context
	w        http.ResponseWriter
	r        *http.Request
	service  *rooms.Rooms
	standing *management.Standing // nil for public endpoints
	body     management.Body
	listed   management.Values // the parameters of a list
}

// part is a named part of the path.
func (c *call) part(name string) string { return parameter(c.r, name) }

// page is the stretch of a list that is asked for (§3).
func (c *call) page() management.Page {
	p := pageOf(c.r.URL.Query())
	return management.Page{Limit: p.limit, Offset: p.offset}
}

// answer is for what an endpoint says in another way than with its status and a
// JSON value.
type answer struct {
	status int
	body   any    // as JSON; nil: no body
	raw    []byte // instead of body
	kind   string // content type of raw
	sent   bool   // everything is sent
}

// managed are all endpoints of the management API.
func managed() []endpoint {
	return append(slices.Concat(managementTables...), schemaEndpoint())
}

// managementTables are the tables of endpoints, a resource each. Files add theirs.
var managementTables = [][]endpoint{
	domainEndpoints,
	dashboardEndpoints,
	collaboratorEndpoints,
	sharingEndpoints,
	sharedEndpoints,
	insightEndpoints,
	organizationEndpoints,
	memberEndpoints,
	roleEndpoints,
	accountEndpoints,
	projectEndpoints,
	inviteEndpoints,
	confirmEndpoints,
	featureFlagEndpoints,
	flagsCodeEndpoints,
	flagExplainEndpoints,
	scheduledChangeEndpoints,
	cohortEndpoints,
	earlyAccessEndpoints,
	surveyEndpoints,
	experimentEndpoints,
	errorTrackingEndpoints,
	batchExportEndpoints,
	instanceEndpoints,
}

// managementRoutes are the rows of the table of routes for the endpoints.
func (s *server) managementRoutes() []route {
	byPath, areas := map[string]*route{}, map[string]area{}
	var order []string
	for _, e := range managed() {
		for _, prefix := range areaPrefixes[e.area] {
			path := prefix + e.path
			row := byPath[path]
			if row == nil {
				row = &route{path: path, methods: methods{}}
				byPath[path], areas[path] = row, e.area
				order = append(order, path)
			}
			row.methods[e.method] = s.endpoint(e)
			if e.method == http.MethodGet {
				row.methods[http.MethodHead] = row.methods[http.MethodGet]
			}
		}
	}
	rows := make([]route, 0, len(order))
	for _, path := range order {
		row := byPath[path]
		allow := []string{"OPTIONS"}
		for method := range row.methods {
			allow = append(allow, method)
		}
		slices.Sort(allow)
		row.allow = strings.Join(allow, ", ")
		row.methods[missing] = missingMethod(areas[path])
		rows = append(rows, *row)
	}
	return rows
}

// missingMethod answers a method that a path of the management API lacks: whoever
// has no key, or may not be in the place, is not told (§1.5).
func missingMethod(in area) handler {
	return func(s *server, w http.ResponseWriter, r *http.Request) error {
		c := &call{server: s, ctx: r.Context(), w: w, r: r, service: s.Management}
		if err := c.enter(&endpoint{scope: anyKey, area: in}); err != nil {
			return managementProblem(err)
		}
		return problemMethod.with("", "").say("Method %q not allowed.", r.Method)
	}
}

// endpoint serves a row: key, scope, place, then the body, in the order of §1.5.
func (s *server) endpoint(e endpoint) handler {
	return func(_ *server, w http.ResponseWriter, r *http.Request) error {
		ctx := r.Context()
		if !e.long {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, readTime)
			defer cancel()
		}
		c := &call{server: s, ctx: ctx, w: w, r: r.WithContext(ctx), service: s.Management}
		c.body.Warn = func(text string) { warn(w, text) }
		if err := c.open(&e); err != nil {
			return managementProblem(err)
		}
		if e.isList() {
			var err error
			if c.listed, err = e.readList(w, r.URL.Query(), s.Decider.Now()); err != nil {
				return managementProblem(err)
			}
		}
		result, err := e.do(c)
		if err != nil {
			return managementProblem(c.flagHint(&e, err))
		}
		return c.answer(&e, result)
	}
}

// open lets the caller in, then reads the body; where no key stands in the header
// the body is read first, as a key in it goes before one of the query (§1.2), and
// what is wrong with it is told last.
func (c *call) open(e *endpoint) error {
	if e.scope == public {
		return c.readBody(e, c.MaxBody)
	}
	if managementBearer(c.r) != "" {
		if err := c.enter(e); err != nil {
			return err
		}
		return c.readBody(e, c.MaxBody)
	}
	bodyErr := c.readBody(e, keyBody)
	if err := c.enter(e); err != nil {
		return err
	}
	return bodyErr
}

// outerKey is the key of the header, or else that of the query.
func outerKey(r *http.Request) (key, place string) {
	if key = managementBearer(r); key != "" {
		return key, "Authorization header"
	}
	return strings.TrimSpace(r.URL.Query().Get("personal_api_key")), "query string"
}

// managementCaller finds who sends a request (§1.2): the first place counts where
// a key stands at all.
func (s *server) managementCaller(r *http.Request, body management.Body) (*management.Caller, error) {
	key, place := managementBearer(r), "Authorization header"
	if key == "" {
		key, place = textMember(body, "personal_api_key"), "body"
	}
	if key == "" {
		key, place = outerKey(r)
	}
	if key == "" {
		return nil, noCredentials(r)
	}
	c, err := s.Management.Authenticate(r.Context(), key, place)
	var told *management.Error
	if errors.As(err, &told) && told.Kind == management.Unauthenticated {
		return nil, s.failed(r, managementProblem(err))
	}
	return c, managementProblem(err)
}

// enter does steps 1 to 4 of §1.5.
func (c *call) enter(e *endpoint) error {
	caller, err := c.managementCaller(c.r, c.body)
	if err != nil {
		return err
	}
	if err := cmp.Or(caller.Require(e.scope), caller.Require(e.also)); err != nil {
		return err
	}
	switch e.area {
	case inProject:
		if token := queryToken(c.r); token != "" {
			c.standing, err = c.service.ProjectByKey(c.ctx, caller, token)
		} else {
			c.standing, err = c.service.Project(c.ctx, caller, c.part("project"))
		}
	case inOrganization:
		c.standing, err = c.service.OrganizationNamed(c.ctx, caller, c.part("organization"))
	default:
		c.standing = caller.Anywhere()
	}
	if err != nil {
		return err
	}
	if c.standing.Project != nil {
		exchangeOf(c.ctx).noteProject(c.standing.Project.ID)
	}
	return c.limit(caller.Key.Hash, e.reads)
}

// representation is the preference that asks for a body (RFC 7240).
const representation = "return=representation"

func prefersBody(r *http.Request) bool {
	for _, line := range r.Header.Values("Prefer") {
		for part := range strings.SplitSeq(line, ",") {
			first, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.ReplaceAll(strings.TrimSpace(first), `"`, ""), representation) {
				return true
			}
		}
	}
	return false
}

// answer sends what an endpoint has returned.
func (c *call) answer(e *endpoint, result any) error {
	status := e.status
	if status == 0 {
		status = http.StatusOK
	}
	if a, ok := result.(answer); ok {
		switch {
		case a.sent:
			return nil
		case a.raw != nil:
			c.w.Header().Set("Content-Type", a.kind)
			c.w.WriteHeader(a.status)
			_, _ = c.w.Write(a.raw) // the caller has gone: nothing is left to do
			return nil
		case a.body == nil:
			c.w.WriteHeader(a.status)
			return nil
		}
		status, result = a.status, a.body
	} else if e.bare {
		if !prefersBody(c.r) || result == nil {
			c.w.WriteHeader(status)
			return nil
		}
		c.w.Header().Set("Preference-Applied", representation)
	} else if e.gives == nil {
		c.w.WriteHeader(status)
		return nil
	}
	if list, ok := result.(interface{ Counted() (int, any) }); ok {
		result = c.wrap(list.Counted())
	}
	body, err := encode(result)
	if err != nil {
		return err
	}
	c.write(c.w, status, body)
	return nil
}

// wrap is a page with its links (§3).
func (c *call) wrap(count int, results any) any {
	p := pageOf(c.r.URL.Query())
	rd := &reader{server: c.server}
	out := struct {
		Count    int     `json:"count"`
		Next     *string `json:"next"`
		Previous *string `json:"previous"`
		Results  any     `json:"results"`
	}{Count: count, Results: results, Previous: rd.previous(c.r, p)}
	if p.offset+p.limit < count {
		out.Next = rd.link(c.r, p.parameters(p.offset+p.limit))
	}
	return out
}

// managementProblems are the statuses and types of errors of management (§2.2).
var managementProblems = map[management.Kind]problem{
	management.Invalid:         {Status: 400, Type: "validation_error"},
	management.Unauthenticated: {Status: 401, Type: "authentication_error"},
	management.Forbidden:       {Status: 403, Type: "authentication_error"},
	management.NotFound:        {Status: 404, Type: "invalid_request"},
	management.Conflict:        {Status: 409, Type: "server_error"},
	management.Unavailable:     {Status: 503, Type: "server_error"},
}

// managementProblem puts an error of management into words.
func managementProblem(err error) error {
	var told *management.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &told):
		p := managementProblems[told.Kind]
		p.Code, p.Detail = told.Code, told.Message
		return p.with("", told.Field)
	case errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, context.Canceled):
		return errors.Join(flags.ErrUnavailable, err)
	}
	return storeProblem(err)
}

// query is the query of the request.
func (c *call) query() url.Values { return c.r.URL.Query() }
