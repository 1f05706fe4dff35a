package trials

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/querytest"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// world is a project with random events.
type world struct {
	t      *testing.T
	random *rand.Rand
	rows   []any
	// merged are pairs of distinct ids of one person, in the order of the merges.
	merged [][2]string
	keeper *memoryKeeper
	x      experiments.Experiment
	zone   *time.Location
	now    time.Time
	// runs is the number of queries.
	runs int
	// newest is the time until which events have been recorded.
	newest time.Time
}

// dailyStart is the start of the experiment: 19:00 in New York, in the night in which clocks change
// there, two days later.
var dailyStart = time.Date(2025, 3, 8, 0, 0, 0, 0, time.UTC)

// dailyMetrics are metrics of all kinds.
var dailyMetrics = []string{
	`{"metric_type":"mean","source":{"kind":"EventsNode","event":"buy"}}`,
	`{"metric_type":"mean","source":{"kind":"EventsNode","event":"buy","math":"sum","math_property":"amount"},"conversion_window":30,"conversion_window_unit":"hour"}`,
	`{"metric_type":"mean","source":{"kind":"EventsNode","event":"buy","math":"avg","math_property":"amount"},"upper_bound_percentile":0.9,"lower_bound_percentile":0.2}`,
	`{"metric_type":"mean","source":{"kind":"EventsNode","event":"buy","math":"min","math_property":"amount"}}`,
	`{"metric_type":"mean","source":{"kind":"EventsNode","event":null,"math":"max","math_property":"amount"}}`,
	`{"metric_type":"mean","source":{"kind":"EventsNode","event":"see"},"threshold":2,"conversion_window":2}`,
	`{"metric_type":"mean","source":{"kind":"EventsNode","event":"see","math":"dau","properties":[{"key":"amount","operator":"gt","value":1}]}}`,
	`{"metric_type":"mean","source":{"kind":"EventsNode","event":"see","math":"unique_session"}}`,
	`{"metric_type":"ratio","numerator":{"kind":"EventsNode","event":"buy","math":"sum","math_property":"amount"},"denominator":{"kind":"EventsNode","event":"see"},"numerator_outlier_handling":{"upper_bound_percentile":0.8}}`,
	`{"metric_type":"funnel","series":[{"kind":"EventsNode","event":"see"},{"kind":"EventsNode","event":"buy"}]}`,
	`{"metric_type":"funnel","series":[{"kind":"EventsNode","event":"see"},{"kind":"EventsNode","event":"see"},{"kind":"EventsNode","event":"buy"}],"conversion_window":20,"conversion_window_unit":"hour"}`,
	`{"metric_type":"funnel","funnel_order_type":"unordered","series":[{"kind":"EventsNode","event":"buy"},{"kind":"EventsNode","event":"see"},{"kind":"EventsNode","event":"$feature_flag_called"}],"conversion_window":10,"conversion_window_unit":"hour"}`,
	`{"metric_type":"funnel","funnel_order_type":"strict","series":[{"kind":"EventsNode","event":"see"},{"kind":"EventsNode","event":"buy"}]}`,
	`{"metric_type":"retention","start_event":{"kind":"EventsNode","event":"see"},"completion_event":{"kind":"EventsNode","event":"buy"},"retention_window_start":1,"retention_window_end":2,"retention_window_unit":"day"}`,
	`{"metric_type":"retention","start_event":{"kind":"EventsNode","event":"see"},"completion_event":{"kind":"EventsNode","event":"see"},"retention_window_start":0,"retention_window_end":5,"retention_window_unit":"hour","start_handling":"last_seen","conversion_window":3}`,
	`{"metric_type":"funnel","series":[{"kind":"EventsNode","event":"$feature_flag_called"},{"kind":"EventsNode","event":null,"properties":[{"key":"amount","operator":"gt","value":1}]}],"conversion_window":20,"conversion_window_unit":"hour"}`,
	`{"metric_type":"mean","source":{"kind":"EventsNode","event":"buy","math":"dau"}}`,
	`{"metric_type":"ratio","numerator":{"kind":"EventsNode","event":"see","math":"unique_group","math_group_type_index":0},"denominator":{"kind":"EventsNode","event":null,"math":"unique_session","properties":[{"type":"hogql","key":"properties.amount > 1 and event != 'own'"}]}}`,
	`{"metric_type":"retention","start_event":{"kind":"ExperimentExposureNode"},"completion_event":{"kind":"EventsNode","event":"buy"},"retention_window_start":0,"retention_window_end":1,"retention_window_unit":"day"}`,
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, random: rand.New(rand.NewPCG(seed, 35)), keeper: &memoryKeeper{states: map[string]any{}}}
	w.zone = []*time.Location{time.UTC, zoneOf(t, "America/New_York"), zoneOf(t, "Asia/Kolkata")}[w.random.IntN(3)]
	w.x = experiments.Experiment{
		FlagKey: "page", Start: dailyStart, Variants: []experiments.Variant{{Key: "control", Share: 40}, {Key: "a", Share: 30}, {Key: "b", Share: 30}},
		Matured: w.random.IntN(3) == 0, Stats: json.RawMessage(`{"method":"frequentist"}`),
	}
	if w.random.IntN(3) == 0 {
		w.x.Stats = json.RawMessage(`{"cuped":{"enabled":true,"lookback_days":2}}`)
	}
	if w.random.IntN(2) == 0 {
		w.x.End = dailyStart.Add(time.Duration(w.random.IntN(9*24*60)) * time.Minute)
	}
	w.x.Criteria = json.RawMessage([]string{`{}`, `{"multiple_variant_handling":"first_seen"}`, `{"exposure_config":{"kind":"ExperimentEventExposureConfig","event":"own","properties":[]}}`, `{"activation_config":{"event":"other"}}`}[w.random.IntN(4)])
	if w.random.IntN(4) == 0 {
		w.x.GroupType = new(int)
	}
	for i, m := range dailyMetrics {
		raw := json.RawMessage(fmt.Sprintf(`{"kind":"ExperimentMetric","uuid":"m%d",%s`, i, m[1:]))
		if i%3 == 0 {
			w.x.Secondary = append(w.x.Secondary, raw)
		} else {
			w.x.Primary = append(w.x.Primary, raw)
		}
	}
	w.newest = dailyStart.Add(-30 * time.Hour)
	return w
}

