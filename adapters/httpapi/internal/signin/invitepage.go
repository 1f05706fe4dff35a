package signin

import (
	"errors"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// invitePage is the data of the page of an invitation: a form, or the result of accepting the
// invitation.
type invitePage struct {
	Invite *organizations.Invitation // the form; nil for no form
	Secret string
	// Account reports whether an account with the address exists, so the form requires a key of it.
	Account bool
	// Displace reports whether the secret allows replacing that account, because it has never
	// verified its address.
	Displace bool
	Roles    []string
	Role     string
	Problem  string
	Done     *organizations.Acceptance
	// Entered reports whether the browser now has a session, so the page links to the console.
	Entered bool
	Site    string
}

func showPage(c *frame.Call, status int, p *invitePage) (any, error) {
	p.Site, p.Roles = siteOf(c), organizations.RolesAtOrganization
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
	if p.Problem = target.Detail; target.Code == organizations.CodeAccountExists {
		p.Problem = "A personal API key of the account is needed."
	}
	return showPage(c, target.Status, p)
}

// form returns the page with the form, if the invitation can be accepted.
func (svc inviteService) form(c *frame.Call) (*invitePage, error) {
	id := c.Part("invite")
	p := &invitePage{Secret: secret(c)}
	var target *management.Error
	var err error
	if p.Invite, err = svc.Inspect(c.Ctx, nil, id, ""); errors.As(err, &target) && target.Code == organizations.CodeAccountExists {
		p.Account = true
		_, free := svc.Inspect(c.Ctx, nil, id, p.Secret)
		p.Displace = free == nil
		p.Invite, err = svc.Describe(c.Ctx, id)
	}
	if err != nil || p.Account {
		return p, err
	}
	opens, err := svc.HasSecret(c.Ctx, id, p.Secret)
	if err == nil && !opens {
		p.Invite = nil
		err = management.Fault("", "This link is incomplete: use the complete link from the email.")
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
	token, err := s.Management.Organizations.Sessions.BeginInvited(c.Ctx, joined, frame.TextMember(c.Body, "personal_api_key"), organizations.ClientInfo{
		Address: s.ClientIP(c.R).String(), Agent: c.R.UserAgent(), Token: s.SessionToken(c.R),
	})
	if err != nil {
		s.Logger.InfoContext(c.Ctx, "the user who accepted an invitation got no session", "error", err)
		return false
	}
	cookie.Value = token
	http.SetCookie(c.W, cookie)
	return true
}
