package demodata

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// The first event is at a midnight in UTC, 30 days with that of now included; times are texts in the
// order of the times.
func TestStart(t *testing.T) {
	t.Parallel()
	east, west := time.FixedZone("east", 10*3600), time.FixedZone("west", -10*3600)
	for _, c := range []struct {
		now  time.Time
		want string
	}{
		{time.Date(2026, 3, 30, 0, 0, 0, 0, time.UTC), "2026-03-01T00:00:00.000Z"},
		{time.Date(2026, 3, 30, 23, 59, 59, 999e6, time.UTC), "2026-03-01T00:00:00.000Z"},
		{time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC), "2026-03-02T00:00:00.000Z"},
		{time.Date(2026, 3, 30, 9, 0, 0, 0, east), "2026-02-28T00:00:00.000Z"},  // 29 March in UTC
		{time.Date(2026, 3, 30, 15, 0, 0, 0, west), "2026-03-02T00:00:00.000Z"}, // 31 March in UTC
		{time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC), "2024-02-01T00:00:00.000Z"},
	} {
		if got := Stamp(Start(c.now)); got != c.want {
			t.Errorf("%s: %s, want %s", c.now, got, c.want)
		}
	}
}

// A day of the weekend has 9 to 12 new persons and a weekday 15 to 20, the same in every run.
func TestNewcomers(t *testing.T) {
	t.Parallel()
	seen := map[bool]map[int]bool{true: {}, false: {}}
	for day := range 400 {
		date := time.Date(2026, 1, 1+day, 0, 0, 0, 0, time.UTC)
		n, weekend := newcomers(date), date.Weekday() == time.Saturday || date.Weekday() == time.Sunday
		seen[weekend][n] = true
		if n != newcomers(date) || weekend && (n < 9 || n > 12) || !weekend && (n < 15 || n > 20) {
			t.Errorf("%s: %d new persons", date.Format(time.RFC1123), n)
		}
	}
	if len(seen[true]) != 4 || len(seen[false]) != 6 {
		t.Errorf("numbers of persons: %v", seen)
	}
}

// A text is chosen with its percentage, and one of 0 % never.
func TestPerson_OneOf(t *testing.T) {
	t.Parallel()
	p := &person{chance: rand.New(rand.NewPCG(1, 2))}
	counts := map[string]int{}
	for range 10_000 {
		counts[p.oneOf(70, "often", 0, "never", 25, "sometimes", 5, "rarely")]++
	}
	// The standard deviation is at most 46 of 10,000.
	for name, want := range map[string]int{"often": 7000, "sometimes": 2500, "rarely": 500, "never": 0} {
		if got := counts[name]; got < want-250 || got > want+250 || want == 0 && got > 0 {
			t.Errorf("%s: %d times, want about %d", name, got, want)
		}
	}
}

// eventsOfMarch returns the events until noon of 10 March 2026.
func eventsOfMarch(t *testing.T, survey string) []Event {
	return Events(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC), World{Flags: testSet(t), Survey: survey})
}

// The events of one person are consistent: the survey is answered at most one time, and only after
// the sign-up; each flag is called at most one time, and later events contain its value.
func TestEvents_OfAPerson(t *testing.T) {
	t.Parallel()
	byPerson := map[string][]Event{}
	for _, e := range eventsOfMarch(t, "s") {
		byPerson[e.DistinctID] = append(byPerson[e.DistinctID], e)
	}
	for id, events := range byPerson {
		counts, called := map[string]int{}, map[string]any{}
		plan := ""
		for _, e := range events {
			name := e.Event
			counts[name]++
			for key, value := range called {
				if name != "$feature_flag_called" && e.Properties["$feature/"+key] != value {
					t.Errorf("%s %s: the flag %s is %v, was %v", id, name, key, e.Properties["$feature/"+key], value)
				}
			}
			switch name {
			case "$feature_flag_called":
				key := e.Properties["$feature_flag"].(string)
				if _, before := called[key]; before {
					t.Errorf("%s: %s is called again", id, key)
				}
				called[key] = e.Properties["$feature_flag_response"]
			case "signed up":
				plan, _ = e.Properties["plan"].(string)
			case "survey sent", "survey dismissed":
				if set, _ := e.Properties["$set"].(map[string]any); len(set) != 1 {
					t.Errorf("%s: %s sets %v", id, name, set)
				}
			case "item added", "survey shown":
				if plan == "" && firstDay(id) >= "2026-02-09" { // an earlier person may have signed up before the first event
					t.Errorf("%s: %s before the sign-up", id, name)
				}
			}
		}
		if counts["signed up"] > 1 || counts["survey shown"] > 1 || counts["survey sent"]+counts["survey dismissed"] > counts["survey shown"] || counts["order placed"] > counts["item added"] || counts["$pageview"] == 0 {
			t.Errorf("%s: %v, plan %q", id, counts, plan)
		}
	}
}

// firstDay returns the day on which a person came, which is in the person's id.
func firstDay(id string) string {
	day := strings.TrimPrefix(id, IDPrefix)
	return day[:4] + "-" + day[4:6] + "-" + day[6:8]
}

// All identifiers of events are valid UUIDs, those of a new survey are different, and every event can
// be encoded as JSON.
func TestEvents_Identifiers(t *testing.T) {
	t.Parallel()
	one, other := eventsOfMarch(t, "one"), eventsOfMarch(t, "other")
	if len(one) != len(other) {
		t.Fatalf("%d and %d events", len(one), len(other))
	}
	for i := range one {
		if _, ok := wire.ParseUUID(one[i].UUID); !ok || !strings.HasPrefix(one[i].DistinctID, IDPrefix) {
			t.Errorf("%+v", one[i])
		}
		if ofSurvey := strings.HasPrefix(one[i].Event, "survey"); ofSurvey == (one[i].UUID == other[i].UUID) {
			t.Errorf("%s: %s and %s", one[i].Event, one[i].UUID, other[i].UUID)
		}
	}
	if text, err := json.Marshal(one); err != nil || !json.Valid(text) {
		t.Error(err)
	}
}

// Each flag has a unique key, and filters that are valid JSON with the id of the cohort.
func TestFlags_Table(t *testing.T) {
	t.Parallel()
	var keys []string
	for i := range Flags {
		f := &Flags[i]
		text := f.Filters("1234")
		if !json.Valid([]byte(text)) || strings.Contains(text, "COHORT") || f.About == "" || slices.Contains(keys, f.Key) || FlagOf(f.Key) != f {
			t.Errorf("%s: %s", f.Key, text)
		}
		if got := strings.Contains(text, "1234"); got != (f.Key == "demo-discount") {
			t.Errorf("%s: %s", f.Key, text)
		}
		keys = append(keys, f.Key)
	}
	if FlagOf("") != nil || FlagOf("demo") != nil || FlagOf(CheckoutFlag) == nil || FlagOf(RolloutFlag) == nil {
		t.Error(fmt.Sprint(keys))
	}
}
