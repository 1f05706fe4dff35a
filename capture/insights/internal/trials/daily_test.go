package trials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// What is continued from day to day has the same results as a computation from the start
// (experiments.md §3.8), for random events of which some are late, after merges and changes of the
// experiment, in several time zones, and in any order of the questions.
func TestDaily_EqualsPlain(t *testing.T) {
	const seeds = uint64(8)
	found := 0
	for seed := range seeds {
		w := newWorld(t, seed)
		w.now = dailyStart.Add(time.Duration(w.random.IntN(60)) * time.Hour)
		w.record(w.now, 300)
		for step := range 6 {
			switch w.random.IntN(6) {
			case 0: // a merge: the keeper of a server removes all states then
				w.merged = append(w.merged, [2]string{fmt.Sprintf("u%d", w.random.IntN(40)), fmt.Sprintf("u%d", w.random.IntN(40))})
				w.keeper.states = map[string]any{}
			case 1:
				w.x.Excluded = [][]string{nil, {"b"}}[w.random.IntN(2)]
			}
			if w.random.IntN(2) == 0 {
				w.checkResults(seed, step)
			}
			for range 2 {
				w.checkSeries(seed, step, w.random.IntN(len(dailyMetrics)))
			}
			w.now = w.now.Add(time.Duration(w.random.IntN(50)) * time.Hour)
			if w.newest.Before(w.now) {
				w.record(w.now, w.random.IntN(120))
			}
		}
		if found += w.keeper.found; t.Failed() {
			return
		}
	}
	if found < 5*int(seeds) {
		t.Errorf("%d runs continue what was kept, want at least 5 for each of %d worlds", found, seeds)
	}
}

// A metric is continued from day to day if what its events mean depends on these events alone. Otherwise
// it is computed from the start, since persons, groups, sessions or the time have changed since.
func TestDaily_Metrics(t *testing.T) {
	w := newWorld(t, 2)
	node := func(members string) string {
		return `{"kind":"ExperimentMetric","uuid":"x","metric_type":"mean","source":{"kind":"EventsNode","event":"buy",` + members + `}}`
	}
	w.x.Primary, w.x.Secondary = append(w.x.Primary, w.x.Secondary...), nil
	fromStart := []string{
		node(`"math":"sum","math_property":"$session_duration"`),
		node(`"properties":[{"type":"cohort","key":"id","value":1}]`),
		node(`"properties":[{"type":"group","group_type_index":0,"key":"plan","operator":"exact","value":"pro"}]`),
		node(`"properties":[{"key":"at","operator":"is_date_after","value":"-2d"}]`),
		node(`"properties":[{"type":"hogql","key":"timestamp > now() - toIntervalDay(2)"}]`),
		node(`"properties":[{"type":"hogql","key":"person_id IN COHORT 1"}]`),
		node(`"properties":[{"type":"hogql","key":"group_0.properties.plan = 'pro'"}]`),
	}
	continued := []string{
		node(`"properties":[{"type":"person","key":"plan","operator":"exact","value":"pro"}]`),
		node(`"properties":[{"type":"hogql","key":"toDate(timestamp) > '2025-03-09' and person.properties.plan = 'pro'"}]`),
	}
	want := len(w.x.Primary) + len(continued)
	for _, raw := range slices.Concat(continued, fromStart) {
		w.x.Primary = append(w.x.Primary, json.RawMessage(raw))
	}
	r, plan := w.plan(t.Context(), `{"kind":"ExperimentResultsQuery","experiment_id":1}`, nil, w.source())
	q := plan.(*resultsQuery)
	d, err := openDaily(r, q.Trial, q.exposures.exposure, q.all)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range q.all {
		if m.fault != nil {
			t.Errorf("%v: %s", m.fault, m.raw)
		} else if got := d.metrics[i] != nil; got != (i < want) {
			t.Errorf("continued %t, want %t: %s", got, i < want, m.raw)
		}
	}
}

