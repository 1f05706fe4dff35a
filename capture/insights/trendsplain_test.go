package insights

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/plaintest"
	"github.com/bunting-flags/bunting/capture/insights/internal/trends"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// The evaluator of this file follows the text of the specification over plain rows: for every cell
// of the result it goes through all events. It shares no code with the engine except the calendar,
// which dates_test.go tests.

// plainEvent is an event with its person.
type plainEvent struct {
	name, distinctID string
	at               time.Time
	order            int
	properties       map[string]any
	person           string // the person to whom it belongs now
}

type plainStore struct {
	events []plainEvent
	zone   *time.Location
}

// plainText implements §3.2.2 over decoded JSON.
func plainText(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", false
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		f, _ := v.Float64()
		return strconv.FormatFloat(f, 'f', -1, 64), true
	}
	return string(wire.MustEncode(v)), true
}

func plainNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil && v != "inf" && v != "nan"
	}
	return 0, false
}

// plainQuery is a query of the generator.
type plainQuery struct {
	event, math, property string
	filterKey, filterOp   string
	filterValue           any
	interval              calendar.Interval
	from, to              time.Time // local days
	breakdown             string
	cumulative            bool
}

func (q *plainQuery) json() json.RawMessage {
	node := map[string]any{"kind": "EventsNode", "math": q.math}
	if q.event != "" {
		node["event"] = q.event
	}
	if q.property != "" {
		node["math_property"] = q.property
	}
	if q.filterOp != "" {
		node["properties"] = []any{map[string]any{"key": q.filterKey, "operator": q.filterOp, "value": q.filterValue}}
	}
	query := map[string]any{
		"kind": "TrendsQuery", "series": []any{node}, "interval": q.interval,
		"dateRange": map[string]any{"date_from": q.from.Format("2006-01-02"), "date_to": q.to.Format("2006-01-02")},
	}
	if q.breakdown != "" {
		query["breakdownFilter"] = map[string]any{"breakdown": q.breakdown, "breakdown_limit": 1000}
	}
	if q.cumulative {
		query["trendsFilter"] = map[string]any{"display": "ActionsLineGraphCumulative"}
	}
	return wire.MustEncode(query)
}

// passes evaluates the conditions of the series.
func (q *plainQuery) passes(e *plainEvent) bool {
	if q.event != "" && e.name != q.event {
		return false
	}
	text, has := plainText(e.properties[q.filterKey])
	switch q.filterOp {
	case "exact":
		want, _ := plainText(q.filterValue)
		x, okX := plainNumber(e.properties[q.filterKey])
		v, okV := plainNumber(q.filterValue)
		_, numberX := e.properties[q.filterKey].(json.Number)
		_, numberV := q.filterValue.(json.Number)
		return has && (text == want || (numberX || numberV) && okX && okV && x == v)
	case "is_not_set": // null is set
		_, exists := e.properties[q.filterKey]
		return !exists
	case "gt":
		x, okX := plainNumber(e.properties[q.filterKey])
		v, okV := plainNumber(q.filterValue)
		return okX && okV && x > v
	}
	return true
}

// value returns the breakdown value of an event.
func (q *plainQuery) value(e *plainEvent) string {
	if q.breakdown == "" {
		return ""
	}
	if text, _ := plainText(e.properties[q.breakdown]); text != "" {
		return text
	}
	return "$$_posthog_breakdown_null_$$"
}

