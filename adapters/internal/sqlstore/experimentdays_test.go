package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// continuedMetrics are metrics whose days are continued from what was kept: of distinct sessions and
// groups, with conditions in HogQL, and a strict funnel.
var continuedMetrics = []json.RawMessage{
	json.RawMessage(`{"kind":"ExperimentMetric","uuid":"m0","metric_type":"mean","source":{"kind":"EventsNode","event":"buy","math":"unique_session"}}`),
	json.RawMessage(`{"kind":"ExperimentMetric","uuid":"m1","metric_type":"ratio","numerator":{"kind":"EventsNode","event":"buy","math":"sum","math_property":"amount","properties":[{"type":"hogql","key":"properties.amount > 3"}]},"denominator":{"kind":"EventsNode","event":"see","math":"unique_group","math_group_type_index":0}}`),
	json.RawMessage(`{"kind":"ExperimentMetric","uuid":"m2","metric_type":"funnel","funnel_order_type":"strict","series":[{"kind":"EventsNode","event":"see"},{"kind":"EventsNode","event":"buy"}]}`),
}

// countedSource counts the events that queries read.
type countedSource struct {
	port.Source
	read *int
}

type countedReader struct {
	port.Reader
	read *int
}

func (s countedSource) Open(ctx context.Context, project int64) (port.Reader, error) {
	r, err := s.Source.Open(ctx, project)
	return countedReader{r, s.read}, err
}

func (r countedReader) Scan(ctx context.Context, s port.Scan, yield func(*port.Batch) error) error {
	return r.Reader.Scan(ctx, s, func(b *port.Batch) error {
		*r.read += b.Len()
		return yield(b)
	})
}

// shop is an experiment in a store whose days are asked for as they pass.
type shop struct {
	t        *testing.T
	store    *Store
	recorder *capture.Recorder
	queries  *queries.Service
	project  *port.Project
	now      time.Time
	read     int
	events   int
}

