package charts

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A number with the format of its query: decimals, a unit, and texts around it.
func TestFormat_Number(t *testing.T) {
	t.Parallel()
	decimals := func(n float64) value { return value{n, true} }
	for _, c := range []struct {
		format format
		v      float64
		number string
		tick   string
	}{
		{format{}, 1234.567, "1,234.57", "1.23k"},
		{format{}, 0, "0", "0"},
		{format{}, -0.001, "−0.001", "−0.001"},
		{format{}, 1e12, "1,000,000,000,000", "1T"},
		{format{}, 999_999, "999,999", "1,000k"},
		{format{Decimals: decimals(0)}, 2.5, "2", "2.5"}, // half to even, as strconv rounds exact halves
		{format{Decimals: decimals(0)}, -0.4, "0", "−0.4"},
		{format{Decimals: decimals(3)}, 1.23456, "1.235", "1.23"},
		{format{Decimals: decimals(3)}, 2, "2", "2"}, // zeros at the end are not shown
		{format{Decimals: decimals(-1)}, 2.25, "2", "2.25"},
		{format{Decimals: decimals(99)}, 1.0 / 3, "0.3333333333", "0.33"},
		{format{Kind: "percentage"}, 25.5, "25.5%", "25.5%"},
		{format{Kind: "percentage_scaled"}, 0.5, "50%", "50%"},
		{format{Kind: "duration"}, 59, "59 s", "59 s"},
		{format{Kind: "duration"}, 60, "1 min", "1 min"},
		{format{Kind: "duration"}, 3599, "60 min", "60 min"},
		{format{Kind: "duration"}, 3600, "1 h", "1 h"},
		{format{Kind: "duration"}, 86_400, "1 d", "1 d"},
		{format{Kind: "duration"}, -90, "−1.5 min", "−1.5 min"},
		{format{Kind: "duration_ms"}, 1500, "1.5 s", "1.5 s"},
		{format{Kind: "numeric"}, 7, "7", "7"},
		{format{Kind: "another"}, 7, "7", "7"},
		{format{Prefix: "€ ", Postfix: " net"}, -5, "€ −5 net", "€ −5 net"},
		{format{Prefix: "123456789012345", Kind: "percentage"}, 5, "123456789012…5%", "123456789012…5%"},
	} {
		if got := c.format.number(c.v); got != c.number {
			t.Errorf("%+v of %g: %q, want %q", c.format, c.v, got, c.number)
		}
		if got := c.format.tick(c.v); got != c.tick {
			t.Errorf("%+v of %g on an axis: %q, want %q", c.format, c.v, got, c.tick)
		}
	}
}

// Percentages have one decimal, and there is none of nothing.
func TestPercent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		part, total float64
		want        string
	}{
		{1, 0, ""}, {0, 0, ""}, {0, 5, "0%"}, {1, 3, "33.3%"}, {2, 3, "66.7%"}, {5, 5, "100%"}, {10, 5, "200%"}, {-1, 4, "−25%"}, {1, 100_000, "0%"}, {1, 1000, "0.1%"}, {12_345, 1, "1,234,500%"},
	} {
		if got := percent(c.part, c.total); got != c.want {
			t.Errorf("%g of %g: %q, want %q", c.part, c.total, got, c.want)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := show(f); got != "–" {
			t.Errorf("%g: %q", f, got)
		}
	}
}

// JSON values as texts and as numbers. Numbers that overflow are none, and very large ones are
// limited, so that sums stay finite.
func TestValues_Decoding(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]struct {
		text  text
		value value
	}{
		`null`: {"", value{}}, `"a"`: {"a", value{}}, `"1"`: {"1", value{}}, `1`: {"1", value{1, true}}, `-2.5e3`: {"-2.5e3", value{-2500, true}}, `true`: {"true", value{}},
		`["a",1,null]`: {"a::1::", value{}}, `[]`: {"", value{}}, `[["a","b"],"c"]`: {"a::b::c", value{}}, `{"a":1}`: {`{"a":1}`, value{}},
		`1e999`: {"1e999", value{}}, `1e301`: {"1e301", value{1e300, true}}, `-1e301`: {"-1e301", value{-1e300, true}}, `0`: {"0", value{0, true}},
	} {
		var got struct {
			Text  text
			Value value
		}
		got.Text, got.Value = "before", value{9, true} // an earlier value must not remain
		if err := json.Unmarshal([]byte(`{"Text":`+raw+`,"Value":`+raw+`}`), &got); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		if got.Text != want.text || got.Value != want.value {
			t.Errorf("%s: %+v, want %+v", raw, got, want)
		}
	}
}

