package earlyaccess

import (
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Bodies are the fields of the bodies of requests.
var Bodies = struct {
	Change, Feature management.Fields
}{
	Change: changeFields, Feature: featureFields,
}

// Service manages early access features (§5.5). Each feature has a flag, to which it adds a
// condition that is on for the persons who enroll themselves.
type Service struct {
	resource.Resource[storeTx, storedFeature, feature]
	stored storedflags.Store
}

type featureEdit = resource.Edit[storeTx, storedFeature]

// New creates a Service.
func New(env management.Env[storeTx]) *Service {
	s := &Service{stored: storedflags.Store{Env: &env}}
	s.Resource = resource.NewResource(&env, resource.Spec[storeTx, storedFeature, feature]{
		Kind: kindFeature, ActivityScope: "EarlyAccessFeature", Fields: featureFields, Changes: changeFields, NewestFirst: true,
		Header: func(_ *management.Scope, f *storedFeature) resource.RecordHeader {
			return resource.RecordHeader{ID: f.ID, Title: f.Name, Sort: storage.SortTime(f.Created.Time)}
		},
		New: func(*view) (*storedFeature, error) {
			return &storedFeature{featureSettings: featureSettings{ID: env.NewID(), Created: management.NewStamp(env.Now())}}, nil
		},
		Rules: s.rules, BeforeDelete: s.beforeDelete,
		Show: func(v *view, f *storedFeature) (*feature, error) {
			flag, _, err := storedflags.LoadMinimal(v, f.Flag)
			return &feature{f.featureSettings, flag}, err
		},
	})
	return s
}

// storeTx is a transaction of the store.
type storeTx = definitions.Tx

// view is a transaction with the scope of the caller.
type view = resource.View[storeTx]
