package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

const personsHelp = `Usage: bunting persons ACTION ID [OPTIONS]

Shows or erases a person of a server. ID is a distinct id, or the person's uuid.

  bunting persons show ID
  bunting persons delete ID [--events] [--yes]

  --events          delete the person's events too
` + projectOption + yesHelp + managerOptions + `  --json            print JSON
`

var personActions = []action{
	{name: "show", project: readsProject, args: []string{"ID"}, run: showPerson},
	{name: "delete", project: writesProject, args: []string{"ID"}, needsConfirmation: true, options: deletePerson},
}

// personView contains the members that are read of a person.
type personView struct {
	UUID        string                     `json:"uuid"`
	Name        string                     `json:"name"`
	DistinctIDs []string                   `json:"distinct_ids"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Created     string                     `json:"created_at"`
	Identified  bool                       `json:"is_identified"`
}

// findPerson returns the person with a distinct id, else with a uuid.
func (m *manager) findPerson(ctx context.Context, id string) (raw json.RawMessage, p personView, err error) {
	var page struct{ Results []json.RawMessage }
	if err := m.send(ctx, "GET", m.inProject("/persons/?distinct_id="+url.QueryEscape(id)), nil, &page); err != nil {
		return nil, p, err
	}
	if len(page.Results) > 0 {
		raw = page.Results[0]
	} else if err := m.send(ctx, "GET", m.inProject("/persons/"+pathPart(id)+"/"), nil, &raw); err != nil {
		if status := statusOf(err); status == http.StatusNotFound || status == http.StatusBadRequest {
			err = fmt.Errorf("no person has the distinct id or uuid %q", id)
		}
		return nil, p, err
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, p, fmt.Errorf("the server's response cannot be read: %w", err)
	}
	return raw, p, nil
}

func showPerson(ctx context.Context, m *manager, args []string) error {
	raw, p, err := m.findPerson(ctx, args[0])
	if err != nil {
		return err
	}
	if *m.asJSON {
		return m.printJSON(raw)
	}
	identified := "no"
	if p.Identified {
		identified = "yes"
	}
	rows := [][]string{
		{"NAME", cli.Cell(p.Name)}, {"UUID", p.UUID}, {"FIRST SEEN", p.Created}, {"IDENTIFIED", identified},
		{"DISTINCT IDS", cli.Cell(strings.Join(p.DistinctIDs, ", "))},
	}
	for i, name := range slices.Sorted(maps.Keys(p.Properties)) {
		first := ""
		if i == 0 {
			first = "PROPERTIES"
		}
		var line bytes.Buffer
		if json.Compact(&line, p.Properties[name]) != nil { // it was decoded from JSON
			continue
		}
		rows = append(rows, []string{first, cli.Cell(name) + " = " + cli.Cell(line.String())})
	}
	return m.printFullTable(rows)
}

func deletePerson(m *manager) runner {
	events := m.fs.Bool("events", false, "")
	return func(ctx context.Context, m *manager, args []string) error {
		_, p, err := m.findPerson(ctx, args[0])
		if err != nil {
			return err
		}
		what, query := "", ""
		if *events {
			what, query = ", with all events", "?delete_events=true"
		}
		if err := m.confirm(ctx, fmt.Sprintf("Delete the person %s (%s)%s?", p.UUID, cli.Cell(p.Name), what)); err != nil {
			return err
		}
		if err := m.send(ctx, "DELETE", m.inProject("/persons/"+p.UUID+"/"+query), nil, nil); err != nil {
			return err
		}
		return m.Print(fmt.Sprintf("person %s (%s)%s is deleted\n", p.UUID, cli.Cell(p.Name), what))
	}
}
