package hogql

import (
	"strings"
	"time"
)

// timeFunctions are the functions for times and dates (§2.9.8).
var timeFunctions = append(unitFunctions(), []function{
	{name: "now", args: "", result: constantType(TimeType), all: func(s *site, _ []Value) Value { return TimeOf(s.env.now()) }},
	{name: "today", args: "", result: constantType(dateType), all: func(s *site, _ []Value) Value { return s.env.dateOf(TimeOf(s.env.now()), 0) }},
	{name: "yesterday", args: "", result: constantType(dateType), all: func(s *site, _ []Value) Value { return s.env.dateOf(TimeOf(s.env.now()), -1) }},
	*toDate,
	// The literals DATE '…' and TIMESTAMP '…' are calls of these functions.
	{name: "$date", args: "a", special: moment(toDate)},
	{name: "$timestamp", args: "a", special: moment(convertTime)},
	{name: "toDateTime", args: "as?", special: toDateTime},
	{name: "parseDateTimeBestEffort", args: "as?", special: toDateTime},
	{name: "toTimeZone", args: "ts", special: toDateTime},
	{name: "fromUnixTimestamp", args: "n", result: constantType(TimeType), nullable: true, one: func(s *site, v Value) Value { return s.instant(v) }},
	{name: "toUnixTimestamp", args: "t", result: constantType(IntType), one: func(s *site, v Value) Value {
		if v.kind == Date {
			v = TimeOf(s.env.midnight(v.n))
		}
		return IntOf(floorTo(v.n, second) / second)
	}},
	{name: "toStartOfMinute", args: "t", result: timeLike, one: startFunction(unitMinute, 1)},
	{name: "toStartOfFiveMinutes", args: "t", result: timeLike, one: startFunction(unitMinute, 5)},
	{name: "toStartOfTenMinutes", args: "t", result: timeLike, one: startFunction(unitMinute, 10)},
	{name: "toStartOfFifteenMinutes", args: "t", result: timeLike, one: startFunction(unitMinute, 15)},
	{name: "toStartOfHour", args: "t", result: timeLike, one: startFunction(unitHour, 1)},
	{name: "toStartOfDay", args: "t", result: timeLike, one: startFunction(unitDay, 1)},
	// Without a mode, weeks begin on the day that the project has set.
	{name: "toStartOfWeek", args: "ti?", result: constantType(dateType), all: func(s *site, args []Value) Value {
		first := s.env.WeekStart
		if len(args) == 2 {
			first = time.Weekday(args[1].n & 1) // modes 1 and 3 begin on Monday
		}
		return s.start(args[0], unitWeek, 1, first)
	}},
	{name: "toMonday", args: "t", result: constantType(dateType), one: startFunction(unitWeek, 1)},
	{name: "toStartOfMonth", args: "t", result: constantType(dateType), one: startFunction(unitMonth, 1)},
	{name: "toStartOfQuarter", args: "t", result: constantType(dateType), one: startFunction(unitQuarter, 1)},
	{name: "toStartOfYear", args: "t", result: constantType(dateType), one: startFunction(unitYear, 1)},
	{name: "toStartOfInterval", args: "tp", special: intervals},
	{name: "dateTrunc", args: "ut", special: truncateTime},
	{name: "toYear", args: "t", result: constantType(IntType), one: timePart(func(t time.Time) int { return t.Year() })},
	{name: "toQuarter", args: "t", result: constantType(IntType), one: timePart(func(t time.Time) int { return (int(t.Month()) + 2) / 3 })},
	{name: "toMonth", args: "t", result: constantType(IntType), one: timePart(func(t time.Time) int { return int(t.Month()) })},
	{name: "toDayOfMonth", args: "t", result: constantType(IntType), one: timePart(time.Time.Day)},
	{name: "toDayOfWeek", args: "t", result: constantType(IntType), one: timePart(func(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 })},
	{name: "toDayOfYear", args: "t", result: constantType(IntType), one: timePart(time.Time.YearDay)},
	{name: "toHour", args: "t", result: constantType(IntType), one: timePart(time.Time.Hour)},
	{name: "toMinute", args: "t", result: constantType(IntType), one: timePart(time.Time.Minute)},
	{name: "toSecond", args: "t", result: constantType(IntType), one: timePart(time.Time.Second)},
	{name: "toISOWeek", args: "t", result: constantType(IntType), one: timePart(func(t time.Time) int {
		_, week := t.ISOWeek()
		return week
	})},
	{name: "toYYYYMM", args: "t", result: constantType(IntType), one: timePart(func(t time.Time) int { return t.Year()*100 + int(t.Month()) })},
	{name: "toYYYYMMDD", args: "t", result: constantType(IntType), one: timePart(func(t time.Time) int { return t.Year()*10000 + int(t.Month())*100 + t.Day() })},
	// The first argument of these functions is the name of a unit.
	{name: "dateDiff", args: "utt", special: unitFirst(IntType, "tt", func(s *site, unit int, args []Value) Value {
		return IntOf(s.env.borders(unit, args[0], args[1]))
	})},
	{name: "dateAdd", args: "uit", special: unitFirst(TimeType, "it", func(s *site, unit int, args []Value) Value {
		return s.env.addPeriod(args[1], args[0].n, unit)
	})},
	{name: "dateSub", args: "uit", special: unitFirst(TimeType, "it", func(s *site, unit int, args []Value) Value {
		return s.env.addPeriod(args[1], -args[0].n, unit)
	})},
	{name: "formatDateTime", args: "ts", result: constantType(TextType), two: func(s *site, t, f Value) Value { return TextOf(format(s.env.local(t), f.s)) }},
}...)

