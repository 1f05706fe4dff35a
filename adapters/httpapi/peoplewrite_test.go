package httpapi_test

import (
	"context"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/sqlstore"
	"github.com/bunting-flags/bunting/capture"
)

// officePeople changes people between the commits of events, as cmd/bunting does.
type officePeople struct {
	recorder *capture.Recorder
	store    *sqlstore.Store
}

func (p officePeople) ErasePerson(ctx context.Context, project int64, id capture.UUID, withEvents bool) (found bool, err error) {
	err = p.recorder.Alone(ctx, project, func(tx capture.Tx) (err error) {
		found, err = p.store.ErasePerson(ctx, tx, project, id, withEvents)
		return err
	})
	return found, err
}

func (p officePeople) EraseEvents(ctx context.Context, project int64, id capture.UUID) error {
	return p.recorder.Alone(ctx, project, func(tx capture.Tx) error { return p.store.EraseEvents(ctx, tx, project, id) })
}

func (p officePeople) SplitPerson(ctx context.Context, project int64, id capture.UUID, ids []string, main string) (found bool, err error) {
	err = p.recorder.Alone(ctx, project, func(tx capture.Tx) (err error) {
		found, err = capture.SplitPerson(tx, project, id, ids, main)
		return err
	})
	return found, err
}

func (p officePeople) UnsetGroupProperty(ctx context.Context, project int64, id capture.GroupID, name string) (found bool, err error) {
	err = p.recorder.Alone(ctx, project, func(tx capture.Tx) (err error) {
		found, err = capture.UnsetGroupProperty(tx, project, id, name)
		return err
	})
	return found, err
}

func (p officePeople) ImportPerson(ctx context.Context, project int64, person capture.StoredPerson) error {
	return p.recorder.Alone(ctx, project, func(tx capture.Tx) error { return capture.ImportPerson(tx, project, person) })
}

func (p officePeople) ImportGroup(ctx context.Context, project int64, typeName string, g capture.Group) error {
	return p.recorder.Alone(ctx, project, func(tx capture.Tx) error { return capture.ImportGroup(tx, project, typeName, g) })
}

var _ httpapi.PeopleAdmin = officePeople{}
