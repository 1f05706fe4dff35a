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
var CheckFields = append(management.Fields{{Name: "id", Type: management.Int, Null: true, Ruled: true, Help: "the flag that the body changes; absent: it makes one"}}, FlagFields...)

// maxFaults bounds what one answer lists.
const maxFaults = 500

// faultList gathers what is wrong, each fault with its place. Who saves is told the first
// of them, whose field is coarser.
type faultList struct {
	list []placedFault
	// most is how many are looked for, 1 when zero: who saves waits for no more.
	most int
	// known are the places of faults, the requirements that these are in, and all that
	// they are inside of.
	known map[string]bool
}

type placedFault struct {
	place string
	err   *management.Error
}

// full reports that nothing more is looked for.
func (l *faultList) full() bool { return len(l.list) >= max(l.most, 1) }

// at notes a fault at a place; empty, the place is the fault's own field. What is no
// fault of the caller it returns.
func (l *faultList) at(place string, err error) error {
	if err == nil {
		return nil
	}
	var fault *management.Error
	if !errors.As(err, &fault) || fault.Kind == management.Unavailable {
		return err
	}
	if place == "" {
		place = strings.ReplaceAll(fault.Field, "__", ".")
	}
	l.list = append(l.list, placedFault{place, fault})
	if l.known == nil {
		l.known = map[string]bool{}
	}
	for at := place; at != "" && !l.known[at]; at = at[:max(strings.LastIndexByte(at, '.'), 0)] {
		l.known[at] = true
	}
	l.known[inRequirement(place)] = true
	return nil
}

// bad notes a fault of the filters.
func (l *faultList) bad(place, format string, args ...any) {
	_ = l.at(place, badFilters(format, args...))
}

func (l *faultList) first() error {
	if len(l.list) == 0 {
		return nil
	}
	return l.list[0].err
}

// requirement is the place of one requirement of a condition, or of something in it.
var requirement = regexp.MustCompile(`^filters\.groups\.\d+\.properties\.\d+`)

// inRequirement is the requirement that a place is in, as a key of its own; the place
// itself where it is in none.
func inRequirement(place string) string {
	if at := requirement.FindString(place); at != "" {
		return "in " + at
	}
	return place
}

// knows reports whether something is wrong already with the requirement that a place is in,
// or, where it is in none, at the place itself or inside it.
func (l *faultList) knows(place string) bool { return l.known[inRequirement(place)] }

// shown are the faults as the wire has them, one a place.
func (l *faultList) shown() []flagFault {
	out, told := []flagFault{}, map[string]bool{}
	for _, f := range l.list {
		if told[f.place] || len(out) == maxFaults {
			continue
		}
		told[f.place] = true
		row := flagFault{Code: f.err.Code, Detail: f.err.Message}
		if f.place != "" {
			row.Attr = &f.place
		}
		out = append(out, row)
	}
	return out
}

// Check says what is wrong with the body of a flag that is to be made, or changed where it
// has an id, down to the place of each fault. Nothing is written (spec/console.md N9).
func (s Flags) Check(ctx context.Context, st *management.Standing, b management.Body) (*flagCheck, error) {
	values, wrong := CheckFields.ReadAll(b, !present(b.Members["id"]))
	if values == nil { // it is no object
		return nil, wrong[0]
	}
	return management.Read(ctx, &s.Desk, func(tx Tx) (*flagCheck, error) {
		l := &faultList{most: maxFaults}
		f, err := s.checked(tx, st, values, l)
		if f == nil || err != nil {
			return &flagCheck{l.shown()}, err
		}
		gatherMisspelt(flags.FlagPart, management.Encode(without(without(b.Members, "personal_api_key"), "id")), nil, l)
		for _, fault := range wrong {
			if err := l.at("", fault); err != nil {
				return nil, err
			}
		}
		FlagFields.Lay(values, f)
		if err := l.at("", s.apply(tx, st, f, values)); err != nil {
			return nil, err
		}
		if f.was == nil && f.Filters == nil { // which apply has said
			f.Filters = []byte(`{"groups":[]}`)
		}
		err = s.checkAll(tx, st, f, l)
		return &flagCheck{l.shown()}, err
	})
}

// checked is the flag that a body makes or changes, nil with a fault where there is none.
func (s Flags) checked(tx Tx, st *management.Standing, v management.Values, l *faultList) (*storedFlag, error) {
	if !v.Has("id") || v.Null("id") {
		return &storedFlag{Project: st.Project.ID, Active: true}, nil
	}
	f, err := s.loadFlag(tx, st, v.Int("id"))
	if err == nil {
		err = st.Needs(management.Viewer, f.thing())
	}
	return f, l.at("id", err)
}
