package client

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// explanation contains the members that are read of the server's response.
type explanation struct {
	Person *struct {
		UUID string `json:"uuid"`
		Name string `json:"name"`
	} `json:"person"`
	Text     string `json:"text"`
	Assigned *struct {
		Value   any    `json:"value"`
		At      string `json:"at"`
		Version *int64 `json:"version"`
	} `json:"assigned"`
	Differs *string `json:"differs"`
}

// differences are texts for the reasons why a value differs from the last one.
var differences = map[string]string{
	"pinned": "a value is pinned", "flag_changed": "the flag has changed", "other_id": "the request had another distinct id",
	"person_changed": "the person has changed", "supplied": "properties were given on the command line",
}

// lastValue describes the value that the user was last reported to have received.
func (e *explanation) lastValue() string {
	a := e.Assigned
	if a == nil {
		return "last given: no SDK has reported it\n"
	}
	out := fmt.Sprintf("last given: %v at %s", a.Value, a.At)
	if a.Version != nil {
		out += fmt.Sprintf(", version %d", *a.Version)
	}
	if e.Differs != nil {
		out += "; another value: " + cmp.Or(differences[*e.Differs], "the reason is unknown")
	}
	return cli.Cell(out) + "\n"
}

// whyFlag requests from the server why a user gets a flag's value.
func whyFlag(m *manager) runner {
	distinctID, person := m.fs.String("distinct-id", "", ""), m.fs.String("person", "", "")
	at, version := m.fs.String("at", "", ""), m.fs.Int("flag-version", 0, "")
	var properties, groups cli.StringList
	m.fs.Var(&properties, "property", "")
	m.fs.Var(&groups, "group", "")
	return func(ctx context.Context, m *manager, args []string) error {
		if (*distinctID == "") == (*person == "") {
			return cli.BadUsage("flags", "why: give --distinct-id ID or --person UUID")
		}
		persons, err := cli.Properties("flags", properties)
		if err != nil {
			return err
		}
		body := map[string]any{"person_properties": persons}
		if body["groups"], err = cli.Groups("flags", groups); err != nil {
			return err
		}
		if *at != "" {
			body["at"] = *at
		}
		if *version != 0 {
			body["version"] = *version
		}
		if *person != "" {
			body["person_id"] = *person
		} else {
			body["distinct_id"] = *distinctID
		}
		return m.explain(ctx, args[0], *distinctID, body)
	}
}

// explain requests the explanation of a flag's value, and prints it.
func (m *manager) explain(ctx context.Context, key, distinctID string, body any) error {
	var e explanation
	if printed, err := m.fetch(ctx, "POST", m.flagsPath(pathPart(key)+"/explain/"), body, &e); printed || err != nil {
		return err
	}
	about := fmt.Sprintf("no person has the distinct id %q: evaluated for a person without stored data\n", distinctID)
	if e.Person != nil {
		about = fmt.Sprintf("person %s, %s\n", e.Person.UUID, cli.Cell(cmp.Or(e.Person.Name, "without a name")))
	}
	return m.Print(about + e.Text + e.lastValue())
}

// exposuresView contains the members that are read of a flag's call counts.
type exposuresView struct {
	Labels []string `json:"labels"`
	Series []struct {
		Value string  `json:"value"`
		Data  []int64 `json:"data"`
		Total *int64  `json:"total"`
	} `json:"series"`
}

// callsOfFlag prints how often a flag was called, by value.
func callsOfFlag(m *manager) runner {
	from, interval, count := m.fs.String("from", "-7d", ""), m.fs.String("interval", "day", ""), m.fs.String("count", "calls", "")
	return func(ctx context.Context, m *manager, args []string) error {
		f, err := m.findFlagOrID(ctx, args[0])
		if err != nil {
			return err
		}
		q := url.Values{"date_from": {*from}, "interval": {*interval}, "count": {*count}}
		var e exposuresView
		if printed, err := m.fetch(ctx, "GET", m.flagsPath(strconv.FormatInt(f.ID, 10)+"/exposures/?"+q.Encode()), nil, &e); printed || err != nil {
			return err
		}
		head, total := []string{"SINCE"}, []string{"total"}
		for _, s := range e.Series {
			n := "too many"
			if s.Total != nil {
				n = strconv.FormatInt(*s.Total, 10)
			}
			head, total = append(head, cli.Cell(s.Value)), append(total, n)
		}
		rows := [][]string{head}
		for i, label := range e.Labels {
			row := []string{label}
			for _, s := range e.Series {
				n := "-"
				if i < len(s.Data) {
					n = strconv.FormatInt(s.Data[i], 10)
				}
				row = append(row, n)
			}
			rows = append(rows, row)
		}
		return m.printTable(append(rows, total))
	}
}
