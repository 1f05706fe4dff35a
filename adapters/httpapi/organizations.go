package httpapi

import (
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// organizationEndpoints are those of organizations (§5.9) and of what they use
// (§5.12).
var organizationEndpoints = slices.Concat(
	resource(atRoot, "organization", managementOf, []row[*rooms.Rooms]{
		by(http.MethodGet, "/organizations", "List organizations", listOrganizations),
		by(http.MethodPost, "/organizations", "Make an organization with a first project", createOrganization).taking(organizations.Fields).created(),
		by(http.MethodGet, "/organizations/{organization}", "Read an organization", standingIn(ownOrganization, getOrganization)),
		by(http.MethodPatch, "/organizations/{organization}", "Change an organization", standingIn(ownOrganization, updateOrganization)).orPut("Replace an organization").taking(organizations.Fields),
		by(http.MethodDelete, "/organizations/{organization}", "Delete an organization with all its projects", standingIn(ownOrganization, deleteOrganization)).answering(http.StatusNoContent).proven(),
	}),
	resource(inOrganization, "organization", func(s *server) organizations.Service { return *s.Management.Organizations }, []row[organizations.Service]{
		read("/usage", "Read what an organization has used this month", organizations.Service.Usage),
	}),
)

func listOrganizations(of *rooms.Rooms, c *call) (management.List[organizations.Organization], error) {
	return of.Organizations.List(c.ctx, c.standing, c.page())
}

func createOrganization(of *rooms.Rooms, c *call) (*organizations.Organization, error) {
	return of.Organizations.Create(c.ctx, c.standing, c.body)
}

// ownOrganization is the caller's standing in the organization of the path, which is
// not there for those who are no members.
func ownOrganization(of *rooms.Rooms, c *call) (*management.Standing, error) {
	return of.OwnOrganization(c.ctx, c.standing.Caller, c.part("organization"))
}

// standingIn gives a handler the caller's standing in what the path names.
func standingIn[T any](stand func(*rooms.Rooms, *call) (standing, error), do func(*rooms.Rooms, *call, standing) (T, error)) func(*rooms.Rooms, *call) (T, error) {
	return func(of *rooms.Rooms, c *call) (out T, err error) {
		st, err := stand(of, c)
		if err != nil {
			return out, err
		}
		return do(of, c, st)
	}
}

func getOrganization(of *rooms.Rooms, c *call, st standing) (*organizations.Organization, error) {
	return of.Organizations.Get(c.ctx, st)
}

func updateOrganization(of *rooms.Rooms, c *call, st standing) (*organizations.Organization, error) {
	return of.Organizations.Update(c.ctx, st, c.body, c.replaces())
}

func deleteOrganization(of *rooms.Rooms, c *call, st standing) (any, error) {
	return nil, of.Organizations.Delete(c.ctx, st)
}
