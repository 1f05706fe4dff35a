package frame

import (
	"errors"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/management"
)

// problemSignIn has no details, because they are for the log of the service.
var (
	problemSignIn      = problem.Problem{Status: 401, Type: "authentication_error", Code: "authentication_failed", Detail: "The sign-in was not accepted."}
	problemCrossOrigin = problem.Problem{Status: 403, Type: "authentication_error", Code: "permission_denied", Detail: "A page of another site may not send this request."}
)

// OtherSites detects requests that a page of another site makes a browser send with the cookies
// of this site.
var OtherSites = http.NewCrossOriginProtection()

// signIn sets c.authenticated to the caller that Config.Authenticate returns, or to that of the
// session. It remains nil if the request needs a key.
func (s *Server) signIn(c *Call) error {
	if s.Authenticate == nil {
		return s.bySession(c)
	}
	caller, err := s.Authenticate(c.R)
	if caller == nil && err == nil {
		return nil
	}
	if err == nil {
		var rejection *management.Error
		if c.authenticated, err = s.Management.Admit(c.Ctx, caller); err != nil && !errors.As(err, &rejection) {
			return problem.OfManagement(err)
		}
	}
	if err == nil {
		if OtherSites.Check(c.R) != nil {
			return &problemCrossOrigin
		}
		return nil
	}
	if s.failureLines.Allow() {
		s.Logger.InfoContext(c.R.Context(), "a sign-in was not accepted", "error", err)
	}
	return s.Limits.CountFailure(c.R, &problemSignIn)
}

// NoCredentials returns the error for a request without a readable key.
func NoCredentials(r *http.Request) error {
	if r.Header.Get("Authorization") == "" {
		return &problem.NoCredentials
	}
	return problem.NoCredentials.With("The Authorization header has to be: Bearer, a space, and a personal API key.", "")
}
