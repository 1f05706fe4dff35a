package signin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// inviteService handles requests about invitations.
type inviteService struct {
	organizations.Invites
	caller func(*http.Request, management.Body) (*management.Caller, error)
	// enter begins a session for a user who has accepted an invitation, if the browser may have
	// one.
	enter func(c *frame.Call, joined *organizations.Acceptance) bool
}

func invitesOf(s *frame.Server) inviteService {
	enter := func(c *frame.Call, joined *organizations.Acceptance) bool { return signInInvited(s, c, joined) }
	return inviteService{s.Management.Organizations.Invites, s.ManagementCaller, enter}
}

// inviteEndpoints are the endpoints for invitations and their acceptance (§4.5).
var inviteEndpoints = slices.Concat(
	frame.Resource(frame.InOrganization, "organization_member", invitesOf, []frame.Row[inviteService]{
		frame.Paged("/invites", "List invitations", inviteService.List),
		frame.Handle(http.MethodPost, "/invites", "Invite a person", withSiteURL(organizations.Invites.Create)).WithBody(organizations.Bodies.Invite).Created().Uncompressed(),
		frame.Handle(http.MethodPost, "/invites/bulk", "Invite up to 20 people; if one invitation is invalid, none is created", withSiteURL(organizations.Invites.CreateBulk)).
			WithBody(organizations.Bodies.Invite).WithArrayBody().WithoutBody().Uncompressed(),
		frame.Remove("/invites/{id}", "Cancel an invitation", inviteService.Delete),
	}),
	frame.Resource(frame.AtRoot, frame.Public, invitesOf, []frame.Row[inviteService]{
		frame.Handle(http.MethodGet, "/signup/{invite}", "Read an invitation", viewInvite),
		frame.Handle(http.MethodPost, "/signup/{invite}", "Accept an invitation", acceptInvite).WithBody(organizations.Bodies.Acceptance).WithQuery(secretParameter).Created().Uncompressed(),
	}),
	frame.Resource(frame.AtTop, frame.Public, invitesOf, []frame.Row[inviteService]{
		frame.Handle(http.MethodGet, "/signup/{invite}", "Show the page that accepts an invitation", getInvitePage).WithQuery(secretParameter).WithResponse(organizations.Invitation{}),
		frame.Handle(http.MethodPost, "/signup/{invite}", "Accept an invitation from its page", postInvitePage).
			WithBody(organizations.Bodies.Acceptance).WithQuery(secretParameter).WithResponse(organizations.Acceptance{}).Created().Uncompressed(),
	}),
)

var secretParameter = frame.Param("secret", "string", "the secret in the invitation's link")

// withSiteURL adapts a method that needs the URL of the server and the body.
func withSiteURL[T any](do func(organizations.Invites, context.Context, *management.Scope, string, management.Body) (T, error)) func(inviteService, *frame.Call) (T, error) {
	return func(svc inviteService, c *frame.Call) (T, error) {
		return do(svc.Invites, c.Ctx, c.Scope, siteOf(c), c.Body)
	}
}

// siteOf returns the URL under which the client has reached this server: scheme, host, and the path
// prefix of the handler.
func siteOf(c *frame.Call) string {
	out := url.URL{Scheme: c.Scheme, Host: c.R.Host}
	return out.String() + frame.PrefixOf(c.R)
}

// guest returns the caller of a public endpoint, or nil if the request contains no key.
func (svc inviteService) guest(c *frame.Call) (*management.Caller, error) {
	if key, _ := frame.KeyOutsideBody(c.R); key == "" && frame.TextMember(c.Body, "personal_api_key") == "" {
		return nil, nil
	}
	return svc.caller(c.R, c.Body)
}

// secret returns the secret of an invitation link from the body, or else from the query.
func secret(c *frame.Call) string {
	if secret := frame.TextMember(c.Body, "secret"); secret != "" {
		return secret
	}
	return c.Query().Get("secret")
}

// forbidCaching prevents caching of a response that may contain a key, and keeps its URL, which may
// contain a secret, out of the Referer headers of other requests.
func forbidCaching(c *frame.Call) {
	h := c.W.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
}

func viewInvite(svc inviteService, c *frame.Call) (*organizations.Invitation, error) {
	forbidCaching(c)
	guest, err := svc.guest(c)
	if err != nil {
		return nil, err
	}
	return svc.Inspect(c.Ctx, guest, c.Part("invite"), secret(c))
}

// acceptInvite accepts an invitation. It adds a warning if some members could not be notified by
// mail.
func acceptInvite(svc inviteService, c *frame.Call) (*organizations.Acceptance, error) {
	forbidCaching(c)
	guest, err := svc.guest(c)
	if err != nil {
		return nil, err
	}
	joined, err := svc.Accept(c.Ctx, guest, siteOf(c), c.Part("invite"), secret(c), c.Body)
	if err == nil && joined.NotNotified > 0 {
		frame.Warn(c.W, fmt.Sprintf("members who are not notified by email that you have joined: %d; the organization has reached its limit of emails for today", joined.NotNotified))
	}
	return joined, err
}

// wantsJSON reports whether the client prefers JSON to a page: its Accept header contains JSON, but
// not HTML.
func wantsJSON(r *http.Request) bool {
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}
