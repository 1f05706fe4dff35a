package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// readTimeout limits the time of requests to endpoints without noTimeout. Searches and filters may
// read many persons, so it is rather long.
const readTimeout = 20 * time.Second

// call returns a new call for a request.
func (s *server) call(w http.ResponseWriter, r *http.Request) *call {
	c := &call{ctx: r.Context(), w: w, r: r, scheme: s.scheme(r)}
	c.body.Warn = func(text string) { warn(w, text) }
	return c
}

// handler returns the handler of an endpoint. It checks the key, its scopes and the access to the
// project or organization, and then reads the body, in the order of §1.5, and then the parameters
// of a list.
func (s *server) handler(e *endpoint) handler {
	do, list := e.bind(s), e.isList()
	return func(w http.ResponseWriter, r *http.Request) error {
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
			c.lease = s.budget.newLease(w, r, s)
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

// open authenticates and authorizes the caller, and then reads the body. If the request has no key
// in its header, the body is read first, because a key in the body takes precedence over one in the
// query (§1.2); errors in the body are then reported only after those of the key.
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
		// A key takes precedence over a session.
		if c.authenticated != nil && c.authenticated.Session != nil && textMember(c.body, "personal_api_key") != "" {
			c.authenticated = nil
			return cmp.Or(s.enter(c, e), err)
		}
		return err
	}
	bodyErr := c.readBody(e, keyBody)
	return cmp.Or(s.enter(c, e), bodyErr)
}

// keyOutsideBody returns the key of the Authorization header or, if there is none, of the query
// string.
func keyOutsideBody(r *http.Request) (key, location string) {
	if key = bearer(r); key != "" {
		return key, "Authorization header"
	}
	return strings.TrimSpace(r.URL.Query().Get("personal_api_key")), "query string"
}

// managementCaller authenticates the request (§1.2). It uses the first of header, body and query
// string that contains a key.
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
		return nil, s.manageLimits.countFailure(r, managementProblem(err))
	}
	return c, managementProblem(err)
}

// enter does steps 1 to 4 of §1.5: it authorizes the caller and applies rate limits.
func (s *server) enter(c *call, e *endpoint) error {
	if err := s.admit(c, e); err != nil {
		return err
	}
	return s.manageLimits.limit(c.scope.Caller.Key.Hash, e.reads)
}

// recheck returns an error if the caller of a long response has lost access. It does not count as
// activity of the session.
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

// admit authenticates the caller, finds the scope of the call and checks the permissions of the
// caller in it.
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

// representation is the preference for a response with a body (RFC 7240).
const representation = "return=representation"

// prefersBody reports whether a Prefer header of the request contains representation.
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

// answer writes the response for the result of an endpoint.
func (s *server) answer(c *call, e *endpoint, result any) error {
	status := cmp.Or(e.status, http.StatusOK)
	if a, ok := result.(answer); ok {
		switch {
		case a.sent:
			return nil
		case a.raw != nil:
			c.w.Header().Set("Content-Type", a.kind)
			c.w.WriteHeader(a.status)
			_, _ = c.w.Write(a.raw) // a write error means that the client has disconnected
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
	return writeJSON(c.w, status, result)
}

// wrap returns a page of a list with links to the next and previous page (§3).
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

// managementProblems maps the kinds of management errors to their statuses and types (§2.2).
var managementProblems = map[management.Kind]problem{
	management.Invalid:         {Status: 400, Type: "validation_error"},
	management.Unauthenticated: {Status: 401, Type: "authentication_error"},
	management.Forbidden:       {Status: 403, Type: "authentication_error"},
	management.NotFound:        {Status: 404, Type: "invalid_request"},
	management.Conflict:        {Status: 409, Type: "server_error"},
	management.Unavailable:     {Status: 503, Type: "server_error"},
	management.TooMany:         {Status: 429, Type: "throttled_error"},
}

// managementProblem converts an error of package management to the problem in the response.
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
