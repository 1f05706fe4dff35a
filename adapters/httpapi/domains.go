package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management/organizations"
)

// domainEndpoints are the endpoints of §4.4.
var domainEndpoints = resource(inOrganization, "organization", func(s *server) organizations.Domains { return s.Management.Organizations.Domains }, []row[organizations.Domains]{
	paged("/domains", "List domains", organizations.Domains.List),
	create("/domains", "Add a domain", organizations.DomainFields, organizations.Domains.Create),
	get("/domains/{id}", "Read a domain", organizations.Domains.Get),
	update("/domains/{id}", "Change a domain", "Replace a domain", organizations.DomainFields, organizations.Domains.Update),
	remove("/domains/{id}", "Remove a domain", organizations.Domains.Delete),
	act(http.MethodPost, "/domains/{id}/verify", "Verify a domain by its DNS TXT record", organizations.Domains.Verify).withoutBody(),
})
