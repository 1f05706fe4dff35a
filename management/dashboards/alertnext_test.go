package dashboards

import (
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// An alert is checked next at the times of clients.md §9.3. It was created at minute 20. The days
// on which the clocks change are those of the IANA database: Berlin 29 March and 25 October 2026,
// London the same, Lord Howe (half an hour) 5 April and 4 October 2026.
func TestAlert_Next(t *testing.T) {
	for _, c := range []struct {
		interval, zone, now, want string
		skip                      bool
	}{
		{"hourly", "UTC", "2026-01-05T12:20:05Z", "2026-01-05T13:20:00Z", false},
		{"hourly", "UTC", "2026-01-05T12:59:59Z", "2026-01-05T13:20:00Z", false},
		{"hourly", "Asia/Kolkata", "2026-01-05T12:50:05Z", "2026-01-05T13:50:00Z", false},  // 18:20 there
		{"hourly", "Europe/Berlin", "2026-03-29T00:20:05Z", "2026-03-29T01:20:00Z", false}, // 1:20, then 3:20
		{"hourly", "Europe/Berlin", "2026-10-25T00:20:05Z", "2026-10-25T01:20:00Z", false}, // 2:20 twice
		{"hourly", "UTC", "2026-01-09T23:20:05Z", "2026-01-12T00:20:00Z", true},            // Friday
		{"daily", "UTC", "2026-01-05T12:20:05Z", "2026-01-06T01:20:00Z", false},
		{"daily", "UTC", "2026-01-05T00:30:00Z", "2026-01-06T01:20:00Z", false},
		{"daily", "America/New_York", "2026-01-05T04:30:00Z", "2026-01-05T06:20:00Z", false}, // still the 4th there
		{"daily", "UTC", "2026-01-31T01:20:05Z", "2026-02-01T01:20:00Z", false},
		{"daily", "UTC", "2026-01-30T01:20:05Z", "2026-02-02T01:20:00Z", true}, // Friday
		{"daily", "Europe/Berlin", "2026-10-24T00:00:00Z", "2026-10-24T23:20:00Z", false},
		{"weekly", "UTC", "2026-01-05T03:20:05Z", "2026-01-12T03:20:00Z", false}, // Monday
		{"weekly", "UTC", "2026-01-11T23:00:00Z", "2026-01-12T03:20:00Z", false}, // Sunday
		{"monthly", "UTC", "2026-01-05T12:20:05Z", "2026-02-01T04:20:00Z", false},
		{"monthly", "UTC", "2026-12-31T23:59:59Z", "2027-01-01T04:20:00Z", false},
		{"monthly", "UTC", "2026-01-05T12:20:05Z", "2026-02-02T04:20:00Z", true}, // the 1st is a Sunday
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		// The minute is that of the project's time zone.
		made := time.Date(2026, 1, 1, 10, 20, 0, 0, zone)
		a := storedAlert{alertSettings: alertSettings{Interval: c.interval, SkipWeekend: &c.skip, Created: management.NewStamp(made)}}
		if got := a.nextCheck(now, zone).UTC().Format(time.RFC3339); got != c.want {
			t.Errorf("%s in %s after %s: %s, want %s", c.interval, c.zone, c.now, got, c.want)
		}
	}
}

// The next check is always after now and within the interval, even on days on which the clocks
// change.
func TestAlert_NextAlways(t *testing.T) {
	longest := map[string]time.Duration{"hourly": 2*time.Hour + 30*time.Minute, "daily": 50 * time.Hour, "weekly": 8 * 24 * time.Hour, "monthly": 33 * 24 * time.Hour}
	for _, name := range []string{"Europe/London", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "Africa/Cairo"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for interval, most := range longest {
			a := storedAlert{alertSettings: alertSettings{Interval: interval, Created: management.NewStamp(time.Date(2011, 1, 1, 10, 20, 0, 0, zone))}}
			for now := time.Date(2011, 1, 1, 0, 7, 0, 0, time.UTC); now.Year() < 2013; now = now.Add(37 * time.Minute) {
				if wait := a.nextCheck(now, zone).Sub(now); wait <= 0 || wait > most {
					t.Fatalf("%s in %s after %v: %v", interval, name, now, wait)
				}
			}
		}
	}
}