// trends returns the expected rows: numbers by breakdown value.
func (n *plainStore) trends(q *plainQuery, c calendar.Calendar) map[string][]float64 {
	d, _ := calendar.ParseDate(q.from.Format("2006-01-02"), false)
	from := c.Resolve(d, time.Time{})
	d, _ = calendar.ParseDate(q.to.Format("2006-01-02"), false)
	to := c.EndOf(calendar.Day, c.Resolve(d, time.Time{}))
	b, _ := c.BucketsBetween(q.interval, from, to)
	first := c.StartOf(q.interval, from)
	if q.interval == calendar.Week {
		first = c.StartOf(calendar.Day, from)
	}
	if q.interval == calendar.Hour { // "an absolute date_to with hour … stays as it is"
		to = c.Resolve(d, time.Time{})
		b, _ = c.BucketsBetween(calendar.Hour, from, to)
	}
	values := map[string]bool{}
	if q.breakdown == "" {
		values[""] = true
	}
	in := func(e *plainEvent, from, to time.Time) bool { return !e.at.Before(from) && !e.at.After(to) }
	for i := range n.events {
		if e := &n.events[i]; q.passes(e) && in(e, first, to) {
			values[q.value(e)] = true
		}
	}
	out := map[string][]float64{}
	for value := range values {
		points := make([]float64, b.Len())
		for k := range points {
			start, end := b.Start(k), time.UnixMicro(b.EndAt(k)-1)
			var some []*plainEvent
			for i := range n.events {
				if e := &n.events[i]; q.passes(e) && in(e, first, to) && in(e, start, end) && q.value(e) == value {
					some = append(some, e)
				}
			}
			points[k] = n.measure(q, some, c, start, to, value)
		}
		if q.cumulative {
			for k := 1; k < len(points); k++ {
				points[k] += points[k-1]
			}
			if q.math == "dau" { // each person counts only in the first bucket
				for k := range points {
					people := map[string]bool{}
					for i := range n.events {
						if e := &n.events[i]; q.passes(e) && in(e, first, to) && e.at.UnixMicro() < b.EndAt(k) && q.value(e) == value {
							people[e.person] = true
						}
					}
					points[k] = float64(len(people))
				}
			}
		}
		out[value] = points
	}
	return out
}

// measure implements §2.4.2 for the events of a bucket.
func (n *plainStore) measure(q *plainQuery, some []*plainEvent, c calendar.Calendar, start, to time.Time, value string) float64 {
	people := map[string]float64{}
	var numbers []float64
	for _, e := range some {
		people[e.person]++
		if f, ok := plainNumber(e.properties[q.property]); ok {
			numbers = append(numbers, f)
		}
	}
	switch q.math {
	case "total":
		return float64(len(some))
	case "dau":
		return float64(len(people))
	case "weekly_active":
		if q.interval == calendar.Week || q.interval == calendar.Month {
			return float64(len(people))
		}
		from := c.Local(c.Clock(start).AddDate(0, 0, -6))
		end := c.EndOf(calendar.Day, start)
		if q.interval == calendar.Hour {
			from, end = start.Add(-167*time.Hour), start.Add(time.Hour-time.Microsecond)
		}
		active := map[string]bool{}
		for i := range n.events {
			if e := &n.events[i]; q.passes(e) && !e.at.Before(from) && !e.at.After(end) && !e.at.After(to) && q.value(e) == value {
				active[e.person] = true
			}
		}
		return float64(len(active))
	case "avg_count_per_actor":
		for _, count := range people {
			numbers = append(numbers, count)
		}
		return plainFold("avg", numbers)
	case "first_time_for_user":
		return n.firsts(q, some)
	}
	return plainFold(q.math, numbers)
}

// firsts counts the persons whose first event of the name is among some.
func (n *plainStore) firsts(q *plainQuery, some []*plainEvent) (count float64) {
	for _, e := range some {
		first := true
		for i := range n.events {
			o := &n.events[i]
			if o.person == e.person && (q.event == "" || o.name == q.event) && (o.at.Before(e.at) || o.at.Equal(e.at) && o.order < e.order) {
				first = false
			}
		}
		if first {
			count++
		}
	}
	return count
}

func plainFold(fold string, numbers []float64) float64 {
	if len(numbers) == 0 {
		return 0
	}
	slices.Sort(numbers)
	sum := 0.0
	for _, f := range numbers {
		sum += f
	}
	switch fold {
	case "sum":
		return sum
	case "avg":
		return sum / float64(len(numbers))
	case "min":
		return numbers[0]
	case "max":
		return numbers[len(numbers)-1]
	case "median":
		at := float64(len(numbers)-1) * 0.5
		low := int(math.Floor(at))
		high := int(math.Ceil(at))
		return numbers[low] + (numbers[high]-numbers[low])*(at-float64(low))
	}
	panic(fold)
}

