package management

// Spec says what a resource is: its table of fields, where its things stand, and the
// rules that are its own. Show is required, Kind and Place where things are records or
// noted, Fields where they are made or changed. T is the transaction of the
// room, Stored a thing as it is kept, Shown as it is answered.
type Spec[T Tx, Stored, Shown any] struct {
	// Kind is Record.Kind. Scope is what the log calls a thing: empty, changes are not
	// noted.
	Kind, Scope string
	// Fields are what a new thing is made of, Changes what can be changed of it: Fields
	// when nil.
	Fields, Changes Fields
	// Admins: only administrators of the organization may write.
	Admins bool
	// Named is what a thing is called, such as "an insight", where members of bodies that
	// nobody knows are named: a misspelt one is refused. Empty: they are ignored.
	Named string
	// Body looks at a body before it is read, nil: nothing does.
	Body func(b *Body) error
	// Newest: lists begin with the highest Sort.
	Newest bool

	// Parent is where things belong whose Place does not say, nil: Standing.Parent.
	Parent func(st *Standing) string
	// Place is where a thing stands, and what the log calls it.
	Place func(st *Standing, x *Stored) Place
	// Load finds what a path names, nil for none. change is the body, nil for who only
	// reads or removes. Nil: it finds the record of a uuid that is not hidden.
	Load func(v *View[T], id string, change *Body) (*Stored, error)
	// May refuses who may not change or remove a thing, nil: everybody may.
	May func(v *View[T], x *Stored) error
	// New is a thing before a body is laid over it. Nil: the zero value.
	New func(v *View[T]) (*Stored, error)
	// Rules look at a thing that the body was laid over, and do what goes with it.
	Rules func(e *Edit[T, Stored]) error
	// Leave does what goes with a thing that is to be removed, before it is. A thing
	// that is hidden then is kept.
	Leave func(e *Edit[T, Stored]) error
	// Put stores a thing, nil: as a record. Drop takes it away.
	Put, Drop func(v *View[T], x *Stored) error
	// Taken is the error where the Unique text is another one's.
	Taken func(fresh bool) error
	// Done does what follows once a thing is stored or gone.
	Done func(e *Edit[T, Stored]) error
	// Show is a thing as it is answered, Row as it is in lists: as Show when nil.
	Show, Row func(v *View[T], x *Stored) (*Shown, error)
	// Thing is what access rules are about, nil: there are none about such things. Who
	// makes one needs to edit the kind, lists leave out what the caller may not see.
	Thing func(x *Stored) Thing
	// Noted is what the log compares, nil: the Shown.
	Noted func(x *Stored) any
}

// Place is where a thing stands. Parent is that of the Spec when empty, and without one
// nothing is noted; the members from Other on are those of Record.
type Place struct {
	Parent, ID, Title   string
	Other, Sort, Unique string
	Hidden              bool
}

// View is a transaction and in whose name it runs; that is nil for who is not let in.
type View[T Tx] struct {
	Tx T
	*Standing
	users map[int64]*UserView
}

// Author is the user of a number inside of an answer, nil for nobody. Who is not let in
// is told of nobody.
func (v *View[T]) Author(id int64) (*UserView, error) {
	if v.Standing == nil {
		return nil, nil
	}
	known, ok := v.users[id]
	if ok {
		return known, nil
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
	// Fresh: Now is being made. Was is Now before the body was laid over it.
	Fresh bool
	Was   Stored
	Now   *Stored
	// Values are what Fields have read of the Body, the Ruled ones too.
	Values Values
	// Body is nil of what no body makes or changes.
	Body *Body
}
