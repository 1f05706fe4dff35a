package management

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management/internal/plain"
)

// readText reads a string or a number, trims spaces, and checks the length.
func readText(f *Field, raw json.RawMessage, kind string) (any, error) {
	var text string
	switch kind {
	case "str":
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, Fault(f.Name, "Not a valid string.")
		}
	case "int", "float":
		text = string(raw)
	default:
		return nil, Fault(f.Name, "Not a valid string.")
	}
	if strings.ContainsRune(text, 0) {
		return nil, CodedFault("null_characters_not_allowed", f.Name, "Null characters are not allowed.")
	}
	text = strings.TrimSpace(text)
	if text == "" && !f.Blank {
		return nil, CodedFault(codeBlank, f.Name, "This field may not be blank.")
	}
	if f.MaxLength > 0 && utf8.RuneCountInString(text) > f.MaxLength {
		return nil, CodedFault(CodeMaxLength, f.Name, "Ensure this field has no more than %d characters.", f.MaxLength)
	}
	return text, nil
}

// readEmail preserves the case of the local part and lowers that of the domain (§4.5).
func readEmail(f *Field, raw json.RawMessage, kind string) (any, error) {
	v, err := readText(f, raw, kind)
	if err != nil || v == "" {
		return v, err
	}
	text := v.(string)
	if utf8.RuneCountInString(text) > plain.MaxEmail {
		return nil, CodedFault(CodeMaxLength, f.Name, "Ensure this field has no more than %d characters.", plain.MaxEmail)
	}
	out, ok := plain.NormalizeEmail(text)
	if !ok {
		return nil, Fault(f.Name, "Enter a valid email address.")
	}
	return out, nil
}

// readURL accepts absolute http and https URLs.
func readURL(f *Field, raw json.RawMessage, kind string) (any, error) {
	v, err := readText(f, raw, kind)
	if err != nil || v == "" {
		return v, err
	}
	u, err := url.Parse(v.(string))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, Fault(f.Name, "Enter a valid URL.")
	}
	return v, nil
}

func readUUID(f *Field, raw json.RawMessage, kind string) (any, error) {
	var text string
	if kind != "str" || json.Unmarshal(raw, &text) != nil {
		return nil, Fault(f.Name, "Must be a valid UUID.")
	}
	id, ok := NormalizeUUID(text)
	if !ok {
		return nil, Fault(f.Name, "Must be a valid UUID.")
	}
	return id, nil
}

// NormalizeUUID returns a UUID with dashes and in lower case, or false if text is no UUID. It
// accepts the forms without dashes, in braces, and with the prefix urn:uuid:.
func NormalizeUUID(text string) (string, bool) {
	text = strings.ToLower(strings.Trim(strings.TrimPrefix(strings.ToLower(text), "urn:uuid:"), "{}"))
	id, ok := wire.ParseUUID(text)
	if !ok || len(text) > 36 {
		return "", false
	}
	return id.String(), true
}

// readChoice also accepts a number or boolean whose JSON is one of the choices.
func readChoice(f *Field, raw json.RawMessage, kind string) (any, error) {
	var text string
	if kind == "str" {
		_ = json.Unmarshal(raw, &text) // on failure text is empty, which is not a choice
	} else {
		text = string(raw)
	}
	if text == "" && f.Blank || slices.Contains(f.Choices, text) {
		return text, nil
	}
	return nil, NotAChoice(f.Name, text, f.Choices)
}

// NotAChoice returns the error for a value that is not one of the choices, which it lists. The
// first sentence of the message is that of §2.2.
func NotAChoice(field, got string, choices []string) *Error {
	return CodedFault(codeInvalidChoice, field, "%q is not a valid choice. Valid choices: %s.", plain.ShortText(got), strings.Join(choices, ", "))
}

func readInt(f *Field, raw json.RawMessage, kind string) (any, error) {
	n, ok := plain.Integer(raw, kind)
	switch {
	case !ok:
		return nil, Fault(f.Name, "A valid integer is required.")
	case f.MaxValue != 0 && n < f.MinValue:
		return nil, CodedFault(CodeMinValue, f.Name, "Ensure this value is greater than or equal to %d.", f.MinValue)
	case f.MaxValue != 0 && n > f.MaxValue:
		return nil, CodedFault(codeMaxValue, f.Name, "Ensure this value is less than or equal to %d.", f.MaxValue)
	}
	return n, nil
}

// readIntChoice reads an integer that must be one of the field's Numbers.
func readIntChoice(f *Field, raw json.RawMessage, kind string) (any, error) {
	if n, ok := plain.Integer(raw, kind); ok && slices.Contains(f.Numbers, n) {
		return n, nil
	}
	choices := make([]string, len(f.Numbers))
	for i, n := range f.Numbers {
		choices[i] = strconv.FormatInt(n, 10)
	}
	return nil, NotAChoice(f.Name, strings.Trim(string(raw), `"`), choices)
}

// booleans are the words of ReadBool, in lower case.
var booleans = map[string]bool{
	"true": true, "t": true, "yes": true, "y": true, "on": true, "1": true,
	"false": false, "f": false, "no": false, "n": false, "off": false, "0": false,
}

// ReadBool reads the value of a field of type Bool.
func ReadBool(f *Field, raw json.RawMessage, kind string) (any, error) {
	text := string(raw)
	if kind == "str" {
		_ = json.Unmarshal(raw, &text) // on failure text is empty, which is not a boolean
	}
	if b, ok := booleans[strings.ToLower(text)]; ok && kind != "dict" && kind != "list" {
		return b, nil
	}
	return nil, Fault(f.Name, "Must be a valid boolean.")
}

func readTime(f *Field, raw json.RawMessage, kind string) (any, error) {
	var text string
	if kind == "str" {
		_ = json.Unmarshal(raw, &text) // on failure text is empty, which is not a time
	}
	if at, ok := plain.ParseTime(text); ok {
		return at, nil
	}
	return nil, Fault(f.Name, plain.BadTime)
}

// NotATimezone returns the error for an unknown time zone.
func NotATimezone(name string) *Error {
	return CodedFault(codeInvalidChoice, "timezone", "%q is not a valid choice. Give a name of the IANA time zone database, such as Europe/Oslo.", plain.ShortText(name))
}

// AddMonths returns the time n months after t at the same time of day in t's location; n may be
// negative. If the month is too short, it is the last day of that month: one month after 31 October
// is 30 November.
func AddMonths(t time.Time, n int) time.Time {
	year, month, day := t.Date()
	last := time.Date(year, month+time.Month(n)+1, 0, 0, 0, 0, 0, time.UTC)
	return time.Date(last.Year(), last.Month(), min(day, last.Day()), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
}
