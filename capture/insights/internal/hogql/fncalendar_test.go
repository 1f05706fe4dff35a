package hogql

import "testing"

// Parts of times in §2.9.8.
func TestTime_Parts(t *testing.T) {
	const at = "toDateTime('2020-02-09 15:04:05.25')" // a Sunday
	checkExpressions(t, Context{}, []expressionRow{
		{"toYear", "toYear(" + at + ")", "2020"},
		{"toQuarter", "toQuarter(" + at + ")", "1"},
		{"toQuarter of April", "toQuarter(toDate('2020-04-01'))", "2"},
		{"toQuarter of December", "toQuarter(toDate('2020-12-31'))", "4"},
		{"toMonth", "toMonth(" + at + ")", "2"},
		{"toDayOfMonth", "toDayOfMonth(" + at + ")", "9"},
		{"toDayOfWeek of Sunday", "toDayOfWeek(" + at + ")", "7"},
		{"toDayOfWeek of Monday", "toDayOfWeek(toDate('2020-02-10'))", "1"},
		{"toDayOfYear", "toDayOfYear(" + at + ")", "40"},
		{"toDayOfYear of the last day of a leap year", "toDayOfYear(toDate('2020-12-31'))", "366"},
		{"toHour", "toHour(" + at + ")", "15"},
		{"toMinute", "toMinute(" + at + ")", "4"},
		{"toSecond", "toSecond(" + at + ")", "5"},
		{"toHour of a date", "toHour(toDate('2020-02-09'))", "0"},
		{"toISOWeek", "toISOWeek(" + at + ")", "6"},
		{"toISOWeek of 1 January in the last year's week", "toISOWeek(toDate('2021-01-01'))", "53"},
		{"toISOWeek of 30 December in the next year's week", "toISOWeek(toDate('2019-12-30'))", "1"},
		{"toYYYYMM", "toYYYYMM(" + at + ")", "202002"},
		{"toYYYYMMDD", "toYYYYMMDD(" + at + ")", "20200209"},
		{"of a text", "toMonth('2020-05-17')", "5"},
		{"of a text that is no time", "toMonth('May')", "null"},
	})
}

// Formats of formatDateTime in §2.9.8.
func TestTime_Format(t *testing.T) {
	const at = "toDateTime('2020-02-09 15:04:05.25')"
	rows := []expressionRow{}
	for _, f := range [][2]string{
		{"%Y", "2020"}, {"%y", "20"}, {"%m", "02"}, {"%d", "09"}, {"%e", "9"}, {"%H", "15"}, {"%I", "03"}, {"%i", "04"}, {"%M", "February"}, {"%b", "Feb"}, {"%a", "Sun"}, {"%W", "Sunday"},
		{"%S", "05"}, {"%p", "PM"}, {"%j", "040"}, {"%F", "2020-02-09"}, {"%T", "15:04:05"}, {"%f", "250000"}, {"%%", "%"}, {"%%Y", "%Y"}, {"", ""}, {"Y-m", "Y-m"}, {"%Y%m%d", "20200209"}, {"100%", "100%"},
		{"Jan Mon 2006 15", "Jan Mon 2006 15"}, {"é %d", "é 09"},
	} {
		rows = append(rows, expressionRow{"format " + f[0], "formatDateTime(" + at + ", '" + f[0] + "')", `"` + f[1] + `"`})
	}
	checkExpressions(t, Context{}, append(rows,
		expressionRow{"midnight in 12 hours", "formatDateTime(toDateTime('2020-02-09 00:30:00'), '%I %p')", `"12 AM"`},
		expressionRow{"noon in 12 hours", "formatDateTime(toDateTime('2020-02-09 12:30:00'), '%I %p')", `"12 PM"`},
		expressionRow{"no fraction", "formatDateTime(toDateTime('2020-02-09 12:30:00'), '%f')", `"000000"`},
		expressionRow{"a date", "formatDateTime(toDate('2020-02-09'), '%F %T')", `"2020-02-09 00:00:00"`},
		expressionRow{"a time in another zone", "formatDateTime(toTimeZone(" + at + ", 'Asia/Tokyo'), '%F %H')", `"2020-02-10 00"`},
	))
	checkExpressions(t, contextIn(t, "Europe/Berlin"), []expressionRow{{"local", "formatDateTime(toDateTime('2020-07-01T22:30:00Z'), '%F %T')", `"2020-07-02 00:30:00"`}})
}

