package client

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
	"github.com/bunting-flags/bunting/cmd/bunting/internal/clitest"
	"github.com/bunting-flags/bunting/flags/wire"
)

const (
	demoCountPath  = `POST /api/projects/1/query/ {"name":"bunting demo","query":{"kind":"HogQLQuery","query":"SELECT count() FROM events WHERE properties.made_up IS NULL"},"refresh":"force_blocking"}`
	demoBoards     = "GET /api/projects/1/dashboards/?search=Demo+%28made-up+data%29&limit=500&offset=0"
	demoBoardPath  = "GET /api/projects/1/dashboards/9/?refresh=force_cache"
	demoSharing    = "PATCH /api/projects/1/dashboards/9/sharing/"
	demoNewInsight = "POST /api/projects/1/insights/"
	demoNewBoard   = "POST /api/projects/1/dashboards/"
)

// demoRequests returns the requests without the batches of events, the number of which depends on the
// day, and the names of the new insights.
func demoRequests(t *testing.T, s *cannedServer) (out, insights []string) {
	t.Helper()
	for _, r := range s.requests {
		if body, ok := strings.CutPrefix(r, "POST /batch/ "); ok {
			b := decoded[struct {
				Key        string `json:"api_key"`
				Historical bool   `json:"historical_migration"`
				Batch      []json.RawMessage
			}](t, body)
			if b.Key != "phc_good" || !b.Historical || len(b.Batch) == 0 || len(b.Batch) > demoBatch {
				t.Errorf("a batch of %d events with the key %q, historical %v", len(b.Batch), b.Key, b.Historical)
			}
			continue
		}
		if body, ok := strings.CutPrefix(r, demoNewInsight+" "); ok {
			i := decoded[struct {
				Name, Description string
				Tags              []string
				Dashboards        []int
				Query             struct{ Kind string }
			}](t, body)
			if !strings.HasSuffix(i.Description, " Made up.") || !cmp.Equal(i.Tags, []string{"made-up"}) || !cmp.Equal(i.Dashboards, []int{9}) || i.Query.Kind == "" {
				t.Errorf("an insight as %s", body)
			}
			insights = append(insights, i.Name)
			continue
		}
		out = append(out, r)
	}
	return out, insights
}

