package rollouts_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture/guarded"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// Dry runs and simulations: experiments.md §4.10.
func TestRollouts_Dry(t *testing.T) {
	askRollouts(t, map[string][]ruletest.Row{"bodies": dryBodyRows, "stored": dryStoredRows, "decisions": dryDecisionRows, "simulations": simulationRows})
}

// dry returns the body of a dry run of flag 1 that began at 10:00.
func dry(members ...string) string {
	return guardedRollout(1, append([]string{`"started_at":"2026-01-02T10:00:00Z"`}, members...)...)
}

var dryBodyRows = flagtest.Rows(
	[]ruletest.Row{{"§4.10", "bob", "create", plainFlag("f", 80), `{"id":1}`}},
	flagtest.Each("§4.10", "bob", "dryrun",
		[2]string{`{}`, `400 required feature_flag`},
		[2]string{`{"feature_flag":1}`, `400 required steps`},
		[2]string{guardedRollout(1), `400 required started_at This field is required.`},
		[2]string{dry(`"step":3`), `400 invalid_input step The rollout has 3 steps; the index of the first is 0.`},
		[2]string{dry(`"step":2`), `400 invalid_input step At 100 % no one is left to compare with.`},
		[2]string{dry(`"step":-1`), `400 min_value step`},
		[2]string{dry(`"step":20`), `400 max_value step`},
		[2]string{dry(`"as_of":"2026-01-02T10:00:00Z"`), `400 invalid_input as_of Give a time after started_at.`},
		[2]string{dry(`"as_of":"soon"`), `400 invalid_input as_of Datetime has wrong format.`},
		[2]string{dry(`"alpha":1`), `400 invalid_input alpha`},
		[2]string{dry(`"feature_flag":9`), `400 does_not_exist feature_flag The project has no feature flag 9.`},
		[2]string{dry(`"treatment_variant":"a"`), `400 not_comparable treatment_variant`},
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
		[2]string{dry(`"as_of":"2026-01-02T10:00:01Z"`), `{"decision":"wait","step":0,"percent":10}`},
		// A dry run has no settling time, so its windows may be as long as the dwell.
		[2]string{dry(`"steps":[{"percent":10,"dwell_seconds":3600}]`), `{"decision":"hold","reasons":["too_few_exposures"]}`},
		[2]string{dry(`"steps":[{"percent":10,"dwell_seconds":3600}],"settle_seconds":1`), `400 invalid_input guardrails.0.metric.conversion_window`},
		// The flag has 80 %: it need not be at that share.
		[2]string{dry(`"step":1,"as_of":"2026-01-02T12:00:00Z","exposure_lookback_days":2`), `{"decision":"hold","step":1,"percent":50}`},
	),
	[]ruletest.Row{
		{"§4.10 as if that step had been in force", "-", "asked", ``, `{"flag_key":"f","border":0.5,"since":"2025-12-31T10:00:00Z","settled_at":"2026-01-02T10:00:00Z","as_of":"2026-01-02T12:00:00Z"}`},
		{"§4.10 now", "bob", "dryrun", dry(), `{"step":0}`},
		{"§4.10 now", "-", "asked", ``, `{"border":0.1,"as_of":"2026-01-02T12:00:20Z"}`},
		{"§4.10 it writes nothing", "bob", "rollouts", ``, `{"count":0,"ids":[]}`},
		{"§4.10 it writes nothing", "bob", "get 1", ``, `{"version":1}`},
		{"§4.10 it tells nobody", "-", "mails", ``, `[]`},
	},
)

