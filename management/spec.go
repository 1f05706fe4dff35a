package management

// Spec says what a resource is: its table of fields, where its things stand, and the
// rules that are its own. Show is required, Kind and Place where things are records or
// noted, Fields where they are made or changed. T is the transaction of the
// room, Stored a thing as it is kept, Out as it is answered.
type Spec[T Tx, Stored, Out any] struct {
	// Kind is Record.Kind. Scope is what the log calls a thing: empty, changes are not
	// noted.
	Kind, ActivityScope string
	// Fields are what a new thing is made of, Changes what can be changed of it: Fields
	// when nil.
	Fields, Changes Fields
	// AdminsOnly: only administrators of the organization may write.
	AdminsOnly bool
	// ObjectName is what a thing is called, such as "an insight", where members of bodies that
	// nobody knows are named: a misspelt one is refused. Empty: they are ignored.
	ObjectName string
	// Body looks at a body before it is read, nil: nothing does.
	Body func(b *Body) error
	// NewestFirst: lists begin with the highest Sort.
	NewestFirst bool

	// Parent is where things belong whose Place does not say, nil: Standing.Parent.
	Parent func(scope *Scope) string
	// Header is where a thing stands, and what the log calls it.
	Header func(scope *Scope, x *Stored) RecordHeader
	// Load finds what a path names, nil for none. change is the body, nil for who only
	// reads or removes. Nil: it finds the record of a uuid that is not hidden.
	Load func(v *View[T], id string, change *Body) (*Stored, error)
	// AuthorizeChange refuses who may not change or remove a thing, nil: everybody may.
	AuthorizeChange func(v *View[T], x *Stored) error
	// New is a thing before a body is laid over it. Nil: the zero value.
	New func(v *View[T]) (*Stored, error)
	// Rules look at a thing that the body was laid over, and do what goes with it.
	Rules func(e *Edit[T, Stored]) error
	// BeforeDelete does what goes with a thing that is to be removed, before it is. A thing
	// that is hidden then is kept.
	BeforeDelete func(e *Edit[T, Stored]) error
	// Put stores a thing, nil: as a record. Drop takes it away.
	Put, Delete func(v *View[T], x *Stored) error
	// OnDuplicate is the error where the Unique text is another one's.
	OnDuplicate func(isNew bool) error
	// AfterSave does what follows once a thing is stored or gone.
	AfterSave func(e *Edit[T, Stored]) error
	// Show is a thing as it is answered, Row as it is in lists: as Show when nil.
	Show, Row func(v *View[T], x *Stored) (*Out, error)
	// Object is what access rules are about, nil: there are none about such things. Who
	// makes one needs to edit the kind, lists leave out what the caller may not see.
	Object func(x *Stored) AccessObject
	// Audit is what the log compares, nil: the Out.
	Audit func(x *Stored) any
}

// RecordHeader is where a thing stands. Parent is that of the Spec when empty, and without one
// nothing is noted; the members from Other on are those of Record.
type RecordHeader struct {
	Parent, ID, Title   string
	Other, Sort, Unique string
	Hidden              bool
}

// View is a transaction and in whose name it runs; that is nil for who is not let in.
type View[T Tx] struct {
	Tx T
	*Scope
	users map[int64]*UserView
}

// Author is the user of a number inside of an answer, nil for nobody. Who is not let in
// is told of nobody.
func (v *View[T]) Author(id int64) (*UserView, error) {
	if v.Scope == nil {
		return nil, nil
	}
	cached, ok := v.users[id]
	if ok {
		return cached, nil
	}
	u, err := viewOfUser(v.Tx, id)
	if v.users == nil {
		v.users = map[int64]*UserView{}
	}
	v.users[id] = u
	return u, err
}

// Edit is one call that makes, changes or removes a thing.
type Edit[T Tx, Stored any] struct {
	*View[T]
	// IsNew: Now is being made. Was is Now before the body was laid over it.
	IsNew  bool
	Before Stored
	After  *Stored
	// Values are what Fields have read of the Body, the Ruled ones too.
	Values Values
	// Body is nil of what no body makes or changes.
	Body *Body
}
