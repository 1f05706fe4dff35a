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

// inviteDesk is what the endpoints of invitations stand on.
type inviteDesk struct {
	organizations.Invites
	caller func(*http.Request, body) (*management.Caller, error)
	// enter makes a session for who has accepted, where the browser may have one.
	enter func(c *call, joined *organizations.Accepted) bool
}

func invitesOf(s *server) inviteDesk {
	return inviteDesk{s.Management.Organizations.Invites, s.managementCaller, s.enterInvited}
}

// inviteEndpoints are those of invitations and their acceptance (§4.5).
var inviteEndpoints = slices.Concat(
	resource(inOrganization, "organization_member", invitesOf, []row[inviteDesk]{
		paged("/invites", "List invitations", inviteDesk.List),
		by(http.MethodPost, "/invites", "Invite somebody", createInvite).taking(organizations.InviteFields).created().uncompressed(),
		{do: createInvites, endpoint: endpoint{
			method: http.MethodPost, path: "/invites/bulk", summary: "Invite up to 20 people, or nobody",
			takes: organizations.InviteFields, array: true, gives: []organizations.Invite{}, bare: true, uncompressed: true,
		}},
		remove("/invites/{id}", "Cancel an invitation", inviteDesk.Delete),
	}),
	resource(atRoot, public, invitesOf, []row[inviteDesk]{
		by(http.MethodGet, "/signup/{invite}", "Read an invitation", lookAtInvite),
		by(http.MethodPost, "/signup/{invite}", "Accept an invitation", acceptInvite).taking(organizations.AcceptFields).asking(secretParameter).created().uncompressed(),
	}),
	resource(atTop, public, invitesOf, []row[inviteDesk]{
		by(http.MethodGet, "/signup/{invite}", "Show the page of an invitation's link", getInvitePage).asking(secretParameter).giving(organizations.Invitation{}),
		by(http.MethodPost, "/signup/{invite}", "Accept an invitation from its page", postInvitePage).
			taking(organizations.AcceptFields).asking(secretParameter).giving(organizations.Accepted{}).created().uncompressed(),
	}),
)

var secretParameter = parameterDoc{"secret", "string", "that of the invitation's link"}

func createInvite(of inviteDesk, c *call) (*organizations.Invite, error) {
	return of.Create(c.ctx, c.standing, c.site(), c.body)
}

func createInvites(of inviteDesk, c *call) (any, error) {
	return of.CreateBulk(c.ctx, c.standing, c.site(), c.body)
}

// site is where the caller has reached this server: scheme, host, and the prefix
// below which it is mounted.
func (c *call) site() string {
	out := url.URL{Scheme: c.scheme, Host: c.r.Host}
	return out.String() + prefixOf(c.r)
}

// guest is who sends a request to a public endpoint, nil for nobody who says so.
func (of inviteDesk) guest(c *call) (*management.Caller, error) {
	if key, _ := outerKey(c.r); key == "" && textMember(c.body, "personal_api_key") == "" {
		return nil, nil
	}
	return of.caller(c.r, c.body)
}

// secret is that of an invitation's link: in the body, or else in the query.
func (c *call) secret() string {
	if secret := textMember(c.body, "secret"); secret != "" {
		return secret
	}
	return c.query().Get("secret")
}

// once keeps an answer that may hold a key out of caches, and its address, which
// may hold a secret, out of the headers of other requests.
func (c *call) once() {
	h := c.w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
}

func lookAtInvite(of inviteDesk, c *call) (*organizations.Invitation, error) {
	c.once()
	guest, err := of.guest(c)
	if err != nil {
		return nil, err
	}
	return of.Look(c.ctx, guest, c.part("invite"), c.secret())
}

func acceptInvite(of inviteDesk, c *call) (*organizations.Accepted, error) {
	c.once()
	guest, err := of.guest(c)
	if err != nil {
		return nil, err
	}
	joined, err := of.Accept(c.ctx, guest, c.site(), c.part("invite"), c.secret(), c.body)
	if err == nil && joined.Untold > 0 {
		warn(c.w, fmt.Sprintf("members who are not told by mail that you have joined: %d; the organization has had its mails of today", joined.Untold))
	}
	return joined, err
}

// wantsJSON reports whether a page is to be JSON: where the caller names that and
// not HTML.
func wantsJSON(r *http.Request) bool {
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}
