//go:build sdk

package sdktest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/internal/served"
)

// nodeReport is what posthog-node reports to an application: the events that it accepted for
// sending, the errors that it emits, and its log messages.
type nodeReport struct {
	Taken []struct {
		UUID       string
		Event      string
		DistinctID string `json:"distinct_id"`
	}
	Errors, Complaints []string
}

// sent returns the events that were accepted since the last call.
func (n *node) sent(t *testing.T, quiet bool) (out []served.Sent) {
	t.Helper()
	var h nodeReport
	n.do("heard", nil, &h)
	if len(h.Errors) > 0 || quiet && len(h.Complaints) > 0 {
		t.Errorf("posthog-node emitted %q and logged %q", h.Errors, h.Complaints)
	}
	for _, e := range h.Taken {
		out = append(out, served.Sent{UUID: e.UUID, Event: e.Event, DistinctID: e.DistinctID})
	}
	return out
}

// sender creates a client of posthog-node with its defaults, modified by options.
func (n *node) sender(url string, options object) {
	n.t.Helper()
	all := object{"host": url}
	for k, v := range options {
		all[k] = v
	}
	n.do("open", object{"client": "c", "key": served.ProjectKey, "options": all}, nil)
}

func (n *node) capture(message object) {
	n.t.Helper()
	n.do("capture", object{"client": "c", "message": message}, nil)
}

// flagsOf returns the flags of user_1 without any property from the application.
func (n *node) flagsOf() (all map[string]any) {
	n.t.Helper()
	n.method("c", "getAllFlags", &all, "user_1", object{"groups": groupKeys})
	return all
}

// walk sends the events of the walk and shuts the client down.
func (n *node) walk(t *testing.T) {
	t.Helper()
	sameFlags(t, "before all events", flagsUnknown, n.flagsOf())
	n.capture(object{"uuid": browseUUID, "distinctId": "anon_1", "event": "browse", "timestamp": browseTime, "properties": browseProperties})
	n.capture(object{
		"uuid": purchaseUUID, "distinctId": "user_1", "event": "purchase", "timestamp": purchaseTime,
		"properties": purchaseProperties, "groups": groupKeys,
	})
	n.method("c", "flush", nil)
	sameFlags(t, "after two events", flagsBefore, n.flagsOf())
	n.method("c", "identify", nil, object{"distinctId": "user_1", "properties": identifyProperties})
	n.method("c", "setPersonProperties", nil, object{"distinctId": "user_1", "properties": setProperties, "propertiesOnce": setOnceProperties})
	n.method("c", "unsetPersonProperties", nil, object{"distinctId": "user_1", "properties": []string{"old"}})
	n.method("c", "alias", nil, object{"distinctId": "user_1", "alias": "anon_1"})
	n.method("c", "groupIdentify", nil, object{"groupType": "company", "groupKey": "acme", "properties": tierProperties})
	n.capture(object{"distinctId": "anon_2", "event": "peek", "properties": peekProperties})
	n.do("exception", object{"client": "c", "distinctId": "user_1", "text": "boom"}, nil)
	n.method("c", "flush", nil)
	sameFlags(t, "after all events", flagsAfter, n.flagsOf())
	var on bool
	if n.do("enabled", object{"client": "c", "distinctId": "user_1", "key": "for-pro"}, &on); !on {
		t.Error("for-pro is off")
	}
	n.do("close", object{"client": "c"}, nil) // sends the rest
}

// §19.2 for posthog-node, with both protocols.
func TestNode_Capture(t *testing.T) {
	for _, c := range []struct {
		name, mode, path, encoding string
		options                    object
	}{
		{"v0 gzip", "v0", pathV0, "gzip", nil},
		{"v0", "v0", pathV0, "", object{"disableCompression": true}},
		{"v1 gzip", "v1", pathV1, "gzip", nil},
		{"v1", "v1", pathV1, "", object{"disableCompression": true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("POSTHOG_CAPTURE_MODE", c.mode)
			s := served.New(t, definitions)
			p := served.NewProxy(t, s)
			n := startNode(t)
			n.sender(p.URL, c.options)
			n.walk(t)
			checkWalk(t, s, n.sent(t, true), maxTransferTime)
			checkRequests(t, p, c.path, c.encoding, 3) // two flushes and the shutdown
			if n := s.Metric("bunting_capture_duplicates_total"); n != 0 {
				t.Errorf("%v events came twice", n)
			}
		})
	}
}

// Like TestGo_Historical.
func TestNode_Historical(t *testing.T) {
	for _, mode := range []string{"v0", "v1"} {
		t.Run(mode, func(t *testing.T) {
			t.Setenv("POSTHOG_CAPTURE_MODE", mode)
			s := served.New(t, definitions)
			n := startNode(t)
			n.sender(s.URL, object{"historicalMigration": true})
			for i := range 3 {
				n.capture(object{
					"uuid": fmt.Sprintf("0190d0c0-0000-4000-8000-00000000000%d", i), "distinctId": "user_1", "event": fmt.Sprint("old ", i),
					"timestamp": browseTime.AddDate(-i, 0, 0), "properties": object{"$set": object{"last": i}},
				})
			}
			n.capture(object{"distinctId": "user_1", "event": "young"})
			n.do("close", object{"client": "c"}, nil)
			checkHistorical(t, s, n.sent(t, true))
		})
	}
}

// §19.4 for posthog-node.
func TestNode_Retry(t *testing.T) {
	want := []served.Sent{{UUID: purchaseUUID, Event: "purchase", DistinctID: "user_1"}}
	for _, mode := range []string{"v0", "v1"} {
		t.Run(mode, func(t *testing.T) {
			t.Setenv("POSTHOG_CAPTURE_MODE", mode)
			n := startNode(t)
			for _, fault := range faults {
				s := served.New(t, definitions)
				url, heal := fault.begin(t, s)
				n.sender(url, object{"flushAt": 1, "requestTimeout": 500, "fetchRetryCount": 9, "fetchRetryDelay": 250})
				n.capture(object{
					"uuid": purchaseUUID, "distinctId": "user_1", "event": "purchase", "properties": object{"$set": object{"plan": "pro"}}, "groups": groupKeys,
				})
				heal()
				n.method("c", "flush", nil) // waits for requests in progress
				if got := n.sent(t, false); !slices.Equal(got, want) {
					t.Errorf("%s: posthog-node sent %v", fault.name, got)
				}
				fault.check(t, s, want)
				n.do("close", object{"client": "c"}, nil)
			}
		})
	}
}
