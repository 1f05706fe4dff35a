package rollouts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/guarded"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rollouts"
	"github.com/bunting-flags/bunting/management/rooms"
)

// rolloutWorld is a world with the evidence that the queries of its rollouts return.
type rolloutWorld struct {
	*ruletest.World
	t         *testing.T
	evidence  guarded.Evidence
	onMeasure func()                       // called during a query
	wait      func(context.Context)        // called during a query with its context
	failures  map[string]error             // results of queries by the key of the flag; "" for all flags
	queries   []map[string]json.RawMessage // all queries, the last one at the end
	lag       time.Duration
	sent      []organizations.Mail // since the last call of mails
	last      organizations.Mail
}

func (l *rolloutWorld) Send(_ context.Context, m organizations.Mail) error {
	l.sent, l.last = append(l.sent, m), m
	return nil
}

// measure is the query of an evaluation or of a dry run.
func (l *rolloutWorld) measure(ctx context.Context, _ *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error) {
	l.queries = append(l.queries, management.JSONObject(query))
	if l.onMeasure != nil {
		l.onMeasure()
	}
	if l.wait != nil {
		l.wait(ctx)
	}
	text, err := json.Marshal(l.evidence)
	return text, errors.Join(err, ctx.Err(), l.failures[""], l.failures[management.JSONText(management.JSONObject(query)["flag_key"])])
}

// openRolloutWorld returns a world without flags.
func openRolloutWorld(t *testing.T, store rooms.Store, options ...func(*rooms.Config)) *rolloutWorld {
	l := &rolloutWorld{t: t, failures: map[string]error{}}
	l.evidence.Metrics = make([]guarded.Measurement, 1)
	l.World = ruletest.New(t, store, append([]func(*rooms.Config){func(c *rooms.Config) {
		c.Lag = func(context.Context) (time.Duration, error) { return l.lag, nil }
		c.Mailer, c.SiteURL, c.Measure = l, "https://flags.example.com", l.measure
	}}, options...)...)
	return l
}

// newRolloutWorld returns a world with a rollout in steps of 10, 50 and 100 %, 65 minutes each.
// more has further members of the rollout.
func newRolloutWorld(t *testing.T, more string) *rolloutWorld {
	return newRolloutWorldOn(t, memstore.New(memstore.ExternalData{}), more)
}

