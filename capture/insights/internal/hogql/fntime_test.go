package hogql

import (
	"testing"
	"time"
)

// contextIn returns the context of a project in a time zone.
func contextIn(t *testing.T, name string) Context {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return Context{Zone: zone}
}

// A text is read as an absolute date of §3.1.1; any other text is null.
func TestTime_Forms(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"a date", "toDateTime('2020-01-09')", `"2020-01-09T00:00:00Z"`},
		{"a month and a day of one digit", "toDateTime('2020-1-9')", `"2020-01-09T00:00:00Z"`},
		{"minutes", "toDateTime('2020-01-09T10:20')", `"2020-01-09T10:20:00Z"`},
		{"a blank instead of T", "toDateTime('2020-01-09 10:20')", `"2020-01-09T10:20:00Z"`},
		{"seconds", "toDateTime('2020-01-09T10:20:30')", `"2020-01-09T10:20:30Z"`},
		{"microseconds", "toDateTime('2020-01-09T10:20:30.123456')", `"2020-01-09T10:20:30.123456Z"`},
		{"a tenth of a second", "toDateTime('2020-01-09T10:20:30.5')", `"2020-01-09T10:20:30.500000Z"`},
		{"an offset", "toDateTime('2020-01-09T10:20:30+05:30')", `"2020-01-09T04:50:30Z"`},
		{"a negative offset", "toDateTime('2020-01-09T10:20-08:00')", `"2020-01-09T18:20:00Z"`},
		{"Z", "toDateTime('2020-01-09 10:20:30.5Z')", `"2020-01-09T10:20:30.500000Z"`},
		{"29 February of a leap year", "toDate('2020-02-29')", `"2020-02-29"`},
		{"the first year", "toDate('1970-01-01')", `"1970-01-01"`},
		{"the last year", "toDate('2100-12-31')", `"2100-12-31"`},
		{"before the first year", "toDate('1969-12-31')", "null"},
		{"after the last year", "toDate('2101-01-01')", "null"},
		{"29 February of another year", "toDate('2019-02-29')", "null"},
		{"29 February of 2100", "toDate('2100-02-29')", "null"},
		{"31 April", "toDate('2020-04-31')", "null"},
		{"month 0", "toDate('2020-00-10')", "null"},
		{"month 13", "toDate('2020-13-10')", "null"},
		{"day 0", "toDate('2020-01-00')", "null"},
		{"hour 24", "toDateTime('2020-01-09T24:00')", "null"},
		{"minute 60", "toDateTime('2020-01-09T10:60')", "null"},
		{"second 60", "toDateTime('2020-01-09T10:00:60')", "null"},
		{"an hour alone", "toDateTime('2020-01-09T10')", "null"},
		{"a year of two digits", "toDate('20-01-09')", "null"},
		{"a point without digits", "toDateTime('2020-01-09T10:20:30.')", "null"},
		{"half an offset", "toDateTime('2020-01-09T10:20+5')", "null"},
		{"text after the date", "toDate('2020-01-09x')", "null"},
		{"slashes", "toDate('2020/01/09')", "null"},
		{"a relative date", "toDate('-7d')", "null"},
		{"the empty text", "toDateTime('')", "null"},
		{"parseDateTimeBestEffort", "parseDateTimeBestEffort('2020-01-09T10:20:30+02:00')", `"2020-01-09T08:20:30Z"`},
		{"seconds since 1970", "toDateTime(1577836800)", `"2020-01-01T00:00:00Z"`},
		{"a fraction of a second", "fromUnixTimestamp(1.5)", `"1970-01-01T00:00:01.500000Z"`},
		{"before 1970", "fromUnixTimestamp(-1)", `"1969-12-31T23:59:59Z"`},
		{"a number beyond all times", "fromUnixTimestamp(1e15)", "null"},
		{"toUnixTimestamp", "toUnixTimestamp(toDateTime('2020-01-01 00:00:00.9'))", "1577836800"},
		{"toUnixTimestamp of a text", "toUnixTimestamp('1970-01-02')", "86400"},
		{"toUnixTimestamp rounds down before 1970", "toUnixTimestamp(fromUnixTimestamp(-0.5))", "-1"},
	})
}

