package calendar

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/plaintest"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// The forms of dates (§3.1.1) in a zone that is one hour ahead of UTC in winter, on Thursday 12
// March 2020 at 15:30:45 local time.
func TestDates_Forms(t *testing.T) {
	c := Calendar{Zone: plaintest.Zone(t, "Europe/Berlin"), WeekStart: time.Monday}
	now := plaintest.Instant(t, "2020-03-12T14:30:45Z")
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
		d, ok := ParseDate(text, false)
		if !ok {
			t.Errorf("%s: no date", text)
			continue
		}
		if got := c.Resolve(d, now); !got.Equal(plaintest.Instant(t, want)) {
			t.Errorf("%s: %s, want %s", text, got.UTC().Format(time.RFC3339Nano), want)
		}
	}
	for _, text := range []string{"tomorrow", "-", "", "-7", "Today", "2020-00", "2020-13", "20201301", "20200230", "2020-W54", "2020-W00", "2020-W11-8", "2020-000", "2021-366", "1969", "2101", "2020-01-09T", "202", "-123456d", "1969-12-31", "2101-01-01", "2020-13-01", "2020-02-30", "sStart", "MEnd", "all", "2020-01-09T25:00", "-7D"} {
		if _, ok := ParseDate(text, false); ok {
			t.Errorf("%s is a date, want none", text)
		}
	}
}

