package sdktest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/internal/served"
)

// The walk is the sequence of events that the tests send with the SDKs for servers, in this order:
//
//	browse       anon_1, with $set
//	purchase     user_1, with $set, $set_once and groups
//	             flags
//	$identify    user_1
//	$set         user_1, with $set and $set_once
//	$set         user_1, with $unset
//	$create_alias user_1, anon_1
//	$groupidentify company acme
//	peek         anon_2, without a person
//	$exception   user_1
//	             flags, one of which is sent as $feature_flag_called
//
// All expectations of a test follow from these values and the specification.

// The uuids are of version 4: the time in a uuid of version 7 would have to be the event's.
const (
	browseUUID   = "0190d0c0-0000-4000-8000-000000000001"
	purchaseUUID = "0190d0c0-0000-4000-8000-000000000002"
)

var (
	browseTime   = time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	purchaseTime = browseTime.Add(time.Minute)

	browseProperties   = values{"page": "start", "$set": values{"color": "red", "plan": "free"}}
	purchaseProperties = values{"price": 9.5, "$set": values{"plan": "pro", "old": 1}, "$set_once": values{"first_plan": "pro"}}
	identifyProperties = values{"name": "Ada"}
	setProperties      = values{"age": 37}
	setOnceProperties  = values{"first_plan": "team"} // too late
	// company has its index from the definitions, team gets the next one (§11.1).
	groupKeys      = values{"company": "acme", "team": "blue"}
	tierProperties = values{"tier": "gold"}
	peekProperties = values{"$process_person_profile": false, "$set": values{"seen": true}}
)

// flagsUnknown are the flags of user_1 at the beginning, flagsBefore after two events, flagsAfter
// after all: the SDK sends no properties, so the flags prove that stored properties take effect
// immediately (flags §8).
var (
	flagsUnknown = map[string]any{"for-pro": false, "for-red": false, "for-gold": false}
	flagsBefore  = map[string]any{"for-pro": true, "for-red": false, "for-gold": false}
	flagsAfter   = map[string]any{"for-pro": true, "for-red": true, "for-gold": true}
)

// values are properties.
type values = map[string]any

// walkEvents are the names of the events, with the number of times that each is sent.
var walkEvents = map[string]int{
	"browse": 1, "purchase": 1, "$identify": 1, "$set": 2, "$create_alias": 1, "$groupidentify": 1, "peek": 1, "$exception": 1,
	"$feature_flag_called": 1,
}

// maxTransferTime is longer than a request takes from an SDK to the server, by which times are shifted, and
// less than the minute between the times of the walk.
const maxTransferTime = 50 * time.Second

