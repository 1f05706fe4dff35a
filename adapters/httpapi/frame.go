package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// readTimeout bounds one request of endpoints that are not long: searches and filters
// may look at many persons.
const readTimeout = 20 * time.Second

// managementRows are the endpoints of the management API whose rooms there are.
func managementRows(services *rooms.Rooms) []endpoint {
	out := slices.Concat(activityEndpoints, organizationActivityEndpoints, changeEndpoints, accessEndpoints, schemaEndpoint())
	for _, table := range managementTables {
		if table.in(services) {
			out = slices.Concat(out, slices.Concat(table.tables...))
		}
	}
	return out
}

// managementTables are the tables of endpoints, a resource each, by the room that they
// stand on. Files add theirs.
var managementTables = []struct {
	in     func(*rooms.Rooms) bool
	tables [][]endpoint
}{
	{func(r *rooms.Rooms) bool { return r.FeatureFlags != nil }, [][]endpoint{
		featureFlagEndpoints,
		flagsCodeEndpoints,
		flagCopyEndpoints,
		flagExplainEndpoints, flagExposureEndpoints, personFlagEndpoints, personCohortEndpoints,
		flagActivityEndpoints,
		scheduledChangeEndpoints, changeRequestEndpoints,
		cohortEndpoints,
		earlyAccessEndpoints,
		surveyEndpoints,
		experimentEndpoints, experimentCallEndpoints, savedMetricEndpoints, holdoutEndpoints, rolloutEndpoints,
		flagAccessEndpoints,
	}},
	{func(r *rooms.Rooms) bool { return r.Organizations != nil }, [][]endpoint{
		organizationEndpoints,
		domainEndpoints,
		memberEndpoints,
		roleEndpoints,
		accountEndpoints,
		projectEndpoints,
		integrationEndpoints,
		inviteEndpoints,
		confirmEndpoints,
		sessionEndpoints,
		passkeyEndpoints,
		oidcEndpoints,
		programEndpoints,
		instanceEndpoints,
		healthEndpoints,
	}},
	{func(r *rooms.Rooms) bool { return r.Dashboards != nil }, [][]endpoint{
		dashboardEndpoints,
		sharingEndpoints,
		sharedEndpoints,
		insightEndpoints,
		insightActivityEndpoints,
		resultEndpoints,
		actionEndpoints,
		annotationEndpoints,
		dashboardAccessEndpoints,
		alertEndpoints,
	}},
	{func(r *rooms.Rooms) bool { return r.ErrorTracking != nil }, [][]endpoint{errorTrackingEndpoints}},
	{func(r *rooms.Rooms) bool { return r.BatchExports != nil }, [][]endpoint{batchExportEndpoints}},
}

// call begins one.
func (s *server) call(w http.ResponseWriter, r *http.Request) *call {
	c := &call{ctx: r.Context(), w: w, r: r, scheme: s.scheme(r)}
	c.body.Warn = func(text string) { warn(w, text) }
	return c
}

// handler serves an endpoint: key, scope, place, then the body, in the order of
// §1.5, and the parameters of a list.
func (s *server) handler(e *endpoint) handler {
	do, list := e.bind(s), e.isList()
	return func(_ *server, w http.ResponseWriter, r *http.Request) error {
		if !e.noTimeout {
			ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
			defer cancel()
			r = r.WithContext(ctx)
		}
		c := s.call(w, r)
		if e.noTimeout {
			c.recheck = func() error { return s.recheck(c, e) }
		}
		c.pageSize = e.pageSize
		if e.unread {
			c.lease = s.budget.newLease(s, w, r)
			defer c.lease.release()
		}
		err := s.open(c, e)
		if err == nil && list {
			c.listValues, err = e.readList(w, c.query(), s.Decider.Now())
		}
		var result any
		if err == nil {
			result, err = do(c)
		}
		if err != nil {
			return managementProblem(err)
		}
		return s.answer(c, e, result)
	}
}

