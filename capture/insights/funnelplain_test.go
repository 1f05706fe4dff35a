package insights

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/plaintest"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// The evaluator of this file computes funnels and retention over plain rows, person by person and
// cell by cell, as §2.5 and §2.6 define them. It shares the naive walkers of funnelnaive_test.go,
// but no code of the engine.

// act is an event of a person.
type act struct {
	name, id string
	person   int
	at       time.Time
	day      int // of the range, by the local date
	order    int
	os       any // a property; nil: missing
	n        int
}

var (
	plainZone  = mustLoad("Europe/Berlin")
	plainFirst = time.Date(2020, 3, 27, 0, 0, 0, 0, plainZone) // clocks change on the 29th
)

func mustLoad(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return zone
}

const plainDays = 5

// randomActs returns events of five persons, one of them with two merged distinct ids, with ties,
// before, in and after the range.
func randomActs(random *rand.Rand) ([]act, *memory) {
	m := &memory{owner: map[string]capture.UUID{}}
	for person := range 5 {
		m.owner[fmt.Sprint(person)] = capture.PersonID(1, fmt.Sprint("person", person))
	}
	m.owner["anonymous"] = m.owner["0"]
	acts := make([]act, random.IntN(30))
	for i := range acts {
		a := &acts[i]
		a.person = random.IntN(5)
		a.id = fmt.Sprint(a.person)
		if a.person == 0 && random.IntN(2) == 0 {
			a.id = "anonymous"
		}
		a.name, a.order, a.n = string("abcx"[random.IntN(4)]), i+1, random.IntN(4)
		a.at = plainFirst.Add(time.Duration(random.IntN(24*(plainDays+2))-24) * time.Hour)
		if random.IntN(2) == 0 && i > 0 {
			a.at = acts[i-1].at
		}
		y, month, d := a.at.Date()
		a.day = int(time.Date(y, month, d, 0, 0, 0, 0, time.UTC).Sub(time.Date(2020, 3, 27, 0, 0, 0, 0, time.UTC)).Hours() / 24)
		a.os = []any{nil, "", "Mac", "Win", 5}[random.IntN(5)]
		properties := map[string]any{"n": a.n}
		if a.os != nil {
			properties["os"] = a.os
		}
		m.events = append(m.events, memoryEvent{name: a.name, distinctID: a.id, at: a.at, properties: string(wire.MustEncode(properties))})
	}
	return acts, m
}

func inRangeOf(acts []act, first bool) []act {
	return slices.DeleteFunc(slices.Clone(acts), func(a act) bool {
		return !first && a.at.Before(plainFirst) || !a.at.Before(plainFirst.AddDate(0, 0, plainDays))
	})
}

// byPerson returns the events of each person in order.
func byPerson(acts []act) map[int][]act {
	out := map[int][]act{}
	for _, a := range acts {
		out[a.person] = append(out[a.person], a)
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b act) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.order, b.order)) })
	}
	return out
}

func (a act) value() string {
	if a.os == nil {
		return ""
	}
	return fmt.Sprint(a.os)
}

// plainNode is a step: a name, and a minimum of n.
type plainNode struct {
	name  string // "" for every event
	least int
	first bool // math first_time_for_user
}

func (n plainNode) matches(a act) bool { return (n.name == "" || n.name == a.name) && a.n >= n.least }

func (n plainNode) json() map[string]any {
	node := map[string]any{"kind": "EventsNode"}
	if n.name != "" {
		node["event"] = n.name
	}
	if n.least > 0 {
		node["properties"] = []any{map[string]any{"key": "n", "operator": "gte", "value": n.least}}
	}
	if n.first {
		node["math"] = "first_time_for_user"
	}
	return node
}

type plainFunnel struct {
	nodes       []plainNode
	order, viz  string
	hours       int
	excluded    bool // x, over all steps
	breakdown   bool
	attribution string
	step, limit int
	bins        int
}