// dateDiff counts the borders of a unit between two times (§2.9.8).
func TestTime_Difference(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"two minutes over midnight are one day", "dateDiff('day', toDateTime('2020-01-01 23:59:00'), toDateTime('2020-01-02 00:01:00'))", "1"},
		{"a whole day inside one is none", "dateDiff('day', toDateTime('2020-01-01 00:00:00'), toDateTime('2020-01-01 23:59:59'))", "0"},
		{"negative", "dateDiff('day', toDate('2020-01-03'), toDate('2020-01-01'))", "-2"},
		{"seconds", "dateDiff('second', toDateTime('2020-01-01 00:00:00.9'), toDateTime('2020-01-01 00:00:02.1'))", "2"},
		{"minutes", "dateDiff('minute', toDateTime('2020-01-01 00:00:59'), toDateTime('2020-01-01 00:02:00'))", "2"},
		{"hours", "dateDiff('hour', toDateTime('2020-01-01 10:59:59'), toDateTime('2020-01-01 12:00:00'))", "2"},
		{"hours of dates", "dateDiff('hour', toDate('2020-01-01'), toDate('2020-01-02'))", "24"},
		{"weeks begin on Monday", "dateDiff('week', toDate('2020-01-05'), toDate('2020-01-06'))", "1"},
		{"Monday to Sunday is none", "dateDiff('week', toDate('2020-01-06'), toDate('2020-01-12'))", "0"},
		{"weeks backwards", "dateDiff('week', toDate('2020-01-06'), toDate('2020-01-05'))", "-1"},
		{"months", "dateDiff('month', toDate('2020-01-31'), toDate('2020-02-01'))", "1"},
		{"months over years", "dateDiff('month', toDate('2019-11-30'), toDate('2020-02-01'))", "3"},
		{"quarters", "dateDiff('quarter', toDate('2020-03-31'), toDate('2020-04-01'))", "1"},
		{"quarters over years", "dateDiff('quarter', toDate('2019-10-01'), toDate('2020-12-31'))", "4"},
		{"years", "dateDiff('year', toDate('2019-12-31'), toDate('2020-01-01'))", "1"},
		{"of texts", "dateDiff('day', '2020-01-01', '2020-02-01')", "31"},
		{"a unit in the plural", "dateDiff('Days', toDate('2020-01-01'), toDate('2020-01-02'))", "1"},
		{"a date and a time", "dateDiff('day', toDate('2020-01-01'), toDateTime('2020-01-02 12:00:00'))", "1"},
	})
	checkRejected(t, Context{}, []rejectedRow{
		{"an unknown unit", "dateDiff('moment', now(), now())", TypeError, `Unknown unit "moment"`, "'moment'"},
		{"a number is no time", "dateDiff('day', 1, now())", TypeError, `Function "dateDiff" expects a time, not Int64: "1"`, "1"},
		{"one time", "dateDiff('day', now())", TypeError, `Function "dateDiff" takes 3 arguments, not 2`, "dateDiff('day', now())"},
	})
}

