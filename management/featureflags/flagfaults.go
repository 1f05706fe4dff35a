package featureflags

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// flagCheck is the list of all faults of a flag that is to be saved.
type flagCheck struct {
	Faults []flagFault `json:"faults"`
}

// flagFault is one fault of a flag that is to be saved (spec/console.md N9).
type flagFault struct {
	// Attr is the path of the fault, for example filters.groups.0.properties.1.value. It is null
	// if the fault concerns the flag as a whole.
	Attr   *string `json:"attr"`
	Code   string  `json:"code"`
	Detail string  `json:"detail"`
}

// CheckFields are the fields of a flag and the id of the flag that the body would change.
var CheckFields = append(management.Fields{{Name: "id", Type: management.Int, Null: true, Custom: true, Help: "id of the flag that the body would change; absent for a new flag"}}, FlagFields...)

// maxFaults is the maximum number of faults in one response.
const maxFaults = 500

// faultList collects the faults of a flag with their paths. Saving a flag reports only the first
// fault, with a less precise field; Check reports all of them.
type faultList struct {
	list []locatedFault
	// limit is the number of faults after which the checks stop. 0 means 1, which saves work when
	// a flag is saved.
	limit int
	// paths contains the paths of all faults, all prefixes of these paths, and the properties
	// that contain them (requirementOf). It prevents several faults with the same cause.
	paths map[string]bool
}

type locatedFault struct {
	path string
	err  *management.Error
}

// isFull reports whether the limit is reached, so that the checks can stop.
func (l *faultList) isFull() bool { return len(l.list) >= max(l.limit, 1) }

// add adds a fault at a path; if path is empty, it is derived from the fault's field. Errors that
// are not the caller's fault, such as those of the store, are returned instead.
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

// addf adds a fault of the filters with a formatted message.
func (l *faultList) addf(path, format string, args ...any) {
	_ = l.add(path, badFilters(format, args...))
}

// first returns the first fault, or nil if there is none.
func (l *faultList) first() error {
	if len(l.list) == 0 {
		return nil
	}
	return l.list[0].err
}

// requirementPath matches paths of a property of a condition and of its members.
var requirementPath = regexp.MustCompile(`^filters\.groups\.\d+\.properties\.\d+`)

// requirementOf returns a key for the property that a path belongs to, different from the path of
// the property itself. For all other paths it returns the path.
func requirementOf(path string) string {
	if found := requirementPath.FindString(path); found != "" {
		return "in " + found
	}
	return path
}

// contains reports whether there is already a fault in the property that path belongs to or, if
// it belongs to no property, at path or below it.
func (l *faultList) contains(path string) bool { return l.paths[requirementOf(path)] }

// show returns the faults as the API returns them: at most one for each path, and at most
// maxFaults.
func (l *faultList) show() []flagFault {
	out, seen := []flagFault{}, map[string]bool{}
	for _, f := range l.list {
		if seen[f.path] || len(out) == maxFaults {
			continue
		}
		seen[f.path] = true
		// The path is null for faults of the flag as a whole.
		row := flagFault{Code: f.err.Code, Detail: f.err.Message}
		if f.path != "" {
			row.Attr = &f.path
		}
		out = append(out, row)
	}
	return out
}

// Check validates the body of a flag that would be created, or changed if the body has an id, and
// returns all faults with their paths. It writes nothing to the store (spec/console.md N9).
func (s Flags) Check(ctx context.Context, scope *management.Scope, b management.Body) (*flagCheck, error) {
	// Fields with faults are absent from values, so the remaining ones can still be checked.
	values, faults := CheckFields.ReadAll(b, !isPresent(b.Members["id"]))
	if values == nil { // the body is not an object
		return nil, faults[0]
	}
	return management.Read(ctx, &s.Env, func(tx Tx) (*flagCheck, error) {
		l := &faultList{limit: maxFaults}
		f, err := s.loadForCheck(tx, scope, values, l)
		if f == nil || err != nil {
			return &flagCheck{l.show()}, err
		}
		// The id and the API key in the body are not members of a flag.
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
		if f.before == nil && f.Filters == nil { // already reported by apply
			// Continue with valid filters, so that further faults are found.
			f.Filters = []byte(`{"groups":[]}`)
		}
		err = s.checkAll(tx, scope, f, l)
		return &flagCheck{l.show()}, err
	})
}

// loadForCheck returns the flag that a body would change, or a new one. It returns nil and adds a
// fault if the flag does not exist or the caller may not see it.
func (s Flags) loadForCheck(tx Tx, scope *management.Scope, v management.Values, l *faultList) (*storedFlag, error) {
	if !v.Has("id") || v.IsNull("id") {
		return &storedFlag{Project: scope.Project.ID, Active: true}, nil
	}
	f, err := s.loadFlag(tx, scope, v.Int("id"))
	if err == nil {
		err = scope.RequireAccess(management.Viewer, f.accessObject())
	}
	if err != nil { // the faults of a flag that the caller may not see would show its contents
		return nil, l.add("id", err)
	}
	if f.Origin != "" {
		return f, l.add("", errInFile(f))
	}
	return f, nil
}
