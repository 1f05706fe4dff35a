package flags

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// MaxUnknownKeys is how many misspelt members, and how many others, [UnknownKeys]
// names at most.
const MaxUnknownKeys = 100

// Part is a piece of definitions that [UnknownKeys] can look at.
type Part uint8

// The parts.
const (
	// FilePart is a definitions file, a definitions payload, or a document of flags
	// as code.
	FilePart Part = iota
	// FlagPart is the whole record of a flag, or the body that changes one.
	FlagPart
	// FiltersPart are the filters of a flag; places begin with "filters".
	FiltersPart
	// CohortPart is the record of a cohort, or its bare tree.
	CohortPart
)

// UnknownKeys names the members of a JSON document that nothing reads, sorted by
// place, misspelt ones first. A misspelt one is within two edits of a known one
// that is itself absent (of a known one with two or three letters: one edit): it
// has a Suggestion and a Code, and makes its flag or cohort fail (decision 30).
// The others are kept and do nothing. Of each sort there are at most
// [MaxUnknownKeys]. What is no JSON has none.
func UnknownKeys(part Part, document []byte) []*DefinitionError {
	v, err := DecodeJSON(document)
	if err != nil {
		return nil
	}
	root, s := &node{value: v}, projectShape
	switch part {
	case FilePart:
		if root.has("projects") {
			s = fileShape
		}
	case FlagPart:
		s = flagShape
	case FiltersPart:
		root.name, s = "filters", filtersShape
	case CohortPart:
		s = cohortOrTree(v)
	}
	w := &keyWalk{most: MaxUnknownKeys}
	w.object(root, s, 0)
	slices.SortStableFunc(w.misspelt, byPlace)
	slices.SortStableFunc(w.unknown, byPlace)
	return append(w.misspelt, w.unknown...)
}

// known fails at a misspelt member of an object or of what it contains.
func (n *node) known(s *shape) { (&keyWalk{most: MaxUnknownKeys, faultsOnly: true}).fail(n, s) }

// knownHere fails at a misspelt member of an object itself.
func (n *node) knownHere(s *shape) {
	(&keyWalk{most: MaxUnknownKeys, faultsOnly: true, shallow: true}).fail(n, s)
}

func (w *keyWalk) fail(n *node, s *shape) {
	if w.object(n, s, 0); w.misspelt != nil {
		panic(fault{err: slices.MinFunc(w.misspelt, byPlace)})
	}
}

func byPlace(a, b *DefinitionError) int { return cmp.Compare(a.Path, b.Path) }

// keyWalk goes through definitions and gathers the members that nothing reads.
type keyWalk struct {
	most              int
	faultsOnly        bool // unknown members that are not misspelt are not gathered
	shallow           bool // only the object itself
	misspelt, unknown []*DefinitionError
	flag              *node // the record that it is in
	code              ReasonCode
}

// object looks at one object; what is none is a matter of the parser.
func (w *keyWalk) object(n *node, s *shape, depth int) {
	obj, _ := n.value.(map[string]any)
	if obj == nil || s == nil || depth > cohortDepth || len(w.misspelt) >= w.most {
		return
	}
	switch s {
	case flagShape:
		w.flag, w.code = n, FlagDataParsingError
		defer func() { w.flag, w.code = nil, NoReason }()
	case cohortShape, treeShape:
		if w.flag == nil {
			w.code = CohortFiltersParsingError
		}
	}
	for name, v := range obj {
		m, known := s.members[name]
		switch {
		case !known || m.relic && v != nil:
			w.stranger(n, s, name)
		case m.at != nil && v != nil && !w.shallow:
			w.member(&node{value: v, parent: n, name: name}, m, depth)
		}
	}
}

func (w *keyWalk) member(n *node, m member, depth int) {
	switch v := n.value.(type) {
	case []any:
		for i := range v {
			if m.list {
				w.object(&node{value: v[i], parent: n, index: i}, m.at(v[i]), depth+1)
			}
		}
	case map[string]any:
		if !m.each {
			w.object(n, m.at(v), depth+1)
			return
		}
		for name := range v {
			w.object(&node{value: v[name], parent: n, name: name}, m.at(v[name]), depth+1)
		}
	}
}

// stranger notes a member that is not known.
func (w *keyWalk) stranger(n *node, s *shape, name string) {
	e := &DefinitionError{Suggestion: s.meant(n.value.(map[string]any), name)}
	list := &w.misspelt
	if e.Suggestion == "" {
		list = &w.unknown
	}
	if len(*list) >= w.most || e.Suggestion == "" && w.faultsOnly {
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
	if w.flag != nil {
		e.Flag, _ = w.flag.at("key").value.(string)
		_ = read(func() { e.FlagID = w.flag.at("id").intOr() })
	}
	*list = append(*list, e)
}

// plainName is a member's name for a place: short, ASCII, and on one line.
func plainName(name string) string {
	if len(name) <= 64 && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$-") == "" {
		return name
	}
	return strconv.QuoteToASCII(wire.Shorten(name, 64))
}

// meant is the member that a misspelt name stands for, empty for none.
func (s *shape) meant(obj map[string]any, name string) (best string) {
	lower, least := strings.ToLower(name), maxEdits+1
	for known, m := range s.members {
		if _, there := obj[known]; there || m.inert {
			continue
		}
		d := edits(lower, known)
		if d > maxEdits || 2*d > len(known) {
			continue
		}
		if d < least || d == least && known < best {
			best, least = known, d
		}
	}
	return best
}

// maxEdits is how far a misspelt name may be from what it stands for: letters
// that are left out, added or wrong, and neighbours that changed places.
const maxEdits = 2

// edits counts the edits between two names, maxEdits+1 for more.
func edits(a, b string) int {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > maxEdits {
		return maxEdits + 1
	}
	// Rows of the table of distances between beginnings: the last two and this one.
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
