package httpapi

import (
	"errors"
	"net/http"

	"github.com/bunting-flags/bunting/management"
)

// problemSignIn says no more: what is wrong is for the log of the service.
var (
	problemSignIn      = problem{Status: 401, Type: "authentication_error", Code: "authentication_failed", Detail: "The sign-in was not accepted."}
	problemCrossOrigin = problem{Status: 403, Type: "authentication_error", Code: "permission_denied", Detail: "A page of another site may not send this request."}
)

// otherSites knows the requests that a page of another site makes a browser send, with
// the cookies of this one.
var otherSites = http.NewCrossOriginProtection()

// signIn finds whom Config.Authenticate names, or else whose session it is; nobody where
// that leaves it to keys.
func (s *server) signIn(c *call) error {
	if s.Authenticate == nil {
		return s.bySession(c)
	}
	caller, err := s.Authenticate(c.r)
	if caller == nil && err == nil {
		return nil
	}
	if err == nil {
		var rejection *management.Error
		if c.authenticated, err = s.Management.Admit(c.ctx, caller); err != nil && !errors.As(err, &rejection) {
			return managementProblem(err)
		}
	}
	if err == nil {
		if otherSites.Check(c.r) != nil {
			return &problemCrossOrigin
		}
		return nil
	}
	if s.failureLines.Allow() {
		s.Logger.InfoContext(c.r.Context(), "a sign-in was not accepted", "error", err)
	}
	return s.countFailure(c.r, &problemSignIn)
}