// unitFunctions returns addDays, subtractDays, toIntervalDay and INTERVAL for each unit.
func unitFunctions() []function {
	var all []function
	for unit, name := range units {
		name = strings.ToUpper(name[:1]) + name[1:]
		interval := function{args: "i", result: constantType(Type{kind: period, clock: unit <= unitHour}), one: func(_ *site, n Value) Value {
			return Value{kind: period, unit: int8(unit), n: n.n}
		}}
		moved := func(args []Type) Type { return likeMoment([]Type{args[0], {clock: unit <= unitHour}}) }
		add := function{args: "ti", result: moved, two: func(s *site, t, n Value) Value { return s.env.addPeriod(t, n.n, unit) }}
		subtract := function{args: "ti", result: moved, two: func(s *site, t, n Value) Value { return s.env.addPeriod(t, -n.n, unit) }}
		add.name, subtract.name, interval.name = "add"+name+"s", "subtract"+name+"s", "toInterval"+name
		// INTERVAL 1 day has a name of its own, so that queries cannot depend on it.
		written := interval
		written.name = "$interval" + units[unit]
		all = append(all, add, subtract, interval, written)
	}
	return all
}

// conversionType returns the type of a conversion to a time or date. The result may be null
// unless the argument is a time or date. A time keeps its zone unless the conversion sets
// one.
func conversionType(t Type) func(args []Type) Type {
	return func(args []Type) Type {
		own := t
		own.nullable = args[0].kind != Time && args[0].kind != Date
		if args[0].kind == Time && t.kind == Time && t.zone == "" {
			own.zone = args[0].zone
		}
		return own
	}
}

// dateOf returns the local date of a time, moved by days.
func (e *env) dateOf(v Value, days int64) Value {
	return Value{kind: Date, n: dayNumber(e.local(v)) + days}
}

// instant converts a value to a time. A date remains a date, a number is in seconds, and a
// string that is not a time is null.
//
// Numbers outside of about 3,170 years around 1970 are null.
func (s *site) instant(v Value) Value {
	switch v.kind {
	case Time, Date:
		return v
	case Text:
		t, ok := ParseTime(strings.TrimSpace(v.s), s.env.zone)
		if ok {
			return TimeOf(t)
		}
		v = parseNum(v.s)
		if !v.isNumber() {
			return Value{}
		}
	}
	if f := v.float(); f > -1e11 && f < 1e11 {
		return TimeOf(int64(f * float64(second)))
	}
	return Value{}
}

// moment compiles DATE '…' and TIMESTAMP '…'.
func moment(f *function) func(*compiler, *node) compiled {
	return func(c *compiler, n *node) compiled {
		x := c.compileCall(n, f, c.compileAll(n.args))
		if c.err == nil && x.value.kind == Null {
			return c.fail(n.args[0].fault(TypeError, "Text "+n.args[0].word()+" is no date", ""))
		}
		return x
	}
}

// toDate implements toDate: the date of a time in its zone.
var toDate = &function{name: "toDate", args: "a", result: conversionType(dateType), one: func(s *site, v Value) Value {
	v = s.instant(v)
	if v.kind != Time {
		return v
	}
	return s.env.dateOf(v, 0)
}}

// convertTime implements toDateTime with one argument: a date becomes its midnight in the
// project's zone.
var convertTime = &function{args: "a", result: conversionType(TimeType), one: func(s *site, v Value) Value {
	v = s.instant(v)
	if v.kind == Date {
		return TimeOf(s.env.midnight(v.n))
	}
	return v
}}

// toDateTime compiles toDateTime(x[, zone]) and toTimeZone(t, zone). A string is interpreted
// as local time in that zone, and the result is displayed in it.
func toDateTime(c *compiler, n *node) compiled {
	if len(n.args) == 1 {
		return c.compileCall(n, convertTime, c.compileAll(n.args))
	}
	name, ok := c.constantText(n, 1)
	if !ok {
		return constant(Value{}, nullType)
	}
	zone, ok := c.env.loadZone(name)
	if !ok {
		return c.fail(n.args[1].fault(TypeError, "Unknown time zone "+quoted(name), ""))
	}
	f := &function{args: "a", result: conversionType(Type{kind: Time, zone: name}), one: func(s *site, v Value) Value {
		switch {
		// A string without an offset is local time in the zone of the argument.
		case v.kind == Text && n.name != "toTimeZone":
			if t, ok := ParseTime(strings.TrimSpace(v.s), zone); ok {
				return Value{kind: Time, n: t, s: name}
			}
		case v.kind == Date:
			return Value{kind: Time, n: midnightIn(v.n, zone), s: name}
		}
		if v = s.instant(v); v.kind == Time {
			v.s = name
		}
		return v
	}}
	return c.compileCall(n, f, []compiled{c.compile(n.args[0])})
}

