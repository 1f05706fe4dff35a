package insights

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// This file finds the members of a query, or of a piece of one, that nothing reads: a
// misspelt one is refused, since a question without its filter has another answer; others
// are named.

// unknownKey is the code of a member that is misspelt.
const unknownKey = "unknown_key"

// What an error calls one of the objects of a query, and of filters.
const (
	aQuery   = "a query's object"
	aFilters = "filters"
)

// maxUnread is how many members that nothing reads are named.
const maxUnread = 10

// maxName is how many characters of a member's name are told.
const maxName = 100

// looks notes which members of which objects of a query were looked for.
type looks struct {
	what    string          // such an object
	known   map[string]bool // members that are not misspelt though nothing reads them
	objects []*look
	of      map[uintptr]*look // by the object
}

type look struct {
	place string
	value map[string]any
	names map[string]bool
}

func newLooks() *looks {
	return &looks{what: aQuery, known: knownMembers, of: map[uintptr]*look{}}
}

// note says that a member of an object was looked for, whether it is there or not.
func (l *looks) note(object map[string]any, place, name string) {
	if l == nil || object == nil {
		return
	}
	at := reflect.ValueOf(object).Pointer()
	o := l.of[at]
	if o == nil {
		o = &look{place: place, value: object, names: map[string]bool{}}
		l.of[at], l.objects = o, append(l.objects, o)
	}
	o.names[name] = true
}

// ignored are the members that were not looked for, of objects of which others were.
func (l *looks) ignored(see func(o *look, name string)) {
	for _, o := range l.objects {
		for _, name := range slices.Sorted(maps.Keys(o.value)) {
			if !o.names[name] {
				see(o, name)
			}
		}
	}
}

// misspelt is the first fault of a member that was most likely meant to be one that was
// looked for and is not there; nil for none.
func (l *looks) misspelt() (fault *Error) {
	l.ignored(func(o *look, name string) {
		if fault != nil || l.known[name] || isAppearance(name) {
			return
		}
		var absent []string
		for wanted := range o.names {
			if _, there := o.value[wanted]; !there {
				absent = append(absent, wanted)
			}
		}
		if meant := flags.Nearest(name, absent); meant != "" {
			place := o.place + "__" + wire.Shorten(name, maxName)
			fault = failure(unknownKey, place, "%s is not a member of %s, %q is most likely meant.", dotted(place), l.what, meant)
		}
	})
	return fault
}

// unread names the members that have no effect, but for those that only say how an answer
// is shown.
func (l *looks) unread() (all []string) {
	l.ignored(func(o *look, name string) {
		if isAppearance(name) || len(all) == maxUnread {
			return
		}
		place := dotted(o.place + "__" + wire.Shorten(name, maxName))
		if l.known[name] {
			all = append(all, place+" is not supported and has no effect")
		} else {
			all = append(all, place+" is not known and has no effect")
		}
	})
	return all
}

// dotted writes the place query__series__0__math as query.series[0].math.
func dotted(place string) string {
	var b strings.Builder
	for i, part := range strings.Split(place, "__") {
		switch {
		case part != "" && strings.Trim(part, "0123456789") == "":
			b.WriteString("[" + part + "]")
		case i > 0:
			b.WriteString("." + part)
		default:
			b.WriteString(part)
		}
	}
	return b.String()
}
