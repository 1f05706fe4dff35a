package flags

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/internal/tape"
	"github.com/bunting-flags/bunting/flags/wire"
)

// maxUnknownKeys limits the misspelt members, and likewise the other unknown members, that
// [UnknownKeys] returns.
const maxUnknownKeys = 100

// Part is a kind of document that [UnknownKeys] checks.
type Part uint8

// The kinds of documents.
const (
	// FilePart is a definitions file, a definitions payload, or a document of flags as code.
	FilePart Part = iota
	// FlagPart is the record of a flag, or the request body that changes one.
	FlagPart
	// FiltersPart is the filters of a flag; paths start with "filters".
	FiltersPart
	// CohortPart is the record of a cohort, or its bare tree.
	CohortPart
)

// UnknownKeys returns the members of a JSON document that are not used, sorted by path,
// misspelt ones first. A misspelt member is within two edits of a valid member that is itself
// absent (of one with two or three letters: one edit). It has a Suggestion and a Code, and
// makes its flag or cohort fail (decision 30). All other unknown members are preserved and
// have no effect. At most 100 of each kind are returned. The result is nil if document is not
// JSON.
func UnknownKeys(part Part, document []byte) []*DefinitionError {
	root, err := open(document)
	if err != nil {
		return nil
	}
	s := projectShape
	switch part {
	case FilePart:
		if root.has(nProjects) {
			s = fileShape
		}
	case FlagPart:
		s = flagShape
	case FiltersPart:
		root.t.root, s = "filters", filtersShape
	case CohortPart:
		s = cohortOrTree(root)
	}
	w := &keyWalk{limit: maxUnknownKeys}
	w.object(root, s, 0)
	slices.SortStableFunc(w.misspelt, byPlace)
	slices.SortStableFunc(w.unknown, byPlace)
	return append(w.misspelt, w.unknown...)
}

// failUnknown fails if an object, or an object within it, has a misspelt member.
func (n node) failUnknown(s *shape) { (&keyWalk{limit: maxUnknownKeys, faultsOnly: true}).fail(n, s) }

// failUnknownHere fails if the object itself has a misspelt member.
func (n node) failUnknownHere(s *shape) {
	(&keyWalk{limit: maxUnknownKeys, faultsOnly: true, shallow: true}).fail(n, s)
}

// fail fails with the first misspelt member by path.
func (w *keyWalk) fail(n node, s *shape) {
	if w.object(n, s, 0); w.misspelt != nil {
		panic(fault{err: slices.MinFunc(w.misspelt, byPlace)})
	}
}

func byPlace(a, b *DefinitionError) int { return cmp.Compare(a.Path, b.Path) }

// keyWalk searches definitions for members that are not used.
type keyWalk struct {
	// limit is the maximum number of members of each kind.
	limit             int
	faultsOnly        bool // ignore unknown members that are not misspelt
	shallow           bool // do not check nested objects
	misspelt, unknown []*DefinitionError
	flag              node // the record that contains the current object, if any
	code              ReasonCode
}

// object checks one object. Values that are not objects are faults for the parser.
func (w *keyWalk) object(n node, s *shape, depth int) {
	if n.kind() != tape.Object || s == nil || depth > cohortDepth || len(w.misspelt) >= w.limit {
		return
	}
	if s == flagShape || s == cohortShape || s == treeShape {
		defer func(flag node, code ReasonCode) { w.flag, w.code = flag, code }(w.flag, w.code)
	}
	switch s {
	case flagShape:
		w.flag, w.code = n, FlagDataParsingError
	case cohortShape, treeShape:
		if w.flag.t == nil {
			w.code = CohortFiltersParsingError
		}
	}
	var last *lastCells
	if n.end()-n.i > fewCells {
		last = lastOfNames(n)
	}
	for i, end := n.i+1, n.end(); i < end; i = n.t.Cells[i].Next {
		v := n.cell(i)
		m := s.byName[n.t.Cells[i].Name]
		switch {
		case m == nil || m.obsolete && !v.null():
			if last == nil {
				last = lastOfNames(n)
			}
			w.addUnknown(n, s, last, i)
		case m.shape != nil && !v.null() && !w.shallow && n.isLast(i, last):
			w.member(v, m, depth+1)
		}
	}
}

// fewCells is the size of an object up to which a linear search for each member is fast
// enough.
const fewCells = 512

// lastCells are the cells of an object's last members by the numbers of their names, 0 for
// absent members.
type lastCells [math.MaxUint8 + 1]int32

