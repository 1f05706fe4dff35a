package insights

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func parseInstant(t testing.TB, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

// The forms of dates (§3.1.1) in a zone that is one hour ahead of UTC in winter, on Thursday 12
// March 2020 at 15:30:45 local time.
func TestDates_Forms(t *testing.T) {
	c := calendar{zone: zone(t, "Europe/Berlin"), weekStart: time.Monday}
	now := parseInstant(t, "2020-03-12T14:30:45Z")
	for text, want := range map[string]string{
		"2020-01-09":                 "2020-01-08T23:00:00Z",
		"2020-1-9":                   "2020-01-08T23:00:00Z",
		"2020-01-09T10:00":           "2020-01-09T09:00:00Z",
		"2020-01-09 10:00:30":        "2020-01-09T09:00:30Z",
		"2020-01-09T10:00:00.123456": "2020-01-09T09:00:00.123456Z",
		"2020-01-09T10:00:00Z":       "2020-01-09T10:00:00Z",
		"2020-01-09T10:00:00+05:30":  "2020-01-09T04:30:00Z",
		"2020-07-01":                 "2020-06-30T22:00:00Z", // summer time
		"-30s":                       "2020-03-12T14:30:15Z",
		"-5M":                        "2020-03-12T14:25:45Z",
		"-2h":                        "2020-03-12T12:30:45Z",
		"7d":                         "2020-03-05T14:30:45Z",
		"-7d":                        "2020-03-05T14:30:45Z",
		"-1w":                        "2020-03-05T14:30:45Z",
		"-1m":                        "2020-02-12T14:30:45Z",
		"-1q":                        "2019-12-12T14:30:45Z", // 91 days
		"-1y":                        "2019-03-12T14:30:45Z",
		"dStart":                     "2020-03-11T23:00:00Z",
		"-1dStart":                   "2020-03-10T23:00:00Z",
		"-1dEnd":                     "2020-03-11T22:59:59.999999Z",
		"hStart":                     "2020-03-12T14:00:00Z",
		"hEnd":                       "2020-03-12T14:59:59.999999Z",
		"wStart":                     "2020-03-08T23:00:00Z",
		"-1wStart":                   "2020-03-01T23:00:00Z",
		"mStart":                     "2020-02-29T23:00:00Z",
		"-1mStart":                   "2020-01-31T23:00:00Z",
		"mEnd":                       "2020-03-31T21:59:59.999999Z",
		"qStart":                     "2019-12-31T23:00:00Z",
		"-1qStart":                   "2019-09-30T22:00:00Z",
		"yStart":                     "2019-12-31T23:00:00Z",
		"yEnd":                       "2020-12-31T22:59:59.999999Z",
		"wEnd":                       "2020-03-15T22:59:59.999999Z",
		"qEnd":                       "2020-03-31T21:59:59.999999Z",
		// PostHog's parser: a unit without a number, and words.
		"d":         "2020-03-12T14:30:45Z",
		"now":       "2020-03-12T14:30:45Z",
		"today":     "2020-03-11T23:00:00Z",
		"yesterday": "2020-03-10T23:00:00Z",
		// Other forms that ISO 8601 permits.
		"2020":                    "2019-12-31T23:00:00Z",
		"2020-03":                 "2020-02-29T23:00:00Z",
		"202003":                  "2020-02-29T23:00:00Z",
		"20200109":                "2020-01-08T23:00:00Z",
		"2020-W01":                "2019-12-29T23:00:00Z", // Monday 30 December
		"2020W11":                 "2020-03-08T23:00:00Z",
		"2020-W11-4":              "2020-03-11T23:00:00Z",
		"2020-009":                "2020-01-08T23:00:00Z",
		"2020009":                 "2020-01-08T23:00:00Z",
		"20200109T100030Z":        "2020-01-09T10:00:30Z",
		"2020-01-09T10":           "2020-01-09T09:00:00Z",
		"2020-01-09T10:00:00,25Z": "2020-01-09T10:00:00.25Z",
		"20200109T100000.5+0530":  "2020-01-09T04:30:00.5Z",
		"2020-01-09 10:00:00-05":  "2020-01-09T15:00:00Z",
	} {
		d, ok := parseDate(text, false)
		if !ok {
			t.Errorf("%s: no date", text)
			continue
		}
		if got := c.resolve(d, now); !got.Equal(parseInstant(t, want)) {
			t.Errorf("%s: %s, want %s", text, got.UTC().Format(time.RFC3339Nano), want)
		}
	}
	for _, text := range []string{"tomorrow", "-", "", "-7", "Today", "2020-00", "2020-13", "20201301", "20200230", "2020-W54", "2020-W00", "2020-W11-8", "2020-000", "2021-366", "1969", "2101", "2020-01-09T", "202", "-123456d", "1969-12-31", "2101-01-01", "2020-13-01", "2020-02-30", "sStart", "MEnd", "all", "2020-01-09T25:00", "-7D"} {
		if _, ok := parseDate(text, false); ok {
			t.Errorf("%s is a date, want none", text)
		}
	}
}

// A range that ends with a named day includes the whole day, for every interval (§3.1.2).
func TestDates_RangesOfDaysByName(t *testing.T) {
	now := parseInstant(t, "2020-03-12T14:30:45Z")
	r := newRun(t.Context(), nil, &Project{Location: zone(t, "Europe/Berlin")}, Options{Now: now})
	for _, tt := range []struct{ dates, from, to string }{
		{`{"date_from": "yesterday", "date_to": "yesterday"}`, "2020-03-10T23:00:00Z", "2020-03-11T22:59:59.999999Z"},
		{`{"date_from": "today", "date_to": "today"}`, "2020-03-11T23:00:00Z", "2020-03-12T22:59:59.999999Z"},
		{`{"date_from": "yesterday"}`, "2020-03-10T23:00:00Z", ""},
		{`{"date_from": "-1dStart", "date_to": "now", "explicitDate": true}`, "2020-03-10T23:00:00Z", "2020-03-12T14:30:45Z"},
	} {
		n, fault := decodeQuery(json.RawMessage(tt.dates), "query__dateRange")
		d := readDateRange(n)
		if *fault != nil {
			t.Errorf("%s: %v", tt.dates, *fault)
			continue
		}
		for _, i := range []interval{hour, day, week} {
			p, err := r.period(d, i)
			if err != nil || !p.from.Equal(parseInstant(t, tt.from)) || tt.to != "" && !p.to.Equal(parseInstant(t, tt.to)) {
				t.Errorf("%s by %s: %v to %v (%v), want %s to %s", tt.dates, i, p.from.UTC(), p.to.UTC(), err, tt.from, tt.to)
			}
		}
	}
}

// "months and years move the calendar and clamp the day" (§3.1.1).
func TestDates_MonthsClamp(t *testing.T) {
	c := calendar{zone: time.UTC}
	for _, tt := range []struct{ now, text, want string }{
		{"2020-03-31T10:00:00Z", "-1m", "2020-02-29T10:00:00Z"},
		{"2021-03-31T10:00:00Z", "-1m", "2021-02-28T10:00:00Z"},
		{"2020-02-29T10:00:00Z", "-1y", "2019-02-28T10:00:00Z"},
		{"2020-01-31T10:00:00Z", "-2m", "2019-11-30T10:00:00Z"},
	} {
		d, _ := parseDate(tt.text, false)
		if got := c.resolve(d, parseInstant(t, tt.now)); !got.Equal(parseInstant(t, tt.want)) {
			t.Errorf("%s at %s: %s, want %s", tt.text, tt.now, got, tt.want)
		}
	}
}

// A day begins at the first instant of the local date, also if clocks skip midnight (§3.1.3):
// Santiago on 8 September 2019, and Havana, where midnight occurs twice on 3 November 2019.
func TestBuckets_DaysOfChangingClocks(t *testing.T) {
	for _, tt := range []struct{ zone, in, want string }{
		{"America/Santiago", "2019-09-08T12:00:00Z", "2019-09-08T04:00:00Z"}, // 01:00 local
		{"America/Havana", "2019-11-03T12:00:00Z", "2019-11-03T04:00:00Z"},   // the first midnight
		{"Europe/Berlin", "2020-03-29T12:00:00Z", "2020-03-28T23:00:00Z"},
		{"Asia/Kathmandu", "2020-01-09T12:00:00Z", "2020-01-08T18:15:00Z"},
	} {
		c := calendar{zone: zone(t, tt.zone)}
		if got := c.startOf(day, parseInstant(t, tt.in)); !got.Equal(parseInstant(t, tt.want)) {
			t.Errorf("%s: the day of %s begins at %s, want %s", tt.zone, tt.in, got.UTC(), tt.want)
		}
	}
}

// "a local day has 23, 24 or 25 of them, a repeated hour has two buckets with equal
// days text. In zones with offsets of half hours, hours and minutes follow the local
// clock" (§3.1.3).
func TestBuckets_Hours(t *testing.T) {
	for _, tt := range []struct {
		zone, day string
		hours     int
	}{
		{"Europe/Berlin", "2020-03-29", 23}, {"Europe/Berlin", "2020-10-25", 25}, {"Europe/Berlin", "2020-06-01", 24}, {"Asia/Kolkata", "2020-06-01", 24},
	} {
		c := calendar{zone: zone(t, tt.zone)}
		d, _ := parseDate(tt.day, false)
		from := c.resolve(d, time.Time{})
		b, err := c.bucketsBetween(hour, from, c.endOf(day, from))
		if err != nil || b.len() != tt.hours {
			t.Errorf("%s in %s has %d hours (%v), want %d", tt.day, tt.zone, b.len(), err, tt.hours)
		}
		if tt.hours == 25 && b.days()[2] != b.days()[3] {
			t.Errorf("the repeated hour is %q and %q, want the same twice", b.days()[2], b.days()[3])
		}
		for i := range b.len() {
			if m := b.start(i).Minute(); m != 0 {
				t.Errorf("an hour of %s begins at minute %d", tt.zone, m)
			}
		}
	}
}

// Each line of §3.1.2 and §3.1.3: the range, and the events that count.
func TestPeriod_RangesAndWhatCounts(t *testing.T) {
	now := "2020-03-12T14:30:45Z"
	for name, tt := range map[string]struct {
		dates         string
		interval      interval
		from, to, cut string // cut: the time from which events count
		buckets       int
	}{
		"absent: seven days ago, today whole": {`{}`, day, "2020-03-05T00:00:00Z", "2020-03-12T23:59:59.999999Z", "2020-03-05T00:00:00Z", 8},
		"an hour's end":                       {`{"date_from":"-2h"}`, hour, "2020-03-12T12:00:00Z", "2020-03-12T14:59:59.999999Z", "2020-03-12T12:00:00Z", 3},
		"a minute's end, from not cut":        {`{"date_from":"-5M"}`, minute, "2020-03-12T14:25:45Z", "2020-03-12T14:30:59.999999Z", "2020-03-12T14:25:45Z", 6},
		"minutes by day are cut to the day":   {`{"date_from":"-5M"}`, day, "2020-03-12T00:00:00Z", "2020-03-12T23:59:59.999999Z", "2020-03-12T00:00:00Z", 1},
		"hours by day count from the hour":    {`{"date_from":"-20h"}`, day, "2020-03-11T18:00:00Z", "2020-03-12T23:59:59.999999Z", "2020-03-11T18:00:00Z", 2},
		"an absolute end by hour stays":       {`{"date_from":"2020-01-08","date_to":"2020-01-09"}`, hour, "2020-01-08T00:00:00Z", "2020-01-09T00:00:00Z", "2020-01-08T00:00:00Z", 25},
		"an absolute end by day is its end":   {`{"date_from":"2020-01-08T10:00","date_to":"2020-01-09"}`, day, "2020-01-08T10:00:00Z", "2020-01-09T23:59:59.999999Z", "2020-01-08T00:00:00Z", 2},
		"explicit dates are as they are":      {`{"date_from":"2020-01-08T10:00","date_to":"2020-01-09T12:00","explicitDate":true}`, day, "2020-01-08T10:00:00Z", "2020-01-09T12:00:00Z", "2020-01-08T10:00:00Z", 2},
		"a month counts whole":                {`{"date_from":"2020-01-10","date_to":"2020-02-10"}`, month, "2020-01-10T00:00:00Z", "2020-02-10T23:59:59.999999Z", "2020-01-01T00:00:00Z", 2},
		"a week counts from the day":          {`{"date_from":"2020-01-08T10:00","date_to":"2020-01-12"}`, week, "2020-01-08T10:00:00Z", "2020-01-12T23:59:59.999999Z", "2020-01-08T00:00:00Z", 2},
		"the wrong way round":                 {`{"date_from":"2020-01-12","date_to":"2020-01-08"}`, day, "2020-01-12T00:00:00Z", "2020-01-08T23:59:59.999999Z", "2020-01-12T00:00:00Z", 0},
	} {
		r := newRun(t.Context(), nil, &Project{}, Options{Now: parseInstant(t, now)})
		n, fault := decodeQuery(json.RawMessage(tt.dates), "query__dateRange")
		p, err := r.period(readDateRange(n), tt.interval)
		if err != nil || *fault != nil {
			t.Errorf("%s: %v, %v", name, err, *fault)
			continue
		}
		if !p.from.Equal(parseInstant(t, tt.from)) || !p.to.Equal(parseInstant(t, tt.to)) || !p.first.Equal(parseInstant(t, tt.cut)) || p.len() != tt.buckets {
			t.Errorf("%s: %s to %s, from %s, %d buckets; want %+v", name, p.from.UTC(), p.to.UTC(), p.first.UTC(), p.len(), tt)
		}
	}
}

// Each line of §3.1.4: the period with which another is compared.
func TestPeriod_Comparison(t *testing.T) {
	now := "2020-03-12T14:30:45Z" // a Thursday
	for name, tt := range map[string]struct {
		dates    string
		interval interval
		to       string
		from     string
		until    string
	}{
		"days":                             {`{"date_from":"2020-01-15","date_to":"2020-01-19"}`, day, "", "2020-01-10T00:00:00Z", "2020-01-14T23:59:59.999999Z"},
		"seven days: the same weekdays":    {`{"date_from":"-7d"}`, day, "", "2020-02-27T00:00:00Z", "2020-03-05T23:59:59.999999Z"},
		"absent: the same":                 {`{}`, day, "", "2020-02-27T00:00:00Z", "2020-03-05T23:59:59.999999Z"},
		"six days: no day more":            {`{"date_from":"-6d"}`, day, "", "2020-02-28T00:00:00Z", "2020-03-05T23:59:59.999999Z"},
		"a week before":                    {`{"date_from":"2020-01-15","date_to":"2020-01-19"}`, day, "-1w", "2020-01-08T00:00:00Z", "2020-01-12T23:59:59.999999Z"},
		"a month before":                   {`{"date_from":"2020-03-31","date_to":"2020-03-31"}`, day, "-1m", "2020-02-29T00:00:00Z", "2020-02-29T23:59:59.999999Z"},
		"this month: the whole one before": {`{"date_from":"mStart"}`, day, "", "2020-02-01T00:00:00Z", "2020-02-29T23:59:59.999999Z"},
		"this year":                        {`{"date_from":"yStart"}`, month, "", "2019-01-01T00:00:00Z", "2019-12-31T23:59:59.999999Z"},
		"minutes":                          {`{"date_from":"2020-01-15T10:00","date_to":"2020-01-15T10:30"}`, minute, "", "2020-01-15T09:30:00Z", "2020-01-15T10:00:00Z"},
	} {
		r := newRun(t.Context(), nil, &Project{}, Options{Now: parseInstant(t, now)})
		n, _ := decodeQuery(json.RawMessage(tt.dates), "query__dateRange")
		var to date
		if tt.to != "" {
			to, _ = parseDate(tt.to, false)
		}
		p, err := r.period(readDateRange(n), tt.interval)
		if err != nil {
			t.Fatal(err)
		}
		before, err := r.previousPeriod(p, readDateRange(n), to)
		if err != nil {
			t.Fatal(err)
		}
		if !before.from.Equal(parseInstant(t, tt.from)) || !before.to.Equal(parseInstant(t, tt.until)) {
			t.Errorf("%s: %s to %s, want %s to %s", name, before.from.UTC().Format(time.RFC3339Nano), before.to.UTC().Format(time.RFC3339Nano), tt.from, tt.until)
		}
	}
}

// Each form of labels of §3.1.5.
func TestBuckets_Labels(t *testing.T) {
	for _, tt := range []struct {
		interval interval
		from, to string
		want     []string
	}{
		{day, "2020-01-09", "2020-01-10", []string{"9-Jan-2020", "10-Jan-2020"}},
		{hour, "2020-01-09T13:00", "2020-01-09T13:59", []string{"9-Jan 13:00"}},
		{month, "2020-01-01", "2020-02-01", []string{"Jan 2020", "Feb 2020"}},
		{week, "2020-01-09", "2020-01-19", []string{"9–11 Jan", "12–18 Jan", "19-Jan-2020"}},
		{week, "2020-01-26", "2020-02-01", []string{"26-Jan – 1-Feb"}},
		{week, "2019-12-29", "2020-01-04", []string{"29-Dec-2019 – 4-Jan-2020"}},
	} {
		c := calendar{zone: time.UTC}
		from, _ := parseDate(tt.from, false)
		to, _ := parseDate(tt.to, false)
		b, err := c.bucketsBetween(tt.interval, from.at, to.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.labels(from.at, to.at); !slices.Equal(got, tt.want) {
			t.Errorf("%s from %s to %s: %q, want %q", tt.interval, tt.from, tt.to, got, tt.want)
		}
	}
}

// Buckets are consecutive without gaps in every zone, and each instant is in the bucket that find
// returns.
func TestBuckets_Law(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia"} {
		for _, i := range []interval{hour, day, week, month} {
			c := calendar{zone: zone(t, name), weekStart: time.Monday}
			b, err := c.bucketsBetween(i, parseInstant(t, "2019-12-30T05:17:00Z"), parseInstant(t, "2020-12-30T05:17:00Z"))
			if err != nil {
				t.Fatal(name, i, err)
			}
			for k := range b.starts {
				if b.endAt(k) <= b.starts[k] {
					t.Fatalf("%s by %s: bucket %d ends at %d, before its start", name, i, k, b.endAt(k))
				}
				if b.find(b.starts[k]) != k || b.find(b.endAt(k)-1) != k {
					t.Fatalf("%s by %s: the bounds of bucket %d are not found in it", name, i, k)
				}
			}
			if b.find(b.starts[0]-1) != -1 || b.find(b.end) != -1 {
				t.Errorf("%s by %s: something is found outside", name, i)
			}
		}
	}
}

// "buckets of a series | 10,000" (§5.4).
func TestBuckets_Bounded(t *testing.T) {
	c := calendar{zone: time.UTC}
	_, err := c.bucketsBetween(minute, parseInstant(t, "2020-01-01T00:00:00Z"), parseInstant(t, "2020-01-08T00:00:00Z"))
	var e *Error
	if !errors.As(err, &e) || e.Code != tooLarge {
		t.Errorf("10,081 minutes: %v, want %s", err, tooLarge)
	}
}

// Anyone with the public key can send an event of 1970; charts of all time still begin with the
// first real event (§3.1.1 all).
func TestPeriod_AllTimeLeavesOutBrokenClocks(t *testing.T) {
	m := &memory{}
	for _, day := range []string{"0001-01-01", "1970-01-01", "2000-01-01", "2014-12-31", "2020-01-09", "2020-01-31"} {
		m.events = append(m.events, memoryEvent{name: "x", distinctID: "a", at: parseInstant(t, day+"T12:00:00Z")})
	}
	for kind, want := range map[string]string{
		`"kind":"TrendsQuery"`: `"data":[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,0],`,
		`"kind":"TrendsQuery","trendsFilter":{"display":"BoldNumber"}`: `"aggregated_value":2}`,
		`"kind":"StickinessQuery"`:                                     `"count":1,"data":[0,1,`,
	} {
		got, _, err := ask(t, m, `{`+kind+`,"series":[{"kind":"EventsNode"}],"dateRange":{"date_from":"all"}}`)
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %s, %v; want %s", kind, got, err, want)
		}
	}
}