var dryStoredRows = []ruletest.Row{
	{"§4.10", "bob", "create", plainFlag("f", 5), `{"id":1}`},
	{"§4.10", "bob", "rollout", guardedRollout(1), `{"id":1}`},
	{"§4.10 a draft has no beginning", "bob", "dryrun", `{"id":1}`, `400 required started_at This field is required.`},
	{"§4.10", "bob", "dryrun", `{"id":1,"started_at":"2026-01-02T10:00:00Z"}`, `{"decision":"hold","reasons":["too_few_exposures"]}`},
	{"§4.10", "bob", "call 1 start", ``, `{"started_at":"2026-01-02T12:00:05Z"}`},
	{"§4.10 its own beginning", "bob", "dryrun", `{"id":1}`, `{"decision":"wait"}`},
	{"§4.10 its own beginning", "-", "asked", ``, `{"since":"2025-12-19T12:00:05Z","as_of":"2026-01-02T12:00:06Z"}`},
	{"§4.10 another step", "bob", "dryrun", `{"id":1,"step":1,"started_at":"2026-01-02T10:00:00Z"}`, `{"decision":"hold","step":1}`},
	{"§4.10 none of this number", "bob", "dryrun", `{"id":9}`, `404 not_found - Not found.`},
	{"§4.10 it writes nothing", "bob", "getrollout 1", ``, `{"step":0,"last_evaluation":null,"state_version":1,"started_at":"2026-01-02T12:00:05Z"}`},
	{"§4.10 it writes nothing", "bob", "evaluations 1", ``, `{"count":0}`},
}

var dryDecisionRows = []ruletest.Row{
	{"§4.10", "bob", "create", plainFlag("f", 5), `{"id":1}`},
	{"§4.10", "-", "found 1000 9000 50 450", ``, `null`},
	{"§4.10 advance", "bob", "dryrun", dry(), `{"decision":"advance","reasons":[],"exposures":{"treatment":1000,"control":9000,"multiple":0},"matured":{"treatment":1000,"control":9000},"srm":{"mismatch":false}}`},
	{"§4.10 complete", "bob", "dryrun", dry(`"steps":[` + step(10) + `]`), `{"decision":"complete"}`},
	{"§4.10 the dwell of 65 minutes", "bob", "dryrun", dry(`"as_of":"2026-01-02T11:04:59Z"`), `{"decision":"wait"}`},
	{"§4.10 the dwell of 65 minutes", "bob", "dryrun", dry(`"as_of":"2026-01-02T11:05:00Z"`), `{"decision":"advance"}`},
	{"§4.10 integrity is reported and does not hold", "-", "evidence", `{"Integrity":{"checked":1000,"disagree":900}}`, `null`},
	{"§4.10 integrity is reported and does not hold", "bob", "dryrun", dry(), `{"decision":"advance","integrity":{"checked":1000,"disagree":900}}`},
	{"§4.10 rollback", "-", "found 1000 9000 500 450", ``, `null`},
	{"§4.10 rollback, also before the dwell is over", "bob", "dryrun", dry(`"as_of":"2026-01-02T10:00:01Z"`), `{"decision":"rollback","reasons":["guardrail"]}`},
	{"§4.10 a sample ratio", "-", "found 1000 1000 50 50", ``, `null`},
	{"§4.10 a sample ratio", "bob", "dryrun", dry(), `{"decision":"hold","reasons":["sample_ratio_mismatch"]}`},
	{"§4.10 a sample ratio", "bob", "dryrun", dry(`"sample_ratio":"ignore"`), `{"decision":"advance"}`},
	{"§4.10 an approval", "bob", "dryrun", dry(`"sample_ratio":"ignore","steps":[` + step(10) + `,{"percent":50,"dwell_seconds":3900,"approve":true}]`), `{"decision":"hold","reasons":["approval"]}`},
	{"§4.10 the flag is as it was", "bob", "get 1", ``, `{"version":1}`},
}

// simulation returns the body of a simulation with one step of 50 % for an hour, which settles for
// 60 seconds, and with windows of 10 minutes.
func simulation(metrics string, members ...string) string {
	list := []string{`"definition":{"settle_seconds":60,"minimum_exposures":50,"steps":[{"percent":50,"dwell_seconds":3600}],"guardrails":[` + windowed(`10`, `"minute"`) + `]}`, `"metrics":[` + metrics + `]`, `"entities_per_day":86400`}
	return `{` + strings.Join(append(list, members...), ",") + `}`
}

const aRate = `{"kind":"rate","rate":0.1}`

