package resource

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Resource is the implementation that all resources share: it finds, lists, creates, changes and
// deletes objects, and logs the changes, by the rules of a Spec. It may be used concurrently.
//
// It is an interface so that the methods are compiled only where NewResource is called. Those of a
// generic struct would be compiled in each package that uses the type.
type Resource[T management.Tx, Stored, Out any] interface {
	// List returns a page of objects. A Limit of 0 means all.
	List(ctx context.Context, scope *management.Scope, p management.Page) (management.List[Out], error)
	// Query returns the page of q. It sets the Kind and the order, and the Parent if neither Parent
	// nor Other is set.
	Query(ctx context.Context, scope *management.Scope, q management.Query) (management.List[Out], error)
	// Rows returns objects in the form of lists.
	Rows(v *View[T], list management.List[Stored]) (management.List[Out], error)
	// Get returns one object.
	Get(ctx context.Context, scope *management.Scope, id string) (*Out, error)
	// Load returns the object that a path names, or ErrNotFound.
	Load(v *View[T], id string) (*Stored, error)
	// LoadWritable is Load with the check that the caller may change the object.
	LoadWritable(v *View[T], id string) (*Stored, error)
	// Create creates an object from a request body.
	Create(ctx context.Context, scope *management.Scope, b management.Body) (*Out, error)
	// CreateFrom is Create with values that have been read.
	CreateFrom(v *View[T], values management.Values) (*Out, error)
	// Add stores and logs a new object that other rules have built, and returns its form in
	// responses.
	Add(v *View[T], x *Stored) (*Out, error)
	// Update changes an object. If put is true, all required fields must be present.
	Update(ctx context.Context, scope *management.Scope, id string, b management.Body, put bool) (*Out, error)
	// Put stores an object without logging it.
	Put(v *View[T], x *Stored) error
	// Modify applies change to an object inside another operation, and stores and logs it.
	Modify(v *View[T], x *Stored, change func()) error
	// LogChanges logs the changes that work applies to an object; work stores the object.
	LogChanges(v *View[T], x *Stored, work func() error) error
	// Delete deletes an object.
	Delete(ctx context.Context, scope *management.Scope, id string) error
	// Finder returns the Finder, for ids of the resource's paths. The Spec must have an Object.
	Finder() management.Finder
}

// resource is the only implementation of Resource.
type resource[T management.Tx, Stored, Out any] struct {
	env  *management.Env[T]
	spec Spec[T, Stored, Out]
}

// NewResource returns a Resource. It panics if a table of fields does not fit Stored.
func NewResource[T management.Tx, Stored, Out any](env *management.Env[T], spec Spec[T, Stored, Out]) Resource[T, Stored, Out] {
	if spec.Changes == nil {
		spec.Changes = spec.Fields
	}
	for _, f := range []management.Fields{spec.Fields, spec.Changes} {
		if err := checkFit(f, reflect.TypeFor[Stored]()); err != nil {
			panic(fmt.Sprintf("management: the resource %s: %v", spec.Kind, err))
		}
	}
	if spec.Parent == nil {
		spec.Parent = (*management.Scope).Parent
	}
	if spec.Row == nil {
		spec.Row = spec.Show
	}
	spec.Body = spec.bodyCheck()
	return &resource[T, Stored, Out]{env, spec}
}

func (r *resource[T, Stored, Out]) Get(ctx context.Context, scope *management.Scope, id string) (*Out, error) {
	return ReadOne(ctx, r, scope, id, r.spec.Show)
}

// ReadOne finds one object, checks that the caller may view it, and returns the result of read.
func ReadOne[Result any, T management.Tx, Stored, Out any](ctx context.Context, res Resource[T, Stored, Out], scope *management.Scope, id string, read func(v *View[T], x *Stored) (Result, error)) (Result, error) {
	r := res.(*resource[T, Stored, Out])
	return management.Read(ctx, r.env, func(tx T) (out Result, err error) {
		v := &View[T]{Tx: tx, Scope: scope}
		x, err := r.Load(v, id)
		if err == nil {
			err = r.requireAccess(v, management.Viewer, x)
		}
		if err != nil {
			return out, err
		}
		return read(v, x)
	})
}

// requireAccess returns an error if the caller's access to an object is below level.
func (r *resource[T, Stored, Out]) requireAccess(v *View[T], level management.AccessLevel, x *Stored) error {
	if r.spec.Object == nil {
		return nil
	}
	return v.RequireAccess(level, r.spec.Object(x))
}

func (r *resource[T, Stored, Out]) Load(v *View[T], id string) (*Stored, error) {
	return r.load(v, id, nil)
}

