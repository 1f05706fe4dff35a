package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

const approvalsHelp = `Usage: bunting approvals ACTION [OPTIONS]

Requests for changes of flags that other members must approve first.

  bunting approvals list [--state LIST] [--flag KEY]
  bunting approvals show ID         shows what would change, and the votes
  bunting approvals approve ID [--revision N]
  bunting approvals reject ID [--revision N]
                                    closes the request, until it is edited
  bunting approvals apply ID        saves the change, once it is approved
  bunting approvals withdraw ID     closes the request permanently

  --state LIST      open, approved, applied, rejected or withdrawn, separated by
                    commas, or all; open,approved by default
  --flag KEY        only requests for this flag
  --revision N      the revision that you have reviewed; without it, the command
                    shows the request and asks for a confirmation. If the request
                    has been edited in the meantime, the vote is refused
` + projectOption + yesHelp + managerOptions + `  --json            print JSON
`

var approvalActions = []action{
	{name: "list", project: readsProject, options: listRequests},
	{name: "show", project: readsProject, args: []string{"ID"}, run: showRequest},
	{name: "approve", project: writesProject, args: []string{"ID"}, needsConfirmation: true, options: voteOnRequest("approve", "Approve")},
	{name: "reject", project: writesProject, args: []string{"ID"}, needsConfirmation: true, options: voteOnRequest("reject", "Reject")},
	{name: "apply", project: writesProject, args: []string{"ID"}, run: func(ctx context.Context, m *manager, args []string) error {
		return m.postRequest(ctx, args[0], "apply/", nil)
	}},
	{name: "withdraw", project: writesProject, args: []string{"ID"}, needsConfirmation: true, run: func(ctx context.Context, m *manager, args []string) error {
		if err := m.confirm(ctx, "Withdraw the change request "+args[0]+"?"); err != nil {
			return err
		}
		return m.postRequest(ctx, args[0], "withdraw/", nil)
	}},
}

// requestView contains the members that are read of a change request.
type requestView struct {
	ID       int64                      `json:"id"`
	Flag     int64                      `json:"flag"`
	FlagKey  string                     `json:"flag_key"`
	Base     int64                      `json:"base_version"`
	Patch    map[string]json.RawMessage `json:"patch"`
	Title    string                     `json:"title"`
	Note     string                     `json:"note"`
	Author   string                     `json:"author"`
	Editors  []string                   `json:"editors"`
	State    string                     `json:"state"`
	Revision int64                      `json:"revision"`
	Votes    []struct {
		User string `json:"user"`
		Vote string `json:"vote"`
		At   string `json:"at"`
	} `json:"votes"`
	Needed int64 `json:"needed"`
}

// approvals returns how many approvals the request has, and how many it needs.
func (r *requestView) approvals() string {
	n := 0
	for _, v := range r.Votes {
		if v.Vote == "approve" {
			n++
		}
	}
	return fmt.Sprintf("%d of %d", n, r.Needed)
}

// flagName returns the flag's key, or its id if the flag is deleted.
func (r *requestView) flagName() string { return cmp.Or(r.FlagKey, strconv.FormatInt(r.Flag, 10)) }

func (m *manager) requestsPath(suffix string) string {
	return m.inProject("/change_requests/" + suffix)
}

// showRequests prints requests, the newest first.
func (m *manager) showRequests(list ...requestView) error {
	rows := [][]string{{"REQUEST", "FLAG", "TITLE", "BY", "APPROVALS", "STATE", "REVISION"}}
	for i := range list {
		r := &list[i]
		rows = append(rows, []string{strconv.FormatInt(r.ID, 10), cli.Cell(r.flagName()), cli.Cell(r.Title), cli.Cell(r.Author), r.approvals(), r.State, strconv.FormatInt(r.Revision, 10)})
	}
	return m.printTable(rows)
}

