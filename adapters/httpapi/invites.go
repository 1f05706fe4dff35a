package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// inviteService handles requests about invitations.
type inviteService struct {
	organizations.Invites
	caller func(*http.Request, management.Body) (*management.Caller, error)
	// enter begins a session for a user who has accepted an invitation, if the browser may have
	// one.
	enter func(c *call, joined *organizations.Acceptance) bool
}

func invitesOf(s *server) inviteService {
	enter := func(c *call, joined *organizations.Acceptance) bool { return signInInvited(s, c, joined) }
	return inviteService{s.Management.Organizations.Invites, s.managementCaller, enter}
}

// inviteEndpoints are the endpoints for invitations and their acceptance (§4.5).
var inviteEndpoints = slices.Concat(
	resource(inOrganization, "organization_member", invitesOf, []row[inviteService]{
		paged("/invites", "List invitations", inviteService.List),
		handle(http.MethodPost, "/invites", "Invite a person", createInvite).withBody(organizations.InviteFields).created().uncompressed(),
		{do: createInvites, endpoint: endpoint{
			method: http.MethodPost, path: "/invites/bulk", summary: "Invite up to 20 people; if one invitation is invalid, none is created",
			bodyFields: organizations.InviteFields, array: true, response: []organizations.Invite{}, bare: true, uncompressed: true,
		}},
		remove("/invites/{id}", "Cancel an invitation", inviteService.Delete),
	}),
	resource(atRoot, public, invitesOf, []row[inviteService]{
		handle(http.MethodGet, "/signup/{invite}", "Read an invitation", viewInvite),
		handle(http.MethodPost, "/signup/{invite}", "Accept an invitation", acceptInvite).withBody(organizations.AcceptFields).withQuery(secretParameter).created().uncompressed(),
	}),
	resource(atTop, public, invitesOf, []row[inviteService]{
		handle(http.MethodGet, "/signup/{invite}", "Show the page that accepts an invitation", getInvitePage).withQuery(secretParameter).withResponse(organizations.Invitation{}),
		handle(http.MethodPost, "/signup/{invite}", "Accept an invitation from its page", postInvitePage).
			withBody(organizations.AcceptFields).withQuery(secretParameter).withResponse(organizations.Acceptance{}).created().uncompressed(),
	}),
)

var secretParameter = param("secret", "string", "the secret in the invitation's link")

func createInvite(svc inviteService, c *call) (*organizations.Invite, error) {
	return svc.Create(c.ctx, c.scope, siteOf(c), c.body)
}

func createInvites(svc inviteService, c *call) (any, error) {
	return svc.CreateBulk(c.ctx, c.scope, siteOf(c), c.body)
}

// siteOf returns the URL under which the client has reached this server: scheme, host, and the path
// prefix of the handler.
func siteOf(c *call) string {
	out := url.URL{Scheme: c.scheme, Host: c.r.Host}
	return out.String() + prefixOf(c.r)
}

// guest returns the caller of a public endpoint, or nil if the request contains no key.
func (svc inviteService) guest(c *call) (*management.Caller, error) {
	if key, _ := keyOutsideBody(c.r); key == "" && textMember(c.body, "personal_api_key") == "" {
		return nil, nil
	}
	return svc.caller(c.r, c.body)
}

// secret returns the secret of an invitation link from the body, or else from the query.
func secret(c *call) string {
	if secret := textMember(c.body, "secret"); secret != "" {
		return secret
	}
	return c.query().Get("secret")
}

// forbidCaching prevents caching of a response that may contain a key, and keeps its URL, which may
// contain a secret, out of the Referer headers of other requests.
func forbidCaching(c *call) {
	h := c.w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
}

func viewInvite(svc inviteService, c *call) (*organizations.Invitation, error) {
	forbidCaching(c)
	guest, err := svc.guest(c)
	if err != nil {
		return nil, err
	}
	return svc.Inspect(c.ctx, guest, c.part("invite"), secret(c))
}

// acceptInvite accepts an invitation. It adds a warning if some members could not be notified by
// mail.
func acceptInvite(svc inviteService, c *call) (*organizations.Acceptance, error) {
	forbidCaching(c)
	guest, err := svc.guest(c)
	if err != nil {
		return nil, err
	}
	joined, err := svc.Accept(c.ctx, guest, siteOf(c), c.part("invite"), secret(c), c.body)
	if err == nil && joined.NotNotified > 0 {
		warn(c.w, fmt.Sprintf("members who are not notified by email that you have joined: %d; the organization has reached its limit of emails for today", joined.NotNotified))
	}
	return joined, err
}

// wantsJSON reports whether the client prefers JSON to a page: its Accept header contains JSON, but
// not HTML.
func wantsJSON(r *http.Request) bool {
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}