func randomFunnel(random *rand.Rand) plainFunnel {
	f := plainFunnel{hours: 1 + random.IntN(60), limit: 1 + random.IntN(3), breakdown: random.IntN(2) == 0}
	for range 2 + random.IntN(3) {
		n := plainNode{name: string("abc"[random.IntN(3)]), least: max(0, random.IntN(4)-1)}
		if random.IntN(12) == 0 {
			n.name = ""
		}
		n.first = n.name != "" && random.IntN(8) == 0
		f.nodes = append(f.nodes, n)
	}
	f.order = []string{"ordered", "ordered", "strict", "unordered"}[random.IntN(4)]
	f.viz = []string{"steps", "steps", "time_to_convert", "trends"}[random.IntN(4)]
	f.excluded = f.order != "strict" && random.IntN(3) == 0
	f.attribution = []string{"first_touch", "last_touch", "all_events", "step"}[random.IntN(4)]
	if f.attribution == "step" && f.order != "unordered" {
		f.step = random.IntN(len(f.nodes))
	}
	f.bins = random.IntN(4)
	if f.viz == "trends" {
		f.limit = 9
	}
	return f
}

func (f *plainFunnel) json() json.RawMessage {
	series := []any{}
	for _, n := range f.nodes {
		series = append(series, n.json())
	}
	filter := map[string]any{
		"funnelVizType": f.viz, "funnelOrderType": f.order, "funnelWindowInterval": f.hours, "funnelWindowIntervalUnit": "hour",
		"breakdownAttributionType": f.attribution, "breakdownAttributionValue": f.step,
	}
	if f.bins > 0 {
		filter["binCount"] = f.bins
	}
	if f.excluded {
		filter["exclusions"] = []any{map[string]any{"kind": "EventsNode", "event": "x", "funnelFromStep": 0, "funnelToStep": len(f.nodes) - 1}}
	}
	q := map[string]any{"kind": "FunnelsQuery", "series": series, "funnelsFilter": filter, "dateRange": plainRange}
	if f.breakdown {
		q["breakdownFilter"] = map[string]any{"breakdown": "os", "breakdown_limit": f.limit}
	}
	return wire.MustEncode(q)
}

var plainRange = map[string]any{"date_from": "2020-03-27", "date_to": "2020-03-31"}

// plainWalk has one person's events for one breakdown value.
type plainWalk struct {
	value  string
	events []plaintest.Event
}

// considerEvents returns the events of a person that match a step or an exclusion, or for strict
// funnels all events, with their breakdown values.
func (f *plainFunnel) considerEvents(all, ever []act) (events []plaintest.Event, values []string) {
	for _, a := range all {
		e := plaintest.Event{At: a.at.UnixMicro()}
		for k, n := range f.nodes {
			// The first event of the name ever, if it passes the step's filters.
			first := slices.IndexFunc(ever, func(a act) bool { return a.name == n.name })
			if n.matches(a) && (!n.first || ever[first].order == a.order) {
				e.Steps = append(e.Steps, k+1)
			}
		}
		if f.excluded && a.name == "x" {
			e.Exclusions = []int{0}
		}
		if len(e.Steps)+len(e.Exclusions) > 0 || f.order == "strict" {
			events, values = append(events, e), append(values, a.value())
		}
	}
	return events, values
}

func (f *plainFunnel) walks(events []plaintest.Event, values []string) []plainWalk {
	if !f.breakdown || f.viz == "time_to_convert" {
		return []plainWalk{{"", events}}
	}
	some := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
	switch {
	case f.attribution == "first_touch" && len(some) > 0:
		return []plainWalk{{some[0], events}}
	case f.attribution == "last_touch" && len(some) > 0:
		return []plainWalk{{some[len(some)-1], events}}
	case f.attribution == "first_touch" || f.attribution == "last_touch":
		return []plainWalk{{"", events}}
	}
	var out []plainWalk
	for _, value := range []string{"", "5", "Mac", "Win"} {
		walk := plainWalk{value: value}
		had := false
		for i, e := range events {
			isStep := slices.Contains(e.Steps, f.step+1) || f.order == "unordered" && len(e.Steps) > 0
			switch {
			case values[i] == value:
				had = had || isStep || f.attribution == "all_events"
			case f.attribution == "all_events":
				continue
			case f.order == "unordered":
				e.Barred = true
			default:
				e.Steps = slices.DeleteFunc(slices.Clone(e.Steps), func(k int) bool { return k == f.step+1 })
			}
			walk.events = append(walk.events, e)
		}
		if had {
			out = append(out, walk)
		}
	}
	return out
}

