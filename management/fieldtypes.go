package management

import (
	"encoding/json"
	"math"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/wire"
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

// MaxEmail is the greatest length of an e-mail address, in characters (§4.5).
const MaxEmail = 254

// readEmail preserves the case of the local part and lowers that of the domain (§4.5).
func readEmail(f *Field, raw json.RawMessage, kind string) (any, error) {
	v, err := readText(f, raw, kind)
	if err != nil || v == "" {
		return v, err
	}
	text := v.(string)
	if utf8.RuneCountInString(text) > MaxEmail {
		return nil, CodedFault(CodeMaxLength, f.Name, "Ensure this field has no more than %d characters.", MaxEmail)
	}
	out, ok := NormalizeEmail(text)
	if !ok {
		return nil, Fault(f.Name, "Enter a valid email address.")
	}
	return out, nil
}

// NormalizeEmail returns an address with its domain in lower case, or false if it is invalid. It
// refuses invisible characters and full-width forms, with which two different addresses could look
// the same.
func NormalizeEmail(text string) (string, bool) {
	if strings.ContainsFunc(text, isMisleading) {
		return "", false
	}
	at := strings.LastIndexByte(text, '@')
	if at < 1 || at > 64 || strings.ContainsAny(text, " \t\r\n\"(),:;<>[]\\") {
		return "", false
	}
	if parsed, err := mail.ParseAddress(text); err != nil || parsed.Address != text || parsed.Name != "" {
		return "", false
	}
	domain := strings.ToLower(text[at+1:])
	if domain != "localhost" && (!strings.Contains(domain, ".") || strings.Trim(domain, ".-") != domain) {
		return "", false
	}
	return text[:at+1] + domain, true
}

// isMisleading reports whether a character is invisible or easily mistaken for another: unprintable
// characters, printable fillers and joiners, unusual spaces, marks that change the character before
// them, and full-width and half-width forms of letters and signs.
func isMisleading(r rune) bool {
	switch {
	case r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x2800, r == 0x034f: // letters and signs without an image
		return true
	case 0xff00 <= r && r <= 0xffef, 0xfe00 <= r && r <= 0xfe0f, 0xfe50 <= r && r <= 0xfe6f, r == 0x3002: // widths, variants, other dots
		return true
	}
	return !unicode.IsPrint(r) || r > unicode.MaxLatin1 && unicode.IsSpace(r)
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
	return CodedFault(codeInvalidChoice, field, "%q is not a valid choice. Valid choices: %s.", ShortText(got), strings.Join(choices, ", "))
}

// Integer reads an integer from a JSON number or string. Floats must be integral and below 2^53.
func Integer(raw json.RawMessage, kind string) (int64, bool) {
	text := string(raw)
	switch kind {
	case "str":
		if json.Unmarshal(raw, &text) != nil {
			return 0, false
		}
		text = strings.TrimSpace(text)
	case "int", "float":
	default:
		return 0, false
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return int64(x), true
	}
	return 0, false
}

func readInt(f *Field, raw json.RawMessage, kind string) (any, error) {
	n, ok := Integer(raw, kind)
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
	if n, ok := Integer(raw, kind); ok && slices.Contains(f.Numbers, n) {
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

// timeForms are the layouts of ParseTime, in the order in which it tries them.
var timeForms = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04"}

// BadTime is the message for a value that is not a valid time.
const BadTime = "Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]."

func readTime(f *Field, raw json.RawMessage, kind string) (any, error) {
	var text string
	if kind == "str" {
		_ = json.Unmarshal(raw, &text) // on failure text is empty, which is not a time
	}
	if at, ok := ParseTime(text); ok {
		return at, nil
	}
	return nil, Fault(f.Name, BadTime)
}

// ParseTime reads an ISO 8601 time, in UTC if it has no zone, cut to microseconds. It returns false
// if text is not such a time.
func ParseTime(text string) (time.Time, bool) {
	for _, form := range timeForms {
		if at, err := time.Parse(form, text); err == nil && at.Year() > 0 {
			return at.UTC().Truncate(time.Microsecond), true
		}
	}
	return time.Time{}, false
}

// QueryTime reads a date or a time of a query string, in which a plus sign is decoded as a space. It
// returns false if text is neither.
func QueryTime(text string) (time.Time, bool) {
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, true
	}
	if at, ok := ParseTime(text); ok {
		return at, true
	}
	return ParseTime(strings.Replace(text, " ", "+", 1))
}

// maxQuoted is the greatest length of request text in messages of errors, in bytes.
const maxQuoted = 200

// ShortText cuts text to the length that messages of errors may quote.
func ShortText(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoted], "") + "…"
}

// NotATimezone returns the error for an unknown time zone.
func NotATimezone(name string) *Error {
	return CodedFault(codeInvalidChoice, "timezone", "%q is not a valid choice. Give a name of the IANA time zone database, such as Europe/Oslo.", ShortText(name))
}

// AddMonths returns the time n months after t at the same time of day in t's location; n may be
// negative. If the month is too short, it is the last day of that month: one month after 31 October
// is 30 November.
func AddMonths(t time.Time, n int) time.Time {
	year, month, day := t.Date()
	last := time.Date(year, month+time.Month(n)+1, 0, 0, 0, 0, 0, time.UTC)
	return time.Date(last.Year(), last.Month(), min(day, last.Day()), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
}