// A day with many events is read in parts, with the same results (experiments.md §3.8).
func TestDaily_Parts(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for seed := range uint64(6) {
		w := newWorld(t, seed)
		w.now = dailyStart.Add(time.Duration(w.random.IntN(5*24*60)) * time.Minute)
		w.record(w.now, 400)
		source := &countingSource{Source: w.source()}
		r, plan := w.plan(t.Context(), `{"kind":"ExperimentResultsQuery","experiment_id":1}`, nil, source)
		q := plan.(*resultsQuery)
		d, err := openDaily(r, q.Trial, q.exposures.exposure, q.all)
		if err != nil {
			t.Fatal(err)
		}
		d.most = int64(3 + w.random.IntN(40))
		days, _ := q.days(r, 10)
		if err := d.foldUntilNow(days); err != nil {
			t.Fatal(err)
		}
		if most := int64(source.read) / d.most; int64(source.scans) < most/4 {
			t.Errorf("seed %d: %d scans read %d events, want about %d in each", seed, source.scans, source.read, d.most)
		}
		for i, m := range q.all {
			a, err := d.answer(d.metrics[i])
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal(wire.MustEncode(a.members()), &got); err != nil {
				t.Fatal(err)
			}
			want := w.run(`{"kind":"ExperimentQuery","experiment_id":1,"metric":`+string(m.raw)+`}`, nil, true)
			w.compare(seed, 0, m.raw, got["baseline"], want["baseline"])
			for k, v := range want["variant_results"].([]any) {
				w.compare(seed, 0, m.raw, got["variant_results"].([]any)[k], v)
			}
		}
	}
}

func (w *world) checkSeries(seed uint64, step, metric int) {
	w.t.Helper()
	query := fmt.Sprintf(`{"kind":"ExperimentTimeseriesQuery","experiment_id":1,"metric_uuid":"m%d"}`, metric)
	got, want := w.run(query, w.keeper, false)["timeseries"].(map[string]any), w.run(query, nil, true)["timeseries"].(map[string]any)
	if len(got) != len(want) {
		w.t.Errorf("seed %d, step %d: %d days, want %d", seed, step, len(got), len(want))
	}
	for name := range want {
		if g, h := string(wire.MustEncode(got[name])), string(wire.MustEncode(want[name])); g != h {
			w.t.Errorf("seed %d, step %d, %s of %s:\n got %s\nwant %s", seed, step, name, dailyMetrics[metric], g, h)
			return
		}
	}
}

// checkResults compares the results of all metrics with the results of queries about one metric.
func (w *world) checkResults(seed uint64, step int) {
	w.t.Helper()
	got := w.run(`{"kind":"ExperimentResultsQuery","experiment_id":1}`, w.keeper, false)
	for _, list := range []struct {
		got []any
		raw []json.RawMessage
	}{{got["primary"].([]any), w.x.Primary}, {got["secondary"].([]any), w.x.Secondary}} {
		for i, raw := range list.raw {
			want := w.run(`{"kind":"ExperimentQuery","experiment_id":1,"metric":`+string(raw)+`}`, nil, true)
			metric := list.got[i].(map[string]any)
			w.compare(seed, step, raw, metric["baseline"], want["baseline"])
			for k, v := range want["variant_results"].([]any) {
				w.compare(seed, step, raw, metric["variants"].([]any)[k], v)
			}
		}
	}
	exposures := w.run(`{"kind":"ExperimentExposureQuery","experiment_id":1,"feature_flag":{"key":"page"}}`, nil, true)
	if g, h := string(wire.MustEncode(got["exposures"])), string(wire.MustEncode(exposures)); g != h {
		w.t.Errorf("seed %d, step %d:\n got %s\nwant %s", seed, step, g, h)
	}
}

// compare compares the members that want has.
func (w *world) compare(seed uint64, step int, metric json.RawMessage, got, want any) {
	w.t.Helper()
	for name, v := range want.(map[string]any) {
		if name == "step_sessions" {
			continue
		}
		if g, h := string(wire.MustEncode(got.(map[string]any)[name])), string(wire.MustEncode(v)); g != h {
			w.t.Errorf("seed %d, step %d, %s of %s: got %s, want %s", seed, step, name, metric, g, h)
		}
	}
}

// countingSource counts the events that are read, and ends the context after a number of them.
type countingSource struct {
	port.Source
	read   int
	scans  int
	most   int
	cancel context.CancelCauseFunc
	after  int
}

type countingReader struct {
	port.Reader
	of *countingSource
}

func (s *countingSource) Open(ctx context.Context, project int64) (port.Reader, error) {
	r, err := s.Source.Open(ctx, project)
	return countingReader{r, s}, err
}

func (r countingReader) Scan(ctx context.Context, s port.Scan, yield func(*port.Batch) error) error {
	r.of.scans++
	return r.Reader.Scan(ctx, s, func(b *port.Batch) error {
		if r.of.read += b.Len(); r.of.most > 0 && r.of.read >= r.of.most && r.of.cancel != nil {
			r.of.cancel(errCanceled)
			r.of.cancel = nil
		} else if r.of.most > 0 && r.of.cancel == nil {
			r.of.after += b.Len()
		}
		return yield(b)
	})
}

var errCanceled = errors.New("the client has gone")