func (f *plainFunnel) walk(events []plaintest.Event) []int64 {
	window := f.hours * 3600e6
	if f.order == "unordered" {
		_, times := plaintest.Unordered(len(f.nodes), window, events)
		return times
	}
	naive := plaintest.Funnel{Steps: len(f.nodes), Window: window, Strict: f.order == "strict"}
	if f.excluded {
		naive.Exclusions = []plaintest.Exclusion{{From: 0, To: len(f.nodes) - 1}}
	}
	_, times := naive.Walk(events)
	return times
}

// plainGroup has the counts of one breakdown value.
type plainGroup struct {
	value    string
	counts   []int
	gaps     [][]float64
	took     []float64 // of complete conversions
	from, to [plainDays]int
}

func (f *plainFunnel) groups(acts []act) []*plainGroup {
	found := map[string]*plainGroup{}
	ever := byPerson(inRangeOf(acts, true))
	for person, all := range byPerson(inRangeOf(acts, false)) {
		events, values := f.considerEvents(all, ever[person])
		for _, w := range f.walks(events, values) {
			times, days := f.walk(w.events), f.enteredDays(w.events)
			if len(times) == 0 && f.viz != "trends" || len(days) == 0 && f.viz == "trends" {
				continue
			}
			g := found[w.value]
			if g == nil {
				g = &plainGroup{value: w.value, counts: make([]int, len(f.nodes)), gaps: make([][]float64, len(f.nodes))}
				found[w.value] = g
			}
			for k := range times {
				g.counts[k]++
				if k > 0 && times[k] > times[k-1] {
					g.gaps[k] = append(g.gaps[k], float64(times[k]-times[k-1])/1e6)
				}
			}
			if len(times) == len(f.nodes) {
				g.took = append(g.took, float64(times[len(times)-1]-times[0])/1e6)
			}
			for d, reached := range days {
				g.from[d]++
				if reached == len(f.nodes) {
					g.to[d]++
				}
			}
		}
	}
	return slices.Collect(maps.Values(found))
}

// enteredDays returns the days on which an attempt began, and how far it reached: it walks the
// events with starts on that day only.
func (f *plainFunnel) enteredDays(events []plaintest.Event) map[int]int {
	days := map[int]int{}
	for d := range plainDays {
		if f.viz != "trends" {
			break
		}
		from, to := plainFirst.AddDate(0, 0, d).UnixMicro(), plainFirst.AddDate(0, 0, d+1).UnixMicro()
		only := slices.Clone(events)
		for i := range only {
			if e := &only[i]; e.At < from || e.At >= to {
				e.Barred = true
				if f.order != "unordered" {
					e.Steps = slices.DeleteFunc(slices.Clone(e.Steps), func(k int) bool { return k == 1 })
				}
			}
		}
		if reached := len(f.walk(only)); reached > 0 {
			days[d] = reached
		}
	}
	return days
}

func plainMedian(list []float64) any {
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	at := float64(len(list)-1) / 2
	low := list[int(at)]
	return low + (list[int(math.Ceil(at))]-low)*(at-math.Floor(at))
}

func plainMean(list []float64) any {
	if len(list) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}

// limited sorts groups as §2.5.3 defines, and sums those beyond the limit.
func (f *plainFunnel) limited(groups []*plainGroup) []*plainGroup {
	better := func(a, b *plainGroup) int {
		for k := len(f.nodes) - 1; k >= 0; k-- {
			if a.counts[k] != b.counts[k] {
				return b.counts[k] - a.counts[k]
			}
		}
		return 0
	}
	slices.SortFunc(groups, func(a, b *plainGroup) int { return cmp.Or(better(a, b), cmp.Compare(a.value, b.value)) })
	if len(groups) <= f.limit {
		return groups
	}
	other := &plainGroup{value: "Other", counts: make([]int, len(f.nodes)), gaps: make([][]float64, len(f.nodes))}
	for _, g := range groups[f.limit:] {
		for k := range g.counts {
			other.counts[k] += g.counts[k]
			other.gaps[k] = append(other.gaps[k], g.gaps[k]...)
		}
	}
	groups = append(groups[:f.limit:f.limit], other)
	slices.SortStableFunc(groups, better)
	return groups
}