// checkWalk compares the stored data after the walk with the events that the SDK reports as sent.
// tolerance is the maximum shift of times by sent_at (§5).
func checkWalk(t *testing.T, s *served.Server, sent []served.Sent, tolerance time.Duration) {
	t.Helper()
	if diff := cmp.Diff(served.Sorted(sent), s.SentEvents()); diff != "" {
		t.Errorf("events (-sent +stored)\n%s", diff)
	}
	names := map[string]int{}
	for _, e := range sent {
		names[e.Event]++
	}
	if diff := cmp.Diff(walkEvents, names); diff != "" {
		t.Errorf("the SDK sent other events (-want +got)\n%s", diff)
	}
	near := cmpopts.EquateApproxTime(tolerance)
	group := s.EventNamed("$groupidentify")

	// §10.3: both persons exist and anon_1 is not identified, so it is merged into user_1: the
	// properties of user_1 take precedence, and the earlier time is used (§10.5). The value in
	// $set_once is too late for first_plan, $unset removes old (§9.4). A server's own operating
	// system is not that of the person (§9.5).
	want := []served.Person{
		{
			UUID: served.PersonUUID("$company_acme"), DistinctIDs: []string{"$company_acme"}, CreatedAt: group.Timestamp,
			Properties: values{"$creator_event_uuid": group.UUID},
		},
		{
			UUID: served.PersonUUID("user_1"), DistinctIDs: []string{"anon_1", "user_1"}, CreatedAt: browseTime, IsIdentified: true,
			Properties: values{
				"color": "red", "plan": "pro", "first_plan": "pro", "name": "Ada", "age": 37.0, "$creator_event_uuid": purchaseUUID,
			},
		},
	}
	got := s.People("")
	slices.SortFunc(got, func(a, b served.Person) int { return slices.Compare(a.DistinctIDs, b.DistinctIDs) })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("persons (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(want[1], s.PersonOf("anon_1"), near); diff != "" {
		t.Errorf("person of anon_1 (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"company", "team"}, s.GroupTypes()); diff != "" {
		t.Errorf("group types (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]served.Group{{Index: 0, Key: "acme", Properties: tierProperties}}, s.Groups(0)); diff != "" {
		t.Errorf("groups (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]served.Warning{}, s.Warnings()); diff != "" {
		t.Errorf("warnings (-want +got)\n%s", diff)
	}
	checkEvent(t, s, "browse", values{"page": "start"}, browseTime, near)
	checkEvent(t, s, "purchase", values{"price": 9.5, "$group_0": "acme", "$group_1": "blue", "$groups": groupKeys}, purchaseTime, near)
	checkMerged(t, s, sent)

	// §9.1: no person, but the uuid that the person would have, and $set is removed.
	if e := s.EventNamed("peek"); e.PersonMode != "propertyless" || e.PersonID != served.PersonUUID("anon_2") ||
		e.Properties["$process_person_profile"] != false || e.Properties["$set"] != nil {
		t.Errorf("the event without a person: %+v", e)
	}
	if e := s.EventNamed("$feature_flag_called"); e.Properties["$feature_flag"] != "for-pro" || e.Properties["$feature_flag_response"] != true {
		t.Errorf("$feature_flag_called: %v", e.Properties)
	}
	if e := s.EventNamed("$exception"); e.Properties["$exception_list"] == nil {
		t.Errorf("$exception: %v", e.Properties)
	}
}

// checkEvent checks properties, time and mode of an event with a person.
func checkEvent(t *testing.T, s *served.Server, name string, want values, sentAt time.Time, near cmp.Option) {
	t.Helper()
	e := s.EventNamed(name)
	got := values{}
	for key := range want {
		got[key] = e.Properties[key]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("properties of %s (-want +got)\n%s", name, diff)
	}
	if diff := cmp.Diff(sentAt, e.Timestamp, near); diff != "" {
		t.Errorf("time of %s (-want +got)\n%s", name, diff)
	}
	if e.PersonMode != "full" {
		t.Errorf("%s has mode %s", name, e.PersonMode)
	}
}

// checkMerged checks that the person of user_1 has all events of both ids.
func checkMerged(t *testing.T, s *served.Server, sent []served.Sent) {
	t.Helper()
	var want, got []served.Sent
	for _, e := range sent {
		if e.DistinctID == "user_1" || e.DistinctID == "anon_1" {
			want = append(want, e)
		}
	}
	for _, e := range s.Events("person_id=" + served.PersonUUID("user_1")) {
		got = append(got, e.Sent())
	}
	if diff := cmp.Diff(served.Sorted(want), served.Sorted(got)); diff != "" {
		t.Errorf("events of the person (-sent +stored)\n%s", diff)
	}
}

// checkRequests checks that every request with events was sent to path in an encoding and was
// accepted at the first attempt.
func checkRequests(t *testing.T, p *served.Proxy, path, encoding string, n int) {
	t.Helper()
	all := p.Captures()
	if len(all) != n {
		t.Errorf("%d requests with events, want %d", len(all), n)
	}
	for _, r := range all {
		if r.Path != path || r.Header.Get("Content-Encoding") != encoding || r.Status != http.StatusOK {
			t.Errorf("%s with Content-Encoding %q: %d, want %s with %q: 200", r.Path, r.Header.Get("Content-Encoding"), r.Status, path, encoding)
		}
	}
	for _, r := range p.Requests() {
		if r.Status != http.StatusOK {
			t.Errorf("%s %s: %d", r.Method, r.Path, r.Status)
		}
	}
}

// sameFlags checks the flags that an SDK returned.
func sameFlags(t *testing.T, when string, want, got map[string]any) {
	t.Helper()
	got = maps.Clone(got)
	delete(got, "of-chrome") // only for package browser
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags %s (-want +got)\n%s", when, diff)
	}
}

// storedOnce waits until the server has as many events as were sent, and checks that it has exactly one
// copy of each.
func storedOnce(t *testing.T, s *served.Server, sent []served.Sent) {
	t.Helper()
	served.Eventually(t, "the events", func() error {
		if got := len(s.Events("")); got < len(sent) {
			return fmt.Errorf("%d of %d are there", got, len(sent))
		}
		return nil
	})
	if diff := cmp.Diff(served.Sorted(sent), s.SentEvents()); diff != "" {
		t.Errorf("events (-sent +stored)\n%s", diff)
	}
}
