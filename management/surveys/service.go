package surveys

import (
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// New creates a Service.
func New(c Config) *Service {
	if c.Changed == nil {
		c.Changed = func(management.Tx, int64) error { return nil }
	}
	if c.HasInsight == nil {
		c.HasInsight = func(management.Tx, int64, int64) (bool, error) { return false, nil }
	}
	s := &Service{Config: &c, stored: storedflags.Store{Env: &c.Env}}
	s.Resource = resource.NewResource(&c.Env, resource.Spec[storeTx, storedSurvey, Survey]{
		Kind: kindSurvey, ActivityScope: "Survey", Fields: Fields, ObjectName: "a survey", Body: surveyShape.Body, NewestFirst: true, Object: (*storedSurvey).accessObject,
		Header: func(scope *management.Scope, x *storedSurvey) resource.RecordHeader {
			return resource.RecordHeader{ID: x.ID, Title: x.Name, Sort: storage.SortTime(x.CreatedAt.Time), Unique: scope.Parent() + "/" + x.Name}
		},
		New: func(v *view) (*storedSurvey, error) {
			// The schedule of a new survey is once by default.
			once := "once"
			return &storedSurvey{CreatedBy: v.User.ID, surveySettings: surveySettings{ID: c.Env.NewID(), CreatedAt: management.NewStamp(c.Env.Now()), Schedule: &once}}, nil
		},
		OnDuplicate: func(isNew bool) error {
			if isNew {
				return management.CodedFault(management.CodeUnique, "name", "There is already a survey with this name.")
			}
			return management.CodedFault(management.CodeUnique, "name", "There is already another survey with this name.")
		},
		Rules: s.rules, Show: s.show,
		BeforeDelete: func(e *resource.Edit[storeTx, storedSurvey]) error {
			return s.deleteFlags(e.Tx, e.Scope, e.After)
		},
		AfterSave: func(e *resource.Edit[storeTx, storedSurvey]) error {
			return c.Changed(e.Tx, e.Project.ID)
		},
	})
	return s
}

// Finders returns the function that looks up surveys for access rules, by their kind.
func (s Service) Finders() map[string]management.Finder {
	return map[string]management.Finder{kindSurvey: s.Finder()}
}
