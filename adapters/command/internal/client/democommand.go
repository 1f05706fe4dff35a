package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/demodata"
)

const demoHelp = `Usage: bunting demo [--remove] [OPTIONS]

Fills a project with made-up data: a month of events of invented people who visit
an invented shop, and what they are for. These are six flags, a cohort, an
experiment with a result, a guarded rollout that has reached half of the people, a
survey with answers, an error with the rule that assigns it to you, and a dashboard
with six insights. The command prints a link to each of them, and a link with which
everyone can read the dashboard. Every event and every person has the property
made_up.

Running it again adds what is missing and the days since then. If the project has
other events, the command asks for confirmation. --remove deletes all of it and
nothing else. A separate project is better still:

  bunting projects create Demo
  bunting demo --project Demo

If the organization has a quota for events, the last three days have no events, since
only older ones can be imported without counting.

  --remove          delete everything that the demo has made, with its people and
                    their events
` + projectOption + yesHelp + managerOptions + `  --json            print JSON
`

var demoAction = action{project: writesProject, needsConfirmation: true, options: func(m *manager) runner {
	remove := m.fs.Bool("remove", false, "")
	return func(ctx context.Context, m *manager, _ []string) error {
		if err := m.requireScopes(ctx, demoScopes(*remove)); err != nil {
			return err
		}
		if *remove {
			return removeDemo(ctx, m)
		}
		return makeDemo(ctx, m)
	}
}}

// demoBatch is the number of events in a request.
const demoBatch = 500

// migrationAge is the minimum age of events that are sent as a migration. The server warns about events of
// a migration of less than 48 hours; its clock may differ.
const migrationAge = 72 * time.Hour

// demoScopes returns the scopes that a key needs.
func demoScopes(remove bool) []string {
	out := []string{
		"project:read", "query:read", "feature_flag:write", "cohort:write", "experiment:write", "survey:write",
		"error_tracking:write", "insight:write", "dashboard:write",
	}
	if remove {
		return append(out, "person:write")
	}
	return append(out, "sharing_configuration:write", "organization:read", "user:read")
}

// requireScopes returns an error that names the scopes that the key lacks.
func (m *manager) requireScopes(ctx context.Context, scopes []string) error {
	var key struct{ Scopes []string }
	err := m.send(ctx, http.MethodGet, keysPath+"@current/", nil, &key)
	if statusOf(err) == http.StatusNotFound { // the service has a sign-in of its own
		return nil
	}
	if err != nil {
		return err
	}
	var missing []string
	for _, scope := range scopes {
		object, _, _ := strings.Cut(scope, ":")
		if !slices.Contains(key.Scopes, "*") && !slices.Contains(key.Scopes, scope) && !slices.Contains(key.Scopes, object+":write") {
			missing = append(missing, scope)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the key lacks %s: use a key that has it (bunting keys create); nothing was changed", strings.Join(missing, ", "))
	}
	return nil
}

// demoResult describes the state after the command.
type demoResult struct {
	Events int `json:"events"`
	People int `json:"people"`
	// Omitted is the number of events that were not sent because of a quota.
	Omitted   int        `json:"events_omitted,omitempty"`
	Created   int        `json:"created"`
	Records   []demoLink `json:"records"`
	Dashboard int64      `json:"dashboard"`
	Insights  int        `json:"insights"`
	URL       string     `json:"url"` // empty if the organization disables sharing
}

// demoLink is a record with its page in the console.
type demoLink struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	URL  string `json:"url"`
}

// makeDemo creates the missing records and events.
func makeDemo(ctx context.Context, m *manager) error {
	if m.project.Token == "" {
		return errors.New("the key cannot read the project, whose public key is needed to send events: use a key with the scope project:read")
	}
	d := &demoRun{manager: m, now: time.Now(), made: map[*demoKind][]*demoRecord{}}
	if err := d.prepare(ctx); err != nil {
		return err
	}
	foreign, err := m.countEvents(ctx, "IS NULL")
	if err != nil {
		return err
	}
	if foreign > 0 {
		if err := m.confirm(ctx, fmt.Sprintf("Mix made-up events with the existing %s?", cli.Plural(foreign, "event"))); err != nil {
			return err
		}
	}
	result := demoResult{}
	if err := d.createAll(ctx, &result); err != nil {
		return err
	}
	if *m.asJSON {
		return m.printJSON(result)
	}
	return m.Print(result.text())
}

// createAll creates the records that events refer to, the events, and then the other records.
func (d *demoRun) createAll(ctx context.Context, result *demoResult) error {
	if err := d.createFlags(ctx); err != nil {
		return err
	}
	if _, err := d.demoRollout(ctx, d.flag(demodata.RolloutFlag)); err != nil {
		return err
	}
	survey, err := d.demoSurvey(ctx)
	if err != nil {
		return err
	}
	if _, err := d.demoRule(ctx); err != nil {
		return err
	}
	set, err := d.flagSet(ctx)
	if err != nil {
		return err
	}
	if err := d.sendDemo(ctx, demodata.Events(d.now, demodata.World{Flags: set, Survey: survey.id()}), result); err != nil {
		return err
	}
	if _, err := d.demoExperiment(ctx); err != nil {
		return err
	}
	result.Insights = len(demoInsights)
	if result.URL, err = d.createBoard(ctx); err != nil {
		return err
	}
	return d.describe(ctx, result)
}