// Results for a period as a whole do not need buckets, so their number is not limited (§5.4):
// 20,484 days.
func TestPeriod_SingleNeedsNoBuckets(t *testing.T) {
	m := &memory{}
	for _, day := range []string{"1970-01-01", "1970-01-02", "2020-01-09"} {
		m.events = append(m.events, memoryEvent{name: "x", distinctID: "a", at: parseInstant(t, day+"T12:00:00Z")})
	}
	const series = `,"series":[{"kind":"EventsNode"},{"kind":"EventsNode"}],"dateRange":{"date_from":"1970-01-01","date_to":"2026-01-31"}}`
	for kind, want := range map[string]string{
		`{"kind":"TrendsQuery","trendsFilter":{"display":"BoldNumber"}`:                                  `"aggregated_value":3}`,
		`{"kind":"TrendsQuery","trendsFilter":{"display":"ActionsPie"},"compareFilter":{"compare":true}`: `"aggregated_value":3,"compare":true`,
		`{"kind":"FunnelsQuery"`: `"average_conversion_time":86400`,
		`{"kind":"FunnelsQuery","funnelsFilter":{"funnelVizType":"time_to_convert"}`: `"average_conversion_time":86400`,
	} {
		if got, _, err := ask(t, m, kind+series); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %s, %v; want %s", kind, got, err, want)
		}
	}
	var e *Error
	if _, _, err := ask(t, m, `{"kind":"TrendsQuery"`+series); !errors.As(err, &e) || e.Code != tooLarge {
		t.Errorf("by day: %v, want %s", err, tooLarge)
	}
}