// start truncates a time to the beginning of n units. It caches the last interval, which
// usually contains the next time too.
//
// The cached interval is only valid for times in the same zone.
func (s *site) start(v Value, unit int, n int64, first time.Weekday) Value {
	// Times of consecutive rows are usually in the same interval.
	if v.kind == Time && v.n >= s.seen.from && v.n < s.seen.to && v.s == s.zone {
		return s.seen.value
	}
	b := s.env.bucket(v, unit, n, first)
	if v.kind == Time {
		s.seen, s.zone = b, strings.Clone(v.s)
	}
	return b.value
}

// startFunction returns the implementation of a function that truncates to n units.
func startFunction(unit int, n int64) func(*site, Value) Value {
	return func(s *site, v Value) Value { return s.start(v, unit, n, time.Monday) }
}

// bucketsOf returns the function that truncates to n units; weeks begin on Monday.
func bucketsOf(unit int, n int64) *function {
	f := &function{args: "t", result: constantType(dateType), one: startFunction(unit, n)}
	if unit <= unitDay {
		f.result = timeLike
	}
	return f
}

// intervals compiles toStartOfInterval, whose interval must be a constant.
func intervals(c *compiler, n *node) compiled {
	x := c.compile(n.args[1])
	if c.err != nil {
		return x
	}
	if !x.constant || x.value.kind != period || x.value.n < 1 || x.value.n > 1_000_000 {
		return c.fail(n.args[1].fault(TypeError, "Function "+quoted(n.name)+" expects an interval such as INTERVAL 1 day, not "+n.args[1].word(), ""))
	}
	return c.compileCall(n, bucketsOf(int(x.value.unit), x.value.n), []compiled{c.compile(n.args[0])})
}

// unit returns the unit that the first argument of a call names. It must be a constant.
func (c *compiler) unit(n *node) (int, bool) {
	text, ok := c.constantText(n, 0)
	if !ok {
		return 0, false
	}
	unit := unitOf(text)
	if unit < 0 {
		c.fail(n.args[0].fault(TypeError, "Unknown unit "+quoted(text), ": there are "+strings.Join(units, ", ")))
	}
	return unit, unit >= 0
}

// truncateTime compiles dateTrunc.
func truncateTime(c *compiler, n *node) compiled {
	unit, ok := c.unit(n)
	if !ok {
		return constant(Value{}, nullType)
	}
	inner := *n
	inner.args = n.args[1:]
	return c.compileCall(&inner, bucketsOf(unit, 1), c.compileAll(inner.args))
}

// unitFirst compiles a function whose first argument names a unit.
//
// args are the kinds of the other arguments.
func unitFirst(t Type, args string, f func(s *site, unit int, args []Value) Value) func(*compiler, *node) compiled {
	return func(c *compiler, n *node) compiled {
		unit, ok := c.unit(n)
		if !ok {
			return constant(Value{}, nullType)
		}
		inner := *n
		inner.args = n.args[1:]
		result := constantType(t)
		if t.kind == Time {
			result = func(types []Type) Type { return likeMoment([]Type{types[1], {clock: unit <= unitHour}}) }
		}
		return c.compileCall(&inner, &function{args: args, result: result, all: func(s *site, args []Value) Value { return f(s, unit, args) }}, c.compileAll(inner.args))
	}
}

// timePart returns the implementation of a function that returns a part of a time in its
// zone.
func timePart(extract func(time.Time) int) func(*site, Value) Value {
	return func(s *site, v Value) Value { return IntOf(int64(extract(s.env.local(v)))) }
}

// formats maps the characters of formatDateTime to layouts of package time.
var formats = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'e': "2", 'H': "15", 'I': "03", 'i': "04", 'M': "January", 'b': "Jan", 'a': "Mon", 'W': "Monday",
	'S': "05", 's': "05", 'p': "PM", 'j': "002", 'F': "2006-01-02", 'T': "15:04:05",
}

// format formats a time in the syntax of formatDateTime.
func format(t time.Time, f string) string {
	out := make([]byte, 0, 2*len(f))
	for i := 0; i < len(f); i++ {
		if f[i] != '%' || i+1 == len(f) {
			out = append(out, f[i])
			continue
		}
		i++
		switch layout, ok := formats[f[i]]; {
		case ok:
			out = t.AppendFormat(out, layout)
		case f[i] == 'f':
			out = append(out, t.Format(".000000")[1:]...)
		case f[i] == '%':
			out = append(out, '%')
		default:
			out = append(out, '%', f[i])
		}
	}
	return string(out)
}