// open lets the caller in, then reads the body; where no key stands in the header
// the body is read first, as a key in it goes before one of the query (§1.2), and
// what is wrong with it is told last.
func (s *server) open(c *call, e *endpoint) error {
	if e.keyScope == public {
		if e.area == inSignIn {
			if err := checkOrigin(c.r); err != nil {
				return err
			}
		}
		return c.readBody(e, s.MaxBody)
	}
	if err := s.signIn(c); err != nil {
		return err
	}
	switch {
	case e.unread:
		return s.enter(c, e)
	case c.authenticated != nil || bearer(c.r) != "":
		if err := s.enter(c, e); err != nil {
			return err
		}
		err := c.readBody(e, s.MaxBody)
		if c.authenticated != nil && c.authenticated.Session != nil && textMember(c.body, "personal_api_key") != "" { // a key goes before a session
			c.authenticated = nil
			return cmp.Or(s.enter(c, e), err)
		}
		return err
	}
	bodyErr := c.readBody(e, keyBody)
	return cmp.Or(s.enter(c, e), bodyErr)
}

// keyOutsideBody is the key of the header, or else that of the query.
func keyOutsideBody(r *http.Request) (key, location string) {
	if key = bearer(r); key != "" {
		return key, "Authorization header"
	}
	return strings.TrimSpace(r.URL.Query().Get("personal_api_key")), "query string"
}

// managementCaller finds who sends a request (§1.2): the first place counts where
// a key stands at all.
func (s *server) managementCaller(r *http.Request, body management.Body) (*management.Caller, error) {
	key, location := bearer(r), "Authorization header"
	if key == "" {
		key, location = textMember(body, "personal_api_key"), "body"
	}
	if key == "" {
		key, location = keyOutsideBody(r)
	}
	if key == "" {
		return nil, noCredentials(r)
	}
	c, err := s.Management.Authenticate(r.Context(), key, location)
	var target *management.Error
	if errors.As(err, &target) && target.Kind == management.Unauthenticated {
		return nil, s.countFailure(r, managementProblem(err))
	}
	return c, managementProblem(err)
}

// enter does steps 1 to 4 of §1.5.
func (s *server) enter(c *call, e *endpoint) error {
	if err := s.admit(c, e); err != nil {
		return err
	}
	return s.limit(c.scope.Caller.Key.Hash, e.reads)
}

// recheck looks whether a caller may still do what goes on, which is no use of a session.
func (s *server) recheck(c *call, e *endpoint) error {
	now := s.call(c.w, c.r)
	now.isAdmitted = true
	err := s.signIn(now)
	if err == nil {
		err = s.admit(now, e)
	}
	if err == nil {
		c.scope = now.scope
	}
	return managementProblem(err)
}

func (s *server) admit(c *call, e *endpoint) error {
	caller, err := c.authenticated, error(nil)
	if caller == nil {
		caller, err = s.managementCaller(c.r, c.body)
	}
	if err != nil {
		return err
	}
	if err := e.checkScopes(caller); err != nil {
		return err
	}
	c.scope = caller.GlobalScope()
	if e.area.findScope != nil {
		if c.scope, err = e.area.findScope(s.Management.Service, c, caller); err != nil {
			return err
		}
	}
	if c.scope.Project != nil {
		exchangeOf(c.ctx).noteProject(c.project())
	}
	return cmp.Or(s.checkAccessRules(c, e), s.checkSession(caller, e, c.r))
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
func (s *server) answer(c *call, e *endpoint, result any) error {
	status := cmp.Or(e.status, http.StatusOK)
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
	} else if e.response == nil {
		c.w.WriteHeader(status)
		return nil
	}
	if list, ok := result.(interface{ Counted() (int, any) }); ok {
		result = c.wrap(list.Counted())
	}
	return s.writeJSON(c.w, status, result)
}

// wrap is a page with its links (§3).
func (c *call) wrap(count int, results any) any {
	p := c.requestedPage()
	out := struct {
		Count    int     `json:"count"`
		Next     *string `json:"next"`
		Previous *string `json:"previous"`
		Results  any     `json:"results"`
	}{Count: count, Results: results, Previous: c.previous(p)}
	if p.offset+p.limit < count {
		out.Next = c.link(p.parameters(p.offset + p.limit))
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
	management.TooMany:         {Status: 429, Type: "throttled_error"},
}

// managementProblem puts an error of management into words.
func managementProblem(err error) error {
	var target *management.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &target):
		p := managementProblems[target.Kind]
		p.Code, p.Detail = target.Code, target.Message
		return p.with("", target.Field)
	case errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, context.Canceled):
		return errors.Join(flags.ErrUnavailable, err)
	}
	return storeProblem(err)
}
