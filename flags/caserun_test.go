package flags_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// run evaluates a case and compares the result.
func (c *testCase) run(t *testing.T) {
	t.Helper()
	if c.Name == "" || c.Source == "" || c.Want == nil && c.Steps == nil && c.HTTP == nil {
		t.Fatal("a case needs a name, a source and something to expect")
	}
	d, err := flags.ParseDefinitions(c.Definition)
	if err != nil {
		t.Fatal(err)
	}
	if c.Steps != nil {
		c.runSteps(t, d)
	}
	if c.Want == nil {
		return
	}
	sub := c.Subject.subject()
	if st := c.Stored; st != nil {
		stored := flags.Stored(*st)
		sub.Stored = &stored
	}
	at := c.at()
	set := flags.Compile(d)
	var out flags.Decisions
	set.Select(&sub, at, &c.Selection, &out)
	c.Want.compare(t, out.List, out.Errors)
	if faults := set.Faults(); c.Want.NoFaults && len(faults) > 0 {
		t.Errorf("faults: %v", faults)
	}
	for _, fault := range c.Want.Faults {
		fault.find(t, set.Faults())
	}
	c.explain(t, set, &sub, at, out.List)
	c.single(t, set, &sub, at, out.List)
	c.roundTrip(t, d, &sub, at)
}

func (r *testRequest) at() time.Time {
	if r.At != nil {
		return *r.At
	}
	return testAt
}

// explain checks that the traced evaluation, and a replay from the trace's facts only, have
// the same result.
func (c *testCase) explain(t *testing.T, set *flags.Set, sub *flags.Subject, now time.Time, list []flags.Decision) {
	t.Helper()
	for i := range list {
		want := &list[i]
		trace := set.Explain(want.Key, sub, now, c.Selection)
		if got := trace.Decision; !trace.Found || got.Enabled != want.Enabled || got.Variant != want.Variant ||
			got.Code != want.Reason.Code.String() || got.Condition != want.Reason.Condition ||
			got.Description != want.Reason.Description() || !cmp.Equal(got.Undecided, want.Undecided) {
			t.Errorf("%s: explained as %+v, decided %+v", want.Key, got, *want)
		}
		got, ok := set.Replay(trace)
		if !ok || got.Enabled != want.Enabled || got.Variant != want.Variant || got.Reason != want.Reason {
			t.Errorf("%s: replayed as %+v, decided %+v", want.Key, got, *want)
		}
		if hashed := c.Want.Flags[want.Key].Hashed; hashed != nil && traceHashed(trace) != *hashed {
			t.Errorf("%s: hashed = %v, want %v", want.Key, !*hashed, *hashed)
		}
	}
}

func traceHashed(trace *flags.Trace) bool {
	for _, cond := range trace.Flags[len(trace.Flags)-1].Conditions {
		for _, b := range []*flags.BucketTrace{cond.Rollout, cond.Variant} {
			if b != nil && b.Hashed {
				return true
			}
		}
	}
	return false
}

// single checks that evaluating one flag has the same result as evaluating all.
func (c *testCase) single(t *testing.T, set *flags.Set, sub *flags.Subject, now time.Time, list []flags.Decision) {
	t.Helper()
	if c.Selection.Keys != nil || c.Selection.Runtime != "" || c.Selection.Contexts != nil || c.Selection.SurveysOnly {
		return
	}
	for i := range list {
		if set.Len() != len(list) {
			return // filters apply to selections only
		}
		var out flags.Decisions
		got, ok := set.EvaluateFlag(list[i].Key, sub, now, &out)
		if diff := cmp.Diff(list[i], got, cmp.AllowUnexported(flags.Reason{})); !ok || diff != "" {
			t.Errorf("%s alone (-all +alone):\n%s", list[i].Key, diff)
		}
	}
}

// roundTrip checks that the payload, parsed by another evaluator, has the same results for
// all flags that it contains completely (§1.8).
func (c *testCase) roundTrip(t *testing.T, d flags.Definitions, sub *flags.Subject, now time.Time) {
	t.Helper()
	for i := range d.Flags {
		if d.Flags[i].Deleted || d.Flags[i].HasEncryptedPayloads || strings.HasPrefix(d.Flags[i].Key, "survey-") {
			return
		}
	}
	for _, fault := range flags.Compile(d).Faults() {
		if fault.Code != flags.NoReason {
			return
		}
	}
	for _, cohort := range d.Cohorts {
		if cohort.Members != nil || cohort.Unsupported {
			return // the payload does not contain members; behavioral leaves are served as empty
		}
	}
	payload, err := d.Payload()
	if err != nil {
		t.Fatal(err)
	}
	served, err := flags.ParseDefinitions(payload)
	if err != nil {
		t.Fatal(err)
	}
	var out flags.Decisions
	flags.Compile(served).Select(sub, now, &c.Selection, &out)
	if !t.Failed() {
		c.Want.compare(t, out.List, out.Errors)
		if t.Failed() {
			t.Logf("only after a round trip through %s", payload)
		}
	}
}

func (c *testCase) runSteps(t *testing.T, d flags.Definitions) {
	t.Helper()
	people := &serving.Memory{}
	for _, p := range c.Persons {
		people.AddPerson(1, p.CreatedAt, p.Properties, p.Cohorts, p.IDs...)
	}
	for groupType, groups := range c.StoredGroups {
		for key, properties := range groups {
			people.AddGroup(1, groupType, key, properties)
		}
	}
	p := flags.Project{ID: 1, OrganizationID: "org", FlagLimit: c.Project.FlagLimit, QuotaLimited: c.Project.QuotaLimited}
	now := testAt
	decider, err := serving.NewDecider(serving.Config{
		Source: serving.StaticSource("phc_test", p, d), People: people, Continuity: people, Locator: locator(c.Locate),
		Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range c.Steps {
		now = step.at()
		r := serving.Request{
			APIKey: "phc_test", Subject: step.Subject.subject(), Selection: step.Selection,
			IPFromHeader: step.IPFromHeader, GeoIPDisable: step.GeoIPDisable, DisableFlags: step.DisableFlags,
		}
		if step.IP != "" {
			r.IP = netip.MustParseAddr(step.IP)
		}
		var answer serving.Answer
		if err := decider.Decide(context.Background(), &r, &answer); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if answer.QuotaLimited != step.Want.QuotaLimited {
			t.Errorf("step %d: quota limited = %v, want %v", i, answer.QuotaLimited, step.Want.QuotaLimited)
		}
		if !step.Want.compare(t, answer.Decisions.List, answer.Decisions.Errors) {
			t.Errorf("that was step %d", i)
		}
	}
}

type locator map[string]flags.Properties

func (l locator) Locate(ip netip.Addr) flags.Properties { return l[ip.String()] }
