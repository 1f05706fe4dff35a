package hogql

import (
	"testing"
	"time"
)

// Rows of §2.9.8, with constants. Each expected result was derived from the description of
// the function, or is the example in it.
func TestFunctions_Rows(t *testing.T) {
	for _, c := range []struct{ of, query, want string }{
		// conditions
		{"null condition is false", "SELECT if(NULL, 1, 2), multiIf(NULL, 1, 3), isNull(NULL), isNotNull(NULL), isNull(1), assumeNotNull(1), toNullable(2)", `[[2,3,1,0,0,1,2]]`},
		{"as the operators", "SELECT equals(1, 1), notEquals(1, 1), less(1, 2), lessOrEquals(2, 2), greater(1, 2), greaterOrEquals(2, 3), and(1, 1, 0), or(0, 0, 1), not(1)", `[[1,0,1,1,0,0,0,1,0]]`},
		{"in, like", "SELECT in(1, [1, 2]), notIn(1, [1, 2]), like('abc', 'a%'), ilike('ABC', 'a_c'), notLike('abc', 'b%'), notILike('abc', 'A%')", `[[1,0,1,1,1,0]]`},
		{"only what is chosen is evaluated", "SELECT if(length('a') = 1, 5, toInt('x')), multiIf(1 = 1, 'a', 'b')", `[[5,"a"]]`},
		// numbers
		{"operators", "SELECT 1 + 2 * 3, (1 + 2) * 3, 7 DIV 2, 7 MOD 4, 10 % 3, -5 + 2, 2 - -1, 1.5 + 1", `[[7,9,3,3,1,-3,3,2.5]]`},
		{"by name", "SELECT plus(1, 2), minus(5, 3), multiply(2, 4), divide(1, 4), modulo(-7, 3), intDiv(7, -2), negate(3), sign(-2.5), sign(0), exp(0), log(1), log2(8), log10(1000), power(2, 0.5) * power(2, 0.5) > 1.99", `[[3,2,8,0.25,-1,-3,-3,-1,0,1,0,3,3,1]]`},
		{"half to even; n may be negative", "SELECT round(0.5), round(1.5), round(2.375, 2), round(1250, -2), round(1350, -2), round(2.25, 1), floor(1.99, 1), ceil(1.01, 1), truncate(-1.99, 1), floor(-15, -1)", `[[0,2,2.38,1200,1400,2.2,1.9,1.1,-1.9,-20]]`},
		{"greatest, least skip nulls", "SELECT greatest(1, NULL, 2), least(NULL, NULL), least('b', 'a')", `[[2,null,"a"]]`},
		{"arithmetic with null", "SELECT 1 + NULL, NULL * 2, -NULL, abs(NULL)", `[[null,null,null,null]]`},
		{"infinite", "SELECT 1 / 0, -1 / 0, 0 / 0, sqrt(-1)", `[[null,null,null,null]]`},
		// conversion
		{"toInt, toFloat", "SELECT toInt(1.9), toInt(2.0), toInt('x'), toInt(true), toInt('-7'), toInt(' 7'), toFloat('1.5'), toFloat(true), toFloat('0x10'), toFloat('inf'), toDecimal('2.5')", `[[null,2,null,1,-7,null,1.5,1,null,null,2.5]]`},
		{"toString", "SELECT toString(true), toString(1e21), toString(0.0000001), toString(100000000000000000000), toString(toDateTime('2020-01-02 03:04:05')), toString(toDateTime('2020-01-02T03:04:05.25Z')), toString(toDate('2020-1-2'))", `[["true","1e+21","1e-7","100000000000000000000","2020-01-02 03:04:05","2020-01-02 03:04:05.250000","2020-01-02"]]`},
		{"toBool, toUUID", "SELECT toBool('true'), toBool(0), toBool('maybe'), toUUID('61F0C404-5CB3-11E7-907B-A6006AD3DBA0'), toUUID('no')", `[[true,false,null,"61f0c404-5cb3-11e7-907b-a6006ad3dba0",null]]`},
		{"CAST", "SELECT CAST('7' AS Int64), CAST(7 AS String), CAST('1.5' AS Float64), CAST('2020-01-02' AS Date)", `[[7,"7",1.5,"2020-01-02"]]`},
		// strings
		{"length of a text: bytes", "SELECT length('é'), lengthUTF8('é'), length([1, 2, 3]), reverse('äb'), empty(''), notEmpty('a'), empty([]), lowerUTF8('É'), upperUTF8('é')", `[[2,1,3,"bä",1,1,1,"é","É"]]`},
		{"trim cuts blanks", "SELECT trimLeft('  a '), trimRight(' a  '), trim(' a b ')", `[["a "," a","a b"]]`},
		{"concat", "SELECT 'a' || NULL || 1 || true, concat(1.50, 'x')", `[["a1true","1.5x"]]`},
		{"substring counts characters, from the end", "SELECT substring('äbcde', 2, 2), substring('hello', -3), substring('hello', -3, 2), substring('hello', 9), left('hello', 2), left('hello', -2), right('hello', 2), left('hé', 9)", `[["bc","llo","ll","","he","hel","lo","hé"]]`},
		{"position", "SELECT position('äb', 'b'), positionCaseInsensitive('Hello', 'L'), startsWith('a', 'ab'), endsWith('abc', 'bc')", `[[2,3,0,1]]`},
		{"replace", "SELECT replaceOne('aXbX', 'X', '-'), replace('aXbX', 'X', '-'), replaceRegexpOne('a1b2', '[0-9]', '#'), replaceRegexpAll('john smith', '(\\w+) (\\w+)', '\\2 \\1'), replaceAll('a', '', 'b')", `[["a-bX","a-b-","a#b2","smith john","a"]]`},
		{"RE2; . matches line breaks; extract: first group", "SELECT match('a\nb', 'a.b'), extract('k=12', 'k=([0-9]+)'), extract('zz', '[0-9]'), 'ABC' =~ 'b', 'ABC' =~* 'b', 'ABC' !~ 'b', 'ABC' !~* 'b'", `[[1,"12","",0,1,1,0]]`},
		{"split, search", "SELECT splitByString('--', 'a--b'), splitByString('', 'añ'), multiSearchAnyCaseInsensitive('Hello', ['x', 'ELL'])", `[[["a","b"],["a","ñ"],1]]`},
		{"LIKE", "SELECT 'a_b' LIKE 'a\\_b', 'axb' LIKE 'a\\_b', 'aXXb' LIKE 'a%b', '' LIKE '%', 'ab' LIKE '_', 'äb' LIKE '_b', 'abcabd' LIKE '%ab_', 'a' NOT LIKE 'A', 'É' ILIKE 'é'", `[[1,0,1,1,0,1,1,1,1]]`},
		// URLs
		{"URLs", "SELECT domain('https://www.site.com:8080/a'), domainWithoutWWW('https://www.site.com/a'), path('https://site.com/a/b?c=1#d'), protocol('https://a.b'), cutQueryString('https://a.b/c?d=1'), extractURLParameter('https://a.b/?x=1&y=2', 'y'), extractURLParameter('https://a.b/', 'y'), domain('nothing'), path('https://a.b'), protocol('a')", `[["www.site.com","site.com","/a/b","https","https://a.b/c","2","","","",""]]`},
		// JSON
		{"JSON", `SELECT JSONExtractString('{"a":{"b":[5,"x"]}}', 'a', 'b', 2), JSONExtractInt('{"a":"12"}', 'a'), JSONExtractFloat('{"a":"1.5"}', 'a'), JSONExtractBool('{"a":true}', 'a'), JSONExtractString('{"a":1.0}', 'a'), JSONExtractArrayRaw('{"a":[1, "x"]}', 'a'), JSONHas('{"a":null}', 'a'), JSONHas('{}', 'a'), JSONLength('[1,2,3]'), JSONExtractRaw('{"a":{"b": 1}}', 'a')`, `[["x",12,1.5,1,"1",["1","\"x\""],1,0,3,"{\"b\":1}"]]`},
		{"missing or another type", `SELECT JSONExtractString('{}', 'a'), JSONExtractInt('{"a":"x"}', 'a'), JSONExtractFloat('nojson', 'a'), JSONExtractBool('{}', 'a'), JSONExtractRaw('{}', 'a'), JSONExtractArrayRaw('{"a":1}', 'a'), JSONExtractInt('[1,2]', -1), JSONExtractString(NULL, 'a')`, `[["",0,0,0,"",[],2,null]]`},
		// lists
		{"lists count from 1, from the end when negative", "SELECT [1, 2, 3][-1], [1, 2][5], ['a'][2], arrayElement([5], 1), (1, 'x').2, tupleElement((1, 2), 1), [1, 2][0]", `[[3,0,"",5,"x",1,0]]`},
		{"list functions", "SELECT arrayReverseSort([1, 3, 2]), arrayDistinct([1, 1, 2]), arrayConcat([1], [2, 3]), arraySlice([1, 2, 3, 4], 2, 2), arraySlice([1, 2, 3], -2), arraySum([1, 2.5]), arrayAvg([1, 2]), arrayMin([2, 1]), arrayMax([2, 1]), range(3), range(1, 6, 2), array(1, 2), tuple(1, 'a'), has([1], 2), indexOf([1], 2)", `[[[3,2,1],[1,2],[1,2,3],[2,3],[2,3],3.5,1.5,1,2,[0,1,2],[1,3,5],[1,2],[1,"a"],0,0]]`},
		{"lambdas", "SELECT arrayMap(x -> x * 2, [1, 2]), arrayFilter(x -> x > 1, [1, 2, 3]), arrayExists(x -> x = 2, [1, 2]), arrayAll(x -> x > 0, [1, 0]), arrayCount(x -> x > 1, [1, 2, 3]), arrayMap((x, y) -> x + y, [1, 2], [10, 20]), arrayMap(x -> arrayMap(y -> x * y, [1, 2]), [3, 4]), arraySort(x -> -x, [1, 3, 2])", `[[[2,4],[2,3],1,0,2,[11,22],[[3,6],[4,8]],[3,2,1]]]`},
		// expressions
		{"CASE", "SELECT CASE WHEN 1 = 2 THEN 'a' WHEN 2 = 2 THEN 'b' ELSE 'c' END, CASE 3 WHEN 1 THEN 'one' WHEN 3 THEN 'three' END, CASE WHEN NULL THEN 1 END", `[["b","three",null]]`},
		{"ternary", "SELECT 1 > 2 ? 'a' : 'b', 1 ? 2 ? 'x' : 'y' : 'z'", `[["b","x"]]`},
		{"BETWEEN, IN", "SELECT 2 BETWEEN 1 AND 3, 2 NOT BETWEEN 1 AND 3, NULL BETWEEN 1 AND 2, NULL NOT BETWEEN 1 AND 2, 1 IN (1, 2), 3 NOT IN [1, 2], 'a' IN [], NULL IN (1), NULL NOT IN (1)", `[[1,0,0,1,1,1,0,0,1]]`},
		{"null in comparisons", "SELECT NULL = 1, NULL != 1, NULL < 1, NULL LIKE 'a', NULL NOT LIKE 'a', NULL = NULL, NULL != NULL, 1 IS NULL, NULL IS NOT NULL, NULL AND 0, NULL OR 1, NULL AND 1, NOT NULL", `[[0,1,0,0,1,1,0,0,0,0,1,null,null]]`},
		{"numbers of any kind compare", "SELECT 1 = 1.0, 2 > 1.5, true = 1, 'b' > 'a', 'ä' > 'z', [1, 2] = [1, 2], (1, 'a') = (1, 'b')", `[[1,1,1,1,1,1,0]]`},
		{"escapes", `SELECT 'it''s', 'a\'b', 'a\tb', 'C:\\d', '\d+'`, `[["it's","a'b","a\tb","C:\\d","\\d+"]]`},
		{"comments", "SELECT 1 -- one\n, /* two */ 2;", `[[1,2]]`},
	} {
		t.Run(c.of, func(t *testing.T) { checkAnswer(t, c.query, Context{}, nil, c.want) })
	}
}

