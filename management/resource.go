package management

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// Resource finds, lists, shows, makes, changes and removes things, and notes it in
// the log, as a Spec says. NewResource makes one.
//
// It is an interface so that the compiler makes the methods for a Stored and a Shown only
// where NewResource is called. Those of a generic struct would be compiled again in each
// package that uses a type with such a field.
type Resource[T Tx, Stored, Shown any] interface {
	// List returns a page of things.
	List(ctx context.Context, st *Standing, p Page) (List[Shown], error)
	// Query returns the page that a query asks for; its Kind, its order and, without an
	// Other, its Parent are those of the resource and of the standing.
	Query(ctx context.Context, st *Standing, q Query) (List[Shown], error)
	// Rows are things as lists show them.
	Rows(v *View[T], list List[Stored]) (List[Shown], error)
	// Get returns one thing.
	Get(ctx context.Context, st *Standing, id string) (*Shown, error)
	// Load finds what a path names.
	Load(v *View[T], id string) (*Stored, error)
	// Writable is Load for who may change the thing.
	Writable(v *View[T], id string) (*Stored, error)
	// Create makes a thing.
	Create(ctx context.Context, st *Standing, b Body) (*Shown, error)
	// Make is Create for a body that has been read.
	Make(v *View[T], values Values) (*Shown, error)
	// Add makes a thing that rules have made up: it stores, shows and notes it.
	Add(v *View[T], x *Stored) (*Shown, error)
	// Update changes a thing. put: all required fields have to be there.
	Update(ctx context.Context, st *Standing, id string, b Body, put bool) (*Shown, error)
	// Put stores a thing, and notes nothing.
	Put(v *View[T], x *Stored) error
	// Keep stores and notes what change makes of a thing, in the course of another call.
	Keep(v *View[T], x *Stored, change func()) error
	// Noting notes what work makes of a thing, which work stores.
	Noting(v *View[T], x *Stored, work func() error) error
	// Delete removes a thing.
	Delete(ctx context.Context, st *Standing, id string) error
	// Finder finds things whose Spec says what rules are about. Things that are kept
	// under another kind of path are found by that.
	Finder() Finder
}

// resource is the only Resource.
type resource[T Tx, Stored, Shown any] struct {
	desk *Desk[T]
	spec Spec[T, Stored, Shown]
}

// NewResource panics when a table does not fit Stored.
func NewResource[T Tx, Stored, Shown any](desk *Desk[T], spec Spec[T, Stored, Shown]) Resource[T, Stored, Shown] {
	if spec.Changes == nil {
		spec.Changes = spec.Fields
	}
	for _, f := range []Fields{spec.Fields, spec.Changes} {
		if err := f.fit(reflect.TypeFor[Stored]()); err != nil {
			panic(fmt.Sprintf("management: the resource %s: %v", spec.Kind, err))
		}
	}
	if spec.Parent == nil {
		spec.Parent = (*Standing).Parent
	}
	if spec.Row == nil {
		spec.Row = spec.Show
	}
	spec.Body = spec.naming()
	return &resource[T, Stored, Shown]{desk, spec}
}

func (r *resource[T, Stored, Shown]) List(ctx context.Context, st *Standing, p Page) (List[Shown], error) {
	return r.Query(ctx, st, Query{Offset: p.Offset, Limit: p.Limit})
}

func (r *resource[T, Stored, Shown]) Query(ctx context.Context, st *Standing, q Query) (List[Shown], error) {
	q.Kind, q.Descending = r.spec.Kind, r.spec.Newest
	if q.Parent == "" && q.Other == "" {
		q.Parent = r.spec.Parent(st)
	}
	if r.spec.Thing != nil && st.Ruled() {
		q.Match = r.seen(st, q.Match)
	}
	return Read(ctx, r.desk, func(tx T) (List[Shown], error) {
		list, err := ListRecords[Stored](tx, q)
		if err != nil {
			return List[Shown]{}, err
		}
		return r.Rows(&View[T]{Tx: tx, Standing: st}, list)
	})
}

// seen leaves out of a match what rules hide from the caller.
func (r *resource[T, Stored, Shown]) seen(st *Standing, match func(*Record) bool) func(*Record) bool {
	return func(record *Record) bool {
		x, err := Decode[Stored](record)
		return (err != nil || st.Sees(r.spec.Thing(x))) && (match == nil || match(record))
	}
}

func (r *resource[T, Stored, Shown]) Rows(v *View[T], list List[Stored]) (List[Shown], error) {
	out := List[Shown]{Count: list.Count, Results: make([]Shown, 0, len(list.Results))}
	for i := range list.Results {
		shown, err := r.spec.Row(v, &list.Results[i])
		if err != nil {
			return List[Shown]{}, err
		}
		out.Results = append(out.Results, *shown)
	}
	return out, nil
}

func (r *resource[T, Stored, Shown]) Get(ctx context.Context, st *Standing, id string) (*Shown, error) {
	return Of(ctx, r, st, id, r.spec.Show)
}

