package httpapi

import (
	"errors"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/pages"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// invitePage is what the page of an invitation shows: a form, or what has become
// of it.
type invitePage struct {
	Invite *organizations.Invitation // the form, nil for none
	Secret string
	// Account: there is an account of the address, a key of which is asked for.
	Account bool
	// Displace: that account has never proven the address, and the secret does.
	Displace bool
	Roles    []string
	Role     string
	Problem  string
	Done     *organizations.Acceptance
	// Entered: the browser has a session now, and may go to the console.
	Entered bool
	Site    string
}

func (c *call) showPage(status int, p *invitePage) (any, error) {
	p.Site, p.Roles = c.site(), organizations.RolesAtOrganization
	return c.html(status, "invite.html", false, p)
}

// html answers with a page. framed: others may frame it.
func (c *call) html(status int, name string, framed bool, view any) (any, error) {
	text, err := pages.Render(name, view)
	if err != nil {
		return nil, err
	}
	h := c.w.Header()
	h.Set("Content-Security-Policy", pages.Policy(name, framed))
	h.Set("X-Content-Type-Options", "nosniff")
	return answer{status: status, raw: text, kind: "text/html; charset=utf-8"}, nil
}

// showProblem shows what a person can mend or has to know; faults of ours go the
// way of all errors.
func (c *call) showProblem(err error, p *invitePage) (any, error) {
	target := problemOf(managementProblem(err))
	if target.Status >= http.StatusInternalServerError {
		return nil, err
	}
	if p.Problem = target.Detail; target.Code == organizations.CodeAccountExists { // whose detail is an address for programs
		p.Problem = "A personal API key of the account is needed."
	}
	return c.showPage(target.Status, p)
}

// inviteForm is the page with the form, as far as the invitation can be accepted.
func (svc inviteService) form(c *call) (*invitePage, error) {
	id := c.part("invite")
	p := &invitePage{Secret: c.secret()}
	var target *management.Error
	var err error
	if p.Invite, err = svc.Inspect(c.ctx, nil, id, ""); errors.As(err, &target) && target.Code == organizations.CodeAccountExists {
		p.Account = true
		_, free := svc.Inspect(c.ctx, nil, id, p.Secret)
		p.Displace = free == nil
		p.Invite, err = svc.Describe(c.ctx, id)
	}
	if err != nil || p.Account {
		return p, err
	}
	opens, err := svc.HasSecret(c.ctx, id, p.Secret)
	if err == nil && !opens {
		p.Invite = nil
		err = management.Fault("", "This link is not complete: use all of it, as it stands in the mail.")
	}
	return p, err
}

// getInvitePage shows the form. Reading the page accepts nothing, so that
// programs that follow the links of mails do no harm.
func getInvitePage(svc inviteService, c *call) (any, error) {
	if wantsJSON(c.r) {
		return viewInvite(svc, c)
	}
	c.forbidCaching()
	p, err := svc.form(c)
	if err != nil {
		return c.showProblem(err, p)
	}
	return c.showPage(http.StatusOK, p)
}

// postInvitePage accepts and shows the key, or the form again with what is wrong.
func postInvitePage(svc inviteService, c *call) (any, error) {
	accepted, err := acceptInvite(svc, c)
	switch {
	case wantsJSON(c.r):
		return accepted, err
	case err == nil:
		return c.showPage(http.StatusCreated, &invitePage{Done: accepted, Entered: svc.enter(c, accepted)})
	}
	p, formErr := svc.form(c)
	if formErr == nil && p.Invite != nil {
		if name := textMember(c.body, "first_name"); name != "" {
			p.Invite.FirstName = name
		}
		p.Role = textMember(c.body, "role_at_organization")
	}
	return c.showProblem(err, p)
}

// signInInvited makes a session for who has accepted an invitation (console.md §5.2): not
// for what a page of another site has sent, which could sign somebody into a stranger's
// account.
func (s *server) signInInvited(c *call, joined *organizations.Acceptance) bool {
	if !s.hasSessions() || s.Console == nil || otherSites.Check(c.r) != nil {
		return false
	}
	cookie, ok := s.cookieOf(c.r)
	if !ok {
		return false
	}
	token, err := s.Management.Organizations.Sessions.BeginInvited(c.ctx, joined, textMember(c.body, "personal_api_key"), organizations.ClientInfo{
		Address: s.clientIP(c.r).String(), Agent: c.r.UserAgent(), Token: s.tokenOf(c.r),
	})
	if err != nil {
		s.Logger.InfoContext(c.ctx, "who has accepted an invitation has no session", "error", err)
		return false
	}
	cookie.Value = token
	http.SetCookie(c.w, cookie)
	return true
}
