package httpapi

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/management"
)

// answerMissingMethod handles methods that a path of the management API does not have. It
// authenticates and authorizes the caller first, so that only callers with access learn which
// methods exist (§1.5).
func answerMissingMethod(s *server, a *area, w http.ResponseWriter, r *http.Request) error {
	c := s.call(w, r)
	if err := s.signIn(c); err != nil {
		return err
	}
	if err := s.enter(c, &endpoint{keyScope: anyKey, area: a}); err != nil {
		return problem.OfManagement(err)
	}
	return problem.Method.With("", "").Detailed("Method %q not allowed.", r.Method)
}

// call returns a new call for a request.
func (s *server) call(w http.ResponseWriter, r *http.Request) *call {
	c := &call{ctx: r.Context(), w: w, r: r, scheme: s.scheme(r)}
	c.body.Warn = func(text string) { warn(w, text) }
	return c
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
		return nil, s.manageLimits.CountFailure(r, problem.OfManagement(err))
	}
	return c, problem.OfManagement(err)
}

// enter does steps 1 to 4 of §1.5: it authorizes the caller and applies rate limits.
func (s *server) enter(c *call, e *endpoint) error {
	if err := s.admit(c, e); err != nil {
		return err
	}
	return s.manageLimits.Limit(c.scope.Caller.Key.Hash, e.reads)
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
	return problem.OfManagement(err)
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
