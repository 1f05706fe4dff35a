package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/errortracking"
	"github.com/bunting-flags/bunting/management/rooms"
)

// follow runs the follower until it has processed the log.
func (o *office) follow(t testing.TB) {
	t.Helper()
	for {
		more, err := o.service.ErrorTracking.Follow(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
	}
}

// exceptions sends n exceptions with kinds different fingerprints.
func (o *office) exceptions(t testing.TB, n, kinds int) {
	t.Helper()
	for i := range n {
		status, _, body := o.send(t.(*testing.T), &manageStep{
			As: "none", Request: "POST /i/v0/e/",
			Text: fmt.Sprintf(`{"api_key":"phc_1","event":"$exception","distinct_id":"u","properties":{"$exception_fingerprint":"kind %d","n":%d}}`, i%kinds, i),
		})
		if status != 200 {
			t.Fatal(status, string(body))
		}
	}
}

func (o *office) issues(t testing.TB) map[string]int {
	t.Helper()
	_, _, body := o.send(t.(*testing.T), &manageStep{Request: "GET /api/projects/1/error_tracking/issues/"})
	var page struct {
		Results []errortracking.Issue `json:"results"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		t.Fatal(err, string(body))
	}
	out := map[string]int{}
	for _, i := range page.Results {
		out[i.Fingerprint] = int(i.Count)
	}
	return out
}

// failingStore is a store whose transactions fail at the commit, as often as failures says.
type failingStore struct {
	rooms.Store
	failures int
}

func (s *failingStore) Write(ctx context.Context, work func(rooms.Tx) error) error {
	return s.Store.Write(ctx, func(tx rooms.Tx) error {
		if err := work(tx); err != nil {
			return err
		}
		if s.failures > 0 {
			s.failures--
			return errors.New("the power is gone")
		}
		return nil
	})
}

// Decision 24: the work of a transaction that failed is rolled back, and repeated by the next one.
func TestDecision24_AfterAFailureNothingIsMissingOrTwice(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	store := o.store.Management()
	failing := &failingStore{Store: store}
	service, err := rooms.Open(rooms.Config{Store: failing, Events: store, Now: o.now})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		o.exceptions(t, 7, 2)
		failing.failures = 1
		if _, err := service.ErrorTracking.Follow(context.Background()); err == nil {
			t.Fatal("the failure was not told")
		}
		for more := true; more; {
			if more, err = service.ErrorTracking.Follow(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		if got := o.issues(t); got["kind 0"] != 4*(round+1) || got["kind 1"] != 3*(round+1) {
			t.Fatalf("round %d: %v", round, got)
		}
	}
}

// Decision 24: several servers follow one log.
func TestDecision24_TwoFollowersCountOnce(t *testing.T) {
	o := newOffice(t, "sqlite:"+t.TempDir()+"/office.db")
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			for range 30 {
				if _, err := o.service.ErrorTracking.Follow(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	o.exceptions(t, 60, 3)
	group.Wait()
	o.follow(t)
	if got := o.issues(t); len(got) != 3 || got["kind 0"] != 20 || got["kind 1"] != 20 || got["kind 2"] != 20 {
		t.Fatal(got)
	}
}

// §4.2: a rule that fails is disabled, and the next one is tried. The API does not accept such a
// rule.
func TestManagement_4_2_AFailingRuleIsDisabled(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	const bad = "0191f0a2-5b1c-7d3e-8f40-0000000000c1"
	put := func(id, sort, data string) {
		err := o.store.Management().Write(context.Background(), func(tx rooms.Tx) error {
			return tx.Put(&management.Record{Kind: "assignment_rule", Parent: management.ProjectParent(1), ID: id, Sort: sort, Data: json.RawMessage(data)})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	put(bad, "0", `{"id":"`+bad+`","filters":{"type":"AND","values":[{"type":"hogql","key":"1 = 1"}]},"assignee":"user:2","order_key":0,"disabled_data":null,"number":1}`)
	o.walk(t, []manageStep{
		{Request: "POST /api/projects/1/error_tracking/assignment_rules/", Body: json.RawMessage(`{"filters":{"type":"AND","values":[]},"assignee":{"type":"user","id":{owner_id}}}`), Status: 201},
		{As: "none", Request: "POST /i/v0/e/", Body: json.RawMessage(`{"api_key":"phc_1","event":"$exception","distinct_id":"u","properties":{"$ip":"1.2.3.4","$exception_list":[{"type":"E","value":"m"}]}}`), Status: 200},
		{Follow: true, Request: "GET /api/projects/1/error_tracking/issues/", Status: 200, Want: json.RawMessage(`{"count":1,"next":null,"previous":null,"results":[{"...":1,"assignee":"user:{owner_id}"}]}`)},
		{Request: "GET /api/projects/1/error_tracking/assignment_rules/" + bad, Status: 200, Want: json.RawMessage(`{"...":1,"disabled_data":{
			"message":"Filters of type \"hogql\" cannot be evaluated here: use event, feature, person or error_tracking_issue.",
			"issue":{"status":"active","name":"E","description":"m"},"props":{"...":1,"$exception_list":[{"type":"E","value":"m"}]}}}`)},
		{Request: "PATCH /api/projects/1/error_tracking/assignment_rules/" + bad, Body: json.RawMessage(`{"assignee":null}`), Status: 204},
		{Request: "GET /api/projects/1/error_tracking/assignment_rules/" + bad, Status: 200, Want: json.RawMessage(`{"...":1,"disabled_data":{"...":1}}`)},
		{Request: "PATCH /api/projects/1/error_tracking/assignment_rules/" + bad, Body: json.RawMessage(`{"filters":{"type":"AND","values":[]},"disabled_data":{"message":"x"}}`), Status: 204},
		{Request: "GET /api/projects/1/error_tracking/assignment_rules/" + bad, Status: 200, Want: json.RawMessage(`{"...":1,"disabled_data":null}`)},
	})
}
