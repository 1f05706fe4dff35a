package remotetest

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

// exposuresOf flushes the queue and returns the properties of the exposures stored since the last
// call, without the ones that differ between runs or that the server adds.
func exposuresOf(t *testing.T, h *testServer, c *remote.Client, past map[string]bool) (out []map[string]any) {
	t.Helper()
	flush(t, c)
	for _, e := range h.stored(t) {
		if past[e.UUID.String()] {
			continue
		}
		past[e.UUID.String()] = true
		if e.Name != "$feature_flag_called" || e.properties["$lib"] != "bunting-go" || e.properties["$lib_version"] == "" {
			t.Errorf("%s %v", e.Name, e.properties)
		}
		for _, name := range []string{"$lib_version", "$sent_at", "$group_0", "$ip"} {
			delete(e.properties, name)
		}
		out = append(out, e.properties)
	}
	return out
}

// §10.3, property by property: the exposure for each kind of result. posthog-go 1.27.0 sends the
// same, except the reason, id and version of flags that it evaluates locally.
func TestRemote_10_3_Exposures(t *testing.T) {
	h := newTestServer(t)
	past := map[string]bool{}
	base := func(more map[string]any) map[string]any {
		p := map[string]any{"$lib": "bunting-go", "$is_server": true, "$geoip_disable": true}
		for name, value := range more {
			p[name] = value
		}
		return p
	}
	sub := &flags.Subject{DistinctID: "user_1", DeviceID: "d1", Groups: map[string]string{"company": "acme"}}
	common := map[string]any{"$device_id": "d1", "$groups": map[string]any{"company": "acme"}}
	with := func(more map[string]any) map[string]any {
		for name, value := range common {
			more[name] = value
		}
		return base(more)
	}
	for _, tt := range []struct {
		name    string
		members string
		read    func(*remote.Client)
		want    map[string]any
	}{
		{"a value with a payload", unknownMembers, func(c *remote.Client) { c.Bool(ctx, "on", sub, false) }, with(map[string]any{
			"$feature_flag": "on", "$feature_flag_response": true, "$feature/on": true, "$feature_flag_payload": `{"limit": 10}`,
			"$feature_flag_id": 1.0, "$feature_flag_version": 3.0, "$feature_flag_reason": "Matched condition set 1",
			"$feature_flag_has_experiment": false, "locally_evaluated": true,
		})},
		{"minimal", unknownMembers + `, "minimal_flag_called_events": true`, func(c *remote.Client) { c.Bool(ctx, "on", sub, false) }, with(map[string]any{
			"$feature_flag": "on", "$feature_flag_response": true,
			"$feature_flag_id": 1.0, "$feature_flag_version": 3.0, "$feature_flag_reason": "Matched condition set 1",
			"$feature_flag_has_experiment": false, "locally_evaluated": true,
		})},
		{"an experiment is never minimal", unknownMembers + `, "minimal_flag_called_events": true`, func(c *remote.Client) { c.String(ctx, "color", sub, "") }, with(map[string]any{
			"$feature_flag": "color", "$feature_flag_response": "blue", "$feature/color": "blue", "$feature_flag_payload": "hello",
			"$feature_flag_id": 3.0, "$feature_flag_version": 7.0, "$feature_flag_reason": "Matched condition set 1",
			"$feature_flag_has_experiment": true, "locally_evaluated": true,
		})},
		{"off", unknownMembers, func(c *remote.Client) { c.Number(ctx, "off", sub, 0) }, with(map[string]any{
			"$feature_flag": "off", "$feature_flag_response": false, "$feature/off": false,
			"$feature_flag_id": 2.0, "$feature_flag_version": 1.0, "$feature_flag_reason": "Out of rollout bound",
			"$feature_flag_has_experiment": false, "locally_evaluated": true,
		})},
		{"missing", unknownMembers, func(c *remote.Client) { flags.JSON(ctx, c, "nix", sub, 1) }, with(map[string]any{
			"$feature_flag": "nix", "$feature_flag_response": nil, "$feature/nix": nil, "$feature_flag_error": "flag_missing", "locally_evaluated": false,
		})},
		{"not decided", unknownMembers, func(c *remote.Client) { c.Bool(ctx, "for-pro", sub, true) }, with(map[string]any{
			"$feature_flag": "for-pro", "$feature_flag_response": nil, "$feature/for-pro": nil, "$feature_flag_error": "errors_while_computing_flags",
			"$feature_flag_id": 4.0, "$feature_flag_version": 1.0, "$feature_flag_has_experiment": false, "locally_evaluated": false,
		})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := h.clientOn(t, remote.Config{URL: h.URL, ProjectKey: "phc_x", Key: "phs_x"}, localFlags(tt.members))
			tt.read(c)
			tt.read(c) // only once
			if diff := cmp.Diff([]map[string]any{tt.want}, exposuresOf(t, h, c, past)); diff != "" {
				t.Errorf("exposures (-want +got)\n%s", diff)
			}
		})
	}

	c := h.client(t, askRemote)
	c.Bool(ctx, "for-gold", &flags.Subject{DistinctID: "user_1"}, false)
	got := exposuresOf(t, h, c, past)
	if len(got) != 1 {
		t.Fatalf("%v", got)
	}
	if id, evaluatedAt := got[0]["$feature_flag_request_id"], got[0]["$feature_flag_evaluated_at"]; len(id.(string)) != 36 || evaluatedAt.(float64) < 1.7e12 {
		t.Errorf("request %v at %v", id, evaluatedAt)
	}
	delete(got[0], "$feature_flag_request_id")
	delete(got[0], "$feature_flag_evaluated_at")
	want := base(map[string]any{
		"$feature_flag": "for-gold", "$feature_flag_response": true, "$feature/for-gold": true,
		"$feature_flag_id": 9.0, "$feature_flag_version": 1.0, "$feature_flag_reason": "Matched condition set 1",
		"$feature_flag_has_experiment": false, "locally_evaluated": false,
	})
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("asked (-want +got)\n%s", diff)
	}
}

