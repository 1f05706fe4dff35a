package frame

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
func answerMissingMethod(s *Server, a *Area, w http.ResponseWriter, r *http.Request) error {
	c := s.call(w, r)
	if err := s.signIn(c); err != nil {
		return err
	}
	if err := s.enter(c, &Endpoint{KeyScope: AnyKey, Area: a}); err != nil {
		return problem.OfManagement(err)
	}
	return problem.Method.With("", "").Detailed("Method %q not allowed.", r.Method)
}

// call returns a new call for a request.
func (s *Server) call(w http.ResponseWriter, r *http.Request) *Call {
	c := &Call{Ctx: r.Context(), W: w, R: r, Scheme: s.Scheme(r)}
	c.Body.Warn = func(text string) { Warn(w, text) }
	return c
}

// open authenticates and authorizes the caller, and then reads the body. If the request has no key
// in its header, the body is read first, because a key in the body takes precedence over one in the
// query (§1.2); errors in the body are then reported only after those of the key.
func (s *Server) open(c *Call, e *Endpoint) error {
	if e.KeyScope == Public {
		if e.Area == InSignIn {
			if err := checkOrigin(c.R); err != nil {
				return err
			}
		}
		return c.readBody(e, s.MaxBody)
	}
	if err := s.signIn(c); err != nil {
		return err
	}
	switch {
	case e.Unread:
		return s.enter(c, e)
	case c.authenticated != nil || Bearer(c.R) != "":
		if err := s.enter(c, e); err != nil {
			return err
		}
		err := c.readBody(e, s.MaxBody)
		// A key takes precedence over a session.
		if c.authenticated != nil && c.authenticated.Session != nil && TextMember(c.Body, "personal_api_key") != "" {
			c.authenticated = nil
			return cmp.Or(s.enter(c, e), err)
		}
		return err
	}
	bodyErr := c.readBody(e, keyBody)
	return cmp.Or(s.enter(c, e), bodyErr)
}

// ManagementCaller authenticates the request (§1.2). It uses the first of header, body and query
// string that contains a key.
func (s *Server) ManagementCaller(r *http.Request, body management.Body) (*management.Caller, error) {
	key, location := Bearer(r), "Authorization header"
	if key == "" {
		key, location = TextMember(body, "personal_api_key"), "body"
	}
	if key == "" {
		key, location = KeyOutsideBody(r)
	}
	if key == "" {
		return nil, NoCredentials(r)
	}
	c, err := s.Management.Authenticate(r.Context(), key, location)
	var target *management.Error
	if errors.As(err, &target) && target.Kind == management.Unauthenticated {
		return nil, s.Limits.CountFailure(r, problem.OfManagement(err))
	}
	return c, problem.OfManagement(err)
}

// enter does steps 1 to 4 of §1.5: it authorizes the caller and applies rate limits.
func (s *Server) enter(c *Call, e *Endpoint) error {
	if err := s.admit(c, e); err != nil {
		return err
	}
	return s.Limits.Limit(c.Scope.Caller.Key.Hash, e.Reads)
}

// recheck returns an error if the caller of a long response has lost access. It does not count as
// activity of the session.
func (s *Server) recheck(c *Call, e *Endpoint) error {
	now := s.call(c.W, c.R)
	now.isAdmitted = true
	err := s.signIn(now)
	if err == nil {
		err = s.admit(now, e)
	}
	if err == nil {
		c.Scope = now.Scope
	}
	return problem.OfManagement(err)
}

// admit authenticates the caller, finds the scope of the call and checks the permissions of the
// caller in it.
func (s *Server) admit(c *Call, e *Endpoint) error {
	caller, err := c.authenticated, error(nil)
	if caller == nil {
		caller, err = s.ManagementCaller(c.R, c.Body)
	}
	if err != nil {
		return err
	}
	if err := e.checkScopes(caller); err != nil {
		return err
	}
	c.Scope = caller.GlobalScope()
	if e.Area.findScope != nil {
		if c.Scope, err = e.Area.findScope(s.Management.Service, c, caller); err != nil {
			return err
		}
	}
	if c.Scope.Project != nil {
		ExchangeOf(c.Ctx).noteProject(c.Project())
	}
	return cmp.Or(s.checkAccessRules(c, e), s.checkSession(caller, e, c.R))
}
