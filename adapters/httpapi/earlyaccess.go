package httpapi

import "github.com/bunting-flags/bunting/management"

// earlyAccessEndpoints are those of §5.5, without the public list.
var earlyAccessEndpoints = resource(inProject, "early_access_feature", func(s *server) management.EarlyAccess { return s.Management.EarlyAccess }, []row[management.EarlyAccess]{
	paged("/early_access_feature", "List early access features", management.EarlyAccess.List),
	create("/early_access_feature", "Make an early access feature", management.FeatureFields, management.EarlyAccess.Create),
	get("/early_access_feature/{id}", "Read an early access feature", management.EarlyAccess.Get),
	update("/early_access_feature/{id}", "Change an early access feature", "Replace an early access feature", management.FeatureChangeFields, management.EarlyAccess.Update),
	remove("/early_access_feature/{id}", "Remove an early access feature; its flag stays", management.EarlyAccess.Delete),
})