// Of reads something of one thing.
func Of[Out any, T Tx, Stored, Shown any](ctx context.Context, of Resource[T, Stored, Shown], st *Standing, id string, read func(v *View[T], x *Stored) (Out, error)) (Out, error) {
	r := of.(*resource[T, Stored, Shown])
	return Read(ctx, r.desk, func(tx T) (out Out, err error) {
		v := &View[T]{Tx: tx, Standing: st}
		x, err := r.Load(v, id)
		if err == nil {
			err = r.needs(v, Viewer, x)
		}
		if err != nil {
			return out, err
		}
		return read(v, x)
	})
}

// needs refuses a caller who may do less with a thing.
func (r *resource[T, Stored, Shown]) needs(v *View[T], level AccessLevel, x *Stored) error {
	if r.spec.Thing == nil {
		return nil
	}
	return v.Needs(level, r.spec.Thing(x))
}

func (r *resource[T, Stored, Shown]) Load(v *View[T], id string) (*Stored, error) {
	return r.load(v, id, nil)
}

func (r *resource[T, Stored, Shown]) load(v *View[T], id string, change *Body) (x *Stored, err error) {
	if r.spec.Load != nil {
		x, err = r.spec.Load(v, id, change)
	} else if uuid, ok := NormalUUID(id); ok {
		x, err = LoadRecord[Stored](v.Tx, r.spec.Kind, r.spec.Parent(v.Standing), uuid)
	}
	if err == nil && x == nil {
		err = ErrNotFound()
	}
	return x, err
}

// LoadRecord returns what a record says that is not hidden, nil when there is none.
func LoadRecord[Stored any](tx Tx, kind, parent, id string) (*Stored, error) {
	record, err := tx.Get(kind, parent, id)
	if err != nil || record == nil || record.Hidden {
		return nil, err
	}
	return Decode[Stored](record)
}

func (r *resource[T, Stored, Shown]) Writable(v *View[T], id string) (*Stored, error) {
	return r.writable(v, id, nil)
}

func (r *resource[T, Stored, Shown]) writable(v *View[T], id string, change *Body) (*Stored, error) {
	x, err := r.load(v, id, change)
	if err == nil {
		err = r.needs(v, Editor, x)
	}
	if err == nil && r.spec.May != nil {
		err = r.spec.May(v, x)
	}
	return x, err
}

// loadForChange is writable, which also tells how the thing is noted.
func (r *resource[T, Stored, Shown]) loadForChange(v *View[T], id string, change *Body) (x *Stored, noted any, err error) {
	if x, err = r.writable(v, id, change); err == nil {
		noted, err = r.noted(v, x)
	}
	return x, noted, err
}

// write runs work in a transaction, in the name of who may write.
func write[Out any, T Tx, Stored, Shown any](ctx context.Context, r *resource[T, Stored, Shown], st *Standing, work func(v *View[T]) (Out, error)) (out Out, err error) {
	if r.spec.Admins && !st.Admin() {
		return out, Denied(MsgLevel)
	}
	return Write(ctx, r.desk, func(tx T) (Out, error) { return work(&View[T]{Tx: tx, Standing: st}) })
}

func (r *resource[T, Stored, Shown]) Create(ctx context.Context, st *Standing, b Body) (*Shown, error) {
	return write(ctx, r, st, func(v *View[T]) (*Shown, error) {
		if err := does(r.spec.Body, &b); err != nil {
			return nil, err
		}
		values, err := r.spec.Fields.Create(b)
		if err != nil {
			return nil, err
		}
		return r.make(&Edit[T, Stored]{View: v, Values: values, Body: &b})
	})
}

func (r *resource[T, Stored, Shown]) Make(v *View[T], values Values) (shown *Shown, err error) {
	return r.make(&Edit[T, Stored]{View: v, Values: values})
}

func (r *resource[T, Stored, Shown]) make(e *Edit[T, Stored]) (_ *Shown, err error) {
	e.Fresh, e.Now = true, new(Stored)
	if r.spec.New != nil {
		if e.Now, err = r.spec.New(e.View); err != nil {
			return nil, err
		}
	}
	e.Was = *e.Now
	r.spec.Fields.Lay(e.Values, e.Now)
	if err := does(r.spec.Rules, e); err != nil {
		return nil, err
	}
	return r.finish(e, nil)
}

func (r *resource[T, Stored, Shown]) Update(ctx context.Context, st *Standing, id string, b Body, put bool) (*Shown, error) {
	return r.act(ctx, st, id, &b, func(e *Edit[T, Stored]) (err error) {
		if err := does(r.spec.Body, &b); err != nil {
			return err
		}
		if e.Values, err = r.spec.Changes.Update(b, put); err != nil {
			return err
		}
		r.spec.Changes.Lay(e.Values, e.Now)
		return does(r.spec.Rules, e)
	})
}

// Act does something else with one thing than Update: it stores, shows and notes what
// work makes of it.
func Act[T Tx, Stored, Shown any](ctx context.Context, on Resource[T, Stored, Shown], st *Standing, id string, work func(e *Edit[T, Stored]) error) (*Shown, error) {
	return on.(*resource[T, Stored, Shown]).act(ctx, st, id, nil, work)
}