// A day later only the events of the new day are read; after a late event, the days since
// then are read a second time, but no earlier days. Days with stored results are not read at all.
func TestDaily_ReadsNewDays(t *testing.T) {
	w := newWorld(t, 1)
	w.zone, w.x.End, w.x.GroupType, w.x.Criteria = time.UTC, time.Time{}, nil, nil
	w.x.Secondary, w.x.Primary = nil, []json.RawMessage{json.RawMessage(`{"kind":"ExperimentMetric","uuid":"m","metric_type":"mean","source":{"kind":"EventsNode","event":"buy"}}`)}
	add := func(name string, day, hour int) {
		w.rows = append(w.rows, []any{name, "u", dailyStart.Add(time.Duration(24*day+hour) * time.Hour).Format(time.RFC3339Nano), map[string]any{"$feature_flag": "page", "$feature_flag_response": "a"}})
	}
	add("$feature_flag_called", 0, 1)
	for day := range 20 {
		for hour := range 10 {
			add("buy", day, 2+hour)
		}
	}
	read := func() int {
		s := &countingSource{Source: w.source()}
		r, plan := w.plan(t.Context(), `{"kind":"ExperimentTimeseriesQuery","experiment_id":1,"metric_uuid":"m"}`, w.keeper, s)
		if _, err := plan.Run(r); err != nil {
			t.Fatal(err)
		}
		return s.read
	}
	for _, c := range []struct {
		of   string
		hour int // of now, after the start
		add  func()
		want int
	}{
		{"all days", 20*24 + 1, nil, 201},
		{"again in the next hour", 20*24 + 2, nil, 0},
		{"a day later, the events of the day", 21*24 + 1, func() { add("buy", 20, 3); add("buy", 20, 4) }, 2},
		{"an event of another name", 21*24 + 2, func() { add("see", 3, 3) }, 0},
		// The late event itself is read when it is found, and a second time with the ten other events of the day.
		{"a late event of the day before", 21*24 + 3, func() { add("buy", 20, 5) }, 1 + 3},
		// The days from 17 on follow the checkpoint at the end of day 16.
		{"a late event of day 18", 21*24 + 4, func() { add("buy", 18, 5) }, 1 + 10 + 11 + 10 + 3},
		{"a late exposure of the first day", 21*24 + 5, func() { add("$feature_flag_called", 0, 3) }, 1 + 2 + 200 + 1 + 3},
	} {
		if c.add != nil {
			c.add()
		}
		w.now = dailyStart.Add(time.Duration(c.hour) * time.Hour)
		if got := read(); got != c.want {
			t.Errorf("%s: %d events are read, want %d", c.of, got, c.want)
		}
	}
}

// A query reads no further batch when its client has disconnected, and the stored history remains valid.
func TestDaily_Cancel(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	w := newWorld(t, 7)
	w.now = dailyStart.Add(200 * time.Hour)
	w.record(w.now, 600)
	for _, query := range []string{`{"kind":"ExperimentResultsQuery","experiment_id":1}`, `{"kind":"ExperimentTimeseriesQuery","experiment_id":1,"metric_uuid":"m0"}`} {
		for _, most := range []int{1, 50, 150, 400} {
			ctx, cancel := context.WithCancelCause(t.Context())
			s := &countingSource{Source: w.source(), most: most, cancel: cancel}
			r, plan := w.plan(ctx, query, w.keeper, s)
			if _, err := plan.Run(r); !errors.Is(err, context.Canceled) || s.after > 0 {
				t.Errorf("%s after %d events: %v, %d further events are read", query, most, err, s.after)
			}
			w.checkSeries(7, most, 1)
			for range 3 {
				w.event(dailyStart.Add(time.Duration(w.random.IntN(200)) * time.Hour))
			}
		}
	}
}

// A history that is larger than the keeper's limit has fewer checkpoints.
func TestDaily_Limit(t *testing.T) {
	w := newWorld(t, 3)
	w.x.End, w.now = time.Time{}, dailyStart.Add(300*time.Hour)
	w.record(w.now, 900)
	const query = `{"kind":"ExperimentTimeseriesQuery","experiment_id":1,"metric_uuid":"m0"}`
	w.run(query, w.keeper, false)
	all := w.keeper.bytes
	w.keeper.states, w.keeper.limit = map[string]any{}, all-1
	w.run(query, w.keeper, false)
	if w.keeper.bytes >= all || w.keeper.bytes == 0 {
		t.Errorf("%d bytes, want fewer than %d", w.keeper.bytes, all)
	}
	w.checkSeries(3, 0, 0)
}
