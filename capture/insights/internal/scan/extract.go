package scan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/capture/jsontext"
)

// Keys are the names of the members of JSON objects that a query reads. The index of a name is its
// slot.
type Keys struct {
	Names []string
	// quoted are the names in quotes, for the fast path; empty for a name with a character that JSON may
	// escape.
	quoted []string
}

// fewKeys is the maximum number of names for which the text of an object is searched.
const fewKeys = 3

// Slot returns the index at which extract stores the value of a name, and adds the name if it is
// new.
func (k *Keys) Slot(name string) int {
	if i := slices.Index(k.Names, name); i >= 0 {
		return i
	}
	quoted := ""
	if isPlainKey(name) {
		quoted = `"` + name + `"`
	}
	k.Names, k.quoted = append(k.Names, name), append(k.quoted, quoted)
	return len(k.Names) - 1
}

// isPlainKey reports whether a name is written unchanged in JSON that has no backslashes.
func isPlainKey(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) < 0
}

// Extract stores the values of the names in out, as JSON text, or "" for a name that does not
// exist. If object is not a JSON object, all values are "". Values are substrings of object.
func (k *Keys) Extract(object string, out []string) {
	m := members{keys: k, values: out}
	for slot := range k.Names {
		m.get(object, slot)
	}
}

// members are the values of an object that have been read. Most objects have dozens of members, of
// which a query reads one or two: these are found by searching the text.
type members struct {
	keys   *Keys
	values []string
	// found are the first slots with a value that was searched for, isRead is true if the object has been
	// looked at, and isComplete if all slots have their values.
	found              [fewKeys]int
	count              int
	isRead, isComplete bool
}

// newMembers returns the values of no object yet.
func newMembers(k *Keys) members { return members{keys: k, values: make([]string, len(k.Names))} }

// reset prepares for another object.
func (m *members) reset() { m.count, m.isRead, m.isComplete = 0, false, false }

// get returns the value of a slot of the object.
func (m *members) get(object string, slot int) string {
	if !m.isRead {
		m.isRead = true
		if strings.IndexByte(object, '\\') >= 0 {
			m.complete(object)
		}
	}
	if m.isComplete || slices.Contains(m.found[:m.count], slot) {
		return m.values[slot]
	}
	if quoted := m.keys.quotedAt(slot); quoted != "" && m.count < fewKeys {
		if value, ok := findQuoted(object, quoted); ok {
			m.found[m.count], m.values[slot] = slot, value
			m.count++
			return value
		}
	}
	m.complete(object)
	return m.values[slot]
}

// complete reads the values of all slots.
func (m *members) complete(object string) {
	m.keys.extractAll(object, m.values)
	m.isComplete = true
}

// quotedAt returns the name of a slot in quotes, or "" if the text of objects cannot be searched for it.
func (k *Keys) quotedAt(slot int) string {
	if slot < len(k.quoted) {
		return k.quoted[slot]
	}
	return ""
}

// findQuoted returns the value of the member with a name by searching for the name in quotes. The
// object must have no backslashes. ok is false if the search is ambiguous, for example if the first
// match is within a string or a nested object.
func findQuoted(object, quoted string) (value string, ok bool) {
	// Search without the opening quote: a quote occurs everywhere, so that the search would stop
	// too often.
	at := strings.Index(object, quoted[1:]) - 1
	if at == -2 {
		return "", true
	}
	if at < 1 || object[at] != '"' || object[0] != '{' || !isOutermost(object, at) {
		return "", false
	}
	i := skipBlanks(object, at+len(quoted))
	if i >= len(object) || object[i] != ':' {
		return "", false
	}
	i = skipBlanks(object, i+1)
	value = object[i:skipValue(object, i)]
	return value, value != "" && (value[0] != '"' || isQuoted(value))
}

