package insights

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/funnels"
	"github.com/bunting-flags/bunting/capture/insights/internal/lifecycle"
	"github.com/bunting-flags/bunting/capture/insights/internal/retention"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/internal/sqlquery"
	"github.com/bunting-flags/bunting/capture/insights/internal/trends"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// This file tests laws of sums over random queries and random events: the parts of a breakdown add
// up, the steps of funnels never grow, and a point has as many actors as its number (§2.4.4,
// §2.5.3, §2.6, §2.9.3).

// runQuery returns the results of a query.
func runQuery(t *testing.T, m *memory, p *port.Project, query json.RawMessage) any {
	t.Helper()
	q, err := Parse(query, p)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	result, err := q.Run(t.Context(), m, port.Options{Now: time.Date(2020, 6, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return result.Results
}

// A trend is the sum of its breakdown values and the rest. For persons, who may have several
// values, it is at most that sum.
func TestSums_Trends(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 3))
	for range 150 {
		m, _ := generateEvents(random, time.UTC, 60)
		node := map[string]any{"kind": "EventsNode", "event": pick[any](random, "view", "buy", nil), "math": pick(random, "total", "sum", "dau")}
		if node["math"] == "sum" {
			node["math_property"] = "a"
		}
		source := map[string]any{
			"kind": "TrendsQuery", "series": []any{node}, "interval": pick(random, "hour", "day", "week", "month"),
			"dateRange": map[string]any{"date_from": "2020-03-24", "date_to": "2020-03-30"},
		}
		sums := func() (out []float64) {
			for _, row := range runQuery(t, m, &port.Project{ID: 1}, wire.MustEncode(source)).([]*trends.Row) {
				if out == nil {
					out = make([]float64, len(row.Data))
				}
				for i, v := range row.Data {
					out[i] += float64(v)
				}
			}
			return out
		}
		totals := sums()
		source["breakdownFilter"] = map[string]any{"breakdown": pick(random, "a", "b"), "breakdown_limit": 1 + random.IntN(4)}
		parts := sums()
		for i, want := range totals {
			got := 0.0
			if parts != nil { // a value without events has no row
				got = parts[i]
			}
			if node["math"] == "dau" && got >= want || math.Abs(got-want) < 1e-9 {
				continue
			}
			t.Fatalf("%s\npoint %d: the values add up to %v, the whole is %v", wire.MustEncode(source), i, got, want)
		}
	}
}

// groupsOf returns the steps of a funnel, by breakdown value if it has a breakdown.
func groupsOf(results any) [][]funnels.Step {
	if steps, one := results.([]funnels.Step); one {
		return [][]funnels.Step{steps}
	}
	return results.([][]funnels.Step)
}

// No step has more actors than the step before it; the actors that reached and left a step are as
// many as the numbers; if each actor has one value, the values and the rest add up to the total.
func TestSums_Funnels(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 4))
	p := &port.Project{ID: 1, Location: plainZone}
	for range 200 {
		_, m := randomActs(random)
		f := randomFunnel(random)
		f.viz = "steps"
		touch := f.attribution == "first_touch" || f.attribution == "last_touch"
		source := f.json()
		sums := make([]int64, len(f.nodes))
		for _, steps := range groupsOf(runQuery(t, m, p, source)) {
			before := int64(math.MaxInt64)
			for k, s := range steps {
				if s.Count > before {
					t.Fatalf("%s\nstep %d: %d after %d", source, k, s.Count, before)
				}
				sums[k] += s.Count
				point := map[string]any{"kind": "FunnelsActorsQuery", "source": source, "funnelStep": k + 1}
				if f.breakdown {
					point["funnelStepBreakdown"] = s.BreakdownValue
				}
				if fmt.Sprint(s.BreakdownValue) == "[Other]" && !touch {
					before = s.Count
					continue // a person with two of the values counts in both
				}
				if people, _ := countActors(t, m, p, wire.MustEncode(point)); int64(people) != s.Count {
					t.Fatalf("%s\nstep %d of %v: %d people, the number is %d", source, k, s.BreakdownValue, people, s.Count)
				}
				point["funnelStep"] = -k - 1
				if k > 0 {
					if people, _ := countActors(t, m, p, wire.MustEncode(point)); int64(people) != before-s.Count {
						t.Fatalf("%s\nbefore step %d of %v: %d people left, the numbers are %d and %d", source, k, s.BreakdownValue, people, before, s.Count)
					}
				}
				before = s.Count
			}
		}
		if f.breakdown && touch {
			f.breakdown = false
			for k, s := range groupsOf(runQuery(t, m, p, f.json()))[0] {
				if s.Count != sums[k] {
					t.Fatalf("%s\nstep %d: the values add up to %d, the whole is %d", source, k, sums[k], s.Count)
				}
			}
		}
	}
}

