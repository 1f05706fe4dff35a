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

// maxIgnored is how many members that nothing reads are named.
const maxIgnored = 10

// maxName is how many characters of a member's name are told.
const maxName = 100

// memberTracker notes which members of which objects of a query were looked for.
type memberTracker struct {
	what     string          // such an object
	known    map[string]bool // members that are not misspelt though nothing reads them
	objects  []*trackedObject
	byObject map[uintptr]*trackedObject // by the object
}

type trackedObject struct {
	attr  string
	value map[string]any
	names map[string]bool
}

func newMemberTracker() *memberTracker {
	return &memberTracker{what: aQuery, known: postHogMembers, byObject: map[uintptr]*trackedObject{}}
}

// track says that a member of an object was looked for, whether it is there or not.
func (l *memberTracker) track(object map[string]any, attr, name string) {
	if l == nil || object == nil {
		return
	}
	pointer := reflect.ValueOf(object).Pointer()
	o := l.byObject[pointer]
	if o == nil {
		o = &trackedObject{attr: attr, value: object, names: map[string]bool{}}
		l.byObject[pointer], l.objects = o, append(l.objects, o)
	}
	o.names[name] = true
}

// eachIgnored are the members that were not looked for, of objects of which others were.
func (l *memberTracker) eachIgnored(yield func(o *trackedObject, name string)) {
	for _, o := range l.objects {
		for _, name := range slices.Sorted(maps.Keys(o.value)) {
			if !o.names[name] {
				yield(o, name)
			}
		}
	}
}

// findMisspelled is the first fault of a member that was most likely meant to be one that was
// looked for and is not there; nil for none.
func (l *memberTracker) findMisspelled() (fault *Error) {
	l.eachIgnored(func(o *trackedObject, name string) {
		if fault != nil || l.known[name] || isAppearance(name) {
			return
		}
		var absent []string
		for expected := range o.names {
			if _, exists := o.value[expected]; !exists {
				absent = append(absent, expected)
			}
		}
		if nearest := flags.Nearest(name, absent); nearest != "" {
			attr := o.attr + "__" + wire.Shorten(name, maxName)
			fault = newError(unknownKey, attr, "%s is not a member of %s, %q is most likely meant.", dotPath(attr), l.what, nearest)
		}
	})
	return fault
}

// listIgnored names the members that have no effect, but for those that only say how an answer
// is shown.
func (l *memberTracker) listIgnored() (all []string) {
	l.eachIgnored(func(o *trackedObject, name string) {
		if isAppearance(name) || len(all) == maxIgnored {
			return
		}
		attr := dotPath(o.attr + "__" + wire.Shorten(name, maxName))
		if l.known[name] {
			all = append(all, attr+" is not supported and has no effect")
		} else {
			all = append(all, attr+" is not known and has no effect")
		}
	})
	return all
}

// dotPath writes the place query__series__0__math as query.series[0].math.
func dotPath(attr string) string {
	var b strings.Builder
	for i, part := range strings.Split(attr, "__") {
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