func listRequests(m *manager) runner {
	state, flag := m.fs.String("state", "open,approved", ""), m.fs.String("flag", "", "")
	return func(ctx context.Context, m *manager, _ []string) error {
		q := url.Values{}
		if *state != "all" {
			q.Set("state", *state)
		}
		if *flag != "" {
			f, err := m.findFlagOrID(ctx, *flag)
			if err != nil {
				return err
			}
			q.Set("flag", strconv.FormatInt(f.ID, 10))
		}
		suffix := ""
		if len(q) > 0 {
			suffix = "?" + q.Encode()
		}
		return printAll(ctx, m, m.requestsPath(suffix), m.showRequests)
	}
}

func showRequest(ctx context.Context, m *manager, args []string) error {
	var r requestView
	if printed, err := m.fetch(ctx, "GET", m.requestsPath(pathPart(args[0])+"/"), nil, &r); printed || err != nil {
		return err
	}
	return m.describeRequest(ctx, &r)
}

// describeRequest prints a request with the values that it changes.
func (m *manager) describeRequest(ctx context.Context, r *requestView) error {
	changes, err := m.requestedChanges(ctx, r)
	if err != nil {
		return err
	}
	rows := [][]string{
		{"REQUEST", strconv.FormatInt(r.ID, 10)}, {"FLAG", cli.Cell(r.flagName())}, {"TITLE", cli.Cell(r.Title)}, {"NOTE", cli.Cell(r.Note)}, {"BY", cli.Cell(r.Author)},
		{"EDITED BY", cli.Cell(strings.Join(r.Editors, ", "))}, {"STATE", r.State}, {"REVISION", strconv.FormatInt(r.Revision, 10)}, {"APPROVALS", r.approvals()},
	}
	label := "VOTES"
	for _, v := range r.Votes {
		rows = append(rows, []string{label, fmt.Sprintf("%s: %s, %s", cli.Cell(v.User), v.Vote, v.At)})
		label = ""
	}
	label = "CHANGES"
	for i := range changes {
		rows = append(rows, []string{label, cli.Cell(changes[i].text("→", func(text string) string { return text }))})
		label = ""
	}
	return m.printFullTable(rows)
}

// requestedChanges returns the values that a request changes in the version of the flag that it is
// based on.
func (m *manager) requestedChanges(ctx context.Context, r *requestView) (out []fieldChange, err error) {
	var base map[string]any
	err = m.send(ctx, "GET", m.flagsPath(fmt.Sprintf("%d/versions/%d/", r.Flag, r.Base)), nil, &base)
	var refusal *apiError
	if err != nil && !(errors.As(err, &refusal) && refusal.Status == http.StatusNotFound) {
		return nil, err // a version that is no longer stored is compared as if it had no values
	}
	for _, name := range slices.Sorted(maps.Keys(r.Patch)) {
		var after any
		if err := json.Unmarshal(r.Patch[name], &after); err != nil {
			return nil, err
		}
		out = fieldChanges(name, base[name], after, out)
	}
	return out, nil
}

// voteOnRequest returns an action that approves or rejects one revision of a request.
func voteOnRequest(vote, label string) func(*manager) runner {
	return func(m *manager) runner {
		revision := m.fs.Int64("revision", 0, "")
		return func(ctx context.Context, m *manager, args []string) error {
			n := *revision
			if n == 0 {
				var r requestView
				if err := m.send(ctx, "GET", m.requestsPath(pathPart(args[0])+"/"), nil, &r); err != nil {
					return err
				}
				if !*m.yes && !*m.asJSON && m.CanPrompt(m.Stdin) {
					if err := m.describeRequest(ctx, &r); err != nil {
						return err
					}
				}
				if err := m.confirm(ctx, fmt.Sprintf("%s revision %d of the change request %d?", label, r.Revision, r.ID)); err != nil {
					return err
				}
				n = r.Revision
			}
			return m.postRequest(ctx, args[0], vote+"/", map[string]any{"revision": n})
		}
	}
}

// postRequest sends an action on a request, and prints the request.
func (m *manager) postRequest(ctx context.Context, id, suffix string, body any) error {
	if body == nil {
		body = map[string]any{}
	}
	var r requestView
	if printed, err := m.fetch(ctx, "POST", m.requestsPath(pathPart(id)+"/"+suffix), body, &r); printed || err != nil {
		return err
	}
	return m.showRequests(r)
}