// An exposure is sent once for each distinct id, flag, response and groups, also with concurrent
// reads; Decide and DecideAll send none, and neither do reads with NoExposures or without a
// distinct id.
func TestRemote_10_3_Once(t *testing.T) {
	h := newTestServer(t)
	past := map[string]bool{}
	c := h.client(t, nil)
	subjects := []*flags.Subject{
		{DistinctID: "a"}, {DistinctID: "b"},
		{DistinctID: "a", Groups: map[string]string{"company": "acme", "team": "x"}},
		{DistinctID: "a", Groups: map[string]string{"company": "x", "team": "acme"}},
		{DistinctID: "a", Groups: map[string]string{"company": "acme"}},
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				for _, sub := range subjects {
					c.Bool(ctx, "on", sub, false)
					c.String(ctx, "color", sub, "")
					_, _, _ = c.Decide(ctx, "off", sub)
					_ = c.DecideAll(ctx, sub, &flags.Decisions{})
				}
			}
		})
	}
	wg.Wait()
	c.Bool(ctx, "on", &flags.Subject{}, false)
	if got, want := len(exposuresOf(t, h, c, past)), 2*len(subjects); got != want {
		t.Errorf("%d exposures, want %d", got, want)
	}

	// A different response is a new exposure.
	pro, free := &flags.Subject{DistinctID: "a", Person: flags.Properties{"plan": "pro"}}, &flags.Subject{DistinctID: "a", Person: flags.Properties{"plan": "free"}}
	for _, sub := range []*flags.Subject{pro, free, pro, {DistinctID: "a"}, free} {
		c.Bool(ctx, "for-pro", sub, false)
	}
	if got := exposuresOf(t, h, c, past); len(got) != 3 {
		t.Errorf("%v, want true, false and null", got)
	}

	silent := h.client(t, func(c *remote.Config) { c.NoExposures = true })
	silent.Bool(ctx, "on", subjects[0], false)
	if got := exposuresOf(t, h, silent, past); len(got) != 0 {
		t.Errorf("%v", got)
	}

	// The memory is limited: with one entry in each of its parts, a hundred ids are sent a second
	// time, but the last one is not.
	small := h.client(t, func(c *remote.Config) { c.ExposureMemory = 1 })
	for range 2 {
		for i := range 100 {
			small.Bool(ctx, "on", &flags.Subject{DistinctID: string(rune('0' + i))}, false)
		}
	}
	small.Bool(ctx, "on", &flags.Subject{DistinctID: string(rune('0' + 99))}, false)
	if got := len(exposuresOf(t, h, small, past)); got < 180 || got > 200 {
		t.Errorf("%d exposures of 201 reads", got)
	}
}

// An exposure that was dropped because the queue was full is sent when the flag is next read.
func TestRemote_10_3_FullQueue(t *testing.T) {
	h := newTestServer(t)
	c := h.client(t, func(c *remote.Config) { c.QueueEvents = 1 })
	sub := &flags.Subject{DistinctID: "a"}
	for range 3 {
		c.Bool(ctx, "on", sub, false)
		c.Bool(ctx, "off", sub, false)
	}
	flush(t, c)
	c.Bool(ctx, "on", sub, false)
	c.Bool(ctx, "off", sub, false)
	flush(t, c)
	got := map[any]int{}
	for _, e := range h.stored(t) {
		got[e.properties["$feature_flag"]]++
	}
	if diff := cmp.Diff(map[any]int{"on": 1, "off": 1}, got); diff != "" {
		t.Errorf("exposures (-want +got)\n%s", diff)
	}
	if s := c.Stats(); s.Sent != 2 || s.Dropped["queue_full"] != 3 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}