// Texts at their maximum length, on one line and without invisible characters.
func TestClean(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"12345": "12345", "123456": "12345…", "éééééé": "ééééé…", "a\u00a0b\nc": "a b c", "a\xffb": "a\uFFFDb", "\u200ba": "\uFFFDa", "": "",
		"$$_posthog_breakdown_null_$$": "(none…", "<b>&": "<b>&",
	} {
		if got := clean(text, 5); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The name of a series: its label, else its value of the breakdown. The period is named too.
func TestSeries_Name(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		series series
		maxLen int
		want   string
	}{
		{series{Label: "a", Breakdown: "b"}, 6, "a"},
		{series{Breakdown: "b"}, 6, "b"},
		{series{}, 6, "(no name)"},
		{series{Label: "a", CompareLabel: "previous"}, 6, "a (previous)"},
		{series{Label: "c", CompareLabel: "current"}, 6, "c"},
		{series{Label: "long text"}, 9, "long text"},
		{series{Label: "long text"}, 8, "long tex…"},
		{series{Label: "long text", CompareLabel: "previous"}, 6, "long t… (previous)"},
		{series{Label: "$$_posthog_breakdown_null_$$"}, 6, "(none)"},
		{series{Breakdown: "$$_posthog_breakdown_other_$$", CompareLabel: "previous"}, 7, "(other) (previous)"},
	} {
		if got := c.series.name(c.maxLen); got != c.want {
			t.Errorf("%+v: %q, want %q", c.series, got, c.want)
		}
	}
}

// insights.md §5.1: the last bucket is unfinished when it holds now, which is half past nine on
// 29 March 2026 in Berlin, where the clock was moved from 2 to 3.
func TestIsOngoing(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 29, 9, 30, 0, 0, berlin)
	for _, c := range []struct {
		interval text
		day      string
		want     bool
	}{
		{"", "2026-03-29", true}, {"day", "2026-03-29", true}, {"day", "2026-03-28", false}, {"day", "2026-03-30", false}, {"day", "2026-03-29 00:00:00", true},
		{"hour", "2026-03-29 09:00:00", true}, {"hour", "2026-03-29 08:00:00", false}, {"hour", "2026-03-29 08:30:00", false}, {"hour", "2026-03-29 08:30:01", true}, {"hour", "2026-03-29 10:00:00", false},
		{"minute", "2026-03-29 09:30:00", true}, {"minute", "2026-03-29 09:29:00", false},
		{"week", "2026-03-23", true}, {"week", "2026-03-22", false}, {"week", "2026-03-29", true}, {"month", "2026-03-01", true}, {"month", "2026-02-28", false}, {"month", "2026-04-01", false},
		{"year", "2026-01-01", false}, {"day", "29 March", false}, {"day", "", false}, {"day", "2026-03-29T00:00:00Z", false},
	} {
		d := drawing{Question: &Question{Now: now}}
		d.query.Interval = c.interval
		if got := d.isOngoing(c.day); got != c.want {
			t.Errorf("%s of %s: %v", c.interval, c.day, got)
		}
	}
}

// insights.md §5.1: cells at or after now are unfinished. The time is noon of 31 January 2026.
func TestRetention_Interval(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		period, date string
		k            int
		want         state
	}{
		{"Day", "2026-01-30T00:00:00Z", 0, stateOver}, {"Day", "2026-01-30T00:00:00Z", 1, stateOngoing}, {"Day", "2026-01-30T00:00:00Z", 2, stateNotBegun}, {"", "2026-01-30T00:00:00Z", 1, stateOngoing},
		{"Hour", "2026-01-31T11:00:00Z", 0, stateOver}, {"Hour", "2026-01-31T11:00:00Z", 1, stateOngoing}, {"Hour", "2026-01-31T11:00:00Z", 2, stateNotBegun}, {"Hour", "2026-01-31T12:00:01Z", 0, stateNotBegun},
		{"Week", "2026-01-25T00:00:00Z", 0, stateOngoing}, {"Week", "2026-01-18T00:00:00Z", 0, stateOver}, {"Week", "2026-01-18T00:00:00Z", 1, stateOngoing}, {"Week", "2026-01-18T00:00:00Z", 2, stateNotBegun},
		{"Month", "2026-01-01T00:00:00Z", 0, stateOngoing}, {"Month", "2025-12-01T00:00:00Z", 0, stateOver}, {"Month", "2025-12-01T00:00:00Z", 2, stateNotBegun},
		{"Day", "yesterday", 5, stateOver}, {"Day", "2026-01-30T12:00:00Z", 0, stateOver},
		{"Day", "2026-01-31T00:00:00+14:00", 0, stateOver}, // until 10 o'clock of the 31st in UTC
	} {
		d := drawing{Question: &Question{Now: now}}
		d.query.Retention.Period = text(c.period)
		if got := d.interval(&cohort{Date: text(c.date)}, c.k); got != c.want {
			t.Errorf("%s, %s, %d: %d, want %d", c.period, c.date, c.k, got, c.want)
		}
	}
	for _, c := range []struct {
		part, total float64
		want        Cell
	}{
		{0, 0, Cell{"–", true, 0}}, {0, 4, Cell{"0%", true, 0}}, {1, 100, Cell{"1%", true, 0}}, {5, 100, Cell{"5%", true, 1}}, {1, 2, Cell{"50%", true, 5}}, {4, 4, Cell{"100%", true, 10}}, {9, 4, Cell{"225%", true, 10}}, {-1, 4, Cell{"−25%", true, 0}},
	} {
		if diff := cmp.Diff(c.want, shareOf(c.part, c.total)); diff != "" {
			t.Errorf("%g of %g (-want +got):\n%s", c.part, c.total, diff)
		}
	}
}

