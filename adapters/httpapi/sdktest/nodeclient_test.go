//go:build sdk

package sdktest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

func nodeSubjects(t testing.TB) []*subject {
	all := readSubjects(t)
	for i := range all {
		all[i] = all[i].forNode()
	}
	return all
}

func TestNode_Remote(t *testing.T) {
	s := serve(t)
	n := startNode(t)
	subjects := nodeSubjects(t)
	for _, p := range s.projects {
		if p.Name == "paused" {
			continue
		}
		n.open(p.Name, s, p, nil)
		for i, got := range n.evaluate(p.Name, subjects, nil) {
			want := decide(p, subjects[i], flags.Selection{}, nodePayload)
			if _, number := subjects[i].Person["$device_id"].(int64); number {
				want = answers{} // sent as $device_id, which must be a string: 400 (§9.4)
			}
			same(t, p.Name+" "+subjects[i].Name, want, got)
		}
		n.do("close", object{"client": p.Name}, nil)
	}
}

func TestNode_Local(t *testing.T) {
	s := serve(t)
	n := startNode(t)
	subjects := nodeSubjects(t)
	c := newComparison("node", nodePayload)
	for _, run := range []struct {
		project  string
		contexts []string
	}{{"main", nil}, {"main", []string{"web"}}, {"strict", nil}, {"murmur", nil}, {"odd", nil}, {"values", nil}} {
		p, before := s.projects[run.project], c.decided
		n.open(p.Name, s, p, object{"secretKey": p.personalKey(), "evaluationContexts": run.contexts})
		n.method(p.Name, "reloadFeatureFlags", nil)
		for i, got := range n.evaluate(p.Name, subjects, object{"onlyEvaluateLocally": true}) {
			c.subject(t, p, subjects[i], flags.Selection{Contexts: run.contexts}, got)
		}
		c.loaded(t, p, before)
		n.do("close", object{"client": p.Name}, nil)
	}
	c.finish(t)
	if n := len(s.evaluations()); n > 0 {
		t.Errorf("%d requests for flags, though all was to be decided locally", n)
	}
}

// One flag at a time, value and payload.
func TestNode_SingleFlags(t *testing.T) {
	s := serve(t)
	n := startNode(t)
	p := s.projects["main"]
	n.open("c", s, p, object{"sendFeatureFlagEvent": false})
	for i, subject := range nodeSubjects(t) {
		if i%60 != 0 {
			continue
		}
		want := decide(p, subject, flags.Selection{}, nodePayload)
		options := nodeOptions(subject)
		options["sendFeatureFlagEvents"] = false
		for _, f := range p.Definitions.Flags {
			var got *struct {
				Enabled bool
				Variant string
				Payload json.RawMessage
			}
			n.method("c", "getFeatureFlagResult", &got, f.Key, subject.DistinctID, options)
			server, answered := want[f.Key]
			if !answered || got == nil {
				if answered || got != nil {
					t.Errorf("%s for %s: %v, the server says %v", f.Key, subject.Name, got, server)
				}
				continue
			}
			mine := answer{got.Enabled, sortedJSON(got.Payload)}
			if got.Variant != "" {
				mine.Value = got.Variant
			}
			if mine != server {
				t.Errorf("%s for %s: %v, the server says %v", f.Key, subject.Name, mine, server)
			}
		}
	}
}

// All flags and payloads by getAllFlagsAndPayloads, and whether a flag is on by isFeatureEnabled.
func TestNode_AllFlagsAndPayloads(t *testing.T) {
	s := serve(t)
	n := startNode(t)
	p := s.projects["main"]
	n.open("c", s, p, object{"sendFeatureFlagEvent": false})
	for i, subject := range nodeSubjects(t) {
		if i%20 != 0 {
			continue
		}
		var got struct {
			FeatureFlags        map[string]any
			FeatureFlagPayloads map[string]json.RawMessage
		}
		n.method("c", "getAllFlagsAndPayloads", &got, subject.DistinctID, nodeOptions(subject))
		mine := answers{}
		for key, value := range got.FeatureFlags {
			mine[key] = answer{value, sortedJSON(got.FeatureFlagPayloads[key])}
		}
		want := decide(p, subject, flags.Selection{}, func(raw json.RawMessage) string {
			switch string(raw) {
			case "0", "false", `""`: // not returned by this method
				return ""
			}
			return nodePayload(raw)
		})
		for key, a := range want {
			if a.Value == false { // likewise
				want[key] = off
			}
		}
		same(t, subject.Name, want, mine)
		var on bool
		n.method("c", "isFeatureEnabled", &on, "variants", subject.DistinctID, nodeOptions(subject))
		if on != (want["variants"].Value != false) {
			t.Errorf("variants for %s: enabled %v, the server says %v", subject.Name, on, want["variants"])
		}
	}
}

