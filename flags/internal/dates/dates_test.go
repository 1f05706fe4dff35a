package dates

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests need the zones on every system
)

func zoneNamed(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func utc(year, month, day, hour, minute, second, nano int) time.Time {
	return time.Date(year, time.Month(month), day, hour, minute, second, nano, time.UTC)
}

// checkDate parses text as a filter value and as a property; a zero want means that it is not a
// date.
func checkDate(t *testing.T, text string, now time.Time, zone *time.Location, want time.Time) {
	t.Helper()
	var got time.Time
	if d, ok := Compile(text, zone); ok {
		if at, ok := d.At(now, zone); ok {
			got = at
		}
	}
	if !got.Equal(want) {
		t.Errorf("filter %q at %v is %v, want %v", text, now, got, want)
	}
	if got, ok := Read(text, now, zone); ok == want.IsZero() || ok && !got.Equal(want) {
		t.Errorf("property %q at %v is %v, %v; want %v", text, now, got, ok, want)
	}
}

// Expected: the service's own tests of relative dates, row 70 of §12.3, and calculated dates.
func TestFlags_4_7_RelativeDates(t *testing.T) {
	base := utc(2020, 1, 1, 12, 1, 20, 134000000)
	at := func(year, month, day, hour int) time.Time { return utc(year, month, day, hour, 1, 20, 134000000) }
	for text, want := range map[string]time.Time{
		"1h": at(2020, 1, 1, 11), "-2h": at(2020, 1, 1, 10), "24h": at(2019, 12, 31, 12), "30h": at(2019, 12, 31, 6), "000h": base,
		"1d": at(2019, 12, 31, 12), "-7d": at(2019, 12, 25, 12), "14d": at(2019, 12, 18, 12), "30d": at(2019, 12, 2, 12),
		"1w": at(2019, 12, 25, 12), "4w": at(2019, 12, 4, 12), "-8w": at(2019, 11, 6, 12),
		"1m": at(2019, 12, 1, 12), "2m": at(2019, 11, 1, 12), "4m": at(2019, 9, 1, 12), "8m": at(2019, 5, 1, 12), "12m": at(2019, 1, 1, 12),
		"1y": at(2019, 1, 1, 12), "2y": at(2018, 1, 1, 12), "4y": at(2016, 1, 1, 12), "8y": at(2012, 1, 1, 12),
		"9999m": at(1186, 10, 1, 12), "9999y": at(-7979, 1, 1, 12), // 9999 months are 833 years and 3 months
	} {
		checkDate(t, text, base, time.UTC, want)
	}
	for _, c := range []struct {
		text      string
		now, want time.Time
	}{
		{"1m", utc(2020, 4, 3, 0, 0, 0, 0), utc(2020, 3, 3, 0, 0, 0, 0)},
		{"8m", utc(2020, 4, 3, 0, 0, 0, 0), utc(2019, 8, 3, 0, 0, 0, 0)},
		{"1m", utc(2020, 3, 31, 12, 0, 0, 0), utc(2020, 2, 29, 12, 0, 0, 0)},
		{"1m", utc(2019, 3, 31, 12, 0, 0, 0), utc(2019, 2, 28, 12, 0, 0, 0)},
		{"2m", utc(2024, 3, 31, 5, 6, 7, 8), utc(2024, 1, 29, 5, 6, 7, 8)},
		{"10m", utc(2024, 1, 31, 0, 0, 0, 0), utc(2023, 3, 30, 0, 0, 0, 0)}, // 30 since November
		{"13m", utc(2024, 3, 30, 0, 0, 0, 0), utc(2023, 2, 28, 0, 0, 0, 0)}, // 29 in 2024, 28 in 2023
		{"25m", utc(2024, 3, 30, 0, 0, 0, 0), utc(2022, 2, 28, 0, 0, 0, 0)},
		{"1y", utc(2020, 2, 29, 12, 0, 0, 0), utc(2019, 2, 28, 12, 0, 0, 0)},
		{"4y", utc(2020, 2, 29, 12, 0, 0, 0), utc(2016, 2, 28, 12, 0, 0, 0)},
	} {
		checkDate(t, c.text, c.now, nil, c.want)
	}
	for _, bad := range []string{"1", "1x", "1.2y", "1z", "1s", "123344000.134m", "bazinga", "000bello", "000hello", "1000000h",
		"100000000000000000y", "-10000d", "10000d", "7D", "1q", "--7d", "+7d", "7 d", " 7d", "7d ", "d", "-d", "7d\n", ""} {
		checkDate(t, bad, base, time.UTC, time.Time{})
	}
}

// Expected: the examples of §4.7 and the service's own tests of zones; the rules of Oslo and Los Angeles in 2024.
func TestFlags_4_7_Zones(t *testing.T) {
	oslo, pacific, tokyo := zoneNamed(t, "Europe/Oslo"), zoneNamed(t, "America/Los_Angeles"), zoneNamed(t, "Asia/Tokyo")
	samoa := zoneNamed(t, "Pacific/Apia") // had no 30 December 2011
	now := utc(2024, 3, 31, 12, 0, 0, 0)
	zero := time.Time{}
	for _, c := range []struct {
		text string
		zone *time.Location
		now  time.Time
		want time.Time
	}{
		{"-1d", oslo, now, utc(2024, 3, 30, 13, 0, 0, 0)},
		{"-7d", pacific, utc(2024, 6, 10, 9, 0, 0, 0), utc(2024, 6, 3, 9, 0, 0, 0)},
		{"1d", oslo, utc(2024, 4, 1, 0, 30, 0, 0), zero},                              // 02:30 on 31 March
		{"1d", pacific, utc(2024, 11, 4, 9, 30, 0, 0), utc(2024, 11, 3, 8, 30, 0, 0)}, // 01:30 happened twice
		{"12h", oslo, utc(2024, 10, 27, 13, 30, 0, 0), utc(2024, 10, 27, 0, 30, 0, 0)},
		{"2024-06-01", pacific, now, utc(2024, 6, 1, 7, 0, 0, 0)},
		{"2024-06-01", time.UTC, now, utc(2024, 6, 1, 0, 0, 0, 0)},
		{"2024-06-01 08:00:00", pacific, now, utc(2024, 6, 1, 15, 0, 0, 0)},
		{"2024-06-01T08:00:00.25", tokyo, now, utc(2024, 5, 31, 23, 0, 0, 250000000)},
		{"2024-06-01 08:00", tokyo, now, utc(2024, 5, 31, 23, 0, 0, 0)},
		{"2024-06-01T08:00", tokyo, now, utc(2024, 5, 31, 23, 0, 0, 0)},
		{"2024-06-01T00:00:00Z", pacific, now, utc(2024, 6, 1, 0, 0, 0, 0)},
		{"2024-06-01T00:00:00+02:00", pacific, now, utc(2024, 5, 31, 22, 0, 0, 0)},
		{"2024-11-03 01:30", pacific, now, utc(2024, 11, 3, 8, 30, 0, 0)},
		{"2024-11-03 00:59:59", pacific, now, utc(2024, 11, 3, 7, 59, 59, 0)},
		{"2024-11-03 02:00", pacific, now, utc(2024, 11, 3, 10, 0, 0, 0)},
		{"2024-03-10 02:30", pacific, now, zero},
		{"2024-03-10 01:59:59", pacific, now, utc(2024, 3, 10, 9, 59, 59, 0)},
		{"2024-03-10 03:00", pacific, now, utc(2024, 3, 10, 10, 0, 0, 0)},
		{"2011-12-30", samoa, now, zero},
		{"2011-12-31", samoa, now, utc(2011, 12, 30, 10, 0, 0, 0)},
		{"4/8/2014 22:05", pacific, now, utc(2014, 4, 8, 22, 5, 0, 0)}, // the general formats assume UTC
	} {
		checkDate(t, c.text, c.now, c.zone, c.want)
	}
}

// Expected: §4.7; the details are those that chrono accepts for the same layouts.
func TestFlags_4_7_AbsoluteDates(t *testing.T) {
	now := utc(2024, 5, 6, 7, 8, 9, 10)
	for text, want := range map[string]time.Time{
		"2024-01-05T10:20:30Z": utc(2024, 1, 5, 10, 20, 30, 0), "2024-01-05t10:20:30z": utc(2024, 1, 5, 10, 20, 30, 0),
		"2024-01-05 10:20:30Z": utc(2024, 1, 5, 10, 20, 30, 0), "2024-01-05T10:20:30.5-00:30": utc(2024, 1, 5, 10, 50, 30, 5e8),
		"2024-01-05T10:20:30.1234567891234+00:00": utc(2024, 1, 5, 10, 20, 30, 123456789), "2024-01-05T10:20:30−08:00": utc(2024, 1, 5, 18, 20, 30, 0),
		"2024-01-05": utc(2024, 1, 5, 0, 0, 0, 0), "2024-1-5": utc(2024, 1, 5, 0, 0, 0, 0), "24-1-5": utc(24, 1, 5, 0, 0, 0, 0),
		" 2024- 1-\t5": utc(2024, 1, 5, 0, 0, 0, 0), "+12024-01-05": utc(12024, 1, 5, 0, 0, 0, 0), "-0004-02-29": utc(-4, 2, 29, 0, 0, 0, 0),
		"+262142-12-31": utc(262142, 12, 31, 0, 0, 0, 0), "-262143-01-01": utc(-262143, 1, 1, 0, 0, 0, 0),
		"2024-01-05 10:20": utc(2024, 1, 5, 10, 20, 0, 0), "2024-01-0510:20": utc(2024, 1, 5, 10, 20, 0, 0),
		"2024-01-05\u300010:20:30": utc(2024, 1, 5, 10, 20, 30, 0), "2024-01-05 1:2:3": utc(2024, 1, 5, 1, 2, 3, 0),
		"2024-02-29T23:59:60Z": utc(2024, 2, 29, 23, 59, 59, 999999999), // before midnight, and equal to itself
	} {
		checkDate(t, text, now, time.UTC, want)
	}
	for _, bad := range []string{"2024-02-30", "2023-02-29", "2024-13-01", "2024-00-10", "2024-01-00", "12024-01-05", "+262143-01-01",
		"2024-01-05 ", "2024-01-05T", "2024-01-05 24:00", "2024-01-05 10:60", "2024-01-05T10:20:61Z", "2024-01-05T10:20:30+24:00",
		"2024-01-05T10:20:30.Z", "2024-01-05T10:20:30Zx", "2024/13/45", "yesterday", "\xff\xfe", strings.Repeat("9", 10000)} {
		checkDate(t, bad, now, time.UTC, time.Time{})
	}
}

// Expected: the list of accepted formats that the crate dateparser documents, with its own examples.
func TestFlags_4_7_GeneralDates(t *testing.T) {
	now := utc(2021, 11, 23, 4, 5, 6, 789)
	day := func(year, month, day int) time.Time { return utc(year, month, day, 4, 5, 6, 789) }
	for text, want := range map[string]time.Time{
		"1511648546": utc(2017, 11, 25, 22, 22, 26, 0), "1620021848429": utc(2021, 5, 3, 6, 4, 8, 429e6),
		"1620024872717915000": utc(2021, 5, 3, 6, 54, 32, 717915000), "0000000000000": utc(1970, 1, 1, 0, 0, 0, 0),
		"Wed, 02 Jun 2021 06:31:39 GMT": utc(2021, 6, 2, 6, 31, 39, 0), "Wed, 02 Jun 2021 06:31:39 PDT": utc(2021, 6, 2, 13, 31, 39, 0),
		"2019-11-29 08:08-08": utc(2019, 11, 29, 16, 8, 0, 0), "2019-11-29 08:08:05-08": utc(2019, 11, 29, 16, 8, 5, 0),
		"2021-05-02 23:31:36.0741-07": utc(2021, 5, 3, 6, 31, 36, 74100000), "2019-11-29 08:15:47.624504-08": utc(2019, 11, 29, 16, 15, 47, 624504000),
		"2017-07-19 03:21:51+00:00": utc(2017, 7, 19, 3, 21, 51, 0), "2014-04-26 05:24:37 PM": utc(2014, 4, 26, 17, 24, 37, 0),
		"2017-11-25 13:31:15 PST": utc(2017, 11, 25, 21, 31, 15, 0),
		"2017-11-25 13:31 PST":    utc(2017, 11, 25, 21, 31, 0, 0), "2014-12-16 06:20:00 GMT": utc(2014, 12, 16, 6, 20, 0, 0),
		"2014-04-26 13:13:43 +0800": utc(2014, 4, 26, 5, 13, 43, 0), "2014-04-26 13:13:44 +09:00": utc(2014, 4, 26, 4, 13, 44, 0),
		"2015-09-30 18:48:56.35272715 UTC": utc(2015, 9, 30, 18, 48, 56, 352727150), "2012-08-03 18:31:59.257000000 +0000": utc(2012, 8, 3, 18, 31, 59, 257e6),
		"2014-04-26 13:13:43 CEST": utc(2014, 4, 26, 13, 13, 43, 0), // an unknown name is UTC

		"2021-02-21 PST": utc(2021, 2, 22, 4, 5, 6, 789), // 20:05:06 there, on the day before
		"2021-02-21 UTC": day(2021, 2, 21), "2020-07-20+08:00": utc(2020, 7, 20, 4, 5, 6, 789),
		"01:06:06": utc(2021, 11, 23, 1, 6, 6, 0), "4:00pm": utc(2021, 11, 23, 16, 0, 0, 0), "6:00 AM": utc(2021, 11, 23, 6, 0, 0, 0),
		"01:06:06 PST": utc(2021, 11, 22, 9, 6, 6, 0), "4:00pm PST": utc(2021, 11, 23, 0, 0, 0, 0), "6:00pm UTC": utc(2021, 11, 23, 18, 0, 0, 0),
		"10:09 pm": utc(2021, 11, 23, 22, 9, 0, 0), "12:00 am": utc(2021, 11, 23, 0, 0, 0, 0),
		"2021-Feb-21": day(2021, 2, 21), "May 6 at 9:24 PM": utc(2021, 5, 6, 21, 24, 0, 0), "May 27 02:45:27": utc(2021, 5, 27, 2, 45, 27, 0),
		"May 8, 2009 5:57:51 PM": utc(2009, 5, 8, 17, 57, 51, 0), "September 17, 2012 10:09am": utc(2012, 9, 17, 10, 9, 0, 0),
		"September 17, 2012, 10:10:09": utc(2012, 9, 17, 10, 10, 9, 0), "May 02, 2021 15:51:31 UTC": utc(2021, 5, 2, 15, 51, 31, 0),
		"May 26, 2021, 12:49 AM PDT": utc(2021, 5, 26, 7, 49, 0, 0), "September 17, 2012 at 10:09am PST": utc(2012, 9, 17, 18, 9, 0, 0),
		"May 25, 2021": day(2021, 5, 25), "oct 7, 1970": day(1970, 10, 7), "oct. 7, 70": day(1970, 10, 7), "October 7, 1970": day(1970, 10, 7),
		"12 Feb 2006, 19:17": utc(2006, 2, 12, 19, 17, 0, 0), "14 May 2019 19:11:40.164": utc(2019, 5, 14, 19, 11, 40, 164e6),
		"7 oct 70": day(1970, 10, 7), "03 February 2013": day(2013, 2, 3), "1 July 2013": day(2013, 7, 1),
		"4/8/2014 22:05": utc(2014, 4, 8, 22, 5, 0, 0), "4/8/14 22:05": utc(2014, 4, 8, 22, 5, 0, 0), "04/2/2014 03:00:51": utc(2014, 4, 2, 3, 0, 51, 0),
		"8/8/1965 12:00:00 AM": utc(1965, 8, 8, 0, 0, 0, 0), "8/8/1965 01:00:01 PM": utc(1965, 8, 8, 13, 0, 1, 0), "8/8/1965 1:00 PM": utc(1965, 8, 8, 13, 0, 0, 0),
		"03/19/2012 10:11:59.3186369": utc(2012, 3, 19, 10, 11, 59, 318636900), "3/31/2014": day(2014, 3, 31), "08/21/71": day(1971, 8, 21),
		"8/1/69": day(2069, 8, 1), "2014/4/8 22:05": utc(2014, 4, 8, 22, 5, 0, 0), "2012/03/19 10:11:59": utc(2012, 3, 19, 10, 11, 59, 0), "2014/3/31": day(2014, 3, 31),
		"3.31.2014": day(2014, 3, 31), "08.21.71": day(1971, 8, 21), "2014.03.30": day(2014, 3, 30), "171113 14:14:20": utc(2017, 11, 13, 14, 14, 20, 0),
		"2014年04月08日11时25分18秒": utc(2014, 4, 8, 11, 25, 18, 0), "2014年04月08日": day(2014, 4, 8),
	} {
		checkDate(t, text, now, zoneNamed(t, "Asia/Tokyo"), want)
	}
	checkDate(t, "6:00 AM PST", now, nil, utc(2021, 11, 22, 14, 0, 0, 0))
	for _, bad := range []string{"15116485461", "9999999999999999999", "Tue, 02 Jun 2021 06:31:39 GMT", "2021-02-21 +9900", "13:00pm", "24:00:00",
		"31/12/2014", "2014.13.30", "Foo 25, 2021", "31 February 2013", "2014年4月8日", "4/8/2014 25:05", "2014-04-26 13:13 +08:61"} {
		checkDate(t, bad, now, nil, time.Time{})
	}
}

// A date may exist at one now and not at another: the day of the month, or a leap year, is taken
// from now.
func TestFlags_4_7_DatesThatNeedNow(t *testing.T) {
	for _, c := range []struct {
		text      string
		now, want time.Time
	}{
		{"Feb 29 10:00:00", utc(2024, 6, 1, 0, 0, 0, 0), utc(2024, 2, 29, 10, 0, 0, 0)},
		{"Feb 29 10:00:00", utc(2023, 6, 1, 0, 0, 0, 0), time.Time{}},
		{"2014.02", utc(2024, 6, 28, 1, 2, 3, 4), utc(2014, 2, 28, 1, 2, 3, 4)},
		{"2014.02", utc(2024, 6, 29, 1, 2, 3, 4), time.Time{}},
	} {
		d, ok := Compile(c.text, time.UTC)
		if got, exists := d.At(c.now, time.UTC); !ok || exists == c.want.IsZero() || exists && !got.Equal(c.want) {
			t.Errorf("%q at %v is %v, %v; want %v", c.text, c.now, got, exists, c.want)
		}
	}
	if _, ok := Compile("Feb 30 10:00:00", time.UTC); ok {
		t.Error("a date that no year has is compiled")
	}
}

// FuzzDates: no input panics, a filter value and a property are parsed alike, the result does not
// depend on the zone of now, and a clock of the zone shows the parsed time at the returned instant.
func FuzzDates(f *testing.F) {
	for _, s := range []string{"-7d", "9999m", "2024-02-29T23:59:60Z", "2024-03-10 02:30", "oct. 7, 70", "4:00pm PST", "2014.02", "Feb 29 10:00:00",
		"Wed, 02 Jun 2021 06:31:39 GMT (a (b) \\) c)", "2014年04月08日", "1511648546", "2021-02-21 +99:00", "\xff", "2021-02-21 10:00:00.1-08"} {
		f.Add(s, int64(1711886400))
	}
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string, sec int64) {
		now := time.Unix(sec%4e9, 5)
		d, ok := Compile(s, zone)
		a, okA := d.At(now, zone)
		okA = ok && okA
		b, okB := Read(s, now.UTC(), zone)
		if okA != okB || okA && !a.Equal(b) {
			t.Errorf("%q is %v, %v as a filter and %v, %v as a property", s, a, okA, b, okB)
		}
		w := wallClock{sec: sec % 4e9}
		if at, ok := w.inZone(zone); ok && wallAt(at, zone) != w {
			t.Errorf("clock %v is found at %v", w, at)
		}
	})
}
