package client

import (
	"reflect"
	"testing"
	"time"
)

// The events of a day are the same in every run: repeated events have the same uuids, so the server
// stores them only once.
func TestDemoEvents_FollowFromTheirDay(t *testing.T) {
	noon := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	first, later := demoEvents(noon), demoEvents(noon.AddDate(0, 0, 3))
	if !reflect.DeepEqual(first, demoEvents(noon)) {
		t.Fatal("the same moment has other events")
	}
	byUUID := map[string]demoEvent{}
	last := ""
	for _, e := range later {
		if _, twice := byUUID[e.UUID]; twice {
			t.Errorf("%s is there twice", e.UUID)
		}
		if e.Properties["made_up"] != true {
			t.Errorf("%s does not say that it is made up", e.UUID)
		}
		if e.Timestamp < last || e.Timestamp > "2026-03-13T12:00:00.000Z" || e.Timestamp < "2026-02-12T00:00:00.000Z" {
			t.Errorf("%s after %s, of 30 days until noon of 13 March", e.Timestamp, last)
		}
		byUUID[e.UUID], last = e, e.Timestamp
	}
	common := 0
	for _, e := range first {
		if e.Timestamp < "2026-02-12T00:00:00.000Z" {
			continue // too old three days later
		}
		common++
		if !reflect.DeepEqual(e, byUUID[e.UUID]) {
			t.Fatalf("three days later %+v is %+v", e, byUUID[e.UUID])
		}
	}
	if common < len(first)/2 || len(later) == common {
		t.Errorf("%d of %d events are in both, of %d later", common, len(first), len(later))
	}
	names := map[string]int{}
	for _, e := range first {
		names[e.Event]++
	}
	if !(names["$pageview"] > names["signed up"] && names["signed up"] > names["order placed"] && names["order placed"] > 100 && len(names) == 4) {
		t.Errorf("events %v make no funnel", names)
	}
}