// Times are local times of the project, and are returned with its offset (§2.9.7).
func TestTime_Zones(t *testing.T) {
	berlin := contextIn(t, "Europe/Berlin") // clocks change on 29 March and 25 October 2020
	checkExpressions(t, berlin, []expressionRow{
		{"a text without an offset is local", "toDateTime('2020-01-09 10:00:00')", `"2020-01-09T10:00:00+01:00"`},
		{"in summer", "toDateTime('2020-07-09 10:00:00')", `"2020-07-09T10:00:00+02:00"`},
		{"an instant is returned in the zone", "toDateTime('2020-01-09T10:00:00Z')", `"2020-01-09T11:00:00+01:00"`},
		{"a date of an instant is local", "toDate(toDateTime('2020-01-08T23:30:00Z'))", `"2020-01-09"`},
		{"midnight of a date is local", "toUnixTimestamp(toDate('1970-01-02'))", "82800"},
		{"a date is its local midnight", "toDate('2020-01-09') = toDateTime('2020-01-08T23:00:00Z')", "1"},
		{"a time that occurs twice is the first", "toDateTime('2020-10-25 02:30:00')", `"2020-10-25T02:30:00+02:00"`},
		{"the day begins at midnight", "toStartOfDay(toDateTime('2020-03-29 12:00:00'))", `"2020-03-29T00:00:00+01:00"`},
		{"the hour before the gap", "toStartOfHour(toDateTime('2020-03-29T00:59:00Z'))", `"2020-03-29T01:00:00+01:00"`},
		{"the hour after the gap", "toStartOfHour(toDateTime('2020-03-29T01:01:00Z'))", `"2020-03-29T03:00:00+02:00"`},
		{"the repeated hour, first", "toStartOfHour(toDateTime('2020-10-25T00:59:59Z'))", `"2020-10-25T02:00:00+02:00"`},
		{"the repeated hour, second", "toStartOfHour(toDateTime('2020-10-25T01:00:00Z'))", `"2020-10-25T02:00:00+01:00"`},
		{"its minutes", "toStartOfFifteenMinutes(toDateTime('2020-10-25T01:44:00Z'))", `"2020-10-25T02:30:00+01:00"`},
		{"a day keeps the local clock in spring", "toDateTime('2020-03-28 12:00:00') + INTERVAL 1 day", `"2020-03-29T12:00:00+02:00"`},
		{"24 hours do not", "toDateTime('2020-03-28 12:00:00') + INTERVAL 24 hour", `"2020-03-29T13:00:00+02:00"`},
		{"a day in autumn", "toDateTime('2020-10-24 12:00:00') + INTERVAL 1 day", `"2020-10-25T12:00:00+01:00"`},
		{"24 hours in autumn", "toDateTime('2020-10-24 12:00:00') + INTERVAL 24 hour", `"2020-10-25T11:00:00+01:00"`},
		{"a month keeps the local clock", "toDateTime('2020-03-01 12:00:00') + INTERVAL 1 month", `"2020-04-01T12:00:00+02:00"`},
		{"backwards", "toDateTime('2020-03-30 12:00:00') - INTERVAL 1 week", `"2020-03-23T12:00:00+01:00"`},
		{"a day of 23 hours", "dateDiff('hour', toDate('2020-03-29'), toDate('2020-03-30'))", "23"},
		{"a day of 25 hours", "dateDiff('hour', toDate('2020-10-25'), toDate('2020-10-26'))", "25"},
		{"is one day all the same", "dateDiff('day', toDate('2020-10-25'), toDate('2020-10-26'))", "1"},
		{"parts are local", "toYYYYMMDD(toDateTime('2019-12-31T23:30:00Z'))", "20200101"},
		{"the hour is local", "toHour(toDateTime('2020-07-01T22:30:00Z'))", "0"},
		{"a text is compared as local time", "toDateTime('2020-01-08T23:00:00Z') = '2020-01-09'", "1"},
		{"today", "today()", `"2020-02-29"`},
	})
	// Clocks in São Paulo skipped the hour after midnight on 4 November 2018.
	checkExpressions(t, contextIn(t, "America/Sao_Paulo"), []expressionRow{
		{"a day without midnight begins after it", "toStartOfDay(toDateTime('2018-11-04 12:00:00'))", `"2018-11-04T01:00:00-02:00"`},
		{"its date", "toDateTime('2018-11-04')", `"2018-11-04T01:00:00-02:00"`},
		{"the month that contains it", "toStartOfMonth(toDateTime('2018-11-04 12:00:00'))", `"2018-11-01"`},
	})
	checkExpressions(t, contextIn(t, "Asia/Kolkata"), []expressionRow{ // half an hour from UTC
		{"hours follow the local clock", "toStartOfHour(toDateTime('2020-01-09T10:29:00Z'))", `"2020-01-09T15:00:00+05:30"`},
		{"the next hour begins at half past in UTC", "toStartOfHour(toDateTime('2020-01-09T10:30:00Z'))", `"2020-01-09T16:00:00+05:30"`},
		{"borders are those of the local clock", "dateDiff('hour', toDateTime('2020-01-09T10:29:00Z'), toDateTime('2020-01-09T10:31:00Z'))", "1"},
	})
	checkExpressions(t, Context{}, []expressionRow{
		{"toTimeZone", "toTimeZone(toDateTime('2020-01-01 20:00:00'), 'Asia/Tokyo')", `"2020-01-02T05:00:00+09:00"`},
		{"its date is of that zone", "toDate(toTimeZone(toDateTime('2020-01-01 20:00:00'), 'Asia/Tokyo'))", `"2020-01-02"`},
		{"its day, too", "toStartOfDay(toTimeZone(toDateTime('2020-01-01 20:00:00'), 'Asia/Tokyo'))", `"2020-01-02T00:00:00+09:00"`},
		{"its hour, too", "toHour(toTimeZone(toDateTime('2020-01-01 20:00:00'), 'Asia/Tokyo'))", "5"},
		{"it stays the same instant", "toTimeZone(now(), 'Asia/Tokyo') = now()", "1"},
		{"an hour later in that zone", "toTimeZone(toDateTime('2020-01-01 20:00:00'), 'Asia/Tokyo') + INTERVAL 1 hour", `"2020-01-02T06:00:00+09:00"`},
		{"a text is local time of the zone that is named", "toDateTime('2020-01-01 00:00:00', 'America/New_York') = toDateTime('2020-01-01T05:00:00Z')", "1"},
		{"a date in the zone that is named", "toDateTime(toDate('2020-01-01'), 'Asia/Tokyo')", `"2020-01-01T00:00:00+09:00"`},
		{"a null time", "toTimeZone(toDateTime(NULL), 'Asia/Tokyo')", "null"},
	})
	checkRejected(t, Context{}, []rejectedRow{
		{"an unknown zone", "toTimeZone(now(), 'Mars/Olympus')", TypeError, `Unknown time zone "Mars/Olympus" at line 1, column 26`, "'Mars/Olympus'"},
		{"the zone of the server is none", "toTimeZone(now(), 'Local')", TypeError, `Unknown time zone "Local"`, "'Local'"},
		{"the empty zone", "toTimeZone(now(), '')", TypeError, `Unknown time zone ""`, "''"},
		{"a path is no zone", "toTimeZone(now(), '../../etc/passwd')", TypeError, `Unknown time zone "../../etc/passwd"`, "'../../etc/passwd'"},
		{"a zone of a row", "toTimeZone(now(), event)", TypeError, `Function "toTimeZone" expects a text in quotes, not "event"`, "event"},
	})
}

