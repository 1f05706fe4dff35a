package httpapi

import (
	"github.com/bunting-flags/bunting/management/featureflags"
)

// earlyAccessEndpoints are the endpoints of §5.5, except for the public list.
var earlyAccessEndpoints = resource(inProject, "early_access_feature", func(s *server) featureflags.EarlyAccess { return s.Management.FeatureFlags.EarlyAccess }, []row[featureflags.EarlyAccess]{
	paged("/early_access_feature", "List early access features", featureflags.EarlyAccess.List),
	create("/early_access_feature", "Create an early access feature", featureflags.FeatureFields, featureflags.EarlyAccess.Create),
	get("/early_access_feature/{id}", "Read an early access feature", featureflags.EarlyAccess.Get),
	update("/early_access_feature/{id}", "Change an early access feature", "Replace an early access feature", featureflags.FeatureChangeFields, featureflags.EarlyAccess.Update),
	remove("/early_access_feature/{id}", "Delete an early access feature but not its flag", featureflags.EarlyAccess.Delete),
})