func zoneOf(t *testing.T, name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// record adds events until a time. A part of them is late, and many are at the same time, at
// midnight or at the bounds of the experiment.
func (w *world) record(until time.Time, count int) {
	span := until.Sub(w.newest)
	for range count {
		at := w.newest.Add(time.Duration(w.random.Int64N(int64(span))))
		switch w.random.IntN(12) {
		case 0:
			at = at.Add(-time.Duration(w.random.IntN(72)) * time.Hour)
		case 1:
			y, m, d := at.In(w.zone).Date()
			at = time.Date(y, m, d, 0, 0, 0, 0, w.zone).Add(time.Duration(w.random.IntN(3)-1) * time.Microsecond)
		case 2:
			at = at.Truncate(6 * time.Hour)
		case 3:
			if !w.x.End.IsZero() {
				at = w.x.End
			}
		}
		if at.After(until) {
			at = until
		}
		w.event(at)
	}
	w.newest = until
}

func (w *world) event(at time.Time) {
	id := fmt.Sprintf("u%d", w.random.IntN(40))
	variant := []string{"control", "a", "b"}[(int(id[len(id)-1])+w.random.IntN(12)/11)%3]
	properties := map[string]any{"amount": float64(w.random.IntN(16)) / 4, "$session_id": fmt.Sprint(w.random.IntN(9)), "$group_0": "g" + id[1:]}
	name := []string{"see", "see", "see", "buy", "buy", "own", "$feature_flag_called", "other"}[w.random.IntN(8)]
	switch name {
	case "own":
		properties["$feature/page"] = variant
	case "$feature_flag_called":
		properties["$feature_flag"], properties["$feature_flag_response"] = []string{"page", "page", "page", "other"}[w.random.IntN(4)], variant
	}
	w.rows = append(w.rows, []any{name, id, at.UTC().Format(time.RFC3339Nano), properties})
}

// source returns the events as a source.
func (w *world) source() *querytest.Store {
	s := querytest.Events(string(wire.MustEncode(w.rows)))
	for _, pair := range w.merged {
		s.Merge(pair[0], pair[1])
	}
	return s
}

// run runs a query. Without a keeper and with plain, no metric is measured day by day.
func (w *world) run(query string, keeper port.Keeper, plain bool) map[string]any {
	w.t.Helper()
	r, plan := w.plan(w.t.Context(), query, keeper, w.source())
	var result *port.Result
	var err error
	if q, ok := plan.(*timeseriesQuery); ok && plain {
		out := map[string]any{}
		days, _ := q.days(r, maxTimeseries)
		for _, v := range days {
			if out[v.name], err = q.resultAsOf(r, v); err != nil {
				w.t.Fatal(err)
			}
		}
		result = &port.Result{Extra: map[string]any{"timeseries": out}}
	} else if result, err = plan.Run(r); err != nil {
		w.t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(wire.MustEncode(result.Extra), &out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) plan(ctx context.Context, query string, keeper port.Keeper, s port.Source) (*scan.Run, scan.Plan) {
	x := w.x
	p := &port.Project{ID: 1, Location: w.zone, Definitions: &flags.Definitions{StaticCohorts: []int64{1}}, Experiment: func(int64) (*experiments.Experiment, error) { return &x, nil }}
	n, fault := document.Decode(json.RawMessage(query), "query")
	kind := n.Get("kind").Text("")
	plan := Kinds[slices.IndexFunc(Kinds, func(k scan.Kind) bool { return k.Name == kind })].Parse(n, p)
	if *fault != nil {
		w.t.Fatal(*fault)
	}
	reader, err := s.Open(ctx, 1)
	if err != nil {
		w.t.Fatal(err)
	}
	if w.runs++; w.runs%2 == 0 {
		reader = renumberingReader{reader}
	}
	r := scan.NewRun(ctx, reader, p, port.Options{Now: w.now, Keeper: keeper})
	r.Mode = scan.ModeOverrideOnEvents
	return r, plan
}

// renumberingReader changes the numbers of persons.
type renumberingReader struct{ port.Reader }

const renumbered = 100

func (r renumberingReader) Scan(ctx context.Context, s port.Scan, yield func(*port.Batch) error) error {
	return r.Reader.Scan(ctx, s, func(b *port.Batch) error {
		for i := range b.Person {
			b.Person[i] = renumbered - b.Person[i]
		}
		return yield(b)
	})
}

func (r renumberingReader) Person(n uint32) *port.Person { return r.Reader.Person(renumbered - n) }

// memoryKeeper is a keeper of one project.
type memoryKeeper struct {
	states map[string]any
	// found counts the states that were found.
	found int
	// bytes is the size of the last state.
	bytes int64
	limit int64
}

func (k *memoryKeeper) Take(_ context.Context, name, version string) (any, error) {
	state := k.states[name+version]
	delete(k.states, name+version)
	if state != nil {
		k.found++
	}
	return state, nil
}

func (k *memoryKeeper) Give(name, version string, state any, bytes int64) {
	if k.bytes = bytes; state != nil {
		k.states[name+version] = state
	}
}

func (k *memoryKeeper) Limit() int64 {
	if k.limit > 0 {
		return k.limit
	}
	return 1 << 30
}