// answer returns the results that §2.5.3 to §2.5.5 define, with the members that are compared.
func (f *plainFunnel) answer(acts []act) any {
	groups := f.groups(acts)
	if len(groups) == 0 && (!f.breakdown || f.viz == "time_to_convert") {
		groups = []*plainGroup{{counts: make([]int, len(f.nodes)), gaps: make([][]float64, len(f.nodes))}}
	}
	out := []any{}
	switch f.viz {
	case "time_to_convert":
		return f.histogram(groups[0].took)
	case "trends":
		slices.SortFunc(groups, func(a, b *plainGroup) int { return cmp.Compare(a.value, b.value) })
		for _, g := range groups {
			line := map[string]any{"count": plainDays, "days": []any{"2020-03-27", "2020-03-28", "2020-03-29", "2020-03-30", "2020-03-31"}}
			data := []any{}
			for d := range plainDays {
				percent := 0.0
				if g.from[d] > 0 {
					percent = math.Round(float64(g.to[d])/float64(g.from[d])*10_000) / 100
				}
				data = append(data, percent)
			}
			line["data"] = data
			if f.breakdown {
				line["breakdown_value"] = []any{g.value}
			}
			out = append(out, line)
		}
		return out
	}
	if f.breakdown {
		groups = f.limited(groups)
	}
	for _, g := range groups {
		list := []any{}
		for k := range f.nodes {
			step := map[string]any{"order": k, "count": g.counts[k], "average_conversion_time": plainMean(g.gaps[k]), "median_conversion_time": plainMedian(g.gaps[k])}
			if f.breakdown {
				step["breakdown"] = []any{g.value}
			}
			list = append(list, step)
		}
		if !f.breakdown {
			return list
		}
		out = append(out, list)
	}
	return out
}

// histogram implements §2.5.4.
func (f *plainFunnel) histogram(took []float64) any {
	n, low, high := f.bins, 0.0, 0.0
	if n == 0 {
		n = max(1, int(math.Ceil(math.Cbrt(float64(len(took)))-1e-9)))
	}
	if len(took) == 0 {
		n = 1
	} else {
		low, high = math.Floor(slices.Min(took)), math.Ceil(slices.Max(took))
	}
	width := math.Ceil((high - low) / float64(n))
	if width == 0 {
		width = 60
	}
	bins := []any{}
	for i := range n + 1 {
		count := 0
		for _, t := range took {
			if int(math.Floor((t-low)/width)) == i {
				count++
			}
		}
		bins = append(bins, []any{low + float64(i)*width, count})
	}
	return map[string]any{"bins": bins, "average_conversion_time": plainMean(took)}
}

// sameAnswer runs a query and compares its results with the expected ones.
func sameAnswer(t *testing.T, m *memory, query json.RawMessage, want any) {
	t.Helper()
	q, err := Parse(query, &port.Project{ID: 1, Location: plainZone})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	result, err := q.Run(t.Context(), m, port.Options{Now: plainFirst})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	got, expected := wire.Value(wire.MustEncode(result.Results)), wire.Value(wire.MustEncode(want))
	if fault := findDifference("", expected, got); fault != "" && !reflect.DeepEqual(got, expected) {
		t.Fatalf("%s\nover %s\n%s\nwant %s", query, actsText(m), fault, wire.MustEncode(want))
	}
}

func actsText(m *memory) (text string) {
	for _, e := range m.events {
		text += fmt.Sprintf("\n%s %s %s %s", e.at.In(plainZone).Format(time.RFC3339), e.name, e.distinctID, e.properties)
	}
	return text
}

// long runs five times as many random queries. They are the same in each run.
var long = flag.Bool("long", false, "draw five times as many questions")

func drawCount(few int) int {
	if *long {
		return 5 * few
	}
	return few
}

// TestFunnels_Plain compares FunnelsQuery with the evaluator above on random queries over random
// events.
func TestFunnels_Plain(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 1))
	for range drawCount(2000) {
		acts, m := randomActs(random)
		f := randomFunnel(random)
		sameAnswer(t, m, f.json(), f.answer(acts))
	}
}

// plainRetention is a RetentionQuery.
type plainRetention struct {
	target, returning plainNode
	columns, least    int
	first, cumulative bool
	breakdown         bool
	limit             int
}