// The result contains only the requested flags; the flags that they depend on are evaluated and
// left out.
func TestNode_FlagKeys(t *testing.T) {
	s := serve(t)
	n := startNode(t)
	p := s.projects["main"]
	n.open("c", s, p, nil)
	keys := []string{"chain-3", "variants", "no-such-flag", "inactive"}
	subjects := nodeSubjects(t)[:20]
	for i, got := range n.evaluate("c", subjects, object{"flagKeys": keys}) {
		all := decide(p, subjects[i], flags.Selection{}, nodePayload)
		same(t, subjects[i].Name, answers{"chain-3": all["chain-3"], "variants": all["variants"]}, got)
	}
	for _, r := range s.evaluations() {
		var body struct {
			Keys []string `json:"flag_keys_to_evaluate"`
		}
		if err := json.Unmarshal([]byte(r.Body), &body); err != nil || !slices.Equal(body.Keys, keys) {
			t.Fatalf("%v %s", err, r.Body)
		}
	}
}

// The address is located unless the SDK disables it, which is its default (§8.3).
func TestNode_GeoIP(t *testing.T) {
	s := serve(t)
	n := startNode(t)
	n.open("c", s, s.projects["main"], nil)
	for _, c := range []struct {
		options object
		want    bool
	}{
		{object{}, false},
		{object{"disableGeoip": true}, false},
		{object{"disableGeoip": false}, true},
		{object{"disableGeoip": false, "personProperties": object{"$geoip_country_code": "US"}}, false},
		{object{"disableGeoip": true, "personProperties": object{"$geoip_country_code": "DE"}}, true},
	} {
		var got any
		n.method("c", "getFeatureFlag", &got, "geo", "u", c.options)
		if got != c.want {
			t.Errorf("%v: %v", c.options, got)
		}
	}
}

// The SDK requests the flags that it cannot evaluate, in a single request; the results then agree.
func TestNode_Fallback(t *testing.T) {
	s := serve(t)
	n := startNode(t)
	subjects := slices.DeleteFunc(nodeSubjects(t), func(s *subject) bool { return s.Name == "device-number" }) // 400, see above
	for _, name := range []string{"main", "murmur"} {
		p := s.projects[name]
		n.open(name, s, p, object{"secretKey": p.personalKey()})
		localAnswers := n.evaluate(name, subjects, object{"onlyEvaluateLocally": true})
		both := n.evaluate(name, subjects, nil)
		for i, sub := range subjects {
			checkAnswers(t, p, sub, decide(p, sub, flags.Selection{}, nodePayload), localAnswers[i], both[i])
		}
		n.do("close", object{"client": name}, nil)
	}
	if got, want := len(s.evaluations()), 2*len(subjects); got != want {
		t.Errorf("%d requests for flags, want %d", got, want)
	}
}

// Contexts restrict flags on the server and in the client (§9.9).
func TestNode_Contexts(t *testing.T) {
	s := serve(t)
	n := startNode(t)
	p := s.projects["main"]
	n.open("c", s, p, object{"evaluationContexts": []string{"web"}})
	subjects := nodeSubjects(t)[:5]
	for i, got := range n.evaluate("c", subjects, nil) {
		want := decide(p, subjects[i], flags.Selection{Contexts: []string{"web"}}, nodePayload)
		same(t, subjects[i].Name, want, got)
		if _, answered := got["contexts-app"]; answered || got["contexts-web"].Value != true {
			t.Errorf("contexts of %v", got)
		}
	}
}

