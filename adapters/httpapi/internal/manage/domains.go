package manage

import (
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management/organizations"
)

// domainEndpoints are the endpoints of §4.4.
var domainEndpoints = frame.Resource(frame.InOrganization, "organization", func(s *frame.Server) organizations.Domains { return s.Management.Organizations.Domains }, []frame.Row[organizations.Domains]{
	frame.Paged("/domains", "List domains", organizations.Domains.List),
	frame.Create("/domains", "Add a domain", organizations.Bodies.Domain, organizations.Domains.Create),
	frame.Get("/domains/{id}", "Read a domain", organizations.Domains.Get),
	frame.Update("/domains/{id}", "Change a domain", "Replace a domain", organizations.Bodies.Domain, organizations.Domains.Update),
	frame.Remove("/domains/{id}", "Remove a domain", organizations.Domains.Delete),
	frame.Act(http.MethodPost, "/domains/{id}/verify", "Verify a domain by its DNS TXT record", organizations.Domains.Verify).WithoutBody(),
})
