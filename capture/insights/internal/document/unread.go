package document

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// This file finds members of a query, or of a part of one, that no parser reads. A misspelled
// member is an error, since a query without one of its filters would have another result. Other
// members are listed as ignored.

// unknownKey is the error code of a misspelled member.
const unknownKey = "unknown_key"

// The names of objects in error messages: those of queries, and of filters.
const (
	AQuery   = "a query's object"
	AFilters = "filters"
)

// maxIgnored is the maximum number of ignored members that are listed.
const maxIgnored = 10

// maxName is the maximum number of characters of a member's name in messages.
const maxName = 100

// Tracker records which members of a query's objects the parsers read.
type Tracker struct {
	// What is the name of such an object in error messages.
	What string
	// Known are names of members that are not misspelled, although no parser reads them here.
	Known map[string]bool
	// Objects are in the order in which the parsers first read them.
	Objects []*trackedObject
	// byObject has the objects by the pointer of the map, since maps cannot be compared.
	byObject map[uintptr]*trackedObject
}

// trackedObject is an object of the query, with the names of the members that were read.
type trackedObject struct {
	attr  string
	value map[string]any
	names map[string]bool
}

// newMemberTracker returns a tracker for a query.
func newMemberTracker() *Tracker {
	return &Tracker{What: AQuery, Known: postHogMembers, byObject: map[uintptr]*trackedObject{}}
}

// track records that a member of an object was read, whether or not it exists. A nil tracker does
// nothing.
func (l *Tracker) track(object map[string]any, attr, name string) {
	if l == nil || object == nil {
		return
	}
	// The same object may be read through different nodes.
	pointer := reflect.ValueOf(object).Pointer()
	o := l.byObject[pointer]
	if o == nil {
		o = &trackedObject{attr: attr, value: object, names: map[string]bool{}}
		l.byObject[pointer], l.Objects = o, append(l.Objects, o)
	}
	o.names[name] = true
}

// eachIgnored calls yield for members that were not read. It covers only objects of which some
// member was read.
func (l *Tracker) eachIgnored(yield func(o *trackedObject, name string)) {
	for _, o := range l.Objects {
		for _, name := range slices.Sorted(maps.Keys(o.value)) {
			if !o.names[name] {
				yield(o, name)
			}
		}
	}
}

// FindMisspelled returns an error about the first member whose name is similar to that of an absent
// member that a parser has read. It returns nil if there is no such member.
func (l *Tracker) FindMisspelled() (fault *port.Error) {
	l.eachIgnored(func(o *trackedObject, name string) {
		if fault != nil || l.Known[name] || isAppearance(name) {
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
			fault = NewFault(unknownKey, attr, "%s is not a member of %s, %q is most likely meant.", dotPath(attr), l.What, nearest)
		}
	})
	return fault
}

// ListIgnored returns a line for each member that has no effect, except for members that only
// affect how a result is displayed.
func (l *Tracker) ListIgnored() (all []string) {
	l.eachIgnored(func(o *trackedObject, name string) {
		if isAppearance(name) || len(all) == maxIgnored {
			return
		}
		attr := dotPath(o.attr + "__" + wire.Shorten(name, maxName))
		if l.Known[name] {
			all = append(all, attr+" is not supported and has no effect")
		} else {
			all = append(all, attr+" is unknown and has no effect")
		}
	})
	return all
}

// dotPath converts a place such as query__series__0__math to query.series[0].math.
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
