package resource

import (
	"maps"
	"reflect"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// Spec describes a resource: its table of fields, the records of its objects, and its own rules.
// Show is always required, Kind and Header if objects are stored as records or logged, Fields if
// they are created or changed. T is the transaction of the resource's package, Stored the stored
// form of an object, Out its form in responses. Functions may be nil if their comment names a
// default or if there is no such rule.
type Spec[T management.Tx, Stored, Out any] struct {
	// Kind is the Record.Kind. ActivityScope is the Activity.Scope in the log; if it is empty,
	// changes are not logged.
	Kind, ActivityScope string
	// Fields are those of the body that creates an object, Changes those of the body that changes
	// one. If Changes is nil, it is Fields.
	Fields, Changes management.Fields
	// AdminsOnly restricts writing to administrators of the organization.
	AdminsOnly bool
	// ObjectName is the noun for an object in messages about unknown members of bodies, such as "an
	// insight"; misspelt members are then errors. If it is empty, unknown members are ignored.
	ObjectName string
	// Body checks a body before its fields are read.
	Body func(b *management.Body) error
	// NewestFirst sorts lists by descending Sort.
	NewestFirst bool
	// All returns the objects of List, in their order. If nil, they are the records under Parent.
	All func(v *View[T]) ([]Stored, error)

	// Parent returns the Record.Parent of objects whose Header has none. If nil, it is
	// Scope.Parent.
	Parent func(scope *management.Scope) string
	// Header returns the header of the object's record, and its title in the log.
	Header func(scope *management.Scope, x *Stored) RecordHeader
	// Title returns an object's title in the log if it is that of other records. If nil, it is that of
	// Header.
	Title func(v *View[T], x *Stored) (string, error)
	// Load returns the object that a path names, or nil if there is none. change is the body that
	// changes the object, nil when the object is read or deleted. If Load is nil, id must be the
	// UUID of a record that is not hidden.
	Load func(v *View[T], id string, change *management.Body) (*Stored, error)
	// AuthorizeCreate returns an error if the caller may not create an object, before the body is
	// checked. AuthorizeChange returns one if the caller may not change or delete an object.
	AuthorizeCreate func(v *View[T]) error
	AuthorizeChange func(v *View[T], x *Stored) error
	// New returns a new object before the body's values are applied. If nil, it is the zero value.
	New func(v *View[T]) (*Stored, error)
	// Rules check an object after the body's values were applied, set what depends on them, and
	// write related objects.
	Rules func(e *Edit[T, Stored]) error
	// BeforeDelete checks the deletion of an object and deletes what belongs to it. If it marks the
	// object as hidden, the record is stored instead of deleted.
	BeforeDelete func(e *Edit[T, Stored]) error
	// Put stores an object and Delete deletes it. If nil, the object is a record.
	Put, Delete func(v *View[T], x *Stored) error
	// OnDuplicate returns the error for an object with the Unique string of another one.
	OnDuplicate func(isNew bool) error
	// AfterSave runs after an object was stored or deleted, in the same transaction.
	AfterSave func(e *Edit[T, Stored]) error
	// Show returns the form of an object in responses, and Row that in lists. If Row is nil, it is
	// Show.
	Show, Row func(v *View[T], x *Stored) (*Out, error)
	// Object returns the object for access rules. If nil, there are no rules about such objects.
	// Creating one requires Editor access to the kind, and lists omit objects that the caller may
	// not view.
	Object func(x *Stored) management.AccessObject
	// Audit returns the form of an object that the log compares. If nil, it is that of Show.
	Audit func(x *Stored) any
}

// RecordHeader has the fields of an object's Record. If Parent is empty, it is that of the Spec; if
// that is empty too, changes are not logged. Title is the object's name in the log.
type RecordHeader struct {
	Parent, ID, Title   string
	Other, Sort, Unique string
	Hidden              bool
}

// View is a transaction with the scope of the caller. Scope is nil for requests without a user.
type View[T management.Tx] struct {
	Tx T
	*management.Scope
	users map[int64]*management.UserView
}

// Author returns the user with a number for a response, or nil if there is none. It returns nil for
// requests without a user, so that they do not disclose names. Users are cached for the View.
func (v *View[T]) Author(id int64) (*management.UserView, error) {
	if v.Scope == nil {
		return nil, nil
	}
	cached, ok := v.users[id]
	if ok {
		return cached, nil
	}
	user, err := management.UserByNumber(v.Tx, id)
	u := user.View()
	if v.users == nil {
		v.users = map[int64]*management.UserView{}
	}
	v.users[id] = u
	return u, err
}

// Edit is one operation that creates, changes or deletes an object.
type Edit[T management.Tx, Stored any] struct {
	*View[T]
	// IsNew reports whether After is being created. Before is the object before the body's values
	// were applied.
	IsNew  bool
	Before Stored
	After  *Stored
	// Values are the values of the body's fields, including Custom fields.
	Values management.Values
	// Body is the request body, nil for operations without one.
	Body *management.Body
}

// bodyCheck returns the check of request bodies: first that for unknown members, if the Spec has an
// ObjectName, and then Spec.Body.
func (s Spec[T, Stored, Out]) bodyCheck() func(b *management.Body) error {
	check := s.Body
	if s.ObjectName == "" {
		return check
	}
	viewMembers, fields := slices.Collect(maps.Keys(membersOf(reflect.TypeFor[Out]()))), slices.Concat(s.Fields, s.Changes)
	return func(b *management.Body) error {
		if err := fields.NameUnknown(b, s.ObjectName, viewMembers...); err != nil {
			return err
		}
		return runRule(check, b)
	}
}

func runRule[E any](rule func(E) error, e E) error {
	if rule == nil {
		return nil
	}
	return rule(e)
}
