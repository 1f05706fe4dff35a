package cohorts

import (
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Bodies are the fields of the bodies of requests.
var Bodies = struct {
	Add, Cohort, Match, Preview, Remove management.Fields
}{
	Add: addFields, Cohort: storedcohorts.Fields, Match: matchFields, Preview: previewFields, Remove: removeFields,
}

// New creates a Service.
func New(c Config) *Service {
	if c.Experiments == nil {
		c.Experiments = func(storeTx, *management.Scope, int64) ([]storedflags.LinkID, error) {
			return []storedflags.LinkID{}, nil
		}
	}
	return &Service{&c}
}

// Finders returns the function that looks up cohorts for access rules, by their kind.
func (s Service) Finders() map[string]management.Finder {
	return map[string]management.Finder{storedcohorts.Kind: s.resource(nil, false).Finder()}
}
