package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
)

// domainEndpoints are those of §4.4.
var domainEndpoints = resource(inOrganization, "organization", func(s *server) management.Domains { return s.Management.Domains }, []row[management.Domains]{
	paged("/domains", "List domains", management.Domains.List),
	create("/domains", "Add a domain", management.DomainFields, management.Domains.Create),
	get("/domains/{id}", "Read a domain", management.Domains.Get),
	update("/domains/{id}", "Change a domain", "Replace a domain", management.DomainFields, management.Domains.Update),
	remove("/domains/{id}", "Remove a domain", management.Domains.Delete),
	act(http.MethodPost, "/domains/{id}/verify", "Look for the TXT record of a domain", management.Domains.Verify).unlessPreferred(),
})
