package hogql

// function is an entry of the table of functions.
//
// The tables in the files fn*.go have one entry for each function of the language, and for
// syntax that is implemented as a function.
type function struct {
	// name is the name in queries. Names that begin with $ implement syntax such as CASE, and
	// cannot be called by queries.
	name string
	// args has a letter for the kind of each argument (see argumentKinds). It may be followed
	// by ? if the argument is optional, * for any number of arguments, or + for at least one.
	args string
	// result returns the type of the result for the types of the arguments. It is nil if
	// special is set.
	result func(args []Type) Type
	// acceptsNulls reports whether the function is called with null arguments. Otherwise its
	// result is null if an argument is.
	acceptsNulls bool
	// nullable reports whether the result may be null although no argument is.
	nullable bool

	// Exactly one of one, two, all and special is set. one and two avoid the slice of
	// arguments.
	one func(*site, Value) Value
	two func(*site, Value, Value) Value
	all func(*site, []Value) Value
	// regexp reports whether the second argument is a regular expression.
	regexp bool
	// special compiles the call itself, including its arguments.
	special func(*compiler, *node) compiled
}

// The following functions compute the types of results.

func constantType(t Type) func([]Type) Type { return func([]Type) Type { return t } }

// likeFirst returns the type of the first argument.
func likeFirst(args []Type) Type { return args[0] }

// likeAll returns a type for the values of all arguments.
func likeAll(args []Type) Type {
	t := args[0]
	for _, a := range args[1:] {
		t = common(t, a)
	}
	return t
}

// numberLikeAll returns the integer type, or the float type if an argument may have a
// fraction.
func numberLikeAll(args []Type) Type {
	for _, a := range args {
		if a.any || a.json || a.kind == Float || a.kind == Null {
			return floatType
		}
	}
	return IntType
}

// listOfFirst returns the type of lists of the first argument.
func listOfFirst(args []Type) Type { return args[0].plain().ListOf() }

// likeMoment returns the date type if a date is moved by days or longer units, and a time
// type otherwise.
func likeMoment(args []Type) Type {
	if args[0].kind == Date && !args[1].clock {
		return dateType
	}
	return timeLike(args)
}

// timeLike returns the type of a time in the zone of the argument.
func timeLike(args []Type) Type {
	t := TimeType
	t.nullable = args[0].kind == Text
	if args[0].kind == Time {
		t.zone = args[0].zone
	}
	return t
}