func (r *resource[T, Stored, Shown]) act(ctx context.Context, st *Standing, id string, b *Body, work func(e *Edit[T, Stored]) error) (*Shown, error) {
	return write(ctx, r, st, func(v *View[T]) (*Shown, error) {
		x, before, err := r.loadForChange(v, id, b)
		if err != nil {
			return nil, err
		}
		e := &Edit[T, Stored]{View: v, Was: *x, Now: x, Body: b}
		if err := work(e); err != nil {
			return nil, err
		}
		return r.finish(e, before)
	})
}

// finish stores, shows and notes a thing. before is what the log knows of it, nil for a
// new one.
func (r *resource[T, Stored, Shown]) finish(e *Edit[T, Stored], before any) (*Shown, error) {
	if e.Fresh && r.spec.Thing != nil {
		if err := e.Needs(Editor, Thing{Kind: r.spec.Thing(e.Now).Kind}); err != nil {
			return nil, err
		}
	}
	if err := r.put(e.View, e.Now, e.Fresh); err != nil {
		return nil, err
	}
	if err := does(r.spec.Done, e); err != nil {
		return nil, err
	}
	shown, err := r.spec.Show(e.View, e.Now)
	if err != nil {
		return nil, err
	}
	after := any(shown)
	if r.spec.Noted != nil && r.spec.Scope != "" {
		after = r.spec.Noted(e.Now)
	}
	return shown, r.note(e.View, e.Now, before, after)
}

func does[E any](rule func(E) error, e E) error {
	if rule == nil {
		return nil
	}
	return rule(e)
}

func (r *resource[T, Stored, Shown]) Put(v *View[T], x *Stored) error { return r.put(v, x, false) }

func (r *resource[T, Stored, Shown]) put(v *View[T], x *Stored, fresh bool) (err error) {
	if r.spec.Put != nil {
		err = r.spec.Put(v, x)
	} else {
		p := r.place(v, x)
		err = v.Tx.Put(&Record{
			Kind: r.spec.Kind, Parent: p.Parent, ID: p.ID, Other: p.Other, Sort: p.Sort, Unique: p.Unique, Hidden: p.Hidden, Data: Encode(x),
		})
	}
	if errors.Is(err, ErrTaken) && r.spec.Taken != nil {
		err = r.spec.Taken(fresh)
	}
	return err
}

func (r *resource[T, Stored, Shown]) place(v *View[T], x *Stored) Place {
	p := r.spec.Place(v.Standing, x)
	if p.Parent == "" {
		p.Parent = r.spec.Parent(v.Standing)
	}
	return p
}

// noted is a thing as the log compares it, as JSON: what it is made of may change.
func (r *resource[T, Stored, Shown]) noted(v *View[T], x *Stored) (any, error) {
	if r.spec.Scope == "" {
		return nil, nil
	}
	if r.spec.Noted != nil {
		return Encode(r.spec.Noted(x)), nil
	}
	shown, err := r.spec.Show(v, x)
	return Encode(shown), err
}

func (r *resource[T, Stored, Shown]) note(v *View[T], x *Stored, before, after any) error {
	if r.spec.Scope == "" {
		return nil
	}
	p := r.place(v, x)
	if p.Parent == "" {
		return nil
	}
	return r.desk.Note(v.Tx, v.Caller, p.Parent, r.spec.Scope, p.ID, p.Title, before, after)
}

func (r *resource[T, Stored, Shown]) Add(v *View[T], x *Stored) (*Shown, error) {
	return r.finish(&Edit[T, Stored]{View: v, Fresh: true, Was: *x, Now: x}, nil)
}

func (r *resource[T, Stored, Shown]) Keep(v *View[T], x *Stored, change func()) error {
	return r.Noting(v, x, func() error { change(); return r.put(v, x, false) })
}

func (r *resource[T, Stored, Shown]) Noting(v *View[T], x *Stored, work func() error) error {
	before, err := r.noted(v, x)
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	after, err := r.noted(v, x)
	if err != nil {
		return err
	}
	return r.note(v, x, before, after)
}

func (r *resource[T, Stored, Shown]) Delete(ctx context.Context, st *Standing, id string) error {
	_, err := write(ctx, r, st, func(v *View[T]) (*Stored, error) {
		x, before, err := r.loadForChange(v, id, nil)
		if err != nil {
			return nil, err
		}
		e := &Edit[T, Stored]{View: v, Now: x, Was: *x}
		if err := does(r.spec.Leave, e); err != nil {
			return nil, err
		}
		if err := r.drop(v, x); err != nil {
			return nil, err
		}
		if err := does(r.spec.Done, e); err != nil {
			return nil, err
		}
		return nil, r.note(v, x, before, nil)
	})
	return err
}

func (r *resource[T, Stored, Shown]) drop(v *View[T], x *Stored) error {
	if r.spec.Drop != nil {
		return r.spec.Drop(v, x)
	}
	p := r.place(v, x)
	if p.Hidden {
		return r.put(v, x, false)
	}
	return v.Tx.Delete(r.spec.Kind, p.Parent, p.ID)
}
