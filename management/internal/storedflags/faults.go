package storedflags

import (
	"errors"
	"regexp"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// FlagFault is one fault of a flag that is to be saved (spec/console.md N9).
type FlagFault struct {
	// Attr is the path of the fault, for example filters.groups.0.properties.1.value. It is null
	// if the fault concerns the flag as a whole.
	Attr   *string `json:"attr"`
	Code   string  `json:"code"`
	Detail string  `json:"detail"`
}

// MaxFaults is the maximum number of faults in one response.
const MaxFaults = 500

// Faults collects the faults of a flag with their paths. Saving a flag reports only the first
// fault, with a less precise field; Check reports all of them.
type Faults struct {
	List []locatedFault
	// Limit is the number of faults after which the checks stop. 0 means 1, which saves work when
	// a flag is saved.
	Limit int
	// paths contains the paths of all faults, all prefixes of these paths, and the properties
	// that contain them (requirementOf). It prevents several faults with the same cause.
	paths map[string]bool
}

type locatedFault struct {
	Path string
	Err  *management.Error
}

// IsFull reports whether the limit is reached, so that the checks can stop.
func (l *Faults) isFull() bool { return len(l.List) >= max(l.Limit, 1) }

// Add adds a fault at a path; if path is empty, it is derived from the fault's field. Errors that
// are not the caller's fault, such as those of the store, are returned instead.
func (l *Faults) Add(path string, err error) error {
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
	l.List = append(l.List, locatedFault{path, fault})
	if l.paths == nil {
		l.paths = map[string]bool{}
	}
	for prefix := path; prefix != "" && !l.paths[prefix]; prefix = prefix[:max(strings.LastIndexByte(prefix, '.'), 0)] {
		l.paths[prefix] = true
	}
	l.paths[requirementOf(path)] = true
	return nil
}

// Addf adds a fault of the filters with a formatted message.
func (l *Faults) Addf(path, format string, args ...any) {
	_ = l.Add(path, BadFilters(format, args...))
}

// First returns the first fault, or nil if there is none.
func (l *Faults) First() error {
	if len(l.List) == 0 {
		return nil
	}
	return l.List[0].Err
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
func (l *Faults) contains(path string) bool { return l.paths[requirementOf(path)] }

// Show returns the faults as the API returns them: at most one for each path, and at most
// MaxFaults.
func (l *Faults) Show() []FlagFault {
	out, seen := []FlagFault{}, map[string]bool{}
	for _, f := range l.List {
		if seen[f.Path] || len(out) == MaxFaults {
			continue
		}
		seen[f.Path] = true
		// The path is null for faults of the flag as a whole.
		row := FlagFault{Code: f.Err.Code, Detail: f.Err.Message}
		if f.Path != "" {
			row.Attr = &f.Path
		}
		out = append(out, row)
	}
	return out
}

// BadFilters returns an error for the field filters, with the code for invalid input.
func BadFilters(format string, args ...any) *management.Error {
	return management.Fault("filters", format, args...)
}

// pathToField converts a path such as filters.groups[0].rollout to the field of an error,
// filters__groups__0__rollout.
var pathToField = strings.NewReplacer(".", "__", "[", "__", "]", "")
