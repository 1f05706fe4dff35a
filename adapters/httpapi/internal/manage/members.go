package manage

import (
	"context"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// memberEndpoints are the endpoints for members of organizations (§4.6).
var memberEndpoints = frame.Resource(frame.InOrganization, "organization_member", func(s *frame.Server) organizations.Members { return s.Management.Organizations.Members }, []frame.Row[organizations.Members]{
	frame.Handle(http.MethodGet, "/members", "List members", withMemberQuery(organizations.Members.List)),
	frame.Update("/members/{user}", "Change the membership level of a member", "Change the membership level of a member", organizations.Bodies.Member, organizations.Members.Update),
	frame.Remove("/members/{user}", "Remove a member from the organization", organizations.Members.Delete),
	frame.Get("/members/{user}/scoped_api_keys", "List the personal API keys of a member that can access the organization", organizations.Members.Keys),
})

// withMemberQuery adapts the method that lists members to the parameters of a request.
func withMemberQuery[T any](list func(organizations.Members, context.Context, *management.Scope, organizations.MemberQuery) (T, error)) func(organizations.Members, *frame.Call) (T, error) {
	return func(svc organizations.Members, c *frame.Call) (T, error) {
		v := c.ListValues
		return list(svc, c.Ctx, c.Scope, organizations.MemberQuery{
			Page: c.Page(), Email: v.Text("email"), Search: v.Text("search"), UpdatedAfter: v.Time("updated_after"), Latest: v.Text("order") != "joined_at",
		})
	}
}
