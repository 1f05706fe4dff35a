package demodata

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// The events of a day are the same in every run: repeated events have the same uuids, so the server
// stores them only once.
func TestEvents_FollowFromTheirDay(t *testing.T) {
	noon := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	world := World{Flags: testSet(t), Survey: "s"}
	first, later := Events(noon, world), Events(noon.AddDate(0, 0, 3), world)
	if !reflect.DeepEqual(first, Events(noon, world)) {
		t.Fatal("the same moment has other events")
	}
	byUUID := map[string]Event{}
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
	if !(names["$pageview"] > names["signed up"] && names["signed up"] > names["order placed"] && names["order placed"] > 100 && names["$feature_flag_called"] > 1000 && names["survey sent"] > 20 && names["$exception"] > 20 && len(names) == 9) {
		t.Errorf("events %v make no funnel", names)
	}
}

// testSet returns the flags with the guarded rollout at 50 %.
func testSet(t *testing.T) *flags.Set {
	t.Helper()
	var list []string
	for i, f := range Flags {
		filters := strings.Replace(f.Filters("7"), `"rollout_percentage":0`, `"rollout_percentage":50`, 1)
		list = append(list, fmt.Sprintf(`{"id":%d,"key":%q,"active":true,"filters":%s}`, i+1, f.Key, filters))
	}
	d, err := flags.ParseDefinitions([]byte(`{"flags":[` + strings.Join(list, ",") + `],"cohorts":{"7":{"type":"AND","values":[{"type":"person","key":"plan","operator":"exact","value":["pro"]}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	set := flags.Compile(d)
	if faults := set.Faults(); len(faults) > 0 {
		t.Fatal(faults)
	}
	return set
}

// The result of the experiment is significant on any day, and each value of a flag has several calls.
func TestEvents_HaveAResult(t *testing.T) {
	world := World{Flags: testSet(t), Survey: "s"}
	for month := range 6 {
		now := time.Date(2026, 1, 1, 18, 0, 0, 0, time.UTC).AddDate(0, month, 5*month)
		variant, ordered, calls := map[string]any{}, map[string]bool{}, map[string]int{}
		for _, e := range Events(now, world) {
			value := e.Properties["$feature_flag_response"]
			switch {
			case e.Event == "$feature_flag_called":
				calls[fmt.Sprint(e.Properties["$feature_flag"], " ", value)]++
				if e.Properties["$feature_flag"] == CheckoutFlag {
					variant[e.DistinctID] = value
				}
			case e.Event == "order placed" && variant[e.DistinctID] != nil:
				ordered[e.DistinctID] = true
				if got := e.Properties["$feature/"+CheckoutFlag]; got != variant[e.DistinctID] {
					t.Fatalf("an order of %s has the variant %v", e.DistinctID, got)
				}
			}
		}
		n, k := map[any]float64{}, map[any]float64{}
		for id, v := range variant {
			n[v]++
			if ordered[id] {
				k[v]++
			}
		}
		p0, p1 := k["control"]/n["control"], k["test"]/n["test"]
		z := (p1 - p0) / math.Sqrt(p0*(1-p0)/n["control"]+p1*(1-p1)/n["test"])
		if z < 3.5 || n["control"] < 120 || n["test"] < 120 {
			t.Errorf("%s: %v of %v order with control, %v of %v with test: %.1f standard errors", now, k["control"], n["control"], k["test"], n["test"], z)
		}
		for _, value := range []string{"demo-banner true", "demo-new-search true", "demo-new-search false", "demo-shop-layout cards", "demo-discount true", "demo-discount false", RolloutFlag + " true", RolloutFlag + " false"} {
			if calls[value] < 20 {
				t.Errorf("%s: %s %d times", now, value, calls[value])
			}
		}
	}
}