// flag returns the record of one of the demo's flags.
func (d *demoRun) flag(key string) *demoRecord {
	for _, r := range d.made[demoFlagKind] {
		if r.Key == key {
			return r
		}
	}
	return nil
}

// describe adds the links to a result.
func (d *demoRun) describe(ctx context.Context, result *demoResult) error {
	issue, err := d.findIssue(ctx)
	if err != nil {
		return err
	}
	result.Created = d.created
	base := fmt.Sprintf("%s/console/p/%d/", d.client.server, d.project.ID)
	for _, k := range []*demoKind{demoFlagKind, demoCohorts, demoExperiments, demoRollouts, demoSurveys, demoRules, demoBoards, demoInsightKind} {
		for _, r := range slices.SortedFunc(slices.Values(d.made[k]), byID) {
			result.Records = append(result.Records, demoLink{k.name, r.title(), base + r.page()})
		}
		if k == demoRules && issue != nil {
			result.Records = append(result.Records, demoLink{"error", issue.Name, base + "errors/" + issue.ID})
		}
	}
	for _, r := range d.made[demoBoards] {
		_, err = fmt.Sscan(r.id(), &result.Dashboard)
	}
	return err
}

// byID compares records by their ids, of which shorter numbers are smaller.
func byID(a, b *demoRecord) int {
	return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), strings.Compare(a.id(), b.id()))
}

func (r *demoResult) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d made-up events of %d made-up people in the last %d days\n", r.Events, r.People, demodata.Days)
	if r.Omitted > 0 {
		fmt.Fprintf(&b, "%d events of the last three days are left out, since they would count towards a quota\n", r.Omitted)
	}
	fmt.Fprintf(&b, "dashboard %d, %s, with %d insights\n\n", r.Dashboard, demoDashboard, r.Insights)
	rows := [][]string{}
	for _, l := range r.Records {
		if l.Kind != demoInsightKind.name {
			rows = append(rows, []string{l.Kind, l.Name, l.URL})
		}
	}
	b.WriteString(cli.Table(rows))
	if r.URL == "" {
		b.WriteString("\nThe dashboard has no public link: the organization does not allow public sharing.\n")
	} else {
		b.WriteString("\nEverybody with this link can read the dashboard:\n\n  " + r.URL + "\n")
	}
	b.WriteString("\nbunting demo --remove deletes all of it.\n")
	return b.String()
}

// sendDemo sends the events. The server stores each event only once, by its uuid.
func (d *demoRun) sendDemo(ctx context.Context, all []demodata.Event, result *demoResult) error {
	young, _ := slices.BinarySearchFunc(all, demodata.Stamp(d.now.UTC().Add(-migrationAge)), func(e demodata.Event, at string) int { return strings.Compare(e.Timestamp, at) })
	limited, err := d.hasQuota(ctx)
	if err != nil {
		return err
	}
	if limited {
		result.Omitted = len(all) - young
		all = all[:young]
	}
	progress := cli.NewProgress(d.Stderr)
	progress.Println("Writing %d made-up events of the last %d days into project %s", len(all), demodata.Days, d.project)
	defer progress.Clear()
	public := *d.client
	public.key = "" // events are sent with the public key only
	people := map[string]bool{}
	for from, to := 0, 0; from < len(all); from = to {
		isOld := from < young
		if to = min(from+demoBatch, len(all)); isOld {
			to = min(to, young)
		}
		part := all[from:to]
		if err := public.send(ctx, "POST", "/batch/", map[string]any{"api_key": d.project.Token, "historical_migration": isOld, "batch": part}, nil); err != nil {
			return err
		}
		for i := range part {
			people[part[i].DistinctID] = true
		}
		result.Events += len(part)
		progress.Show(int64(result.Events), int64(len(all)), fmt.Sprintf("%d of %d made-up events", result.Events, len(all)))
	}
	result.People = len(people)
	return nil
}

// hasQuota reports whether the organization has a quota for the demo's events. It is true if the key may
// not read that.
func (d *demoRun) hasQuota(ctx context.Context) (bool, error) {
	var project struct{ Organization string }
	if err := d.send(ctx, http.MethodGet, d.inProject("/"), nil, &project); err != nil {
		return false, err
	}
	var usage struct{ Events, Exceptions, Surveys usageView }
	err := d.send(ctx, http.MethodGet, "/api/organizations/"+pathPart(project.Organization)+"/usage/", nil, &usage)
	if status := statusOf(err); status == http.StatusForbidden || status == http.StatusNotFound {
		return true, nil
	}
	return usage.Events.Limit != nil || usage.Exceptions.Limit != nil || usage.Surveys.Limit != nil, err
}
