package sdktest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/internal/served"
)

// fault is a fault of the server while an SDK sends an event (§19.4).
type fault struct {
	name string
	// begin returns the address of the server. heal waits until the SDK has encountered the fault,
	// and ends it.
	begin func(t *testing.T, s *served.Server) (url string, heal func())
	// again is true if the server certainly receives the event repeatedly.
	again bool
}

// faultDuration is the duration of a fault for an SDK: longer than its timeout.
const faultDuration = 1200 * time.Millisecond

var faults = []fault{
	{name: "killed", begin: func(t *testing.T, s *served.Server) (string, func()) {
		s.Kill()
		return s.URL, func() {
			time.Sleep(faultDuration)
			s.Start()
		}
	}},
	// The operating system accepts the request; the server reads it after the SDK's attempt has
	// timed out.
	{name: "frozen", begin: func(t *testing.T, s *served.Server) (string, func()) {
		s.Pause()
		return s.URL, func() {
			time.Sleep(faultDuration)
			s.Resume()
		}
	}},
	{name: "answers lost", again: true, begin: func(t *testing.T, s *served.Server) (string, func()) {
		p := served.NewProxy(t, s)
		p.LoseAnswers(2)
		return p.URL, func() {}
	}},
}

// check checks that the server has one copy, and one update of the person.
func (f *fault) check(t *testing.T, s *served.Server, sent []served.Sent) {
	t.Helper()
	storedOnce(t, s, sent)
	if f.again {
		if n := s.Metric("bunting_capture_duplicates_total"); n < 2 {
			t.Errorf("%v events came again, want 2 or, where an attempt was slow, more", n)
		}
	}
	want := served.Person{
		UUID: served.PersonUUID("user_1"), DistinctIDs: []string{"user_1"},
		Properties: values{"plan": "pro", "$creator_event_uuid": sent[0].UUID},
	}
	got := s.PersonOf("user_1")
	got.CreatedAt = time.Time{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("person (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"company", "team"}, s.GroupTypes()); diff != "" {
		t.Errorf("group types (-want +got)\n%s", diff)
	}
}