func (r *resource[T, Stored, Out]) load(v *View[T], id string, change *management.Body) (x *Stored, err error) {
	if r.spec.Load != nil {
		x, err = r.spec.Load(v, id, change)
	} else if uuid, ok := management.NormalizeUUID(id); ok {
		x, err = LoadRecord[Stored](v.Tx, r.spec.Kind, r.spec.Parent(v.Scope), uuid)
	}
	return records.Existing(x, err)
}

// LoadRecord returns the value of a record, or nil if it is hidden or does not exist.
func LoadRecord[Stored any](tx management.Tx, kind, parent, id string) (*Stored, error) {
	record, err := tx.Get(kind, parent, id)
	if err != nil || record == nil || record.Hidden {
		return nil, err
	}
	return management.Decode[Stored](record)
}

func (r *resource[T, Stored, Out]) LoadWritable(v *View[T], id string) (*Stored, error) {
	return r.loadWritable(v, id, nil)
}

func (r *resource[T, Stored, Out]) loadWritable(v *View[T], id string, change *management.Body) (*Stored, error) {
	x, err := r.load(v, id, change)
	if err == nil {
		err = r.requireAccess(v, management.Editor, x)
	}
	if err == nil && r.spec.AuthorizeChange != nil {
		err = r.spec.AuthorizeChange(v, x)
	}
	return x, err
}

// loadForChange is loadWritable that also returns the object's form for the log.
func (r *resource[T, Stored, Out]) loadForChange(v *View[T], id string, change *management.Body) (x *Stored, before any, err error) {
	if x, err = r.loadWritable(v, id, change); err == nil {
		before, err = r.auditView(v, x)
	}
	return x, before, err
}

// write runs work in a write transaction after the check of AdminsOnly.
func write[Result any, T management.Tx, Stored, Out any](ctx context.Context, r *resource[T, Stored, Out], scope *management.Scope, work func(v *View[T]) (Result, error)) (out Result, err error) {
	if r.spec.AdminsOnly && !scope.IsAdmin() {
		return out, management.Denied(management.MsgLevel)
	}
	return management.Write(ctx, r.env, func(tx T) (Result, error) { return work(&View[T]{Tx: tx, Scope: scope}) })
}

func (r *resource[T, Stored, Out]) Create(ctx context.Context, scope *management.Scope, b management.Body) (*Out, error) {
	return write(ctx, r, scope, func(v *View[T]) (*Out, error) {
		if err := runRule(r.spec.AuthorizeCreate, v); err != nil {
			return nil, err
		}
		if err := runRule(r.spec.Body, &b); err != nil {
			return nil, err
		}
		values, err := r.spec.Fields.Create(b)
		if err != nil {
			return nil, err
		}
		return r.make(&Edit[T, Stored]{View: v, Values: values, Body: &b})
	})
}

func (r *resource[T, Stored, Out]) CreateFrom(v *View[T], values management.Values) (view *Out, err error) {
	return r.make(&Edit[T, Stored]{View: v, Values: values})
}

func (r *resource[T, Stored, Out]) make(e *Edit[T, Stored]) (_ *Out, err error) {
	e.IsNew, e.After = true, new(Stored)
	if r.spec.New != nil {
		if e.After, err = r.spec.New(e.View); err != nil {
			return nil, err
		}
	}
	e.Before = *e.After
	Apply(r.spec.Fields, e.Values, e.After)
	if err := runRule(r.spec.Rules, e); err != nil {
		return nil, err
	}
	return r.finish(e, nil)
}

func (r *resource[T, Stored, Out]) Update(ctx context.Context, scope *management.Scope, id string, b management.Body, put bool) (*Out, error) {
	return r.runAction(ctx, scope, id, &b, func(e *Edit[T, Stored]) (err error) {
		if err := runRule(r.spec.Body, &b); err != nil {
			return err
		}
		if e.Values, err = ReadUpdate(r.spec.Changes, b, put); err != nil {
			return err
		}
		Apply(r.spec.Changes, e.Values, e.After)
		return runRule(r.spec.Rules, e)
	})
}

// RunAction changes one object by other means than Update: it stores and logs what work changes,
// and returns the object's form in responses.
func RunAction[T management.Tx, Stored, Out any](ctx context.Context, res Resource[T, Stored, Out], scope *management.Scope, id string, work func(e *Edit[T, Stored]) error) (*Out, error) {
	return res.(*resource[T, Stored, Out]).runAction(ctx, scope, id, nil, work)
}

func (r *resource[T, Stored, Out]) runAction(ctx context.Context, scope *management.Scope, id string, b *management.Body, work func(e *Edit[T, Stored]) error) (*Out, error) {
	return write(ctx, r, scope, func(v *View[T]) (*Out, error) {
		x, before, err := r.loadForChange(v, id, b)
		if err != nil {
			return nil, err
		}
		e := &Edit[T, Stored]{View: v, Before: *x, After: x, Body: b}
		if err := work(e); err != nil {
			return nil, err
		}
		return r.finish(e, before)
	})
}

