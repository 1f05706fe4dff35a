package remotetest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

// numbersFlags have conditions on the text of a number (§4.2: 5.0 is "5.0", 5 is "5").
const numbersFlags = `"group_type_mapping": {"0": "company"}, "flags": [
	{"id": 1, "key": "point", "active": true, "filters": {"groups": [{"properties": [{"key": "n", "type": "person", "operator": "exact", "value": "5.0"}]}]}},
	{"id": 2, "key": "whole", "active": true, "filters": {"groups": [{"properties": [{"key": "n", "type": "person", "operator": "exact", "value": "5"}]}]}},
	{"id": 3, "key": "list", "active": true, "filters": {"groups": [{"properties": [{"key": "n", "type": "person", "operator": "exact", "value": "[5.0,{\"a\":-1.0}]"}]}]}},
	{"id": 4, "key": "large", "active": true, "filters": {"groups": [{"properties": [{"key": "n", "type": "person", "operator": "exact", "value": "1e19"}]}]}},
	{"id": 5, "key": "tenth", "active": true, "filters": {"groups": [{"properties": [{"key": "n", "type": "person", "operator": "exact", "value": "0.1"}]}]}},
	{"id": 6, "key": "set", "active": true, "filters": {"groups": [{"properties": [{"key": "n", "type": "person", "operator": "is_set"}]}]}},
	{"id": 7, "key": "group", "active": true, "filters": {"aggregation_group_type_index": 0, "groups": [{"properties": [{"key": "n", "type": "group", "group_type_index": 0, "operator": "exact", "value": "5.0"}]}]}}]`

// Numbers have the same meaning in the client and in its requests to the server: that of
// encoding/json (decision 32). The flags for the text of §4.2 are on in both.
func TestRemote_4_2_NumbersAreSentAsDecided(t *testing.T) {
	h, stop, err := startTestServer(`{"organization": {"id": "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f", "name": "house"},
		"projects": [{"id": 1, "api_key": "phc_x", `+numbersFlags+`}]}`, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop() }()
	c := h.clientOn(t, remote.Config{URL: h.URL, ProjectKey: "phc_x", Key: "phs_x", Full: true}, `{`+numbersFlags+`}`)
	acme := map[string]string{"company": "acme"}
	for name, tt := range map[string]struct {
		sub  flags.Subject
		want []string
	}{
		"a point":          {flags.Subject{Person: flags.Properties{"n": json.Number("5.0")}}, []string{"point", "set"}},
		"float64":          {flags.Subject{Person: flags.Properties{"n": 5.0}}, []string{"set", "whole"}},
		"float32":          {flags.Subject{Person: flags.Properties{"n": float32(5)}}, []string{"set", "whole"}},
		"float32, a tenth": {flags.Subject{Person: flags.Properties{"n": float32(0.1)}}, []string{"set", "tenth"}},
		"int":              {flags.Subject{Person: flags.Properties{"n": 5}}, []string{"set", "whole"}},
		"in a list":        {flags.Subject{Person: flags.Properties{"n": []any{json.Number("5.0"), map[string]any{"a": json.Number("-1.0")}}}}, []string{"list", "set"}},
		"1e19":             {flags.Subject{Person: flags.Properties{"n": json.Number("1e19")}}, []string{"large", "set"}},
		"of a group":       {flags.Subject{Groups: acme, GroupProperties: map[string]flags.Properties{"company": {"n": json.Number("5.0")}}}, []string{"group"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.sub.DistinctID = "u"
			var here flags.Decisions
			if err := c.DecideAll(context.Background(), &tt.sub, &here); err != nil {
				t.Fatal(err)
			}
			there, err := c.AskAll(context.Background(), &tt.sub)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, enabledKeys(there.Decisions)); diff != "" {
				t.Errorf("asked (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(enabledKeys(there.Decisions), enabledKeys(here.List)); diff != "" {
				t.Errorf("here, otherwise than asked (-asked +here)\n%s", diff)
			}
		})
	}
	// A value that has no form in JSON is an error on both sides, with the property's name
	// (decision 32); flags that do not depend on it are decided.
	sub := &flags.Subject{DistinctID: "u", Person: flags.Properties{"n": math.NaN()}}
	if _, err := c.AskAll(context.Background(), sub); !errors.Is(err, flags.ErrNoJSONForm) || !strings.Contains(err.Error(), `person property "n"`) {
		t.Errorf("asked about NaN: %v", err)
	}
	for _, key := range []string{"point", "whole", "set"} {
		if _, detail := c.BoolDetail(context.Background(), key, sub, true); !errors.Is(detail.Err, flags.ErrNoJSONForm) || detail.FromServer || !strings.Contains(detail.Err.Error(), `person property "n"`) {
			t.Errorf("%s: %+v", key, detail)
		}
	}
	if v, detail := c.BoolDetail(context.Background(), "group", sub, true); v || detail.Err != nil {
		t.Errorf("group: %v, %+v", v, detail)
	}
}

// enabledKeys returns the keys of the flags that are on, sorted.
func enabledKeys(list []flags.Decision) []string {
	set := map[string]bool{}
	for i := range list {
		if list[i].Enabled {
			set[list[i].Key] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// openReason is on for all subjects, by its first condition or its second: without the plan the
// value is certain and its reason is open (decision 2).
const openReason = `{"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [
	{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}, {}], "payloads": {"true": "5"}}}]}`

// The value is used without a request to the server for the reason, and the exposure has no reason.
func TestRemote_OpenReason(t *testing.T) {
	h := newTestServer(t)
	c := h.clientOn(t, remote.Config{URL: h.URL, ProjectKey: "phc_x", Key: "phs_x", AskServer: true}, openReason)
	sub := &flags.Subject{DistinctID: "user_1"}
	v, detail := c.NumberDetail(ctx, "f", sub, 1)
	if v != 5 || detail.Err != nil || detail.FromServer || detail.ReasonOpen == nil || detail.Reason.Description() != "" {
		t.Errorf("%v %+v", v, detail)
	}
	var all flags.Decisions
	if err := c.DecideAll(ctx, sub, &all); err != nil || !all.List[0].Enabled || all.List[0].ReasonOpen == nil {
		t.Errorf("%v %+v", err, all.List)
	}
	if d, found, err := c.DecideAndExpose(ctx, "f", sub); !d.Enabled || !found || err != nil { // exposed already
		t.Error(d, found, err)
	}
	if n := len(h.requests("/flags/")); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
	want := []map[string]any{{
		"$lib": "bunting-go", "$is_server": true, "$geoip_disable": true,
		"$feature_flag": "f", "$feature_flag_response": true, "$feature/f": true, "$feature_flag_payload": "5",
		"$feature_flag_id": 1.0, "$feature_flag_version": 0.0, "$feature_flag_has_experiment": false, "locally_evaluated": true,
	}}
	if diff := cmp.Diff(want, exposuresOf(t, h, c, map[string]bool{})); diff != "" {
		t.Errorf("exposures (-want +got)\n%s", diff)
	}
}
