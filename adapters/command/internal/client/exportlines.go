package client

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
)

// personLine is a person in an export.
type personLine struct {
	Type         string          `json:"type"`
	UUID         string          `json:"uuid"`
	DistinctIDs  []string        `json:"distinct_ids"`
	Properties   json.RawMessage `json:"properties"`
	CreatedAt    string          `json:"created_at"`
	IsIdentified bool            `json:"is_identified"`
}

func (e *exporter) persons(ctx context.Context) error {
	q := url.Values{"limit": {"500"}, "include_total": {"true"}}
	return e.pages(ctx, "persons", q, func(first *answerPage) int64 { return first.Count }, func(result json.RawMessage) (any, error) {
		line := personLine{}
		err := json.Unmarshal(result, &line)
		line.Type = "person"
		return line, err
	})
}

// groupLine is a group in an export.
type groupLine struct {
	Type            string          `json:"type"`
	GroupType       string          `json:"group_type"`
	GroupTypeIndex  int             `json:"group_type_index"`
	GroupKey        string          `json:"group_key"`
	GroupProperties json.RawMessage `json:"group_properties"`
	CreatedAt       string          `json:"created_at"`
}

// groups writes the groups of all types, in the order of the types' indexes.
func (e *exporter) groups(ctx context.Context) error {
	var types []struct {
		Name  string `json:"group_type"`
		Index int    `json:"group_type_index"`
	}
	if err := e.client.do(ctx, "GET", e.path("groups_types"), nil, &types); err != nil {
		return err
	}
	for _, t := range types {
		if t.Index < e.state.GroupType {
			continue // an interrupted export has written them
		}
		if t.Index > e.state.GroupType {
			e.state.GroupType, e.state.Cursor = t.Index, ""
		}
		q := url.Values{"limit": {"500"}, "group_type_index": {strconv.Itoa(t.Index)}}
		err := e.pages(ctx, "groups", q, nil, func(result json.RawMessage) (any, error) {
			line := groupLine{}
			err := json.Unmarshal(result, &line)
			line.Type, line.GroupType = "group", t.Name
			return line, err
		})
		if err != nil {
			return err
		}
		e.state.GroupType, e.state.Cursor = t.Index+1, ""
		if err := e.save(); err != nil {
			return err
		}
	}
	return nil
}

// eventLine is an event in an export.
type eventLine struct {
	Type             string          `json:"type"`
	UUID             string          `json:"uuid"`
	Event            string          `json:"event"`
	DistinctID       string          `json:"distinct_id"`
	Properties       json.RawMessage `json:"properties"`
	Timestamp        string          `json:"timestamp"`
	CreatedAt        string          `json:"created_at"`
	ElementsChain    string          `json:"elements_chain"`
	PersonID         string          `json:"person_id"`
	PersonMode       string          `json:"person_mode"`
	PersonProperties json.RawMessage `json:"person_properties"`
	Historical       bool            `json:"historical_migration"`
}

// events writes the events in the order in which they were stored, with the properties of their
// persons.
func (e *exporter) events(ctx context.Context) error {
	q := url.Values{"limit": {"1000"}, "order": {"recorded"}}
	for name, value := range map[string]string{"after": e.state.From, "before": e.state.To} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return e.pages(ctx, "events", q, nil, func(result json.RawMessage) (any, error) {
		in := struct {
			eventLine
			Person *struct {
				Properties json.RawMessage `json:"properties"`
			} `json:"person"`
		}{}
		err := json.Unmarshal(result, &in)
		in.Type, in.PersonProperties = "event", json.RawMessage("{}")
		if in.Person != nil {
			in.PersonProperties = in.Person.Properties
		}
		return in.eventLine, err
	})
}
