package history

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// fieldMissing returns the error of the person endpoints for a missing field. As in PostHog, code
// and detail are swapped (§2.3).
func fieldMissing(field string) *problem.Problem {
	p := problem.Problem{Status: 400, Type: "validation_error", Code: "This field is required.", Detail: "required"}
	return p.With("", field)
}

// textIn returns a member that must be a string and must not be empty.
func textIn(body map[string]json.RawMessage, name string) (string, error) {
	raw, there := body[name]
	var text string
	switch {
	case !there:
		return "", problem.Required.With("", name)
	case json.Unmarshal(raw, &text) != nil:
		return "", problem.Invalid(name, "Not a valid string.")
	case text == "":
		p := problem.Problem{Status: 400, Type: "validation_error", Code: "blank", Detail: "This field may not be blank."}
		return "", p.With("", name)
	}
	return text, nil
}

// isObject reports whether a JSON text is an object.
func isObject(raw json.RawMessage) bool {
	return strings.HasPrefix(strings.TrimLeft(string(raw), " \t\r\n"), "{")
}

func isMissingValue(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// notADict returns the error for a member that must be an object.
func notADict(name string) error {
	p := problem.Problem{Status: 400, Type: "validation_error", Code: "not_a_dict"}
	return p.With("", name).Detailed("Expected a dictionary of items.")
}

// captureProject returns the project of the request as a capture.Project.
func captureProject(c *frame.Call) capture.Project {
	return capture.Project{ID: c.Project(), APIKey: c.Scope.Project.APIKey}
}

// personAndMembers returns the person of the path and the members of the body, which must be a
// JSON object.
func (rd *Reader) personAndMembers(c *frame.Call) (*capture.StoredPerson, map[string]json.RawMessage, error) {
	p, err := rd.NamedPerson(c)
	if err != nil {
		return nil, nil, err
	}
	members, err := c.ReadMembers()
	return p, members, err
}

// patchPerson merges properties into the properties of a person (§5.3).
func (rd *Reader) patchPerson(c *frame.Call) (any, error) {
	p, members, err := rd.personAndMembers(c)
	switch {
	case err != nil:
		return nil, err
	case isMissingValue(members["properties"]):
		return nil, fieldMissing("properties")
	case !isObject(members["properties"]):
		return nil, notADict("properties")
	}
	return nil, rd.setPerson(c, p, members["properties"])
}

func (rd *Reader) setPerson(c *frame.Call, p *capture.StoredPerson, properties any) error {
	text, err := wire.Encode(properties)
	if err != nil {
		return err
	}
	return rd.people.SetPerson(c.Ctx, captureProject(c), p, string(text))
}

// updatePersonProperty sets one property of a person.
func (rd *Reader) updatePersonProperty(c *frame.Call) (any, error) {
	p, members, err := rd.personAndMembers(c)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"value", "key"} {
		if _, there := members[name]; !there {
			return nil, fieldMissing(name)
		}
	}
	key, err := textIn(members, "key")
	if err != nil {
		return nil, err
	}
	return nil, rd.setPerson(c, p, map[string]json.RawMessage{key: members["value"]})
}

// deletePersonProperty removes one property of a person.
func (rd *Reader) deletePersonProperty(c *frame.Call) (any, error) {
	p, members, err := rd.personAndMembers(c)
	if err != nil {
		return nil, err
	}
	key, err := textIn(members, "$unset")
	if err != nil {
		return nil, err
	}
	return frame.Success{Success: true}, rd.people.UnsetPerson(c.Ctx, captureProject(c), p, key)
}

// deletePersonEvents erases the events of a person, but not the person.
func (rd *Reader) deletePersonEvents(c *frame.Call) (any, error) {
	p, err := rd.NamedPerson(c)
	if err != nil {
		return nil, err
	}
	events, err := rd.people.EraseEvents(c.Ctx, c.Project(), p.UUID)
	if err != nil {
		return nil, err
	}
	return nil, rd.noteErased(c, []management.Erasure{{Person: p.UUID.String(), Events: events, EventsOnly: true}})
}

// splitPerson assigns the distinct ids of a person to persons of their own. The original person
// keeps main_distinct_id, or by default the first of its displayed ids.
func (rd *Reader) splitPerson(c *frame.Call) (any, error) {
	p, members, err := rd.personAndMembers(c)
	if err != nil {
		return nil, err
	}
	main := ""
	if !isMissingValue(members["main_distinct_id"]) {
		if main, err = textIn(members, "main_distinct_id"); err != nil {
			return nil, err
		}
	}
	return frame.Success{Success: true}, rd.people.Split(c.Ctx, c.Project(), p, main)
}

// maxValues is the maximum number of values in a response. Values longer than maxPersonValue
// bytes are omitted.
const (
	maxValues      = 20
	maxPersonValue = 1000
)

type personValue struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// personValues returns the most frequent values of a property of persons. If the parameter value
// is set, only values that contain it are returned, ignoring case. It reads the newest
// capture.SearchScan persons.
func (rd *Reader) personValues(c *frame.Call) (any, error) {
	key, part := c.Query().Get("key"), strings.ToLower(c.Query().Get("value"))
	if key == "" {
		return nil, problem.Required.With("", "key")
	}
	counts := map[string]int{}
	q := capture.PersonQuery{Limit: 1, Match: func(p *capture.StoredPerson) bool {
		if raw, ok := p.Properties.Get(key); ok && raw != "null" {
			name := raw
			var text string
			if json.Unmarshal([]byte(raw), &text) == nil {
				name = text
			}
			if len(name) <= maxPersonValue && strings.Contains(strings.ToLower(name), part) {
				counts[strings.Clone(name)]++ // the clone does not keep the other properties in memory
			}
		}
		return false // persons are only counted, not returned
	}}
	if _, _, err := rd.History.People(c.Ctx, c.Project(), q); err != nil {
		return nil, err
	}
	out := make([]personValue, 0, len(counts))
	for name, n := range counts {
		out = append(out, personValue{name, n})
	}
	slices.SortFunc(out, func(a, b personValue) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Name, b.Name)) })
	return out[:min(len(out), maxValues)], nil
}
