package insights

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/breakdown"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/lifecycle"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/internal/sqlquery"
	"github.com/bunting-flags/bunting/capture/insights/internal/trends"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// "The number of actors equals the number shown for dau …; the sum of event_count equals it for
// total" (§2.9.3), for every bucket and breakdown value of random queries, in the current period
// and the previous one.
func TestActors_CountsMatchResults(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	for range 150 {
		m, _ := generateEvents(random, time.UTC, 40)
		math := pick(random, "total", "dau", "weekly_active", "first_time_for_user", "sum")
		node := map[string]any{"kind": "EventsNode", "event": pick(random, "view", "buy"), "math": math}
		if math == "sum" {
			node["math_property"] = "a"
		}
		source := map[string]any{
			"kind": "TrendsQuery", "series": []any{node}, "interval": pick(random, "day", "week"),
			"dateRange":     map[string]any{"date_from": "2020-03-24", "date_to": "2020-03-30"},
			"compareFilter": map[string]any{"compare": true},
		}
		isSplit := random.IntN(2) == 0
		if isSplit {
			source["breakdownFilter"] = map[string]any{"breakdown": "b", "breakdown_limit": 2}
		}
		p := &port.Project{ID: 1}
		q, err := Parse(wire.MustEncode(source), p)
		if err != nil {
			t.Fatal(err)
		}
		result, err := q.Run(t.Context(), m, port.Options{Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		rows := result.Results.([]*trends.Row)
		days := map[string][]string{}
		for _, row := range rows {
			if row.CompareLabel == "current" {
				days["current"] = row.Days
			}
		}
		for _, row := range rows {
			for i, number := range row.Data {
				if len(days["current"]) <= i {
					continue
				}
				point := map[string]any{"kind": "InsightActorsQuery", "source": source, "day": days["current"][i], "series": 0, "compare": row.CompareLabel}
				if isSplit {
					point["breakdown"] = row.BreakdownValue
				}
				people, events := countActors(t, m, p, wire.MustEncode(point))
				switch {
				case math == "total" && events != int64(number), math != "total" && math != "sum" && people != int(number) && row.BreakdownValue != breakdown.OtherValue:
					t.Fatalf("%s\nvalue %v on %s (%s): %d people, %d events; the number is %v", wire.MustEncode(source), row.BreakdownValue, row.Days[i], row.CompareLabel, people, events, number)
				case math == "sum" && (number != 0) && people == 0:
					t.Fatalf("%s\nnobody is behind %v", wire.MustEncode(source), number)
				}
			}
		}
	}
}

// countActors returns how many actors and events a point has.
func countActors(t *testing.T, m *memory, p *port.Project, query json.RawMessage) (people int, events int64) {
	t.Helper()
	n, fault := document.Decode(query, "query")
	find := sqlquery.Sources{Find: findKind}.ActorFinder(n, p)
	if *fault != nil {
		t.Fatalf("%s: %v", query, *fault)
	}
	reader, _ := m.Open(t.Context(), 1)
	r := scan.NewRun(t.Context(), reader, p, port.Options{Now: time.Now()})
	c, err := find(r)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	for _, member := range c.Members {
		events += member.Events
	}
	return len(c.Members), events
}

// The same for lifecycle and stickiness.
func TestActors_LifecycleAndStickiness(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	for range 100 {
		m, _ := generateEvents(random, time.UTC, 40)
		for id := range m.owner {
			m.setProfile(id, time.Date(2020, 3, 20+random.IntN(10), 0, 0, 0, 0, time.UTC), nil)
		}
		source := map[string]any{
			"kind": "LifecycleQuery", "series": []any{map[string]any{"kind": "EventsNode", "event": "view"}},
			"dateRange": map[string]any{"date_from": "2020-03-24", "date_to": "2020-03-30"},
		}
		for _, row := range answer(t, m, source).([]*lifecycle.Row) {
			for i, number := range row.Data {
				point := map[string]any{"kind": "InsightActorsQuery", "source": source, "day": row.Days[i], "status": row.Status}
				people, _ := countActors(t, m, &port.Project{ID: 1}, wire.MustEncode(point))
				if people != int(max(number, -number)) {
					t.Fatalf("%s on %s: %d people, the number is %v", row.Status, row.Days[i], people, number)
				}
			}
		}
		source["kind"] = "StickinessQuery"
		for _, row := range answer(t, m, source).([]*lifecycle.StickinessRow) {
			for i, number := range row.Data {
				point := map[string]any{"kind": "StickinessActorsQuery", "source": source, "day": row.Days[i], "series": 0}
				if people, _ := countActors(t, m, &port.Project{ID: 1}, wire.MustEncode(point)); people != int(number) {
					t.Fatalf("%d days: %d people, the number is %v", row.Days[i], people, number)
				}
			}
		}
	}
}

func answer(t *testing.T, m *memory, query map[string]any) any {
	t.Helper()
	q, err := Parse(wire.MustEncode(query), &port.Project{ID: 1})
	if err != nil {
		t.Fatal(err)
	}
	result, err := q.Run(t.Context(), m, port.Options{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return result.Results
}

// Points that do not exist are errors with their place (§2.9.3).
func TestActors_SourcesRejected(t *testing.T) {
	trend := `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"a"}]%s}`
	for query, place := range map[string]string{
		`{"kind":"InsightActorsQuery"}`:                                                                                                    "query__source",
		`{"kind":"InsightActorsQuery","source":{"kind":"PathsQuery"}}`:                                                                     "query__source__kind",
		`{"kind":"InsightActorsQuery","source":` + fmt.Sprintf(trend, ``) + `}`:                                                            "query__day",
		`{"kind":"InsightActorsQuery","day":"2020-01-01","series":1,"source":` + fmt.Sprintf(trend, ``) + `}`:                              "query__series",
		`{"kind":"InsightActorsQuery","day":"2020-01-01","source":` + fmt.Sprintf(trend, `,"trendsFilter":{"display":"BoldNumber"}`) + `}`: "query__day",
		`{"kind":"InsightActorsQuery","day":"soon","source":` + fmt.Sprintf(trend, ``) + `}`:                                               "query__day",
	} {
		n, fault := document.Decode(json.RawMessage(query), "query")
		if (sqlquery.Sources{Find: findKind}).ActorFinder(n, &port.Project{}); *fault == nil || (*fault).Attr != place {
			t.Errorf("%s: %v, want a fault at %s", query, *fault, place)
		}
	}
}

// A point without a breakdown value selects all values, also with a breakdown by cohorts.
func TestActors_EmptyBreakdown(t *testing.T) {
	m, _ := generateEvents(rand.New(rand.NewPCG(1, 1)), time.UTC, 40)
	for _, breakdown := range []string{`{"breakdown_type":"cohort","breakdown":["all"]}`, `{"breakdown":"a"}`} {
		point := `{"kind":"InsightActorsQuery","day":"2020-03-24","breakdown":[],"source":{"kind":"TrendsQuery","series":[{"kind":"EventsNode"}],"breakdownFilter":` + breakdown + `,
			"interval":"month","dateRange":{"date_from":"2020-03-20","date_to":"2020-04-30"}}}`
		if _, events := countActors(t, m, &port.Project{ID: 1}, json.RawMessage(point)); events == 0 || events > 40 {
			t.Errorf("%s: %d events, want those of March", breakdown, events)
		}
	}
}
