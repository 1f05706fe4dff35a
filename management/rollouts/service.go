package rollouts

import (
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Bodies are the fields of the bodies of requests.
var Bodies = struct {
	DryRun, Rollout, Simulate management.Fields
}{
	DryRun: dryRunFields, Rollout: rolloutFields, Simulate: simulateFields,
}

// New creates a Service.
func New(c Config) *Service {
	s := &Service{Config: &c, stored: storedflags.Store{Env: &c.Env}, simulating: make(chan struct{}, simulationsAtOnce), counts: newCounts()}
	s.Resource = resource.NewResource(&c.Env, resource.Spec[storeTx, storedRollout, Rollout]{
		Kind: kindRollout, Fields: rolloutFields, NewestFirst: true,
		Object: (*storedRollout).accessObject,
		Header: func(scope *management.Scope, x *storedRollout) resource.RecordHeader {
			return resource.RecordHeader{
				ID: strconv.FormatInt(x.ID, 10), Title: x.Name, Other: rolloutsKey(scope.Project.ID, x.Flag), Sort: storage.SortTime(x.Created.Time),
			}
		},
		Load: definitions.LoadNumbered[storedRollout](kindRollout),
		New: func(v *view) (*storedRollout, error) {
			id, err := v.Tx.Next(kindRollout)
			now := management.NewStamp(c.Env.Now())
			return &storedRollout{
				ID: id, CreatedBy: v.User.ID, rolloutDefinition: defaultRollout(),
				rolloutState: rolloutState{Status: rolloutDraft, Reasons: []string{}, Created: now, Updated: now},
			}, err
		},
		Rules:        s.rules,
		BeforeDelete: s.beforeDelete,
		AfterSave:    func(e *resource.Edit[storeTx, storedRollout]) error { return s.afterSave(e) }, // a closure, since s.Resource is not set yet
		Show: func(v *view, x *storedRollout) (*Rollout, error) {
			return x.show(v)
		},
	})
	return s
}
