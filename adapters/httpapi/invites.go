package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// inviteEndpoints are those of invitations and their acceptance (§4.5).
var inviteEndpoints = []endpoint{
	{
		method: "GET", area: inOrganization, path: "/invites", scope: "organization_member:read", summary: "List invitations",
		gives: management.List[management.Invite]{},
		do:    func(c *call) (any, error) { return c.service.Invites.List(c.ctx, c.standing, c.page()) },
	},
	{
		method: "POST", area: inOrganization, path: "/invites", scope: "organization_member:write", summary: "Invite somebody",
		takes: management.InviteFields, status: 201, gives: management.Invite{},
		do: func(c *call) (any, error) { return c.service.Invites.Create(c.ctx, c.standing, c.site(), c.body) },
	},
	{
		method: "POST", area: inOrganization, path: "/invites/bulk", scope: "organization_member:write", summary: "Invite up to 20 people, or nobody",
		takes: management.InviteFields, array: true, gives: []management.Invite{}, bare: true,
		do: func(c *call) (any, error) {
			return c.service.Invites.CreateBulk(c.ctx, c.standing, c.site(), c.body)
		},
	},
	{
		method: "DELETE", area: inOrganization, path: "/invites/{id}", scope: "organization_member:write", summary: "Cancel an invitation",
		status: 204,
		do:     func(c *call) (any, error) { return nil, c.service.Invites.Delete(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "GET", area: atRoot, path: "/signup/{invite}", scope: public, summary: "Read an invitation",
		gives: management.Invitation{}, do: lookAtInvite,
	},
	{
		method: "POST", area: atRoot, path: "/signup/{invite}", scope: public, summary: "Accept an invitation",
		takes: management.AcceptFields, query: secretParameter, status: 201, gives: management.Accepted{}, do: acceptInvite,
	},
	{
		method: "GET", area: atTop, path: "/signup/{invite}", scope: public, summary: "Show the page of an invitation's link",
		query: secretParameter, gives: management.Invitation{}, do: getInvitePage,
	},
	{
		method: "POST", area: atTop, path: "/signup/{invite}", scope: public, summary: "Accept an invitation from its page",
		takes: management.AcceptFields, query: secretParameter, status: 201, gives: management.Accepted{}, do: postInvitePage,
	},
}

var secretParameter = []parameterDoc{{"secret", "string", "that of the invitation's link"}}

// site is where the caller has reached this server: scheme, host, and the prefix
// below which it is mounted.
func (c *call) site() string {
	prefix := ""
	if at, err := url.ParseRequestURI(c.r.RequestURI); err == nil {
		for _, below := range []string{"/api/", "/signup/", "/verify_email/"} {
			if before, _, ok := strings.Cut(at.Path, below); ok {
				prefix = before
				break
			}
		}
	}
	rd := &reader{server: c.server}
	out := url.URL{Scheme: rd.scheme(c.r), Host: c.r.Host, Path: prefix}
	return out.String()
}

// guest is who sends a request to a public endpoint, nil for nobody who says so.
func (c *call) guest() (*management.Caller, error) {
	if key, _ := outerKey(c.r); key == "" && textMember(c.body, "personal_api_key") == "" {
		return nil, nil
	}
	return c.managementCaller(c.r, c.body)
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

func lookAtInvite(c *call) (any, error) {
	c.once()
	guest, err := c.guest()
	if err != nil {
		return nil, err
	}
	return c.service.Invites.Look(c.ctx, guest, c.part("invite"), c.secret())
}

func acceptInvite(c *call) (any, error) {
	c.once()
	guest, err := c.guest()
	if err != nil {
		return nil, err
	}
	return c.service.Invites.Accept(c.ctx, guest, c.site(), c.part("invite"), c.secret(), c.body)
}

// wantsJSON reports whether a page is to be JSON: where the caller names that and
// not HTML.
func wantsJSON(r *http.Request) bool {
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}