func (r *plainRetention) json() json.RawMessage {
	entity := func(n plainNode) map[string]any {
		e := n.json()
		return map[string]any{"id": e["event"], "type": "events", "properties": e["properties"]}
	}
	filter := map[string]any{"targetEntity": entity(r.target), "returningEntity": entity(r.returning), "totalIntervals": r.columns, "minimumOccurrences": r.least, "cumulative": r.cumulative}
	if r.first {
		filter["retentionType"] = "retention_first_time"
	}
	q := map[string]any{"kind": "RetentionQuery", "retentionFilter": filter, "dateRange": plainRange}
	if r.breakdown {
		q["breakdownFilter"] = map[string]any{"breakdown": "os", "breakdown_limit": r.limit}
	}
	return wire.MustEncode(q)
}

// table returns the cells for the events of one breakdown value.
func (r *plainRetention) table(acts []act) [][]int {
	cells := make([][]int, plainDays)
	for s := range cells {
		cells[s] = make([]int, r.columns)
		for _, all := range byPerson(acts) {
			count := func(d int, n plainNode) (count int) {
				for _, a := range all {
					if d < plainDays && a.day == d && n.matches(a) {
						count++
					}
				}
				return count
			}
			if count(s, r.target) == 0 {
				continue
			}
			if i := slices.IndexFunc(all, r.target.matches); r.first && all[i].day < s {
				continue
			}
			cells[s][0]++
			for k := 1; k < r.columns; k++ {
				last := k
				if r.cumulative {
					last = r.columns - 1
				}
				for d := k; d <= last; d++ {
					if count(s+d, r.returning) >= r.least {
						cells[s][k]++
						break
					}
				}
			}
		}
	}
	return cells
}

func (r *plainRetention) answer(acts []act) any {
	acts = inRangeOf(acts, true)
	if !r.breakdown {
		return plainRows(r.table(acts), nil)
	}
	type group struct {
		value string
		cells [][]int
		sum   int
	}
	var groups []group
	for _, value := range []string{"", "5", "Mac", "Win"} {
		g := group{value: value, cells: r.table(slices.DeleteFunc(slices.Clone(acts), func(a act) bool { return a.value() != value }))}
		for _, row := range g.cells {
			g.sum += row[0]
		}
		if g.sum > 0 {
			groups = append(groups, g)
		}
	}
	slices.SortStableFunc(groups, func(a, b group) int { return b.sum - a.sum })
	out := []any{}
	for i, g := range groups {
		if i > r.limit {
			for s := range g.cells {
				for k := range g.cells[s] {
					groups[r.limit].cells[s][k] += g.cells[s][k]
				}
			}
		}
	}
	for i, g := range groups[:min(len(groups), r.limit+1)] {
		value := g.value
		if i == r.limit {
			value = "$$_posthog_breakdown_other_$$"
		}
		out = append(out, plainRows(g.cells, &value)...)
	}
	return out
}

func plainRows(cells [][]int, value *string) (out []any) {
	for s, row := range cells {
		values := []any{}
		for k, n := range row {
			values = append(values, map[string]any{"count": n, "label": fmt.Sprintf("Day %d", k)})
		}
		r := map[string]any{"label": fmt.Sprintf("Day %d", s), "date": plainFirst.AddDate(0, 0, s).Format(time.RFC3339), "values": values}
		if value != nil {
			r["breakdown_value"] = *value
		}
		out = append(out, r)
	}
	return out
}

// TestRetention_Plain compares RetentionQuery with the evaluator above on random queries over
// random events.
func TestRetention_Plain(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 2))
	node := func() plainNode {
		n := plainNode{name: string("abc"[random.IntN(3)]), least: max(0, random.IntN(4)-1)}
		if random.IntN(6) == 0 {
			n.name = ""
		}
		return n
	}
	for range drawCount(2000) {
		acts, m := randomActs(random)
		r := plainRetention{
			target: node(), returning: node(), columns: 1 + random.IntN(6), least: 1 + random.IntN(2), first: random.IntN(2) == 0,
			cumulative: random.IntN(2) == 0, breakdown: random.IntN(2) == 0, limit: 1 + random.IntN(3),
		}
		if random.IntN(3) == 0 {
			r.returning = r.target
		}
		sameAnswer(t, m, r.json(), r.answer(acts))
	}
}
