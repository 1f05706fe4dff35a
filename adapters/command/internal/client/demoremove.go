package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/demodata"
)

// demoErased is the number of persons that one request erases.
const demoErased = 100

// demoRemoval is the result of bunting demo --remove.
type demoRemoval struct {
	Records int `json:"records"`
	People  int `json:"people"`
	// EventsLeft is the number of made-up events that are still stored.
	EventsLeft int `json:"events_left"`
	// ArchivedIssue is the id of the demo's issue, which cannot be deleted.
	ArchivedIssue string `json:"archived_issue,omitempty"`
}

// removeDemo deletes the records and the persons that the demo has made, with their events.
func removeDemo(ctx context.Context, m *manager) error {
	var records []*demoRecord
	for _, k := range demoKinds {
		made, _, err := m.demoRecords(ctx, k)
		if err != nil {
			return err
		}
		records = append(records, made...)
	}
	people, err := m.demoPeople(ctx)
	if err != nil {
		return err
	}
	if len(records) > 0 || len(people) > 0 {
		if err := m.confirm(ctx, fmt.Sprintf("Delete %s and %d made-up people with their events?", cli.Plural(len(records), "made-up record"), len(people))); err != nil {
			return err
		}
	}
	result := demoRemoval{}
	for _, r := range records {
		if err := m.removeRecord(ctx, r); err != nil {
			return err
		}
		result.Records++
	}
	if err := m.erasePeople(ctx, people, &result); err != nil {
		return err
	}
	if result.ArchivedIssue, err = m.archiveIssue(ctx); err != nil {
		return err
	}
	if result.EventsLeft, err = m.countEvents(ctx, "IS NOT NULL"); err != nil {
		return err
	}
	if *m.asJSON {
		return m.printJSON(result)
	}
	text := fmt.Sprintf("%s and %d made-up people with their events are deleted\n", cli.Plural(result.Records, "made-up record"), result.People)
	if result.EventsLeft > 0 {
		text += fmt.Sprintf("%s are left: of people with other ids, or sent while they were deleted\n", cli.Plural(result.EventsLeft, "made-up event"))
	}
	if result.ArchivedIssue != "" {
		text += "The error is archived, since errors cannot be deleted. The names of events and properties, and the activity log, stay too.\n"
	}
	return m.Print(text)
}

// demoPeople returns the uuids of the demo's persons. It omits persons with a foreign distinct id.
func (m *manager) demoPeople(ctx context.Context) (out []string, err error) {
	filter := url.QueryEscape(`[{"key":"made_up","type":"person","operator":"exact","value":["true"]}]`)
	path := m.inProject("/persons/?limit=1000&properties=" + filter)
	for path != "" {
		var page struct {
			Next    string       `json:"next"`
			Results []personView `json:"results"`
		}
		if err := m.send(ctx, http.MethodGet, path, nil, &page); err != nil {
			return nil, err
		}
		for _, p := range page.Results {
			if isDemoPerson(&p) {
				out = append(out, p.UUID)
			}
		}
		path = ""
		if next, err := url.Parse(page.Next); err == nil && page.Next != "" {
			path = m.inProject("/persons/?" + next.RawQuery)
		}
	}
	return out, nil
}

// isDemoPerson reports whether all ids of a person are those of the demo.
func isDemoPerson(p *personView) bool {
	for _, id := range p.DistinctIDs {
		if !strings.HasPrefix(id, demodata.IDPrefix) {
			return false
		}
	}
	return len(p.DistinctIDs) > 0
}

// erasePeople erases persons with their events.
func (m *manager) erasePeople(ctx context.Context, people []string, result *demoRemoval) error {
	progress := cli.NewProgress(m.Stderr)
	defer progress.Clear()
	for from := 0; from < len(people); from += demoErased {
		part := people[from:min(from+demoErased, len(people))]
		if err := m.send(ctx, http.MethodPost, m.inProject("/persons/bulk_delete/"), map[string]any{"ids": part, "delete_events": true}, nil); err != nil {
			return err
		}
		result.People += len(part)
		progress.Show(int64(result.People), int64(len(people)), fmt.Sprintf("%d of %d made-up people are deleted", result.People, len(people)))
	}
	return nil
}

// archiveIssue archives the demo's issue, and returns its id, or "" if there is none.
func (m *manager) archiveIssue(ctx context.Context) (string, error) {
	issue, err := m.issue(ctx)
	if err != nil || issue == nil {
		return "", err
	}
	return issue.ID, m.setIssue(ctx, issue, "archived")
}
