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

// inviteService is what the endpoints of invitations stand on.
type inviteService struct {
	organizations.Invites
	caller func(*http.Request, body) (*management.Caller, error)
	// enter makes a session for who has accepted, where the browser may have one.
	enter func(c *call, joined *organizations.Acceptance) bool
}

func invitesOf(s *server) inviteService {
	return inviteService{s.Management.Organizations.Invites, s.managementCaller, s.signInInvited}
}

// inviteEndpoints are those of invitations and their acceptance (§4.5).
var inviteEndpoints = slices.Concat(
	resource(inOrganization, "organization_member", invitesOf, []row[inviteService]{
		paged("/invites", "List invitations", inviteService.List),
		handle(http.MethodPost, "/invites", "Invite somebody", createInvite).withBody(organizations.InviteFields).created().uncompressed(),
		{do: createInvites, endpoint: endpoint{
			method: http.MethodPost, path: "/invites/bulk", summary: "Invite up to 20 people, or nobody",
			bodyFields: organizations.InviteFields, array: true, response: []organizations.Invite{}, bare: true, uncompressed: true,
		}},
		remove("/invites/{id}", "Cancel an invitation", inviteService.Delete),
	}),
	resource(atRoot, public, invitesOf, []row[inviteService]{
		handle(http.MethodGet, "/signup/{invite}", "Read an invitation", viewInvite),
		handle(http.MethodPost, "/signup/{invite}", "Accept an invitation", acceptInvite).withBody(organizations.AcceptFields).withQuery(secretParameter).created().uncompressed(),
	}),
	resource(atTop, public, invitesOf, []row[inviteService]{
		handle(http.MethodGet, "/signup/{invite}", "Show the page of an invitation's link", getInvitePage).withQuery(secretParameter).withResponse(organizations.Invitation{}),
		handle(http.MethodPost, "/signup/{invite}", "Accept an invitation from its page", postInvitePage).
			withBody(organizations.AcceptFields).withQuery(secretParameter).withResponse(organizations.Acceptance{}).created().uncompressed(),
	}),
)

var secretParameter = parameterDoc{"secret", "string", "that of the invitation's link"}

func createInvite(svc inviteService, c *call) (*organizations.Invite, error) {
	return svc.Create(c.ctx, c.scope, c.site(), c.body)
}

func createInvites(svc inviteService, c *call) (any, error) {
	return svc.CreateBulk(c.ctx, c.scope, c.site(), c.body)
}

// site is where the caller has reached this server: scheme, host, and the prefix
// below which it is mounted.
func (c *call) site() string {
	out := url.URL{Scheme: c.scheme, Host: c.r.Host}
	return out.String() + prefixOf(c.r)
}

// guest is who sends a request to a public endpoint, nil for nobody who says so.
func (svc inviteService) guest(c *call) (*management.Caller, error) {
	if key, _ := keyOutsideBody(c.r); key == "" && textMember(c.body, "personal_api_key") == "" {
		return nil, nil
	}
	return svc.caller(c.r, c.body)
}

// secret is that of an invitation's link: in the body, or else in the query.
func (c *call) secret() string {
	if secret := textMember(c.body, "secret"); secret != "" {
		return secret
	}
	return c.query().Get("secret")
}

// forbidCaching keeps an answer that may hold a key out of caches, and its address, which
// may hold a secret, out of the headers of other requests.
func (c *call) forbidCaching() {
	h := c.w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
}

func viewInvite(svc inviteService, c *call) (*organizations.Invitation, error) {
	c.forbidCaching()
	guest, err := svc.guest(c)
	if err != nil {
		return nil, err
	}
	return svc.Inspect(c.ctx, guest, c.part("invite"), c.secret())
}

func acceptInvite(svc inviteService, c *call) (*organizations.Acceptance, error) {
	c.forbidCaching()
	guest, err := svc.guest(c)
	if err != nil {
		return nil, err
	}
	joined, err := svc.Accept(c.ctx, guest, c.site(), c.part("invite"), c.secret(), c.body)
	if err == nil && joined.NotNotified > 0 {
		warn(c.w, fmt.Sprintf("members who are not told by mail that you have joined: %d; the organization has had its mails of today", joined.NotNotified))
	}
	return joined, err
}

// wantsJSON reports whether a page is to be JSON: where the caller names that and
// not HTML.
func wantsJSON(r *http.Request) bool {
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}