func newShop(t *testing.T, store *Store, criteria string) *shop {
	t.Helper()
	s := &shop{t: t, store: store, now: experimentStart}
	x := &experiments.Experiment{FlagKey: "checkout", Start: experimentStart, Criteria: json.RawMessage(criteria), Primary: continuedMetrics,
		Variants: []experiments.Variant{{Key: "control", Share: 50}, {Key: "test", Share: 50}}}
	s.project = &port.Project{ID: 1, Experiment: func(int64) (*experiments.Experiment, error) { return x, nil }}
	file := `{"organization":{"id":"org"},"projects":[{"id":1,"api_key":"phc_a","flags":[]}]}`
	f, err := flags.ParseFile([]byte(file))
	if err == nil {
		err = store.ApplyFile(t.Context(), "a.json", f, []byte(file))
	}
	if err != nil {
		t.Fatal(err)
	}
	s.recorder = capture.NewRecorder(capture.RecorderConfig{Ledger: store})
	t.Cleanup(s.recorder.Close)
	s.queries, err = queries.New(queries.Config{Source: countedSource{store, &s.read}, States: store, Now: func() time.Time { return s.now }, NewID: func() string { return "run" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.queries.Close)
	return s
}

// record records an event at a time after the start of the experiment.
func (s *shop) record(hours float64, name, id, properties string) {
	s.t.Helper()
	s.events++
	at := experimentStart.Add(time.Duration(hours * float64(time.Hour))).Format(time.RFC3339Nano)
	body := fmt.Sprintf(`{"api_key":"phc_a","batch":[{"event":%q,"distinct_id":%q,"timestamp":%q,"properties":{%s}}]}`, name, id, at, properties)
	intake, err := capture.NewIntake(capture.IntakeConfig{Keys: captureKeys{s.store}, Appender: s.recorder, Usage: s.store, Now: func() time.Time { return s.now }})
	if err != nil {
		s.t.Fatal(err)
	}
	submission, err := capture.Decode(body, capture.DecodeOptions{})
	if err == nil {
		_, err = intake.Accept(s.t.Context(), submission, capture.Origin{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// series compares the days of each metric with those of a computation from the start, and returns how
// many events were read to continue.
func (s *shop) series(when string) int {
	s.t.Helper()
	before := s.read
	for i := range continuedMetrics {
		query := json.RawMessage(fmt.Sprintf(`{"kind":"ExperimentTimeseriesQuery","experiment_id":1,"metric_uuid":"m%d"}`, i))
		got, err := s.queries.Execute(s.t.Context(), queries.Request{Project: s.project, Query: query, Mode: queries.ForceBlocking})
		if err != nil {
			s.t.Fatal(err)
		}
		parsed, err := insights.Parse(query, s.project)
		if err != nil {
			s.t.Fatal(err)
		}
		want, err := parsed.Run(s.t.Context(), s.store, port.Options{Now: s.now})
		if err != nil {
			s.t.Fatal(err)
		}
		if g, w := string(wire.MustEncode(got.Result["timeseries"])), string(wire.MustEncode(want.Extra["timeseries"])); g != w {
			s.t.Errorf("%s, %s:\n got %s\nwant %s", when, continuedMetrics[i], g, w)
		}
	}
	return s.read - before
}

// experiments.md §3.8: days are continued and not computed again from the start, in both databases, also
// after merges of persons who were not exposed. A merge of an exposed person computes them again. The
// results are those of a computation from the start.
func TestExperiment_ContinuedEqualsFromStart(t *testing.T) {
	for name, open := range allStores {
		for _, criteria := range []string{`{}`, `{"activation_config":{"event":"sign up"}}`} {
			t.Run(name+" "+criteria, func(t *testing.T) { testContinued(t, newShop(t, open(t), criteria)) })
		}
	}
}

func testContinued(t *testing.T, s *shop) {
	day := func(n int) {
		at := float64(24 * n)
		for i, id := range []string{"ana", "ben", "cem", "dora"} {
			if n == 0 {
				s.record(at+1, "$feature_flag_called", id, fmt.Sprintf(`"$feature_flag":"checkout","$feature_flag_response":%q`, []string{"control", "test"}[i%2]))
			}
			s.record(at+2, "sign up", id, "")
			s.record(at+3, "see", id, fmt.Sprintf(`"$groups":{"company":"c%d"}`, (n+i)%3))
			s.record(at+4, "buy", id, fmt.Sprintf(`"amount":%d,"$session_id":"s%d"`, n+i, (n*i)%4))
		}
		s.record(at+5, "buy", "visitor", `"amount":9,"$session_id":"v"`)
	}
	s.now = experimentStart.Add(4*24*time.Hour + time.Minute)
	for n := range 4 {
		day(n)
	}
	all := s.series("after four days")
	if again := s.series("again"); again != 0 {
		t.Errorf("again: %d events were read, want 0", again)
	}
	next := func(what string, change func(at float64), isContinued bool) {
		t.Helper()
		n := int(s.now.Sub(experimentStart).Hours() / 24)
		s.now = s.now.Add(24 * time.Hour)
		day(n)
		change(float64(24*n) + 6)
		if read := s.series(what); read < all/2 != isContinued {
			t.Errorf("%s: %d events were read, of %d in the first four days; continued: %t", what, read, all, isContinued)
		}
	}
	next("a day later", func(float64) {}, true)
	next("a merge of persons who were not exposed", func(at float64) {
		s.record(at, "see", "walker", "")
		s.record(at+1, "$identify", "eve", `"$anon_distinct_id":"visitor"`)
	}, true)
	next("a change of a group", func(at float64) {
		s.record(at, "$groupidentify", "eve", `"$group_type":"company","$group_key":"c1","$group_set":{"size":3}`)
	}, true)
	next("a merge of a person who was exposed", func(at float64) { s.record(at, "$identify", "ana", `"$anon_distinct_id":"walker"`) }, false)
	next("and then a day later", func(float64) {}, true)
}