var simulationRows = flagtest.Each("§4.10", "-", "simulate",
	[2]string{`{}`, `400 required definition`},
	[2]string{simulation(aRate, `"definition":[]`), `400 not_a_dict definition`},
	[2]string{simulation(aRate, `"definition":{}`), `400 invalid_input definition__steps`},
	[2]string{simulation(aRate, `"definition":{"steps":[`+step(10)+`]}`), `400 required definition__guardrails`},
	[2]string{simulation(aRate, `"definition":{"alpha":9}`), `400 invalid_input definition__alpha`},
	[2]string{simulation(aRate, `"definition":{"steps":7}`), `400 not_a_list definition__steps`},
	[2]string{simulation(aRate, `"metrics":{}`), `400 not_a_list metrics`},
	[2]string{simulation(aRate + `,` + aRate), `400 invalid_input metrics Give one object for each of the 1 guardrails, in their order.`},
	[2]string{simulation(`7`), `400 not_a_dict metrics__0`},
	[2]string{simulation(`{"kind":7}`), `400 invalid_input metrics__0 Give kind as a string,`},
	[2]string{simulation(`{"kind":"rate"}`), `400 invalid_input metrics__0__rate`},
	[2]string{simulation(`{"kind":"rate","rate":-0.1}`), `400 invalid_input metrics__0__rate`},
	[2]string{simulation(`{"kind":"rate","rate":1.1}`), `400 invalid_input metrics__0__rate Give a number between 0 and 1.`},
	[2]string{simulation(`{"kind":"rate","rate":1}`, `"runs":1`), `{"srm_false_hold_rate":0}`},
	[2]string{simulation(`{"kind":"mean","sd":1}`), `400 invalid_input metrics__0`},
	[2]string{simulation(`{"kind":"mean","mean":1,"sd":-1}`), `400 invalid_input metrics__0`},
	[2]string{simulation(`{"kind":"mean","mean":1000000001,"sd":1}`), `400 invalid_input metrics__0`},
	[2]string{simulation(`{"kind":"mean","mean":-1000000000,"sd":1000000000}`, `"runs":1`), `{"effects":[{"effect":0},{"effect":0.5},{"effect":1}]}`},
	[2]string{simulation(`{"kind":"count"}`), `400 invalid_input metrics__0__mean`},
	[2]string{simulation(`{"kind":"count","mean":-1}`), `400 invalid_input metrics__0__mean Give a number of at least 0.`},
	[2]string{simulation(`{"kind":"normal","mean":1}`), `400 invalid_choice metrics__0__kind "normal" is not a valid choice. Valid choices: rate, mean, count.`},
	[2]string{simulation(aRate, `"entities_per_day":0`), `400 min_value entities_per_day`},
	[2]string{simulation(aRate, `"runs":0`), `400 min_value runs`},
	[2]string{simulation(aRate, `"runs":10001`), `400 max_value runs`},
	[2]string{simulation(aRate, `"effects":[0,10.1]`), `400 invalid_input effects`},
	[2]string{simulation(aRate, `"effects":[-0.1]`), `400 invalid_input effects`},
	[2]string{simulation(aRate, `"effects":"all"`), `400 invalid_input effects`},
	[2]string{simulation(aRate, `"effects":[0,1,2,3,4,5,6,7,8,9,10]`), `400 invalid_input effects`},
	[2]string{simulation(aRate, `"effects":[1,2,3,4,5,6,7,8,9,10]`, `"runs":1`), `{"effects":[{"effect":1},{"effect":2},{"effect":3},{"effect":4},{"effect":5},{"effect":6},{"effect":7},{"effect":8},{"effect":9},{"effect":10}]}`},
	[2]string{simulation(aRate, `"runs":1`), `{"effects":[{"effect":0},{"effect":0.5},{"effect":1}]}`},
	// A rate of 0 does not vary, so no harm can be found.
	[2]string{simulation(`{"kind":"rate","rate":0}`, `"runs":10,"effects":[1]`), `{"effects":[{"effect":1,"rollback_rate":0,"median_entities":null,"median_seconds":null,"by_step":[0]}]}`},
)