// generateEvents returns a store of random events: merged persons, equal instants, days on which
// clocks change, properties of all types.
func generateEvents(random *rand.Rand, zone *time.Location, count int) (*memory, *plainStore) {
	m, n := &memory{owner: map[string]capture.UUID{}, batch: 7}, &plainStore{zone: zone}
	owner := map[string]string{}
	for i := range 8 {
		id := fmt.Sprintf("p%d", i)
		owner[id] = fmt.Sprintf("p%d", i/(1+random.IntN(3))) // some have the same person
		m.owner[id] = capture.PersonID(1, owner[id])
	}
	base := time.Date(2020, 3, 20, 0, 0, 0, 0, time.UTC)
	values := []any{"Chrome", "Firefox", "", "10", json.Number("10"), json.Number("2.5"), json.Number("7"), true, nil, []any{json.Number("1")}, "ä"}
	for i := range count {
		at := base.Add(time.Duration(random.IntN(16*24*4)) * 15 * time.Minute)
		properties := map[string]any{}
		for _, key := range []string{"a", "b"} {
			if random.IntN(4) > 0 {
				properties[key] = values[random.IntN(len(values))]
			}
		}
		e := plainEvent{name: []string{"view", "buy", "leave"}[random.IntN(3)], distinctID: fmt.Sprintf("p%d", random.IntN(8)), at: at, order: i, properties: properties}
		e.person = owner[e.distinctID]
		n.events = append(n.events, e)
		m.events = append(m.events, memoryEvent{name: e.name, distinctID: e.distinctID, at: at, properties: string(wire.MustEncode(properties))})
	}
	return m, n
}

func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

// Random queries over random events have the same results in the engine as in the evaluator above.
func TestTrends_AsTheText(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	for round := range drawCount(80) {
		z := plaintest.Zone(t, pick(random, "UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York"))
		m, n := generateEvents(random, z, 1+random.IntN(60))
		c := calendar.Calendar{Zone: z, WeekStart: pick(random, time.Sunday, time.Monday)}
		for range 50 {
			first := random.IntN(12)
			q := &plainQuery{
				event: pick(random, "view", "buy", ""), math: pick(random, "total", "total", "dau", "weekly_active", "sum", "avg", "min", "max", "median", "avg_count_per_actor", "first_time_for_user"),
				interval:  pick(random, calendar.Day, calendar.Day, calendar.Week, calendar.Month, calendar.Hour),
				from:      time.Date(2020, 3, 21+first, 0, 0, 0, 0, time.UTC),
				to:        time.Date(2020, 3, 21+first+random.IntN(6), 0, 0, 0, 0, time.UTC),
				breakdown: pick(random, "", "", "a", "b"),
			}
			q.cumulative = random.IntN(4) == 0 && (q.math == "total" || q.math == "dau")
			if slices.Contains([]string{"sum", "avg", "min", "max", "median"}, q.math) {
				q.property = pick(random, "a", "b")
			}
			if random.IntN(2) == 0 {
				q.filterKey, q.filterOp = pick(random, "a", "b"), pick(random, "exact", "gt", "is_not_set")
				q.filterValue = pick[any](random, "Chrome", "10", json.Number("10"), json.Number("3"))
				if q.filterOp == "gt" && q.filterValue == "Chrome" { // which is an error
					q.filterValue = "3"
				}
			}
			got := engineTrends(t, m, &port.Project{ID: 1, Location: z, WeekStart: c.WeekStart}, q.json())
			want := n.trends(q, c)
			if fault := unequal(got, want, q.math == "first_time_for_user"); fault != "" {
				t.Fatalf("round %d, zone %s, weeks from %s\n%s\n%s", round, z, c.WeekStart, q.json(), fault)
			}
		}
	}
}

// engineTrends returns the rows of the engine by breakdown value.
func engineTrends(t *testing.T, m *memory, p *port.Project, query json.RawMessage) map[string][]float64 {
	t.Helper()
	q, err := Parse(query, p)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	result, err := q.Run(t.Context(), m, port.Options{Now: time.Date(2020, 6, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	out := map[string][]float64{}
	for _, row := range result.Results.([]*trends.Row) {
		value, _ := row.BreakdownValue.(string)
		points := make([]float64, len(row.Data))
		for i, v := range row.Data {
			points[i] = float64(v)
		}
		out[value] = points
	}
	return out
}

// unequal describes the first difference between two results. If zeros is true, rows with only
// zeros may be missing.
func unequal(got, want map[string][]float64, zeros bool) string {
	for value, w := range want {
		g, ok := got[value]
		if !ok && zeros && plainFold("max", slices.Clone(w)) == 0 {
			continue
		}
		if !slices.EqualFunc(g, w, func(a, b float64) bool { return math.Abs(a-b) < 1e-9*max(1, math.Abs(b)) }) {
			return fmt.Sprintf("value %q: %v, want %v", value, g, w)
		}
	}
	for value, g := range got {
		if _, ok := want[value]; !ok && plainFold("max", slices.Clone(g)) != 0 {
			return fmt.Sprintf("value %q: %v, want no such row", value, g)
		}
	}
	return ""
}