// Definitions are polled with the ETag: 304 preserves them, a change replaces them, 402 clears them
// (§1.8).
func TestNode_Polling(t *testing.T) {
	s := serve(t)
	n := startNode(t)
	p := s.projects["main"]
	n.open("c", s, p, object{"secretKey": p.SecretKeys[0], "featureFlagsPollingInterval": 100})
	polling(t, s, p, func() (value any) {
		n.method("c", "getFeatureFlag", &value, "rollout-None", "u", object{"onlyEvaluateLocally": true, "sendFeatureFlagEvents": false})
		return value
	})
}

// With an invalid key the client has no definitions, but still has flags.
func TestNode_WrongKeys(t *testing.T) {
	n := startNode(t)
	sub := nodeSubjects(t)[0]
	for key, status := range wrongKeys {
		s := serve(t)
		p := s.projects["main"]
		n.open(key, s, p, object{"secretKey": key})
		same(t, key, decide(p, sub, flags.Selection{}, nodePayload), n.evaluate(key, []*subject{sub}, nil)[0])
		if got := s.requestsTo("/flags/definitions"); len(got) != 1 || got[0].Status != status {
			t.Errorf("%s: %+v, want one with status %d", key, got, status)
		}
		var errors []string
		n.do("errors", nil, &errors)
		if !slices.ContainsFunc(errors, func(e string) bool { return strings.Contains(e, "key") }) {
			t.Errorf("%s: the client has told %q", key, errors)
		}
		n.do("close", object{"client": key}, nil)
	}
}

func TestNode_Quota(t *testing.T) {
	s := serve(t)
	n := startNode(t)
	n.open("c", s, s.projects["paused"], nil)
	var value any
	n.method("c", "getFeatureFlag", &value, "on", "u")
	if value != nil {
		t.Errorf("%v without an evaluation", value)
	}
	n.do("close", object{"client": "c"}, nil) // sends the events
	events := calledEvents(t, s)
	if len(events) != 1 || !strings.Contains(describe(events[0]["$feature_flag_error"]), "quota_limited") {
		t.Errorf("%v", events)
	}
	s.limit("strict", 3)
	n.open("strict", s, s.projects["strict"], nil)
	for i, got := range n.evaluate("strict", nodeSubjects(t)[:4], nil) {
		if len(got) > 0 != (i < 3) {
			t.Errorf("request %d of 3: %d flags", i+1, len(got))
		}
	}
}

func TestNode_RemoteConfig(t *testing.T) {
	s := serve(t)
	n := startNode(t)
	p := s.projects["main"]
	for _, key := range []string{p.personalKey(), p.SecretKeys[0]} {
		n.open(key, s, p, object{"secretKey": key})
		for flag, want := range map[string]any{"config": object{"limit": 10.0}, "config-text": "hello"} {
			var got any
			n.method(key, "getRemoteConfigPayload", &got, flag)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", flag, diff)
			}
		}
		var missing any
		n.method(key, "getRemoteConfigPayload", &missing, "rollout-100")
		requests := s.requestsTo("/api/projects/")
		if last := requests[len(requests)-1]; last.Status != http.StatusNotFound {
			t.Errorf("rollout-100: %d, %v", last.Status, missing)
		}
	}
}

// The SDK sends events for the flags that were used. If the server refuses them (404), flags
// continue to work.
func TestNode_CalledEvents(t *testing.T) {
	s := serve(t)
	n := startNode(t)
	p := s.projects["main"]
	for client, options := range map[string]object{"asking": {}, "deciding": {"secretKey": p.personalKey()}} {
		options["flushAt"] = 1
		n.open(client, s, p, options)
		get := func(key, distinctID string) {
			var got any
			if n.method(client, "getFeatureFlag", &got, key, distinctID); got == nil || got == false {
				t.Errorf("%s: %v", key, got)
			}
		}
		before := len(calledEvents(t, s))
		get("experiment", "u")
		get("rollout-100", "u")
		get("rollout-100", "u") // sent only once
		eventually(t, "events", func() bool { return len(calledEvents(t, s)) == before+2 })
		get("rollout-100", "v")
		n.do("close", object{"client": client}, nil)
	}
	checkEvents(t, p, calledEvents(t, s), 6)
}
