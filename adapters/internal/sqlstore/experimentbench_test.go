package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// experimentDays is the number of days over which the events of BenchmarkExperiment are spread.
const experimentDays = 30

var experimentStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// experimentEvents are the events of BenchmarkExperiment with their share in percent and their
// properties, of about 200 bytes.
var experimentEvents = []struct {
	name       string
	share      int
	properties string
}{
	{"$feature_flag_called", 10, `,"$feature_flag":"checkout","$feature_flag_response":"%s"`},
	{"page viewed", 40, `,"$current_url":"https://example.com/p/%d"`},
	{"item viewed", 20, `,"item":%d`},
	{"cart opened", 10, `,"items":%d`},
	{"order placed", 12, `,"amount":%d.25`},
	{"search", 8, `,"duration_ms":%d`},
}

// experimentMetrics are ten metrics of all kinds. Five of them need properties of events.
var experimentMetrics = func() (out []json.RawMessage) {
	node := func(event, more string) string { return `{"kind":"EventsNode","event":"` + event + `"` + more + `}` }
	const amount = `,"math":"sum","math_property":"amount"`
	for i, m := range []string{
		`"metric_type":"mean","source":` + node("page viewed", ""),
		`"metric_type":"mean","source":` + node("item viewed", ""),
		`"metric_type":"mean","threshold":2,"source":` + node("search", ""),
		`"metric_type":"mean","source":` + node("cart opened", `,"math":"dau"`),
		`"metric_type":"mean","source":` + node("order placed", amount),
		`"metric_type":"mean","conversion_window":7,"upper_bound_percentile":0.99,"source":` + node("order placed", amount),
		`"metric_type":"mean","source":` + node("search", `,"math":"avg","math_property":"duration_ms"`),
		`"metric_type":"ratio","numerator":` + node("order placed", amount) + `,"denominator":` + node("order placed", ""),
		`"metric_type":"funnel","series":[` + node("item viewed", "") + `,` + node("cart opened", "") + `,` + node("order placed", "") + `]`,
		`"metric_type":"retention","start_event":{"kind":"ExperimentExposureNode"},"completion_event":` + node("page viewed", "") + `,"retention_window_start":7,"retention_window_end":14,"retention_window_unit":"day"`,
	} {
		out = append(out, json.RawMessage(fmt.Sprintf(`{"kind":"ExperimentMetric","uuid":"m%d",%s}`, i, m)))
	}
	return out
}()