// finish stores and logs an object, and returns its form in responses. before is the object's
// former state for the log, nil for a new object.
func (r *resource[T, Stored, Out]) finish(e *Edit[T, Stored], before any) (*Out, error) {
	if e.IsNew && r.spec.Object != nil {
		if err := e.RequireAccess(management.Editor, management.AccessObject{Kind: r.spec.Object(e.After).Kind}); err != nil {
			return nil, err
		}
	}
	if err := r.put(e.View, e.After, e.IsNew); err != nil {
		return nil, err
	}
	if err := runRule(r.spec.AfterSave, e); err != nil {
		return nil, err
	}
	view, err := r.spec.Show(e.View, e.After)
	if err != nil {
		return nil, err
	}
	after := any(view)
	if r.spec.Audit != nil && r.spec.ActivityScope != "" {
		after = r.spec.Audit(e.After)
	}
	return view, r.logChange(e.View, e.After, before, after)
}

func (r *resource[T, Stored, Out]) Put(v *View[T], x *Stored) error { return r.put(v, x, false) }

func (r *resource[T, Stored, Out]) put(v *View[T], x *Stored, isNew bool) (err error) {
	if r.spec.Put != nil {
		err = r.spec.Put(v, x)
	} else {
		p := r.header(v, x)
		err = v.Tx.Put(&management.Record{
			Kind: r.spec.Kind, Parent: p.Parent, ID: p.ID, Other: p.Other, Sort: p.Sort, Unique: p.Unique, Hidden: p.Hidden, Data: storage.Encode(x),
		})
	}
	if errors.Is(err, management.ErrDuplicate) && r.spec.OnDuplicate != nil {
		err = r.spec.OnDuplicate(isNew)
	}
	return err
}

func (r *resource[T, Stored, Out]) header(v *View[T], x *Stored) RecordHeader {
	p := r.spec.Header(v.Scope, x)
	if p.Parent == "" {
		p.Parent = r.spec.Parent(v.Scope)
	}
	return p
}

// auditView returns the form of an object that the log compares, encoded, so that later changes of
// the object do not affect it.
func (r *resource[T, Stored, Out]) auditView(v *View[T], x *Stored) (any, error) {
	if r.spec.ActivityScope == "" {
		return nil, nil
	}
	if r.spec.Audit != nil {
		return storage.Encode(r.spec.Audit(x)), nil
	}
	view, err := r.spec.Show(v, x)
	return storage.Encode(view), err
}

func (r *resource[T, Stored, Out]) logChange(v *View[T], x *Stored, before, after any) error {
	if r.spec.ActivityScope == "" {
		return nil
	}
	p := r.header(v, x)
	if p.Parent == "" {
		return nil
	}
	if r.spec.Title != nil {
		var err error
		if p.Title, err = r.spec.Title(v, x); err != nil {
			return err
		}
	}
	return r.env.LogActivity(v.Tx, v.Caller, p.Parent, r.spec.ActivityScope, p.ID, p.Title, before, after)
}

func (r *resource[T, Stored, Out]) Add(v *View[T], x *Stored) (*Out, error) {
	return r.finish(&Edit[T, Stored]{View: v, IsNew: true, Before: *x, After: x}, nil)
}

func (r *resource[T, Stored, Out]) Modify(v *View[T], x *Stored, change func()) error {
	return r.LogChanges(v, x, func() error { change(); return r.put(v, x, false) })
}

func (r *resource[T, Stored, Out]) LogChanges(v *View[T], x *Stored, work func() error) error {
	before, err := r.auditView(v, x)
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	after, err := r.auditView(v, x)
	if err != nil {
		return err
	}
	return r.logChange(v, x, before, after)
}

func (r *resource[T, Stored, Out]) Delete(ctx context.Context, scope *management.Scope, id string) error {
	_, err := write(ctx, r, scope, func(v *View[T]) (*Stored, error) {
		x, before, err := r.loadForChange(v, id, nil)
		if err != nil {
			return nil, err
		}
		e := &Edit[T, Stored]{View: v, After: x, Before: *x}
		if err := runRule(r.spec.BeforeDelete, e); err != nil {
			return nil, err
		}
		if err := r.remove(v, x); err != nil {
			return nil, err
		}
		if err := runRule(r.spec.AfterSave, e); err != nil {
			return nil, err
		}
		return nil, r.logChange(v, x, before, nil)
	})
	return err
}

func (r *resource[T, Stored, Out]) remove(v *View[T], x *Stored) error {
	if r.spec.Delete != nil {
		return r.spec.Delete(v, x)
	}
	p := r.header(v, x)
	if p.Hidden {
		return r.put(v, x, false)
	}
	return v.Tx.Delete(r.spec.Kind, p.Parent, p.ID)
}