// Times of §2.9.7 and §2.9.8.
func TestFunctions_Times(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of   string
		zone *time.Location
		ask  string
		want string
	}{
		{"one instant for a query", nil, "SELECT now(), today(), yesterday()", `[["2020-02-29T13:04:05.678000Z","2020-02-29","2020-02-28"]]`},
		{"the project's zone", berlin, "SELECT now(), today(), toDateTime('2020-07-01 00:30:00'), toHour(toDateTime('2020-07-01T00:30:00Z'))", `[["2020-02-29T14:04:05.678000+01:00","2020-02-29","2020-07-01T00:30:00+02:00",2]]`},
		{"a month's end is clamped", nil, "SELECT toDate('2020-01-31') + INTERVAL 1 month, toDateTime('2020-03-31 10:00:00') - INTERVAL '1 month', addMonths(toDate('2020-01-31'), 1), subtractYears(toDate('2020-02-29'), 1)", `[["2020-02-29","2020-02-29T10:00:00Z","2020-02-29","2019-02-28"]]`},
		{"day and longer keep the local clock, hours are absolute", berlin, "SELECT toDateTime('2020-03-28 12:00:00') + INTERVAL 1 day, toDateTime('2020-03-28 12:00:00') + INTERVAL 24 hour, dateAdd('week', 1, toDateTime('2020-03-28 12:00:00')), dateSub('hour', 1, toDateTime('2020-03-29 03:30:00'))", `[["2020-03-29T12:00:00+02:00","2020-03-29T13:00:00+02:00","2020-04-04T12:00:00+02:00","2020-03-29T01:30:00+01:00"]]`},
		{"a text that is no time", nil, "SELECT toDateTime('x'), toDate('2020-13-01'), parseDateTimeBestEffort('2020-01-02T03:04:05+02:00'), fromUnixTimestamp(86400), toUnixTimestamp(toDateTime('1970-01-02 00:00:01'))", `[[null,null,"2020-01-02T01:04:05Z","1970-01-02T00:00:00Z",86401]]`},
		{"another zone", nil, "SELECT toTimeZone(toDateTime('2020-01-01 23:30:00'), 'Asia/Kolkata'), toDateTime('2020-01-01 00:00:00', 'America/New_York'), toHour(toTimeZone(toDateTime('2020-01-01 23:30:00'), 'Asia/Kolkata'))", `[["2020-01-02T05:00:00+05:30","2020-01-01T00:00:00-05:00",5]]`},
		{"starts", nil, "SELECT toStartOfMinute(now()), toStartOfFiveMinutes(now()), toStartOfTenMinutes(now()), toStartOfFifteenMinutes(now()), toStartOfHour(now()), toStartOfDay(now())", `[["2020-02-29T13:04:00Z","2020-02-29T13:00:00Z","2020-02-29T13:00:00Z","2020-02-29T13:00:00Z","2020-02-29T13:00:00Z","2020-02-29T00:00:00Z"]]`},
		{"29 February 2020 is a Saturday", nil, "SELECT toStartOfWeek(now()), toStartOfWeek(now(), 0), toStartOfWeek(now(), 1), toStartOfWeek(now(), 3), toMonday(now()), toStartOfMonth(now()), toStartOfQuarter(now()), toStartOfYear(now())", `[["2020-02-23","2020-02-23","2020-02-24","2020-02-24","2020-02-24","2020-02-01","2020-01-01","2020-01-01"]]`},
		{"intervals", nil, "SELECT toStartOfInterval(now(), INTERVAL 1 week), toStartOfInterval(now(), INTERVAL 15 minute), toStartOfInterval(now(), INTERVAL 6 hour), dateTrunc('month', now()), dateTrunc('day', now()), dateTrunc('week', now())", `[["2020-02-24","2020-02-29T13:00:00Z","2020-02-29T12:00:00Z","2020-02-01","2020-02-29T00:00:00Z","2020-02-24"]]`},
		{"parts", nil, "SELECT toYear(now()), toQuarter(now()), toMonth(now()), toDayOfMonth(now()), toDayOfWeek(now()), toDayOfYear(now()), toHour(now()), toMinute(now()), toSecond(now()), toISOWeek(now()), toYYYYMM(now()), toYYYYMMDD(now()), toDayOfWeek(toDate('2020-03-01'))", `[[2020,1,2,29,6,60,13,4,5,9,202002,20200229,7]]`},
		{"dateDiff counts borders", nil, "SELECT dateDiff('day', toDateTime('2020-01-01 23:59:00'), toDateTime('2020-01-02 00:01:00')), dateDiff('hour', toDateTime('2020-01-01 10:59:00'), toDateTime('2020-01-01 11:00:00')), dateDiff('week', toDate('2020-01-05'), toDate('2020-01-06')), dateDiff('month', toDate('2020-01-31'), toDate('2019-12-31')), dateDiff('year', toDate('2019-12-31'), toDate('2020-01-01')), dateDiff('minute', toDateTime('2020-01-01 00:00:59'), toDateTime('2020-01-01 00:01:00')), dateDiff('second', toDateTime('2020-01-01 00:00:00.9'), toDateTime('2020-01-01 00:00:01'))", `[[1,1,1,-1,1,1,1]]`},
		{"formatDateTime", nil, "SELECT formatDateTime(toDateTime('2020-02-09 15:04:05.25'), '%Y %y %m %d %e %H %I %i %M %b %a %W %S %p %j %F %T %f %%')", `[["2020 20 02 09 9 15 03 04 February Feb Sun Sunday 05 PM 040 2020-02-09 15:04:05 250000 %"]]`},
		{"DATE, TIMESTAMP", nil, "SELECT DATE '2020-01-02', TIMESTAMP '2020-01-02 03:04:05', DATE '2020-01-02' = '2020-01-02', now() > '2020-02-29 13:04', toIntervalDay(1) + today()", `[["2020-01-02","2020-01-02T03:04:05Z",1,1,"2020-03-01"]]`},
		{"a repeated hour is two", berlin, "SELECT toStartOfHour(toDateTime('2020-10-25T00:30:00Z')), toStartOfHour(toDateTime('2020-10-25T01:30:00Z'))", `[["2020-10-25T02:00:00+02:00","2020-10-25T02:00:00+01:00"]]`},
	} {
		t.Run(c.of, func(t *testing.T) { checkAnswer(t, c.ask, Context{Zone: c.zone}, nil, c.want) })
	}
}
