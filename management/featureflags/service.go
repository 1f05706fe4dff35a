package featureflags

import (
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Service implements the management of feature flags. New creates a Service. It may be used from
// several goroutines.
type Service struct{ Flags }

// New creates a Service.
func New(c Config) *Service {
	if c.HasDashboard == nil {
		c.HasDashboard = func(management.Tx, int64, int64) (bool, error) { return false, nil }
	}
	if c.SurveyObject == nil {
		c.SurveyObject = func(storeTx, *management.Scope, string) (*management.AccessObject, error) { return nil, nil }
	}
	s := &core{Config: c}
	s.stored = storedflags.Store{Env: &s.Env}
	s.flags = Flags{s}.resource()
	return &Service{Flags{s}}
}

// Finders returns the function that looks up flags for access rules, by their kind.
func (s *Service) Finders() map[string]management.Finder {
	return map[string]management.Finder{storedflags.Kind: s.flags.Finder()}
}
