package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// memberEndpoints are the endpoints for members of organizations (§4.6).
var memberEndpoints = resource(inOrganization, "organization_member", func(s *server) organizations.Members { return s.Management.Organizations.Members }, []row[organizations.Members]{
	handle(http.MethodGet, "/members", "List members", listMembers),
	patch("/members/{user}", "Change the membership level of a member", "Change the membership level of a member", organizations.MemberFields, organizations.Members.Update),
	remove("/members/{user}", "Remove a member from the organization", organizations.Members.Delete),
	get("/members/{user}/scoped_api_keys", "List the personal API keys of a member that can access the organization", organizations.Members.Keys),
})

func listMembers(svc organizations.Members, c *call) (management.List[organizations.OrganizationMember], error) {
	v := c.listValues
	return svc.List(c.ctx, c.scope, organizations.MemberQuery{
		Page: c.page(), Email: v.Text("email"), Search: v.Text("search"), UpdatedAfter: v.Time("updated_after"), Latest: v.Text("order") == "-joined_at",
	})
}
