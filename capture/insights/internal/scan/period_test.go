package scan

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/plaintest"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// A range that ends with a named day includes the whole day, for every interval (§3.1.2).
func TestDates_RangesOfDaysByName(t *testing.T) {
	now := plaintest.Instant(t, "2020-03-12T14:30:45Z")
	r := NewRun(t.Context(), nil, &port.Project{Location: plaintest.Zone(t, "Europe/Berlin")}, port.Options{Now: now})
	for _, tt := range []struct{ dates, from, to string }{
		{`{"date_from": "yesterday", "date_to": "yesterday"}`, "2020-03-10T23:00:00Z", "2020-03-11T22:59:59.999999Z"},
		{`{"date_from": "today", "date_to": "today"}`, "2020-03-11T23:00:00Z", "2020-03-12T22:59:59.999999Z"},
		{`{"date_from": "yesterday"}`, "2020-03-10T23:00:00Z", ""},
		{`{"date_from": "-1dStart", "date_to": "now", "explicitDate": true}`, "2020-03-10T23:00:00Z", "2020-03-12T14:30:45Z"},
	} {
		n, fault := document.Decode(json.RawMessage(tt.dates), "query__dateRange")
		d := calendar.ReadRange(n)
		if *fault != nil {
			t.Errorf("%s: %v", tt.dates, *fault)
			continue
		}
		for _, i := range []calendar.Interval{calendar.Hour, calendar.Day, calendar.Week} {
			p, err := r.Period(d, i)
			if err != nil || !p.From.Equal(plaintest.Instant(t, tt.from)) || tt.to != "" && !p.To.Equal(plaintest.Instant(t, tt.to)) {
				t.Errorf("%s by %s: %v to %v (%v), want %s to %s", tt.dates, i, p.From.UTC(), p.To.UTC(), err, tt.from, tt.to)
			}
		}
	}
}

// Each line of §3.1.2 and §3.1.3: the range, and the events that count.
func TestPeriod_RangesAndWhatCounts(t *testing.T) {
	now := "2020-03-12T14:30:45Z"
	for name, tt := range map[string]struct {
		dates         string
		interval      calendar.Interval
		from, to, cut string // cut: the time from which events count
		buckets       int
	}{
		"absent: seven days ago, today whole": {`{}`, calendar.Day, "2020-03-05T00:00:00Z", "2020-03-12T23:59:59.999999Z", "2020-03-05T00:00:00Z", 8},
		"an hour's end":                       {`{"date_from":"-2h"}`, calendar.Hour, "2020-03-12T12:00:00Z", "2020-03-12T14:59:59.999999Z", "2020-03-12T12:00:00Z", 3},
		"a minute's end, from not cut":        {`{"date_from":"-5M"}`, calendar.Minute, "2020-03-12T14:25:45Z", "2020-03-12T14:30:59.999999Z", "2020-03-12T14:25:45Z", 6},
		"minutes by day are cut to the day":   {`{"date_from":"-5M"}`, calendar.Day, "2020-03-12T00:00:00Z", "2020-03-12T23:59:59.999999Z", "2020-03-12T00:00:00Z", 1},
		"hours by day count from the hour":    {`{"date_from":"-20h"}`, calendar.Day, "2020-03-11T18:00:00Z", "2020-03-12T23:59:59.999999Z", "2020-03-11T18:00:00Z", 2},
		"an absolute end by hour stays":       {`{"date_from":"2020-01-08","date_to":"2020-01-09"}`, calendar.Hour, "2020-01-08T00:00:00Z", "2020-01-09T00:00:00Z", "2020-01-08T00:00:00Z", 25},
		"an absolute end by day is its end":   {`{"date_from":"2020-01-08T10:00","date_to":"2020-01-09"}`, calendar.Day, "2020-01-08T10:00:00Z", "2020-01-09T23:59:59.999999Z", "2020-01-08T00:00:00Z", 2},
		"explicit dates are as they are":      {`{"date_from":"2020-01-08T10:00","date_to":"2020-01-09T12:00","explicitDate":true}`, calendar.Day, "2020-01-08T10:00:00Z", "2020-01-09T12:00:00Z", "2020-01-08T10:00:00Z", 2},
		"a month counts whole":                {`{"date_from":"2020-01-10","date_to":"2020-02-10"}`, calendar.Month, "2020-01-10T00:00:00Z", "2020-02-10T23:59:59.999999Z", "2020-01-01T00:00:00Z", 2},
		"a week counts from the day":          {`{"date_from":"2020-01-08T10:00","date_to":"2020-01-12"}`, calendar.Week, "2020-01-08T10:00:00Z", "2020-01-12T23:59:59.999999Z", "2020-01-08T00:00:00Z", 2},
		"the wrong way round":                 {`{"date_from":"2020-01-12","date_to":"2020-01-08"}`, calendar.Day, "2020-01-12T00:00:00Z", "2020-01-08T23:59:59.999999Z", "2020-01-12T00:00:00Z", 0},
	} {
		r := NewRun(t.Context(), nil, &port.Project{}, port.Options{Now: plaintest.Instant(t, now)})
		n, fault := document.Decode(json.RawMessage(tt.dates), "query__dateRange")
		p, err := r.Period(calendar.ReadRange(n), tt.interval)
		if err != nil || *fault != nil {
			t.Errorf("%s: %v, %v", name, err, *fault)
			continue
		}
		if !p.From.Equal(plaintest.Instant(t, tt.from)) || !p.To.Equal(plaintest.Instant(t, tt.to)) || !p.first.Equal(plaintest.Instant(t, tt.cut)) || p.Len() != tt.buckets {
			t.Errorf("%s: %s to %s, from %s, %d buckets; want %+v", name, p.From.UTC(), p.To.UTC(), p.first.UTC(), p.Len(), tt)
		}
	}
}