// Steps of an axis are 1, 2 or 5 times a power of ten, and there are at most six ticks.
func TestAxis_Ticks(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]float64{1: 1, 1.01: 2, 2: 2, 2.1: 5, 5: 5, 5.01: 10, 0.3: 0.5, 0.1: 0.1, 250: 500, 1e6: 1e6, 3e-7: 5e-7} {
		if got := niceStep(f); math.Abs(got-want) > want*1e-9 {
			t.Errorf("%g: %g, want %g", f, got, want)
		}
	}
	for _, c := range []struct {
		low, high float64
		integer   bool
		want      []float64
	}{
		{0, 10, true, []float64{0, 5, 10}}, {0, 4, true, []float64{0, 1, 2, 3, 4}}, {0, 3, true, []float64{0, 1, 2, 3}}, {0, 1, false, []float64{0, 0.5, 1}}, {-5, 5, true, []float64{-5, 0, 5}}, {3, 3, true, []float64{0, 1, 2, 3}}, {-7, -3, true, []float64{-8, -6, -4, -2, 0}},
	} {
		if got := newAxis(c.low, c.high, c.integer).ticks(); !cmp.Equal(got, c.want) {
			t.Errorf("from %g to %g: %v, want %v", c.low, c.high, got, c.want)
		}
	}
	for i := range 400 {
		high := math.Pow(1.07, float64(i)) / 1000
		a := newAxis(-high/3, high, false)
		if ticks := a.ticks(); len(ticks) > 7 || a.hi < high || a.lo > -high/3 || a.position(a.lo, 220, 20) != 220 || a.position(a.hi, 220, 20) != 20 {
			t.Errorf("up to %g: %v", high, ticks)
		}
	}
}

// Stacked values: negative ones are stacked downwards, and missing ones have no height.
func TestStack(t *testing.T) {
	t.Parallel()
	c := &chart{labels: make([]text, 3)}
	for _, data := range [][]float64{{1, -1, 2}, {2, -3, -4}, {3, 5}} {
		s := series{}
		for _, v := range data {
			s.Data = append(s.Data, value{v, true})
		}
		c.series = append(c.series, s)
	}
	bands, low, high := c.stack()
	want := [][]band{{{0, 1}, {0, -1}, {0, 2}}, {{1, 3}, {-1, -4}, {0, -4}}, {{3, 6}, {0, 5}, {2, 2}}}
	if fmt.Sprint(bands) != fmt.Sprint(want) || low != -4 || high != 6 {
		t.Errorf("%v from %g to %g, want %v from -4 to 6", bands, low, high, want)
	}
}

// Cells of lists: numbers, people by name, events by name, and other objects as JSON.
func TestCellOf(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]Cell{
		`1234`: {Text: "1,234", Number: true}, `"1234"`: {Text: "1234"}, `null`: {}, `false`: {Text: "false"}, `["a","b"]`: {Text: "a::b"}, ` "x" `: {Text: "x"},
		`{"display_name":"Ann","event":"e","distinct_id":"d"}`: {Text: "Ann"}, `{"event":"e","distinct_id":"d"}`: {Text: "e"}, `{"distinct_id":"d"}`: {Text: "d"}, `{"display_name":"","distinct_id":"d"}`: {Text: "d"},
		`{"id":1}`: {Text: `{"id":1}`}, `{"display_name":null}`: {Text: `{"display_name":null}`}, `{"display_name":7}`: {Text: "7"},
	} {
		if got := cellOf(json.RawMessage(raw)); got != want {
			t.Errorf("%s: %+v, want %+v", raw, got, want)
		}
	}
}