// simulate runs a simulation that must succeed.
func simulate(t *testing.T, l *rolloutWorld, body string) *guarded.SimulationResult {
	t.Helper()
	out, err := l.Rollouts.Simulate(t.Context(), ruletest.Body(t, body))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// §4.10: equal seeds have equal results; 1 is the default.
func TestRollouts_SimulationSeed(t *testing.T) {
	l := openRolloutWorld(t, memstore.New(memstore.ExternalData{}))
	body := func(seed string) string { return simulation(aRate, `"runs":50,"effects":[0.5]`+seed) }
	first := simulate(t, l, body(``))
	if diff := cmp.Diff(first, simulate(t, l, body(`,"seed":1`))); diff != "" {
		t.Errorf("the default seed (-first +second):\n%s", diff)
	}
	if cmp.Equal(first, simulate(t, l, body(`,"seed":2`))) {
		t.Error("two seeds give the same numbers")
	}
}

// §4.10 and §4.4: the first entity matures after the settling time and the longest window of all
// metrics. At one entity a second, a rollback in the first step is after this time, and a second more
// for each entity.
func TestRollouts_SimulationTimes(t *testing.T) {
	l := openRolloutWorld(t, memstore.New(memstore.ExternalData{}))
	for guards, want := range map[string]float64{
		windowed(`10`, `"minute"`):                                 60 + 600,
		windowed(`30`, `"second"`) + `,` + windowed(`2`, `"hour"`): 60 + 7200,
		windowed(`3`, `"hour"`) + `,` + windowed(`10`, `"second"`): 60 + 10_800,
		windowed(`1`, `"day"`):                                     60 + 86_400,
		errorGuard:                                                 60 + 3600,
	} {
		rates := strings.TrimSuffix(strings.Repeat(`{"kind":"rate","rate":0.5},`, strings.Count(guards, `"goal"`)), ",")
		definition := `"definition":{"settle_seconds":60,"minimum_exposures":50,"steps":[{"percent":50,"dwell_seconds":200000}],"guardrails":[` + guards + `]}`
		got := simulate(t, l, simulation(rates, definition, `"runs":5,"effects":[1]`)).Effects[0]
		if got.Rate != 1 || *got.Seconds-*got.Entities != want {
			t.Errorf("%s: %v of the runs after %v s and %v entities, want all of them, and %v s more than entities", guards, got.Rate, *got.Seconds, *got.Entities, want)
		}
	}
}

// §4.10: at most two at a time; the end of a request ends its simulation.
func TestRollouts_SimulationsAtOnce(t *testing.T) {
	l := openRolloutWorld(t, memstore.New(memstore.ExternalData{}))
	r, ctx, ends := l.Rollouts, t.Context(), make(chan error, 2)
	endless, stop := context.WithCancel(ctx)
	long := ruletest.Body(t, simulation(aRate, `"runs":10000,"entities_per_day":1000000000,"definition":{"steps":[{"percent":50,"dwell_seconds":2592000}],"guardrails":[`+errorGuard+`]}`))
	short := ruletest.Body(t, simulation(aRate, `"runs":1,"effects":[0]`))
	var fault *management.Error
	for range 2 {
		go func() {
			for { // while the short simulations leave no place
				_, err := r.Simulate(endless, long)
				if other := new(management.Error); !errors.As(err, &other) {
					ends <- err
					return
				}
				runtime.Gosched()
			}
		}()
	}
	for { // until both have begun
		if _, err := r.Simulate(ctx, short); errors.As(err, &fault) {
			break
		}
		runtime.Gosched()
	}
	if fault.Kind != management.TooMany || fault.Code != "throttled" {
		t.Errorf("%+v, want throttled", fault)
	}
	stop()
	for range 2 {
		if err := <-ends; !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want the end of the context", err)
		}
	}
	if _, err := r.Simulate(ctx, short); err != nil {
		t.Errorf("after their end: %v", err)
	}
}