// Each line of §3.1.4: the period with which another is compared.
func TestPeriod_Comparison(t *testing.T) {
	now := "2020-03-12T14:30:45Z" // a Thursday
	for name, tt := range map[string]struct {
		dates    string
		interval calendar.Interval
		to       string
		from     string
		until    string
	}{
		"days":                             {`{"date_from":"2020-01-15","date_to":"2020-01-19"}`, calendar.Day, "", "2020-01-10T00:00:00Z", "2020-01-14T23:59:59.999999Z"},
		"seven days: the same weekdays":    {`{"date_from":"-7d"}`, calendar.Day, "", "2020-02-27T00:00:00Z", "2020-03-05T23:59:59.999999Z"},
		"absent: the same":                 {`{}`, calendar.Day, "", "2020-02-27T00:00:00Z", "2020-03-05T23:59:59.999999Z"},
		"six days: no day more":            {`{"date_from":"-6d"}`, calendar.Day, "", "2020-02-28T00:00:00Z", "2020-03-05T23:59:59.999999Z"},
		"a week before":                    {`{"date_from":"2020-01-15","date_to":"2020-01-19"}`, calendar.Day, "-1w", "2020-01-08T00:00:00Z", "2020-01-12T23:59:59.999999Z"},
		"a month before":                   {`{"date_from":"2020-03-31","date_to":"2020-03-31"}`, calendar.Day, "-1m", "2020-02-29T00:00:00Z", "2020-02-29T23:59:59.999999Z"},
		"this month: the whole one before": {`{"date_from":"mStart"}`, calendar.Day, "", "2020-02-01T00:00:00Z", "2020-02-29T23:59:59.999999Z"},
		"this year":                        {`{"date_from":"yStart"}`, calendar.Month, "", "2019-01-01T00:00:00Z", "2019-12-31T23:59:59.999999Z"},
		"minutes":                          {`{"date_from":"2020-01-15T10:00","date_to":"2020-01-15T10:30"}`, calendar.Minute, "", "2020-01-15T09:30:00Z", "2020-01-15T10:00:00Z"},
	} {
		r := NewRun(t.Context(), nil, &port.Project{}, port.Options{Now: plaintest.Instant(t, now)})
		n, _ := document.Decode(json.RawMessage(tt.dates), "query__dateRange")
		var to calendar.Date
		if tt.to != "" {
			to, _ = calendar.ParseDate(tt.to, false)
		}
		p, err := r.Period(calendar.ReadRange(n), tt.interval)
		if err != nil {
			t.Fatal(err)
		}
		before, err := r.PreviousPeriod(p, calendar.ReadRange(n), to)
		if err != nil {
			t.Fatal(err)
		}
		if !before.From.Equal(plaintest.Instant(t, tt.from)) || !before.To.Equal(plaintest.Instant(t, tt.until)) {
			t.Errorf("%s: %s to %s, want %s to %s", name, before.From.UTC().Format(time.RFC3339Nano), before.To.UTC().Format(time.RFC3339Nano), tt.from, tt.until)
		}
	}
}