// Starts of intervals in §2.9.8: days and shorter are times, longer ones dates.
func TestTime_Starts(t *testing.T) {
	const at = "toDateTime('2020-05-17 13:47:59.5')" // a Sunday
	checkExpressions(t, Context{}, []expressionRow{
		{"minute", "toStartOfMinute(" + at + ")", `"2020-05-17T13:47:00Z"`},
		{"five minutes", "toStartOfFiveMinutes(" + at + ")", `"2020-05-17T13:45:00Z"`},
		{"ten minutes", "toStartOfTenMinutes(" + at + ")", `"2020-05-17T13:40:00Z"`},
		{"fifteen minutes", "toStartOfFifteenMinutes(" + at + ")", `"2020-05-17T13:45:00Z"`},
		{"hour", "toStartOfHour(" + at + ")", `"2020-05-17T13:00:00Z"`},
		{"day", "toStartOfDay(" + at + ")", `"2020-05-17T00:00:00Z"`},
		{"day of a date is a time", "toStartOfDay(toDate('2020-05-17'))", `"2020-05-17T00:00:00Z"`},
		{"day of a text", "toStartOfDay('2020-05-17 10:00')", `"2020-05-17T00:00:00Z"`},
		{"week, from Sunday unless the project states otherwise", "toStartOfWeek(" + at + ")", `"2020-05-17"`},
		{"week, mode 0: Sunday", "toStartOfWeek(" + at + ", 0)", `"2020-05-17"`},
		{"week, mode 1: Monday", "toStartOfWeek(" + at + ", 1)", `"2020-05-11"`},
		{"week, mode 3: Monday", "toStartOfWeek(" + at + ", 3)", `"2020-05-11"`},
		{"Monday of a Sunday", "toMonday(" + at + ")", `"2020-05-11"`},
		{"Monday of a Monday", "toMonday(toDate('2020-05-18'))", `"2020-05-18"`},
		{"month", "toStartOfMonth(" + at + ")", `"2020-05-01"`},
		{"quarter", "toStartOfQuarter(" + at + ")", `"2020-04-01"`},
		{"the first quarter", "toStartOfQuarter(toDate('2020-03-31'))", `"2020-01-01"`},
		{"the last quarter", "toStartOfQuarter(toDate('2020-12-31'))", `"2020-10-01"`},
		{"year", "toStartOfYear(" + at + ")", `"2020-01-01"`},
		{"an interval of minutes", "toStartOfInterval(" + at + ", INTERVAL 20 minute)", `"2020-05-17T13:40:00Z"`},
		{"an interval of hours", "toStartOfInterval(" + at + ", INTERVAL 8 hour)", `"2020-05-17T08:00:00Z"`},
		{"an interval of one day", "toStartOfInterval(" + at + ", INTERVAL 1 day)", `"2020-05-17T00:00:00Z"`},
		{"an interval of a week: Monday", "toStartOfInterval(" + at + ", INTERVAL 1 week)", `"2020-05-11"`},
		{"an interval of two months", "toStartOfInterval(" + at + ", INTERVAL 2 month)", `"2020-05-01"`},
		{"an interval of six months", "toStartOfInterval(" + at + ", INTERVAL 6 month)", `"2020-01-01"`},
		{"an interval of ten years", "toStartOfInterval(toDate('2019-05-01'), INTERVAL 10 year)", `"2010-01-01"`},
		{"dateTrunc second", "dateTrunc('second', " + at + ")", `"2020-05-17T13:47:59Z"`},
		{"dateTrunc hour", "dateTrunc('hour', " + at + ")", `"2020-05-17T13:00:00Z"`},
		{"dateTrunc week: Monday", "dateTrunc('week', " + at + ")", `"2020-05-11"`},
		{"dateTrunc quarter", "dateTrunc('quarter', " + at + ")", `"2020-04-01"`},
		{"dateTrunc in another case and number", "dateTrunc('MONTHS', " + at + ")", `"2020-05-01"`},
	})
	checkExpressions(t, Context{WeekStart: time.Monday}, []expressionRow{
		{"week of a project that begins on Monday", "toStartOfWeek(" + at + ")", `"2020-05-11"`},
		{"a mode goes first", "toStartOfWeek(" + at + ", 0)", `"2020-05-17"`},
	})
	// Rows of different intervals in any order: the interval of the last row must not be used for another one.
	checkAnswer(t, "SELECT toStartOfDay(timestamp) AS d, toStartOfHour(timestamp) FROM events ORDER BY distinct_id, timestamp", Context{}, fixtureH,
		`[["2020-01-10T00:00:00Z","2020-01-10T10:00:00Z"],["2020-01-10T00:00:00Z","2020-01-10T12:00:00Z"],["2020-01-13T00:00:00Z","2020-01-13T09:00:00Z"],["2020-01-11T00:00:00Z","2020-01-11T23:00:00Z"],["2020-01-12T00:00:00Z","2020-01-12T00:00:00Z"],["2020-01-12T00:00:00Z","2020-01-12T08:00:00Z"]]`)
	checkRejected(t, Context{}, []rejectedRow{
		{"an interval that is a number", "toStartOfInterval(now(), 1)", TypeError, `Function "toStartOfInterval" expects an interval such as INTERVAL 1 day, not "1"`, "1"},
		{"an interval of nothing", "toStartOfInterval(now(), INTERVAL 0 day)", TypeError, `Function "toStartOfInterval" expects an interval`, "INTERVAL 0 day"},
		{"an interval of a row", "toStartOfInterval(now(), INTERVAL length(event) day)", TypeError, `Function "toStartOfInterval" expects an interval`, "INTERVAL length(event) day"},
		{"an unknown unit", "dateTrunc('decade', now())", TypeError, `Unknown unit "decade" at line 1, column 18: there are second, minute, hour, day, week, month, quarter, year`, "'decade'"},
		{"a unit of a row", "dateTrunc(event, now())", TypeError, `Function "dateTrunc" expects a text in quotes, not "event"`, "event"},
		{"a number is no time", "toStartOfDay(1)", TypeError, `Function "toStartOfDay" expects a time, not Int64: "1"`, "1"},
	})
}
