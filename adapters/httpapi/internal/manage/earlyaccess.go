package manage

import (
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// earlyAccessEndpoints are the endpoints of §5.5, except for the public list.
var earlyAccessEndpoints = frame.Resource(frame.InProject, "early_access_feature", func(s *frame.Server) featureflags.EarlyAccess { return *s.Management.EarlyAccess }, []frame.Row[featureflags.EarlyAccess]{
	frame.Paged("/early_access_feature", "List early access features", featureflags.EarlyAccess.List),
	frame.Create("/early_access_feature", "Create an early access feature", featureflags.FeatureFields, featureflags.EarlyAccess.Create),
	frame.Get("/early_access_feature/{id}", "Read an early access feature", featureflags.EarlyAccess.Get),
	frame.Update("/early_access_feature/{id}", "Change an early access feature", "Replace an early access feature", featureflags.FeatureChangeFields, featureflags.EarlyAccess.Update),
	frame.Remove("/early_access_feature/{id}", "Delete an early access feature but not its flag", featureflags.EarlyAccess.Delete),
})
