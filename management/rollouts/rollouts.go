package rollouts

import (
	"context"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// List returns a page of rollouts, newest first. If flag is not 0, it returns only rollouts of that
// flag; if status is not empty, only rollouts with that status.
func (s Service) List(ctx context.Context, scope *management.Scope, flag int64, status string, p management.Page) (management.List[Rollout], error) {
	q := management.Query{Offset: p.Offset, Limit: p.Limit}
	if flag != 0 {
		q.Other = rolloutsKey(scope.Project.ID, flag)
	}
	if status != "" {
		q.Match = func(r *management.Record) bool {
			x, err := management.Decode[storedRollout](r)
			return err == nil && string(x.Status) == status
		}
	}
	return s.Query(ctx, scope, q)
}

// rules checks a definition and sets the defaults of members that were not sent.
func (s Service) rules(e *resource.Edit[storeTx, storedRollout]) error {
	x := e.After
	if !e.IsNew {
		if err := x.checkEdit(&e.Before, e.Values); err != nil {
			return err
		}
	}
	if _, err := x.plan(); err != nil {
		return err
	}
	if err := s.tidyNotify(e.View, x, e.Before.Notify); err != nil {
		return err
	}
	f, err := s.findFlag(e.View, x)
	if err != nil {
		return err
	}
	x.FlagAuthor = f.CreatedBy
	if err := e.RequireAccess(management.Editor, f.AccessObject()); err != nil {
		return err
	}
	if _, err := newRolloutArms(e.Project, x, f); err != nil {
		return err
	}
	if err := s.checkExclusive(e.View, x, f); err != nil {
		return err
	}
	if !e.IsNew {
		return s.touch(e.Tx, x)
	}
	return nil
}

// afterSave starts a new rollout if the request has start.
func (s Service) afterSave(e *resource.Edit[storeTx, storedRollout]) error {
	if !e.IsNew || !e.Values.Bool("start") {
		return nil
	}
	if err := s.start(e.View, e.After); err != nil {
		return err
	}
	if err := s.saveStep(e.View, e.After); err != nil {
		return err
	}
	return s.Put(e.View, e.After)
}

// Create creates a rollout, and starts it if the request has start.
func (s Service) Create(ctx context.Context, scope *management.Scope, b management.Body) (*Rollout, error) {
	r, err := s.Resource.Create(ctx, scope, b)
	if err == nil && r.Status != rolloutDraft {
		s.counts.addSteps([]string{"start"})
	}
	return r, err
}

// beforeDelete returns an error if the rollout has not ended. Otherwise it deletes the evaluations.
func (s Service) beforeDelete(e *resource.Edit[storeTx, storedRollout]) error {
	if x := e.After; x.Status.isOpen() && x.Status != rolloutDraft {
		return management.Clash("This rollout is %s: abort it first.", x.Status)
	}
	return s.deleteEvaluations(e.Tx, e.After.ID)
}