// fillExperiment records n events of n/50 persons in the order of their times.
func fillExperiment(b *testing.B, s *Store, n int) {
	const size = 5000
	ctx, people := context.Background(), max(n/50, 100)
	id := func(person int) string { return fmt.Sprintf("person %d", person) }
	for from := 0; from < people; from += size {
		changes := &capture.Changes{}
		for i := from; i < min(from+size, people); i++ {
			p := &capture.Person{UUID: capture.PersonID(1, id(i)), CreatedAt: experimentStart}
			changes.Persons = append(changes.Persons, capture.ProjectPerson{ProjectID: 1, Person: p, IsNew: true})
			changes.IDs = append(changes.IDs, capture.ProjectID{ProjectID: 1, DistinctID: id(i), Person: p.UUID})
		}
		if err := s.Commit(ctx, []int64{1}, func(tx capture.Tx) error { return tx.Save(changes) }); err != nil {
			b.Fatal(err)
		}
	}
	step := experimentDays * 24 * time.Hour / time.Duration(n)
	rest := `"$lib":"web","$browser":"Firefox","$os":"Linux","$screen_width":1920,"$device_id":"0192f1b2-7a53-7c11-9f4e-3b2f6c0a1d7e","plan":"professional","country":"NL"`
	state := uint64(35)
	random := func(most int) int { // a linear congruential generator, which is fast
		state = state*6364136223846793005 + 1442695040888963407
		return int(state >> 33 % uint64(most))
	}
	for from := 0; from < n; from += size {
		keys, changes := make([]capture.EventKey, 0, size), &capture.Changes{}
		for i := from; i < min(from+size, n); i++ {
			at, person := experimentStart.Add(time.Duration(i)*step), random(people)
			kind, share := 0, random(100)
			for share >= experimentEvents[kind].share {
				share -= experimentEvents[kind].share
				kind++
			}
			of := &experimentEvents[kind]
			var value any = random(500)
			if kind == 0 {
				value = experimentVariants[person%4].Key
			}
			e := capture.Record{
				ProjectID: 1, UUID: benchUUID(i, 7), Name: of.name, DistinctID: id(person), Properties: `{` + rest + fmt.Sprintf(of.properties, value) + `}`,
				Timestamp: at, CreatedAt: at, PersonID: capture.PersonID(1, id(person)), PersonCreatedAt: experimentStart, PersonProperties: "{}",
			}
			keys, changes.Events = append(keys, capture.EventKey{ProjectID: 1, UUID: e.UUID, Name: e.Name, DistinctID: e.DistinctID}), append(changes.Events, e)
		}
		err := s.Commit(ctx, []int64{1}, func(tx capture.Tx) error {
			if _, err := tx.Claim(keys); err != nil {
				return err
			}
			return tx.Save(changes)
		})
		for more := true; more && err == nil; {
			more, err = s.Index(ctx, true)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	for more := true; more; {
		var err error
		if more, err = s.Index(ctx, true); err != nil {
			b.Fatal(err)
		}
	}
}

var experimentVariants = []experiments.Variant{{Key: "control", Share: 25}, {Key: "a", Share: 25}, {Key: "b", Share: 25}, {Key: "c", Share: 25}}

// benchKeeper keeps the last state.
type benchKeeper struct {
	state any
	bytes int64
}

func (k *benchKeeper) Take(context.Context, string, string) (any, error) { return k.state, nil }

func (k *benchKeeper) Give(_, _ string, state any, bytes int64) { k.state, k.bytes = state, bytes }

func (k *benchKeeper) Limit() int64 { return 96 << 20 }

// spareSource reads with a second processor, as a server does that has no other work.
type spareSource struct{ port.Source }

type spareReader struct{ port.Reader }

func (s spareSource) Open(ctx context.Context, project int64) (port.Reader, error) {
	r, err := s.Source.Open(ctx, project)
	return spareReader{r}, err
}

func (r spareReader) Scan(ctx context.Context, s port.Scan, yield func(*port.Batch) error) error {
	s.HasSpareCPU = func() bool { return true }
	return r.Reader.Scan(ctx, s, yield)
}

// benchEvents returns the number of events of a benchmark: BUNTING_BENCH_EVENTS, or usual without it.
func benchEvents(b *testing.B, usual int) int {
	text := os.Getenv("BUNTING_BENCH_EVENTS")
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// benchFile returns the path of the store of a benchmark: BUNTING_BENCH_FILE, which is kept for the next run, or
// one that is removed. isNew reports whether it is to be filled.
func benchFile(b *testing.B) (file string, isNew bool) {
	if file = os.Getenv("BUNTING_BENCH_FILE"); file == "" {
		return b.TempDir() + "/bench.db", true
	}
	_, err := os.Stat(file)
	return file, err != nil
}

// BenchmarkExperiment measures the days of ten metrics of an experiment with four variants: all 29
// days at first, then one more day, and the results of all metrics. Run it with -benchtime 1x.
//
// BUNTING_BENCH_EVENTS is the number of events; by default it is 300,000. With ten million, the limits
// are 5 s for all days, 0.5 s for one more day, and 512 MB; they are 2 processors' figures.
// BUNTING_BENCH_FILE is a file that keeps the events for the next run.
func BenchmarkExperiment(b *testing.B) {
	n := benchEvents(b, 300_000)
	file, isNew := benchFile(b)
	s, err := Open(context.Background(), "sqlite:"+file, Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	if isNew {
		fillExperiment(b, s, n)
	}
	x := &experiments.Experiment{FlagKey: "checkout", Variants: experimentVariants, Start: experimentStart, Primary: experimentMetrics}
	p := &port.Project{ID: 1, Experiment: func(int64) (*experiments.Experiment, error) { return x, nil }}
	keeper := &benchKeeper{}
	run := func(query string, now time.Time) (time.Duration, int64) {
		parsed, err := insights.Parse(json.RawMessage(query), p)
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		result, err := parsed.Run(b.Context(), spareSource{s}, port.Options{Now: now, Keeper: keeper})
		if err != nil {
			b.Fatal(err)
		}
		return time.Since(began), result.Read
	}
	// The days of all metrics: those of the first metric, then of the others.
	series := func(name string, now time.Time) {
		took, read := run(`{"kind":"ExperimentTimeseriesQuery","experiment_id":1,"metric_uuid":"m0"}`, now)
		b.ReportMetric(took.Seconds(), name+"-s")
		b.ReportMetric(float64(read), name+"-events")
		for i := 1; i < len(experimentMetrics); i++ {
			next, _ := run(fmt.Sprintf(`{"kind":"ExperimentTimeseriesQuery","experiment_id":1,"metric_uuid":"m%d"}`, i), now)
			took += next
		}
		b.ReportMetric(took.Seconds(), name+"-10-metrics-s")
	}
	const results = `{"kind":"ExperimentResultsQuery","experiment_id":1}`
	end := experimentStart.AddDate(0, 0, experimentDays)
	for b.Loop() {
		keeper.state = nil
		took, _ := run(results, end)
		b.ReportMetric(took.Seconds(), "results-cold-s")
		keeper.state = nil
		series("cold", end.AddDate(0, 0, -1))
		series("day", end)
		took, _ = run(results, end)
		b.ReportMetric(took.Seconds(), "results-s")
		b.ReportMetric(float64(keeper.bytes)/1e6, "kept-MB")
	}
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		_, peak, _ := strings.Cut(string(status), "VmHWM:")
		var kilobytes float64
		_, _ = fmt.Sscan(peak, &kilobytes) // 0 if the system does not tell
		b.ReportMetric(kilobytes/1e3, "peak-MB")
	}
}