// "months and years move the calendar and clamp the day" (§3.1.1).
func TestDates_MonthsClamp(t *testing.T) {
	c := Calendar{Zone: time.UTC}
	for _, tt := range []struct{ now, text, want string }{
		{"2020-03-31T10:00:00Z", "-1m", "2020-02-29T10:00:00Z"},
		{"2021-03-31T10:00:00Z", "-1m", "2021-02-28T10:00:00Z"},
		{"2020-02-29T10:00:00Z", "-1y", "2019-02-28T10:00:00Z"},
		{"2020-01-31T10:00:00Z", "-2m", "2019-11-30T10:00:00Z"},
	} {
		d, _ := ParseDate(tt.text, false)
		if got := c.Resolve(d, plaintest.Instant(t, tt.now)); !got.Equal(plaintest.Instant(t, tt.want)) {
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
		c := Calendar{Zone: plaintest.Zone(t, tt.zone)}
		if got := c.StartOf(Day, plaintest.Instant(t, tt.in)); !got.Equal(plaintest.Instant(t, tt.want)) {
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
		c := Calendar{Zone: plaintest.Zone(t, tt.zone)}
		d, _ := ParseDate(tt.day, false)
		from := c.Resolve(d, time.Time{})
		b, err := c.BucketsBetween(Hour, from, c.EndOf(Day, from))
		if err != nil || b.Len() != tt.hours {
			t.Errorf("%s in %s has %d hours (%v), want %d", tt.day, tt.zone, b.Len(), err, tt.hours)
		}
		if tt.hours == 25 && b.Days()[2] != b.Days()[3] {
			t.Errorf("the repeated hour is %q and %q, want the same twice", b.Days()[2], b.Days()[3])
		}
		for i := range b.Len() {
			if m := b.Start(i).Minute(); m != 0 {
				t.Errorf("an hour of %s begins at minute %d", tt.zone, m)
			}
		}
	}
}

// Each form of labels of §3.1.5.
func TestBuckets_Labels(t *testing.T) {
	for _, tt := range []struct {
		interval Interval
		from, to string
		want     []string
	}{
		{Day, "2020-01-09", "2020-01-10", []string{"9-Jan-2020", "10-Jan-2020"}},
		{Hour, "2020-01-09T13:00", "2020-01-09T13:59", []string{"9-Jan 13:00"}},
		{Month, "2020-01-01", "2020-02-01", []string{"Jan 2020", "Feb 2020"}},
		{Week, "2020-01-09", "2020-01-19", []string{"9–11 Jan", "12–18 Jan", "19-Jan-2020"}},
		{Week, "2020-01-26", "2020-02-01", []string{"26-Jan – 1-Feb"}},
		{Week, "2019-12-29", "2020-01-04", []string{"29-Dec-2019 – 4-Jan-2020"}},
	} {
		c := Calendar{Zone: time.UTC}
		from, _ := ParseDate(tt.from, false)
		to, _ := ParseDate(tt.to, false)
		b, err := c.BucketsBetween(tt.interval, from.at, to.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Labels(from.at, to.at); !slices.Equal(got, tt.want) {
			t.Errorf("%s from %s to %s: %q, want %q", tt.interval, tt.from, tt.to, got, tt.want)
		}
	}
}

// Buckets are consecutive without gaps in every zone, and each instant is in the bucket that find
// returns.
func TestBuckets_Law(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia"} {
		for _, i := range []Interval{Hour, Day, Week, Month} {
			c := Calendar{Zone: plaintest.Zone(t, name), WeekStart: time.Monday}
			b, err := c.BucketsBetween(i, plaintest.Instant(t, "2019-12-30T05:17:00Z"), plaintest.Instant(t, "2020-12-30T05:17:00Z"))
			if err != nil {
				t.Fatal(name, i, err)
			}
			for k := range b.Starts {
				if b.EndAt(k) <= b.Starts[k] {
					t.Fatalf("%s by %s: bucket %d ends at %d, before its start", name, i, k, b.EndAt(k))
				}
				if b.Find(b.Starts[k]) != k || b.Find(b.EndAt(k)-1) != k {
					t.Fatalf("%s by %s: the bounds of bucket %d are not found in it", name, i, k)
				}
			}
			if b.Find(b.Starts[0]-1) != -1 || b.Find(b.End) != -1 {
				t.Errorf("%s by %s: something is found outside", name, i)
			}
		}
	}
}

// Times that follow one another in a bucket, or outside of all, are found together: two days of Berlin from
// midnight, which is 23:00 UTC in winter.
func TestBuckets_FindRun(t *testing.T) {
	c := Calendar{Zone: plaintest.Zone(t, "Europe/Berlin"), WeekStart: time.Monday}
	b, err := c.BucketsBetween(Day, plaintest.Instant(t, "2020-01-09T12:00:00Z"), plaintest.Instant(t, "2020-01-10T12:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	var times []int64
	for _, text := range []string{
		"2020-01-08T22:59:59Z", "2020-01-10T23:00:00Z", // none
		"2020-01-08T23:00:00Z", "2020-01-09T22:59:59Z", "2020-01-09T01:00:00Z", // the first day
		"2020-01-09T23:00:00Z",                         // the second
		"2020-01-09T22:00:00Z",                         // the first
		"2020-01-10T22:59:59Z", "2020-01-10T05:00:00Z", // the second
		"2019-01-01T00:00:00Z", // none
	} {
		times = append(times, plaintest.Instant(t, text).UnixMicro())
	}
	var got [][2]int
	for rest := times; len(rest) > 0; {
		bucket, n := b.FindRun(rest)
		got, rest = append(got, [2]int{bucket, n}), rest[n:]
	}
	if want := [][2]int{{-1, 2}, {0, 3}, {1, 1}, {0, 1}, {1, 2}, {-1, 1}}; !slices.Equal(got, want) {
		t.Errorf("buckets and numbers of times: %v, want %v", got, want)
	}
}

// "buckets of a series | 10,000" (§5.4).
func TestBuckets_Bounded(t *testing.T) {
	c := Calendar{Zone: time.UTC}
	_, err := c.BucketsBetween(Minute, plaintest.Instant(t, "2020-01-01T00:00:00Z"), plaintest.Instant(t, "2020-01-08T00:00:00Z"))
	var e *port.Error
	if !errors.As(err, &e) || e.Code != document.TooLarge {
		t.Errorf("10,081 minutes: %v, want %s", err, document.TooLarge)
	}
}