func newRolloutWorldOn(t *testing.T, store rooms.Store, more string) *rolloutWorld {
	l := openRolloutWorld(t, store)
	bob := l.Scope(t, "bob")
	if _, err := l.FeatureFlags.Create(t.Context(), bob, ruletest.Body(t, `{"key": "f", "active": true, "filters": {"groups": [{"properties": [], "rollout_percentage": 0}]}}`)); err != nil {
		t.Fatal(err)
	}
	_, err := l.Rollouts.Create(t.Context(), bob, ruletest.Body(t, fmt.Sprintf(`{"feature_flag": 1, "start": true, "minimum_exposures": 100,
		"steps": [{"percent": 10, "dwell_seconds": 3900}, {"percent": 50, "dwell_seconds": 3900}, {"percent": 100, "dwell_seconds": 3900}],
		"guardrails": [{"goal": "decrease", "metric": {"kind": "ExperimentMetric", "metric_type": "mean", "source": {"kind": "EventsNode", "event": "error"}}}]%s}`, more)))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// setEvidence sets the numbers of errors and of exposures for each arm.
func (l *rolloutWorld) setEvidence(treatment, control, badTreatment, badControl int64) {
	sample := func(n, bad int64) experiments.Sample {
		return experiments.Sample{N: n, Sum: float64(bad), Squares: float64(bad)}
	}
	l.evidence = guarded.Evidence{
		Exposed: guarded.ExposureCounts{Arms: guarded.Arms{Treatment: treatment, Control: control}}, Matured: guarded.Arms{Treatment: treatment, Control: control},
		Metrics: []guarded.Measurement{{Treatment: sample(treatment, badTreatment), Control: sample(control, badControl)}},
	}
}

// advance moves the clock forward and lets the server evaluate the rollouts that are due.
func (l *rolloutWorld) advance(d time.Duration) *rollouts.Rollout {
	l.t.Helper()
	l.Clock = l.Clock.Add(d)
	if _, err := l.Rollouts.EvaluateDue(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	return l.rollout()
}

func (l *rolloutWorld) rollout() *rollouts.Rollout {
	l.t.Helper()
	r, err := l.Rollouts.Get(l.t.Context(), l.Scope(l.t, "bob"), "1")
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// version returns the version of the flag.
func (l *rolloutWorld) version() int64 {
	l.t.Helper()
	f, err := l.FeatureFlags.Get(l.t.Context(), l.Scope(l.t, "bob"), 1)
	if err != nil {
		l.t.Fatal(err)
	}
	return f.Version
}

func (l *rolloutWorld) call(name, body string) {
	l.t.Helper()
	if _, err := l.Rollouts.Call(l.t.Context(), l.Scope(l.t, "bob"), "1", name, ruletest.Body(l.t, body)); err != nil {
		l.t.Fatal(err)
	}
}

// mails returns the subjects of the mails since the last call.
func (l *rolloutWorld) mails() []string {
	l.t.Helper()
	if _, err := l.Organizations.Mails.Deliver(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	out := []string{}
	for _, m := range l.sent {
		out = append(out, m.Subject)
	}
	l.sent = nil
	return out
}

// experiments.md §4.11: the user who has started a rollout is notified of the start, of a hold at
// most once an hour, of the end, of steps and of the rollback.
func TestRollouts_Mails(t *testing.T) {
	l := newRolloutWorld(t, "")
	want := func(subjects ...string) {
		t.Helper()
		if got := l.mails(); !slices.Equal(got, subjects) {
			t.Errorf("mails %q, want %q", got, subjects)
		}
	}
	want("The rollout of f has started")
	if r := l.advance(70 * time.Minute); r.Status != "holding" || !slices.Equal(r.Reasons, []string{"too_few_exposures"}) {
		t.Error(r.Status, r.Reasons)
	}
	want("The rollout of f is on hold")
	l.advance(2 * time.Minute)
	want()
	l.setEvidence(1000, 9000, 50, 450)
	if r := l.advance(2 * time.Minute); r.Status != "running" || *r.Step != 1 {
		t.Error(r.Status, *r.Step)
	}
	want("The rollout of f advanced to the next step")
	l.setEvidence(1000, 1000, 200, 50)
	if r := l.advance(10 * time.Minute); r.Status != "rolled_back" {
		t.Error(r.Status)
	}
	want("The rollout of f was rolled back")
}

// experiments.md §4.11: an address whose user has lost access to the project gets no mail, and a
// rollout that harms still goes back.
func TestRollouts_MailsOfFormerMembers(t *testing.T) {
	l := newRolloutWorld(t, `, "notify": {"emails": ["cyd@example.com", "bob@example.com"]}`)
	l.mails()
	cyd := l.Scope(t, "cyd")
	if err := l.Organizations.Members.Delete(t.Context(), cyd, ruletest.UUID("cyd")); err != nil { // leaves
		t.Fatal(err)
	}
	l.setEvidence(1000, 1000, 200, 50)
	if r := l.advance(70 * time.Minute); r.Status != "rolled_back" {
		t.Error(r.Status, r.Reasons)
	}
	if got := l.mails(); !slices.Equal(got, []string{"The rollout of f was rolled back"}) {
		t.Errorf("mails %q", got)
	}
}

// experiments.md §4.12: a change of the rollout or its flag during the query has precedence, and
// the result of the query is discarded.
func TestRollouts_ConcurrentChange(t *testing.T) {
	for name, meanwhile := range map[string]func(l *rolloutWorld){
		"paused":   func(l *rolloutWorld) { l.call("pause", `{}`) },
		"advanced": func(l *rolloutWorld) { l.call("advance", `{}`) },
		"ended":    func(l *rolloutWorld) { l.call("rollback", `{}`) },
		"the flag": func(l *rolloutWorld) {
			if _, err := l.FeatureFlags.Update(l.t.Context(), l.Scope(l.t, "bob"), 1, ruletest.Body(l.t, `{"filters": {"groups": [{"properties": [], "rollout_percentage": 77}]}}`), false); err != nil {
				l.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newRolloutWorld(t, "")
			l.setEvidence(1000, 9000, 500, 450) // without the change, it would be rolled back
			var paused *rollouts.Rollout
			var version int64
			l.onMeasure = func() {
				l.onMeasure = nil
				meanwhile(l)
				paused, version = l.rollout(), l.version()
			}
			if r := l.advance(10 * time.Minute); r.Status != paused.Status || r.StateVersion != paused.StateVersion || l.version() != version {
				t.Errorf("%s, state %d, flag %d; want %s, %d, %d", r.Status, r.StateVersion, l.version(), paused.Status, paused.StateVersion, version)
			}
		})
	}
}

// experiments.md §4.12: there is no decision while queries are unavailable; a fault of a query
// causes a hold; afterwards there is at most one step, however long the interruption was.
func TestRollouts_MeasureFails(t *testing.T) {
	l := newRolloutWorld(t, "")
	l.setEvidence(1000, 9000, 50, 450)
	l.failures[""] = errors.New("the database is away")
	l.Clock = l.Clock.Add(5 * time.Hour)
	if _, err := l.Rollouts.EvaluateDue(t.Context()); err == nil {
		t.Error("nobody is told")
	}
	if r := l.rollout(); *r.Step != 0 || r.Status != "running" {
		t.Error(r.Status, *r.Step)
	}
	l.failures[""] = management.Fault("", "No such function.")
	if r := l.advance(5 * time.Minute); r.Status != "holding" || !slices.Equal(r.Reasons, []string{"metric_error", "too_few_exposures"}) {
		t.Error(r.Status, r.Reasons)
	}
	delete(l.failures, "")
	for range 3 {
		if r := l.advance(2 * time.Minute); r.Status != "running" || *r.Step != 1 {
			t.Error(r.Status, *r.Step)
		}
	}
}

// experiments.md §4.7, row 9: a step waits for events that are not stored yet; the flag does not
// change.
func TestRollouts_Lag(t *testing.T) {
	l := newRolloutWorld(t, "")
	l.setEvidence(1000, 9000, 50, 450)
	l.lag = 61 * time.Second
	if r := l.advance(2 * time.Hour); r.Status != "holding" || !slices.Equal(r.Reasons, []string{"ingestion_lag"}) || *r.Step != 0 {
		t.Error(r.Status, r.Reasons, *r.Step)
	}
	l.lag = time.Minute
	if r := l.advance(2 * time.Minute); r.Status != "running" || *r.Step != 1 {
		t.Error(r.Status, *r.Step)
	}
}

// experiments.md §4.12: if the server stops after any write of a step or a rollback, the step has
// happened completely or not at all, and after a restart exactly once: the flag has one more
// version, and the log one more line.
func TestRollouts_KilledAtAnyWrite(t *testing.T) {
	for name, bad := range map[string]int64{"a step": 50, "a rollback": 500} {
		t.Run(name, func(t *testing.T) {
			faulty := &memstore.Faulty{Store: memstore.New(memstore.ExternalData{}), After: -1}
			l := newRolloutWorldOn(t, faulty, "")
			deaths, version, lines := 0, l.version(), l.lines()
			for n := 0; ; n++ {
				l.setEvidence(1000, 9000, bad, 450)
				before := l.rollout()
				l.Clock = l.Clock.Add(70 * time.Minute)
				faulty.After, faulty.Failed = n, false
				_, err := l.Rollouts.EvaluateDue(t.Context())
				failed := faulty.Failed
				faulty.After = -1
				if !failed {
					if err != nil {
						t.Fatal(err)
					}
					break
				}
				deaths++
				if l.version() == version+1 { // the server has stopped when it looked for the next rollout
					break
				}
				if r := l.rollout(); l.version() != version || l.lines() != lines || r.Status != before.Status || *r.Step != *before.Step || r.StateVersion != before.StateVersion {
					t.Fatalf("after the death at call %d the rollout is %s at step %d, the flag has version %d and %d lines", n, r.Status, *r.Step, l.version(), l.lines())
				}
			}
			if deaths < 5 {
				t.Errorf("the server has died %d times only", deaths)
			}
			if l.version() != version+1 || l.lines() != lines+1 {
				t.Errorf("the flag has version %d and %d lines, want %d and %d", l.version(), l.lines(), version+1, lines+1)
			}
			r := l.rollout()
			if bad > 50 && r.Status != "rolled_back" || bad == 50 && (r.Status != "running" || *r.Step != 1) {
				t.Errorf("the rollout is %s at step %d", r.Status, *r.Step)
			}
		})
	}
}

// lines returns the number of lines in the log about the flag.
func (l *rolloutWorld) lines() int {
	l.t.Helper()
	log, err := l.ActivityLog(l.t.Context(), l.Scope(l.t, "bob"), management.ActivityQuery{Scopes: []string{"FeatureFlag"}, Item: "1", Page: 1, Limit: 100})
	if err != nil {
		l.t.Fatal(err)
	}
	return len(log.Results)
}

// Two servers that evaluate concurrently make only one step (experiments.md §4.12).
func TestRollouts_TwoServers(t *testing.T) {
	l := newRolloutWorld(t, "")
	l.setEvidence(1000, 9000, 50, 450)
	version := l.version()
	l.Clock = l.Clock.Add(2 * time.Hour)
	l.onMeasure = func() { // the second server evaluates during the query of the first, whose claim has expired
		l.onMeasure = nil
		l.Clock = l.Clock.Add(5 * time.Minute)
		if _, err := l.Rollouts.EvaluateDue(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := l.Rollouts.EvaluateDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := l.rollout(); *r.Step != 1 || l.version() != version+1 {
		t.Errorf("step %d, version %d; want 1 and %d", *r.Step, l.version(), version+1)
	}
}

// A hold beyond its limit is rolled back if the rollout is configured so (experiments.md §4.2).
func TestRollouts_HoldLimit(t *testing.T) {
	l := newRolloutWorld(t, `, "hold_limit_seconds": 7200, "on_hold_limit": "rollback"`)
	if r := l.advance(70 * time.Minute); r.Status != "holding" {
		t.Error(r.Status)
	}
	if r := l.advance(119 * time.Minute); r.Status != "holding" {
		t.Error(r.Status)
	}
	if r := l.advance(2 * time.Minute); r.Status != "rolled_back" || !slices.Equal(r.Reasons, []string{"too_few_exposures"}) {
		t.Error(r.Status, r.Reasons)
	}
}
