package featureflags

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// flagCheck is what is wrong with a flag that somebody wants to save, all at once.
type flagCheck struct {
	Faults []flagFault `json:"faults"`
}

// flagFault is one thing that is wrong with what somebody wants to save (spec/console.md N9).
type flagFault struct {
	// Attr is the place, such as filters.groups.0.properties.1.value, null for the whole.
	Attr   *string `json:"attr"`
	Code   string  `json:"code"`
	Detail string  `json:"detail"`
}

// CheckFields are those of a flag's body, and the flag that it changes.
var CheckFields = append(management.Fields{{Name: "id", Type: management.Int, Null: true, Custom: true, Help: "the flag that the body changes; absent: it makes one"}}, FlagFields...)

// maxFaults bounds what one answer lists.
const maxFaults = 500

// faultList gathers what is wrong, each fault with its place. Who saves is told the first
// of them, whose field is coarser.
type faultList struct {
	list []locatedFault
	// limit is how many are looked for, 1 when zero: who saves waits for no more.
	limit int
	// paths are the places of faults, the requirements that these are in, and all that
	// they are inside of.
	paths map[string]bool
}

type locatedFault struct {
	path string
	err  *management.Error
}

// isFull reports that nothing more is looked for.
func (l *faultList) isFull() bool { return len(l.list) >= max(l.limit, 1) }

// add notes a fault at a place; empty, the place is the fault's own field. What is no
// fault of the caller it returns.
func (l *faultList) add(path string, err error) error {
	if err == nil {
		return nil
	}
	var fault *management.Error
	if !errors.As(err, &fault) || fault.Kind == management.Unavailable {
		return err
	}
	if path == "" {
		path = strings.ReplaceAll(fault.Field, "__", ".")
	}
	l.list = append(l.list, locatedFault{path, fault})
	if l.paths == nil {
		l.paths = map[string]bool{}
	}
	for prefix := path; prefix != "" && !l.paths[prefix]; prefix = prefix[:max(strings.LastIndexByte(prefix, '.'), 0)] {
		l.paths[prefix] = true
	}
	l.paths[requirementOf(path)] = true
	return nil
}

// addf notes a fault of the filters.
func (l *faultList) addf(path, format string, args ...any) {
	_ = l.add(path, badFilters(format, args...))
}

func (l *faultList) first() error {
	if len(l.list) == 0 {
		return nil
	}
	return l.list[0].err
}

// requirementPath is the place of one requirement of a condition, or of something in it.
var requirementPath = regexp.MustCompile(`^filters\.groups\.\d+\.properties\.\d+`)

// requirementOf is the requirement that a place is in, as a key of its own; the place
// itself where it is in none.
func requirementOf(path string) string {
	if found := requirementPath.FindString(path); found != "" {
		return "in " + found
	}
	return path
}

// contains reports whether something is wrong already with the requirement that a place is in,
// or, where it is in none, at the place itself or inside it.
func (l *faultList) contains(path string) bool { return l.paths[requirementOf(path)] }

// show are the faults as the wire has them, one a place.
func (l *faultList) show() []flagFault {
	out, seen := []flagFault{}, map[string]bool{}
	for _, f := range l.list {
		if seen[f.path] || len(out) == maxFaults {
			continue
		}
		seen[f.path] = true
		row := flagFault{Code: f.err.Code, Detail: f.err.Message}
		if f.path != "" {
			row.Attr = &f.path
		}
		out = append(out, row)
	}
	return out
}

// Check says what is wrong with the body of a flag that is to be made, or changed where it
// has an id, down to the place of each fault. Nothing is written (spec/console.md N9).
func (s Flags) Check(ctx context.Context, scope *management.Scope, b management.Body) (*flagCheck, error) {
	values, faults := CheckFields.ReadAll(b, !isPresent(b.Members["id"]))
	if values == nil { // it is no object
		return nil, faults[0]
	}
	return management.Read(ctx, &s.Env, func(tx Tx) (*flagCheck, error) {
		l := &faultList{limit: maxFaults}
		f, err := s.loadForCheck(tx, scope, values, l)
		if f == nil || err != nil {
			return &flagCheck{l.show()}, err
		}
		findUnknownKeys(flags.FlagPart, management.Encode(omit(omit(b.Members, "personal_api_key"), "id")), nil, l)
		for _, fault := range faults {
			if err := l.add("", fault); err != nil {
				return nil, err
			}
		}
		FlagFields.Apply(values, f)
		if err := l.add("", s.apply(tx, scope, f, values)); err != nil {
			return nil, err
		}
		if f.before == nil && f.Filters == nil { // which apply has said
			f.Filters = []byte(`{"groups":[]}`)
		}
		err = s.checkAll(tx, scope, f, l)
		return &flagCheck{l.show()}, err
	})
}

// loadForCheck is the flag that a body makes or changes, nil with a fault where there is none.
func (s Flags) loadForCheck(tx Tx, scope *management.Scope, v management.Values, l *faultList) (*storedFlag, error) {
	if !v.Has("id") || v.IsNull("id") {
		return &storedFlag{Project: scope.Project.ID, Active: true}, nil
	}
	f, err := s.loadFlag(tx, scope, v.Int("id"))
	if err == nil {
		err = scope.RequireAccess(management.Viewer, f.accessObject())
	}
	return f, l.add("id", err)
}