// isOutermost reports whether the position end of an object is neither within a string nor within a
// nested value. The object must have no backslashes.
func isOutermost(object string, end int) bool {
	// Continue at the next bracket or brace, and count the quotes before it: if their number is
	// odd, the bracket is within a string.
	quotes := 0
	for i := 1; ; {
		open := strings.IndexByte(object[i:end], '[')
		if open < 0 {
			open = end - i
		}
		if brace := strings.IndexByte(object[i:i+open], '{'); brace >= 0 {
			open = brace
		}
		quotes += strings.Count(object[i:i+open], `"`)
		switch i += open; {
		case i == end:
			return quotes%2 == 0
		case quotes%2 == 1: // within a string
			i++
		default:
			if i = skipValue(object, i); i > end {
				return false
			}
		}
	}
}

// extractAll is extract without the fast path: it goes through the members one by one.
func (k *Keys) extractAll(object string, out []string) {
	clear(out)
	// remaining is used to stop after the last name.
	remaining := len(k.Names)
	i := skipBlanks(object, 0)
	if i >= len(object) || object[i] != '{' {
		return
	}
	i = skipBlanks(object, i+1)
	for remaining > 0 && i < len(object) && object[i] == '"' {
		end := skipText(object, i)
		if !isQuoted(object[i:end]) {
			return
		}
		name := object[i+1 : end-1]
		i = skipBlanks(object, end)
		if i >= len(object) || object[i] != ':' {
			return
		}
		from := skipBlanks(object, i+1)
		i = skipValue(object, from)
		if from < len(object) && object[from] == '"' && !isQuoted(object[from:i]) {
			return
		}
		if slot := k.find(name); slot >= 0 {
			out[slot] = object[from:i]
			remaining--
		}
		i = skipBlanks(object, i)
		if i < len(object) && object[i] == ',' {
			i = skipBlanks(object, i+1)
		}
	}
}

// find returns the slot of a name as it is written in the object, -1 if the query does not read it.
func (k *Keys) find(name string) int {
	if strings.IndexByte(name, '\\') >= 0 {
		name = jsontext.Unquote(`"` + name + `"`)
	}
	for i, n := range k.Names {
		if n == name {
			return i
		}
	}
	return -1
}

// isQuoted reports whether a token that begins with a quote also ends with one.
func isQuoted(s string) bool { return len(s) > 1 && s[len(s)-1] == '"' }

// skipBlanks returns the index of the first character at or after i that is not JSON white space.
func skipBlanks(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return i
}

// skipText returns the index after the string that begins at i, or the end of s if the string is
// not closed. Stored JSON is well-formed, so that is not expected.
func skipText(s string, i int) int {
	i++
	for {
		n := strings.IndexByte(s[i:], '"')
		if n < 0 {
			return len(s)
		}
		i += n + 1
		// The quote is escaped if an odd number of backslashes precedes it.
		escapes := 0
		for j := i - 2; s[j] == '\\'; j-- {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}

// skipValue returns the index after the value that begins at i.
func skipValue(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '"':
			i = skipText(s, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// Text returns a property as a string (§3.2.2), and false if it is missing. raw must be JSON
// text, or "".
func Text(raw string) (string, bool) {
	if document.IsMissing(raw) {
		return "", false
	}
	switch raw[0] {
	case '"':
		if strings.IndexByte(raw, '\\') < 0 {
			return raw[1 : len(raw)-1], true
		}
		return jsontext.Unquote(raw), true
	case '{', '[':
		return hogql.Compact(raw), true
	case 't', 'f':
		return raw, true
	}
	return numberText(raw), true
}

// numberText returns a JSON number in its shortest decimal form. Integers are returned unchanged,
// so that integers above 2^53 keep all their digits.
func numberText(raw string) string {
	digits := raw
	if raw[0] == '-' {
		digits = raw[1:]
	}
	if len(digits) <= 20 && strings.Trim(digits, "0123456789") == "" && digits != "0" {
		return raw
	}
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return raw
	}
	return FormatNumber(f)
}

// FormatNumber returns the shortest decimal form of a number.
func FormatNumber(f float64) string { return string(hogql.AppendFloat(nil, f)) }