// Time ± interval of §2.9.7: seconds, minutes and hours are absolute, longer units move the
// calendar, and a month's end is clamped.
func TestTime_Moved(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"seconds", "toDateTime('2020-01-01 00:00:00') + INTERVAL 90 second", `"2020-01-01T00:01:30Z"`},
		{"minutes", "toDateTime('2020-01-01 00:00:00') - INTERVAL 1 minute", `"2019-12-31T23:59:00Z"`},
		{"hours", "toDateTime('2020-01-01 00:00:00') + INTERVAL 25 hour", `"2020-01-02T01:00:00Z"`},
		{"days", "toDateTime('2020-02-28 10:00:00') + INTERVAL 1 day", `"2020-02-29T10:00:00Z"`},
		{"31 January and a month in a leap year", "toDate('2020-01-31') + INTERVAL 1 month", `"2020-02-29"`},
		{"31 January and a month in another year", "toDate('2019-01-31') + INTERVAL 1 month", `"2019-02-28"`},
		{"31 January and two months", "toDate('2020-01-31') + INTERVAL 2 month", `"2020-03-31"`},
		{"31 March and a month back", "toDate('2020-03-31') - INTERVAL 1 month", `"2020-02-29"`},
		{"months over the year's end", "toDate('2019-11-30') + INTERVAL 3 month", `"2020-02-29"`},
		{"months over the year's beginning", "toDate('2020-01-15') - INTERVAL 13 month", `"2018-12-15"`},
		{"a quarter", "toDate('2019-11-30') + INTERVAL 1 quarter", `"2020-02-29"`},
		{"29 February and a year", "toDate('2020-02-29') + INTERVAL 1 year", `"2021-02-28"`},
		{"29 February and four years", "toDate('2020-02-29') + INTERVAL 4 year", `"2024-02-29"`},
		{"a date and days is a date", "toDate('2020-01-01') + INTERVAL 1 week", `"2020-01-08"`},
		{"a date and hours is a time", "toDate('2020-01-01') + INTERVAL 1 hour", `"2020-01-01T01:00:00Z"`},
		{"a text and an interval is a time", "'2020-01-01' + INTERVAL 1 day", `"2020-01-02T00:00:00Z"`},
		{"a text that is no time", "'soon' + INTERVAL 1 day", "null"},
		{"microseconds stay", "toDateTime('2020-01-31 10:00:00.000001') + INTERVAL 1 month", `"2020-02-29T10:00:00.000001Z"`},
		{"dateAdd", "dateAdd('month', 1, toDate('2020-01-31'))", `"2020-02-29"`},
		{"dateAdd of a negative number", "dateAdd('day', -1, toDate('2020-01-01'))", `"2019-12-31"`},
		{"dateSub", "dateSub('hour', 1, toDateTime('2020-01-01 00:00:00'))", `"2019-12-31T23:00:00Z"`},
		{"addSeconds", "addSeconds(toDateTime('2020-01-01 00:00:00'), 61)", `"2020-01-01T00:01:01Z"`},
		{"addMinutes", "addMinutes(toDateTime('2020-01-01 00:00:00'), 61)", `"2020-01-01T01:01:00Z"`},
		{"addHours", "addHours(toDate('2020-01-01'), 2)", `"2020-01-01T02:00:00Z"`},
		{"addDays", "addDays(toDate('2020-02-28'), 2)", `"2020-03-01"`},
		{"addWeeks", "addWeeks(toDate('2020-02-28'), 1)", `"2020-03-06"`},
		{"addMonths", "addMonths(toDate('2020-10-31'), 1)", `"2020-11-30"`},
		{"addQuarters", "addQuarters(toDate('2020-05-31'), 1)", `"2020-08-31"`},
		{"addYears", "addYears(toDate('2020-02-29'), -1)", `"2019-02-28"`},
		{"subtractDays", "subtractDays(toDate('2020-03-01'), 1)", `"2020-02-29"`},
		{"subtractMonths", "subtractMonths(toDate('2020-03-31'), 1)", `"2020-02-29"`},
		{"subtractHours", "subtractHours(toDateTime('2020-01-01 00:30:00'), 1)", `"2019-12-31T23:30:00Z"`},
		{"toIntervalDay", "toDate('2020-01-01') + toIntervalDay(2)", `"2020-01-03"`},
		{"toIntervalMonth", "toDate('2020-01-31') - toIntervalMonth(2)", `"2019-11-30"`},
		{"a fraction is no whole number of days", "addDays(toDate('2020-01-01'), 1.5)", "null"},
		{"a number of units beyond all times", "addYears(toDate('2020-01-01'), 2000000000)", "null"},
	})
	checkRejected(t, Context{}, []rejectedRow{
		{"a number and an interval", "1 + INTERVAL 1 day", TypeError, `Function "plus" expects a time, not Int64: "1"`, "1"},
		{"an interval less a time", "INTERVAL 1 day - now()", TypeError, `Function "minus" expects a number`, "INTERVAL 1 day"},
		{"the function of the syntax has another name", "intervalday(1)", UnknownFunction, `Unknown function "intervalday"`, "intervalday"},
	})
}