// lastOfNames finds the last member of each name.
func lastOfNames(n node) *lastCells {
	var last lastCells
	for i, end := n.i+1, n.end(); i < end; i = n.t.Cells[i].Next {
		last[n.t.Cells[i].Name] = i
	}
	return &last
}

// isLast reports whether no later member has the same name as the one at i and would replace
// it. last may be nil.
func (n node) isLast(i int32, last *lastCells) bool {
	cells := n.t.Cells
	if last != nil {
		return last[cells[i].Name] == i
	}
	for other, end := cells[i].Next, n.end(); other < end; other = cells[other].Next {
		if cells[other].Name == cells[i].Name {
			return false
		}
	}
	return true
}

// member checks the value of a member.
func (w *keyWalk) member(n node, m *member, depth int) {
	switch {
	case n.kind() == tape.List && m.list:
		for list := n.list(); list.next(); {
			w.object(list.node, m.shape(list.node), depth)
		}
	case n.kind() == tape.Object && !m.each:
		w.object(n, m.shape(n), depth)
	case n.kind() == tape.Object:
		for _, e := range n.entries() {
			w.object(e.node, m.shape(e.node), depth)
		}
	}
}

// addUnknown records an unknown member.
func (w *keyWalk) addUnknown(n node, s *shape, last *lastCells, i int32) {
	if len(w.misspelt) >= w.limit || n.t.Cells[i].Name != 0 && !n.isLast(i, last) {
		return
	}
	name := n.t.NameOf(i)
	e := &DefinitionError{Suggestion: s.nearestMember(last, name)}
	list := &w.misspelt
	if e.Suggestion == "" {
		list = &w.unknown
	}
	if len(*list) >= w.limit || e.Suggestion == "" && w.faultsOnly {
		return
	}
	e.Path = n.path()
	if e.Path != "" {
		e.Path += "."
	}
	e.Path += plainName(name)
	e.Problem = "is not a member of " + s.what + " and does nothing"
	if e.Suggestion != "" {
		e.Code = cmp.Or(w.code, FlagDataParsingError)
		e.Problem = "is not a member of " + s.what + `, "` + e.Suggestion + `" is most likely meant`
	}
	if w.flag.t != nil {
		_ = read(func() { e.Flag = strings.Clone(w.flag.at(nKey).textOrEmpty()) })
		_ = read(func() { e.FlagID = w.flag.at(nID).intOrZero() })
	}
	if n.t.Cells[i].Name != 0 || !slices.ContainsFunc(*list, func(other *DefinitionError) bool { return other.Path == e.Path }) {
		*list = append(*list, e)
	}
}

// plainName returns a member's name for a path: short, in ASCII, and on one line.
func plainName(name string) string {
	if len(name) <= 64 && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$-") == "" {
		return strings.Clone(name)
	}
	return strconv.QuoteToASCII(wire.Shorten(name, 64))
}

// nearestMember returns the member that a misspelt name most likely means, or "".
func (s *shape) nearestMember(last *lastCells, misspelt string) (best string) {
	lower, least := strings.ToLower(misspelt), maxEdits+1
	for name, m := range s.members {
		d := edits(lower, name)
		if m.inert || d > maxEdits || 2*d > len(name) || last[recordNames.Number(name)] != 0 {
			continue
		}
		if d < least || d == least && name < best {
			best, least = name, d
		}
	}
	return best
}

// maxEdits is the maximum number of edits of a misspelt name: letters left out, added or
// replaced, and adjacent letters swapped.
const maxEdits = 2

// edits returns the number of edits between two names, or maxEdits+1 if there are more.
func edits(a, b string) int {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > maxEdits {
		return maxEdits + 1
	}
	// Rows of the table of distances between prefixes: the previous two and the current one.
	var space [3][64]int
	if len(b) >= len(space[0]) {
		return maxEdits + 1
	}
	before, last, row := space[0][:], space[1][:], space[2][:]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > maxEdits {
			return maxEdits + 1
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// Nearest returns the element of names that a misspelt name most likely means: the one with
// the fewest edits, at most two and at most half of its length. It returns "" if no element
// is that similar. Case is ignored. For a name of more than 63 bytes it returns "".
func Nearest(name string, names []string) (best string) {
	lower, least := strings.ToLower(name), maxEdits+1
	for _, k := range names {
		d := edits(lower, strings.ToLower(k))
		if d > maxEdits || 2*d > len(k) {
			continue
		}
		if d < least || d == least && k < best {
			best, least = k, d
		}
	}
	return best
}
