package serving_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

const pinnedFlags = `{"flags": [
	{"id": 1, "key": "f", "active": true, "pins": [{"cohort": -4, "value": false, "expires_at": "2030-01-01T00:00:00Z"}], "filters": {"groups": [{}]}},
	{"id": 2, "key": "on-f", "active": true, "filters": {"groups": [{"properties": [{"key": "1", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}},
	{"id": 3, "key": "other", "active": true, "filters": {"groups": [{}]}}]}`

// console.md N11: SDKs with local evaluation leave a flag with pins, and flags that depend on
// it, to the server (as in decision 1). Our client evaluates it like the server if it has the
// members, and otherwise reports that it is undecided.
func TestPins_N11_Payload(t *testing.T) {
	s := newFakeSource(t, pinnedFlags)
	d := s.decider(t, func(c *serving.Config) {
		c.Members = &fakeMembers{members: map[int64][]string{-4: {"ana", "ana-2"}}}
	})
	text, _ := membersPayload(t, d)
	var got struct {
		Flags []struct {
			Key    string `json:"key"`
			Server bool   `json:"ensure_experience_continuity"`
			Real   *bool  `json:"x_ensure_experience_continuity"`
		} `json:"flags"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	for _, f := range got.Flags {
		if forServer := f.Key != "other"; f.Server != forServer || (f.Real != nil) != forServer {
			t.Errorf("%s: for the server %v, really %v", f.Key, f.Server, f.Real)
		}
	}
	single, _, err := d.Payload(context.Background(), "phc_shop")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ payload, id, want string }{
		{text, "ana-2", "pinned false"}, {text, "ben", "condition_match true"}, {string(single), "ana", `not decided: unknown pinned value "4"`},
	} {
		var out flags.Decisions
		flags.Compile(parse(t, c.payload)).Evaluate(&flags.Subject{DistinctID: c.id, Partial: true}, time.Date(2026, 7, 15, 12, 0, 0, 0, time.UTC), &out)
		answer := out.Find("f")
		is := answer.Reason.Code.String() + " " + map[bool]string{true: "true", false: "false"}[answer.Enabled]
		if answer.Undecided != nil {
			is = answer.Undecided.Error()
		}
		if is != c.want {
			t.Errorf("%s: %s, want %s", c.id, is, c.want)
		}
	}
}
