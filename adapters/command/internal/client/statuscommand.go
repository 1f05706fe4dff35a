package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

const statusHelp = `Usage: bunting status [OPTIONS]

Shows whether a server responds and is ready; with a key also the key's scopes, and
the project's flags, newest event and newest warning.

` + projectOption + managerOptions + `  --json            print JSON

Exit code 1 if the server is not ready or refuses the key.
`

var statusAction = action{worksWithoutKey: true, options: func(m *manager) runner {
	m.projectName = m.fs.String("project", m.Env[cli.ProjectVariable], "")
	return showStatus
}}

// statusView is the output of status, a line for each member. Members are empty if they were not
// requested, or if the key may not read them.
type statusView struct {
	Server  string `json:"server"`
	State   string `json:"state"`
	Ready   bool   `json:"ready"`
	Key     string `json:"key,omitempty"`
	User    string `json:"user,omitempty"`
	Project string `json:"project,omitempty"`
	Flags   string `json:"flags,omitempty"`
	Event   string `json:"newest_event,omitempty"`
	Warning string `json:"newest_warning,omitempty"`
}

// showStatus implements the command status. It sends one request without retries, since an
// unavailable server is a result.
func showStatus(ctx context.Context, m *manager, _ []string) error {
	s := statusView{Server: m.client.server}
	text, _, err := m.client.sendOnce(ctx, "GET", "/_readiness/", nil)
	var answer *apiError
	switch {
	case err == nil:
		s.State, s.Ready = strings.TrimSpace(string(text)), true
	case errors.As(err, &answer):
		s.State = fmt.Sprintf("not ready (%d): %s", answer.Status, answer.Detail)
	default:
		return m.client.unreachableError(err)
	}
	isRejected := false
	if s.Ready && *m.key != "" {
		isRejected = !m.readStatus(ctx, &s)
	}
	if err := m.printStatus(&s); err != nil {
		return err
	}
	if !s.Ready || isRejected {
		return cli.ErrReported
	}
	return nil
}

// readStatus reads everything that needs a key, and omits values that the key may not read. It
// returns false if the key is not valid.
func (m *manager) readStatus(ctx context.Context, s *statusView) bool {
	var key keyView
	if err := m.send(ctx, "GET", keysPath+"@current/", nil, &key); err != nil {
		s.Key = err.Error()
		return false
	}
	s.Key = fmt.Sprintf("%s %s, scopes %s, projects %s", textOr(key.Mask, ""), cli.Cell(key.Label), strings.Join(key.Scopes, " "), numbers(key.Projects))
	var me struct{ Email string }
	if m.send(ctx, "GET", "/api/users/@me/", nil, &me) == nil {
		s.User = me.Email
	}
	var err error
	if m.project, err = m.client.findProject(ctx, *m.projectName); err != nil {
		s.Project = strings.Join(strings.Fields(err.Error()), " ")
		return statusOf(err) != http.StatusUnauthorized
	}
	s.Project = m.project.String()
	s.Flags = m.flagsStatus(ctx)
	var events struct{ Results []eventView }
	if m.send(ctx, "GET", m.inProject("/events/?limit=1"), nil, &events) == nil {
		s.Event = "none"
		for _, e := range events.Results {
			s.Event = e.Timestamp + " " + cli.Cell(e.Event)
		}
	}
	var warnings struct {
		Results []struct {
			Type, Detail string
			Count        int64
			Last         string `json:"last_seen"`
		}
	}
	if m.send(ctx, "GET", m.inProject("/ingestion_warnings/?limit=1"), nil, &warnings) == nil {
		s.Warning = "none"
		for _, w := range warnings.Results {
			s.Warning = fmt.Sprintf("%s %s, %d times: %s", w.Last, w.Type, w.Count, cli.Cell(cmp.Or(w.Detail, "-")))
		}
	}
	return true
}

// flagsStatus returns the counts of flags, or "" if the key may not read them.
func (m *manager) flagsStatus(ctx context.Context) string {
	var all, on, stale struct{ Count int }
	for query, into := range map[string]any{"": &all, "&active=true": &on, "&active=STALE": &stale} {
		if m.send(ctx, "GET", m.flagsPath("?limit=1"+query), nil, into) != nil {
			return ""
		}
	}
	return fmt.Sprintf("%d, %d on, %d stale", all.Count, on.Count, stale.Count)
}

func (m *manager) printStatus(s *statusView) error {
	if *m.asJSON {
		return m.printJSON(s)
	}
	var rows [][]string
	for _, row := range [][]string{
		{"server", s.Server}, {"state", s.State}, {"key", s.Key}, {"user", s.User}, {"project", s.Project},
		{"flags", s.Flags}, {"newest event", s.Event}, {"newest warning", s.Warning},
	} {
		if row[1] != "" {
			rows = append(rows, row)
		}
	}
	return m.printFullTable(rows)
}
