package signin

import (
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/management/organizations"
)

// invitePage is the data of the page of an invitation: a form, or the result of accepting the
// invitation.
type invitePage struct {
	Invite *organizations.Invitation // the form; nil for no form
	Secret string
	// Account and Displace report whether an account with the address exists, so that the form
	// requires a key of it, and whether the secret allows replacing it.
	Account, Displace bool
	Roles             []string
	Role              string
	Problem           string
	Done              *organizations.Acceptance
	// Entered reports whether the browser now has a session, so the page links to the console.
	Entered bool
	Site    string
}

// codeAccountExists is the code of the error for an address with an account (§4.5).
const codeAccountExists = "account_exists"

func showPage(c *frame.Call, status int, p *invitePage) (any, error) {
	p.Site = siteOf(c)
	return c.HTML(status, "invite.html", false, p)
}

// showProblem responds with the page for errors that the user can resolve or needs to see. It
// returns errors of the server, for the general error response.
func showProblem(c *frame.Call, err error, p *invitePage) (any, error) {
	target := problem.Of(problem.OfManagement(err))
	if target.Status >= http.StatusInternalServerError {
		return nil, err
	}
	// Its detail is meant for programs.
	if p.Problem = target.Detail; target.Code == codeAccountExists {
		p.Problem = "A personal API key of the account is needed."
	}
	return showPage(c, target.Status, p)
}

// form returns the page with the form, if the invitation can be accepted.
func (svc inviteService) form(c *frame.Call) (*invitePage, error) {
	p := &invitePage{Secret: secret(c)}
	f, err := svc.Form(c.Ctx, c.Part("invite"), p.Secret)
	if err == nil {
		p.Invite, p.Account, p.Displace, p.Roles = f.Invitation, f.Account, f.Displace, f.Roles
	}
	return p, err
}

// getInvitePage responds with the form. GET does not accept the invitation, so that programs may
// follow the links in mails.
func getInvitePage(svc inviteService, c *frame.Call) (any, error) {
	if wantsJSON(c.R) {
		return viewInvite(svc, c)
	}
	forbidCaching(c)
	p, err := svc.form(c)
	if err != nil {
		return showProblem(c, err, p)
	}
	return showPage(c, http.StatusOK, p)
}

// postInvitePage accepts the invitation and responds with the key, or with the form and the error.
func postInvitePage(svc inviteService, c *frame.Call) (any, error) {
	accepted, err := acceptInvite(svc, c)
	switch {
	case wantsJSON(c.R):
		return accepted, err
	case err == nil:
		return showPage(c, http.StatusCreated, &invitePage{Done: accepted, Entered: svc.enter(c, accepted)})
	}
	p, formErr := svc.form(c)
	if formErr == nil && p.Invite != nil {
		if name := frame.TextMember(c.Body, "first_name"); name != "" {
			p.Invite.FirstName = name
		}
		p.Role = frame.TextMember(c.Body, "role_at_organization")
	}
	return showProblem(c, err, p)
}

// signInInvited begins a session for a user who has accepted an invitation (console.md §5.2), and
// reports whether it did. It rejects requests from pages of other sites, which could otherwise sign
// a user into an attacker's account.
func signInInvited(s *frame.Server, c *frame.Call, joined *organizations.Acceptance) bool {
	if !s.HasSessions() || s.Console == nil || frame.OtherSites.Check(c.R) != nil {
		return false
	}
	cookie, ok := s.SessionCookie(c.R)
	if !ok {
		return false
	}
	token, _, err := s.Management.Organizations.Sessions.Begin(c.Ctx, organizations.SignIn{
		Joined: joined.UUID, Key: frame.TextMember(c.Body, "personal_api_key"), Address: s.ClientIP(c.R).String(), Agent: c.R.UserAgent(), Token: s.SessionToken(c.R),
	})
	if err != nil {
		s.Logger.InfoContext(c.Ctx, "the user who accepted an invitation got no session", "error", err)
		return false
	}
	cookie.Value = token
	http.SetCookie(c.W, cookie)
	return true
}
