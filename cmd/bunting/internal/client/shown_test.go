package client

import (
	"fmt"
	"testing"
)

// A month is the sum of its days: 3 + 4 of one SDK, 5 of the other.
func TestUsage_Monthly(t *testing.T) {
	got := monthly([]spentShown{{1, "events", "project", "web", 3}, {1, "events", "project", "ios", 5}, {1, "events", "project", "web", 4}})
	if len(got) != 2 || got[0] != (spentShown{1, "events", "project", "web", 7}) || got[1].Count != 5 {
		t.Error(got)
	}
}

// What is shown once is not new again, also when more have passed than are
// remembered.
func TestEvents_SeenIsBounded(t *testing.T) {
	s := newSeen(nil)
	for i := range tailSeen + 5 {
		s.fresh([]eventShown{{UUID: fmt.Sprint(i)}})
	}
	if len(s.ids) != tailSeen || len(s.fresh([]eventShown{{UUID: fmt.Sprint(tailSeen)}})) != 0 {
		t.Errorf("%d are remembered", len(s.ids))
	}
}
