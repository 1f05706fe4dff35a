package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
)

// memberEndpoints are those of members of organizations (§4.6).
var memberEndpoints = resource(inOrganization, "organization_member", func(s *server) management.Members { return s.Management.Members }, []row[management.Members]{
	by(http.MethodGet, "/members", "List members", listMembers),
	patch("/members/{user}", "Change the level of a member", "Change the level of a member", management.MemberFields, management.Members.Update),
	remove("/members/{user}", "End a membership", management.Members.Delete),
	get("/members/{user}/scoped_api_keys", "List a member's keys that open the organization", management.Members.Keys),
})

func listMembers(of management.Members, c *call) (management.List[management.OrganizationMember], error) {
	v := c.listed
	return of.List(c.ctx, c.standing, management.MemberQuery{
		Page: c.page(), Email: v.Text("email"), Search: v.Text("search"), UpdatedAfter: v.Time("updated_after"), Latest: v.Text("order") == "-joined_at",
	})
}
