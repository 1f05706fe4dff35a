package manage

import (
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management/earlyaccess"
)

// earlyAccessEndpoints are the endpoints of §5.5, except for the public list.
var earlyAccessEndpoints = frame.Resource(frame.InProject, "early_access_feature", func(s *frame.Server) earlyaccess.Service { return *s.Management.EarlyAccess }, []frame.Row[earlyaccess.Service]{
	frame.Paged("/early_access_feature", "List early access features", earlyaccess.Service.List),
	frame.Create("/early_access_feature", "Create an early access feature", earlyaccess.Bodies.Feature, earlyaccess.Service.Create),
	frame.Get("/early_access_feature/{id}", "Read an early access feature", earlyaccess.Service.Get),
	frame.Update("/early_access_feature/{id}", "Change an early access feature", "Replace an early access feature", earlyaccess.Bodies.Change, earlyaccess.Service.Update),
	frame.Remove("/early_access_feature/{id}", "Delete an early access feature but not its flag", earlyaccess.Service.Delete),
})