// The demo creates the missing objects: the dashboard, each of its insights, and its link. Other
// events in the project need a confirmation before any event is sent.
func TestDemo_Requests(t *testing.T) {
	t.Parallel()
	all := []string{"Page views", "People by source", "Orders this week", "From visit to order", "Who comes back", "Browsers"}
	tile := func(name string) string { return `{"insight":{"name":"` + name + `"}}` }
	answers := func(more map[string]string) map[string]string {
		out := map[string]string{
			queryPath: `{"results":[[0]]}`, "POST /batch/": `{"status":1}`, demoBoards: cannedPage(), demoNewBoard: `201 {"id":9}`,
			demoNewInsight: `201 {}`, demoSharing: `{"access_token":"tok"}`,
		}
		for name, answer := range more {
			out[name] = answer
		}
		return out
	}
	const share = demoSharing + ` {"enabled":true}`
	newBoard := demoNewBoard + ` {"description":"` + demoAbout + `","name":"Demo (made-up data)","tags":["made-up"]}`
	for name, c := range map[string]struct {
		answers  map[string]string
		args     []string
		code     int
		want     []string
		insights []string
		stdout   string
		stderr   string
	}{
		"an empty project": {answers(nil), nil, 0, []string{demoCountPath, demoBoards, newBoard, share}, all, "dashboard 9, Demo (made-up data), with 6 insights\n\nOpen it:\n\n  SERVER/shared/tok\n", "in project 1 (Shop)"},
		"a second run": {
			answers(map[string]string{demoBoards: cannedPage(`{"id":8,"name":"Demo (made-up data) 2"}`, `{"id":9,"name":"Demo (made-up data)"}`), demoBoardPath: `{"id":9,"tiles":[{"text":{}},` + tile(all[0]) + `,` + tile(all[3]) + `]}`}),
			nil, 0, []string{demoCountPath, demoBoards, demoBoardPath, share}, []string{all[1], all[2], all[4], all[5]}, "with 6 insights", "in project 1",
		},
		"no sharing":     {answers(map[string]string{demoSharing: `403 {"detail":"no"}`}), nil, 0, []string{demoCountPath, demoBoards, newBoard, share}, all, "It has no link: the organization does not allow public sharing.\n", "in project 1"},
		"a failed link":  {answers(map[string]string{demoSharing: `400 {"detail":"no"}`}), nil, 1, []string{demoCountPath, demoBoards, newBoard, share}, all, "", "bunting: the server answered 400: no"},
		"other events":   {answers(map[string]string{queryPath: `{"results":[[3]]}`}), nil, 2, []string{demoCountPath}, nil, "", "demo: Mix made-up events with the existing 3 events in project 1 (Shop)? There is no terminal"},
		"confirmed":      {answers(map[string]string{queryPath: `{"results":[[1]]}`}), []string{"--yes"}, 0, []string{demoCountPath, demoBoards, newBoard, share}, all, "Open it:", "in project 1"},
		"an odd count":   {answers(map[string]string{queryPath: `{"results":[]}`}), nil, 1, []string{demoCountPath}, nil, "", "the server did not return how many events the project has"},
		"refused events": {answers(map[string]string{"POST /batch/": `401 {"detail":"no"}`}), nil, 1, []string{demoCountPath}, nil, "", "401: no"},
		"no public key":  {answers(map[string]string{cannedProjects: cannedPage(`{"id":1}`)}), nil, 1, []string{cannedProjects}, nil, "", "use a key with the scope project:read"},
	} {
		s := newCannedServer(t, c.answers)
		r := clitest.Call(context.Background(), []cli.Command{Demo}, "", []string{"BUNTING_SERVER=" + s.URL, "BUNTING_KEY=k"}, append([]string{"demo"}, c.args...)...)
		if stdout := strings.ReplaceAll(c.stdout, "SERVER", s.URL); r.Code != c.code || !strings.Contains(r.Stdout, stdout) || c.stdout == "" && r.Stdout != "" || !strings.Contains(r.Stderr, c.stderr) {
			t.Errorf("%s: exit %d\n%s%s", name, r.Code, r.Stdout, r.Stderr)
		}
		got, insights := demoRequests(t, s)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.insights, insights); diff != "" {
			t.Errorf("%s: insights (-want +got):\n%s", name, diff)
		}
	}
}

// The uuids of demo events have version 5, every person has the property made_up, and days are
// counted in UTC.
func TestDemoEvents_Days(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 14*3600)
	midnight := time.Date(2026, 3, 11, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		now         time.Time
		first, last string
	}{
		"the first instant of a day": {midnight, "2026-02-10T00:00:00.000Z", "2026-03-11T00:00:00.000Z"},
		"the last instant":           {midnight.Add(-time.Millisecond), "2026-02-09T00:00:00.000Z", "2026-03-10T23:59:59.999Z"},
		"of another zone":            {midnight.Add(-time.Millisecond).In(zone), "2026-02-09T00:00:00.000Z", "2026-03-10T23:59:59.999Z"},
		"after a leap day":           {time.Date(2028, 3, 1, 12, 0, 0, 0, time.UTC), "2028-02-01T00:00:00.000Z", "2028-03-01T12:00:00.000Z"},
	} {
		list := demoEvents(c.now)
		if len(list) == 0 || list[0].Timestamp < c.first || list[0].Timestamp[:10] != c.first[:10] || list[len(list)-1].Timestamp > c.last {
			t.Errorf("%s: %d events", name, len(list))
			continue
		}
		for _, e := range list {
			once, _ := e.Properties["$set_once"].(map[string]any)
			u, ok := wire.ParseUUID(e.UUID)
			if !ok || capture.UUID(u)[6]>>4 != 5 || once["made_up"] != true || e.Properties["$ip"] != nil || !strings.HasPrefix(e.DistinctID, "made-up-") {
				t.Fatalf("%s: %+v", name, e)
			}
		}
	}
}
