package charts

import (
	"bytes"
	"encoding/json"
	"html"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// text is a JSON value for display: strings without quotes, lists joined, null as an empty
// string, and other values as JSON.
type text string

// UnmarshalJSON accepts all JSON values.
func (t *text) UnmarshalJSON(raw []byte) error {
	*t = ""
	switch raw = bytes.TrimSpace(raw); {
	case string(raw) == "null":
	case raw[0] == '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		*t = text(s)
	case raw[0] == '[':
		var list []text
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		parts := make([]string, len(list))
		for i, part := range list {
			parts[i] = string(part)
		}
		*t = text(strings.Join(parts, "::"))
	default:
		*t = text(raw)
	}
	return nil
}

// value is a number in results. ok is false for null and for numbers that overflow float64.
type value struct {
	v  float64
	ok bool
}

// largest is the maximum absolute value that is drawn. It is small enough that sums of all values
// in a result do not overflow.
const largest = 1e300

// UnmarshalJSON accepts all JSON values.
func (v *value) UnmarshalJSON(raw []byte) error {
	f, err := strconv.ParseFloat(string(raw), 64)
	*v = value{}
	if err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
		*v = value{max(-largest, min(f, largest)), true}
	}
	return nil
}

// rowLabels replaces the special breakdown values by their displayed names.
var rowLabels = strings.NewReplacer("$$_posthog_breakdown_null_$$", "(none)", "$$_posthog_breakdown_other_$$", "(other)")

// clean prepares a text for display: on one line, with at most maxLen characters, and without
// invisible characters or characters that change the text direction.
func clean(s string, maxLen int) string {
	var b strings.Builder
	n := 0
	for _, c := range rowLabels.Replace(s[:min(len(s), 16*maxLen+64)]) {
		switch {
		case n == maxLen:
			b.WriteString("…")
			return b.String()
		case unicode.IsSpace(c):
			c = ' '
		case c == utf8.RuneError, !unicode.IsPrint(c):
			c = '\uFFFD'
		}
		b.WriteRune(c)
		n++
	}
	return b.String()
}

// escape escapes a text for element content, or for an attribute in double quotes.
func escape(s string) string { return html.EscapeString(s) }

// count formats an integer with separators.
func count(n int) string { return show(float64(n)) }

// show formats a number for display, with separators and at most two decimals.
func show(f float64) string { return showDigits(f, -1) }

// showDigits formats a number with at most the given number of decimals, or with the default
// number if digits is -1.
func showDigits(f float64, digits int) string {
	size := math.Abs(f)
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return "–"
	case digits < 0 && f == math.Trunc(f):
		digits = 0
	case digits < 0:
		digits = 2
	}
	s := strconv.FormatFloat(size, 'f', min(digits, 10), 64)
	if size >= 1e15 || size > 0 && size < 0.005 && digits == 2 {
		s = strconv.FormatFloat(size, 'g', 3, 64)
	}
	var b strings.Builder
	if f < 0 && strings.Trim(s, "0.") != "" {
		b.WriteString("−")
	}
	if strings.ContainsRune(s, 'e') {
		return b.String() + s
	}
	integer, fraction, _ := strings.Cut(s, ".")
	fraction = strings.TrimRight(fraction, "0")
	for i, c := range integer {
		if i > 0 && (len(integer)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	if fraction != "" {
		b.WriteString("." + fraction)
	}
	return b.String()
}

// short formats a number for an axis, with a unit prefix.
func short(f float64) string {
	for _, unit := range []struct {
		from float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if size := math.Abs(f); size >= unit.from && size < 1e15 {
			return show(f/unit.from) + unit.name
		}
	}
	return show(f)
}

// percent formats part as a percentage of total. It is empty if total is 0.
func percent(part, total float64) string {
	if total == 0 {
		return ""
	}
	return showDigits(math.Round(part/total*1000)/10, -1) + "%"
}

// seconds formats a duration in seconds.
func seconds(s float64) string {
	size := math.Abs(s)
	for _, unit := range []struct {
		from float64
		name string
	}{{86400, " d"}, {3600, " h"}, {60, " min"}} {
		if size >= unit.from {
			return showDigits(math.Round(s/unit.from*10)/10, -1) + unit.name
		}
	}
	return show(s) + " s"
}

// format is the number format of a trend.
type format struct {
	Display  text  `json:"display"`
	Kind     text  `json:"aggregationAxisFormat"`
	Prefix   text  `json:"aggregationAxisPrefix"`
	Postfix  text  `json:"aggregationAxisPostfix"`
	Decimals value `json:"decimalPlaces"`
}

const maxAffix = 12 // maximum length of a prefix or postfix, in characters

// number formats a number.
func (f *format) number(v float64) string {
	digits := -1
	if f.Decimals.ok {
		digits = max(0, min(int(f.Decimals.v), 10))
	}
	return f.withAffixes(v, func(v float64) string { return showDigits(v, digits) })
}

// tick formats a number for an axis.
func (f *format) tick(v float64) string { return f.withAffixes(v, short) }

// withAffixes formats a number with plain and adds the unit, prefix and postfix.
func (f *format) withAffixes(v float64, plain func(float64) string) string {
	var s string
	switch f.Kind {
	case "percentage":
		s = plain(v) + "%"
	case "percentage_scaled":
		s = plain(v*100) + "%"
	case "duration":
		s = seconds(v)
	case "duration_ms":
		s = seconds(v / 1000)
	default:
		s = plain(v)
	}
	return clean(string(f.Prefix), maxAffix) + s + clean(string(f.Postfix), maxAffix)
}