// A row of retention has as many actors as its first number, and in each column as many as the
// number; only actors of the row return.
func TestSums_Retention(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 5))
	p := &port.Project{ID: 1, Location: plainZone}
	for range 150 {
		_, m := randomActs(random)
		r := plainRetention{
			target: plainNode{name: pick(random, "a", "b", "")}, returning: plainNode{name: pick(random, "a", "b", "c")}, columns: 1 + random.IntN(6),
			least: 1 + random.IntN(2), first: random.IntN(2) == 0, cumulative: random.IntN(2) == 0,
		}
		source := r.json()
		for i, row := range runQuery(t, m, p, source).([]retention.Row) {
			point := wire.MustEncode(map[string]any{"kind": "InsightActorsQuery", "source": source, "interval": i})
			n, fault := document.Decode(point, "query")
			find := sqlquery.Sources{Find: findKind}.ActorFinder(n, p)
			if *fault != nil {
				t.Fatal(*fault)
			}
			reader, _ := m.Open(t.Context(), 1)
			c, err := find(scan.NewRun(t.Context(), reader, p, port.Options{Now: time.Date(2020, 6, 1, 0, 0, 0, 0, time.UTC)}))
			if err != nil {
				t.Fatal(err)
			}
			columns := map[int]int64{}
			for _, member := range c.Members {
				for _, k := range member.Appearances {
					columns[int(k)]++
				}
			}
			for k, cell := range row.Values {
				if cell.Count != columns[k] || cell.Count > row.Values[0].Count || r.cumulative && k > 1 && cell.Count > row.Values[k-1].Count {
					t.Fatalf("%s\nrow %d, column %d: %d people, the numbers are %v", source, i, k, columns[k], row.Values)
				}
			}
		}
	}
}

// The persons that are new, returning or resurrecting in a bucket are all that are active in it;
// each person that was active in the range was so on some number of days.
func TestSums_LifecycleAndStickiness(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 6))
	for range 200 {
		m, _ := generateEvents(random, time.UTC, 40)
		for id := range m.owner {
			m.setProfile(id, time.Date(2020, 3, 20+random.IntN(10), 0, 0, 0, 0, time.UTC), nil)
		}
		series := []any{map[string]any{"kind": "EventsNode", "event": pick[any](random, "view", nil), "math": "dau"}}
		query := map[string]any{"kind": "TrendsQuery", "series": series, "interval": "day", "dateRange": map[string]any{"date_from": "2020-03-24", "date_to": "2020-03-30"}}
		daily := runQuery(t, m, &port.Project{ID: 1}, wire.MustEncode(query)).([]*trends.Row)[0].Data
		query["trendsFilter"] = map[string]any{"display": "BoldNumber"}
		total := runQuery(t, m, &port.Project{ID: 1}, wire.MustEncode(query)).([]*trends.Row)[0].Aggregated
		delete(query, "trendsFilter")

		query["kind"] = "StickinessQuery"
		sum := scan.Number(0)
		for _, n := range runQuery(t, m, &port.Project{ID: 1}, wire.MustEncode(query)).([]*lifecycle.StickinessRow)[0].Data {
			sum += n
		}
		if total == nil || sum != *total {
			t.Fatalf("%s: %v people on some days, there are %v", wire.MustEncode(query), sum, total)
		}

		query["kind"] = "LifecycleQuery"
		delete(series[0].(map[string]any), "math")
		sums := make([]scan.Number, len(daily))
		for _, row := range runQuery(t, m, &port.Project{ID: 1}, wire.MustEncode(query)).([]*lifecycle.Row) {
			for i, n := range row.Data {
				sums[i] += max(n, 0)
			}
		}
		for i, n := range daily {
			if sums[i] != n {
				t.Fatalf("%s: %v people in bucket %d, there are %v", wire.MustEncode(query), sums[i], i, n)
			}
		}
	}
}
