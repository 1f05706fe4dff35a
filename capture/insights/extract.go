package insights

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/flags/wire"
)

// keys are the members of JSON objects that a query looks at.
type keys struct {
	names []string
	// quoted are the names as they stand in objects, none where some name has a
	// character that may be escaped, or there are more than fewKeys.
	quoted []string
}

// fewKeys is how many names are looked for by their text.
const fewKeys = 3

// slot is the place of a name's value in what extract fills.
func (k *keys) slot(name string) int {
	if i := slices.Index(k.names, name); i >= 0 {
		return i
	}
	if len(k.names) == len(k.quoted) {
		k.quoted = append(k.quoted, `"`+name+`"`)
	}
	if k.names = append(k.names, name); len(k.names) > fewKeys || !isPlainKey(name) {
		k.quoted = nil
	}
	return len(k.names) - 1
}

// isPlainKey says whether a name stands as it is in JSON without backslashes.
func isPlainKey(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) < 0
}

// extract finds the values of the names in a stored object, as JSON text; "" for
// one that is not there. No object at all has none.
func (k *keys) extract(object string, out []string) {
	if len(k.quoted) == 0 || strings.IndexByte(object, '\\') >= 0 {
		k.extractAll(object, out)
		return
	}
	for slot, quoted := range k.quoted {
		var ok bool
		if out[slot], ok = findQuoted(object, quoted); !ok {
			k.extractAll(object, out)
			return
		}
	}
}

// findQuoted is the value of an object's member whose name in quotes is given, by looking for
// that text. There is no backslash in the object. False where it is not certain.
func findQuoted(object, quoted string) (value string, ok bool) {
	// The quote in front is everywhere.
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

// isOutermost says whether what stands at a place of an object, which has no backslashes,
// is within no text and in nothing that opens before.
func isOutermost(object string, end int) bool {
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
		case quotes%2 == 1: // within a text
			i++
		default:
			if i = skipValue(object, i); i > end {
				return false
			}
		}
	}
}

// extractAll is extract by looking at one member after the other.
func (k *keys) extractAll(object string, out []string) {
	clear(out)
	remaining := len(k.names)
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

func (k *keys) find(name string) int {
	if strings.IndexByte(name, '\\') >= 0 {
		name = wire.Unquote(`"` + name + `"`)
	}
	for i, n := range k.names {
		if n == name {
			return i
		}
	}
	return -1
}

// isQuoted says whether a text has both its quotes.
func isQuoted(s string) bool { return len(s) > 1 && s[len(s)-1] == '"' }

func skipBlanks(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return i
}

// skipText is the place after the text that begins at i; stored JSON is well formed,
// what is not ends at the end.
func skipText(s string, i int) int {
	i++
	for {
		n := strings.IndexByte(s[i:], '"')
		if n < 0 {
			return len(s)
		}
		i += n + 1
		escapes := 0
		for j := i - 2; s[j] == '\\'; j-- {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}

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

// isMissing says whether a property's JSON text is no value: not there, or null.
func isMissing(raw string) bool { return raw == "" || raw == "null" }

// textOf is a property as text (§3.2.2), false for a missing one.
func textOf(raw string) (string, bool) {
	if isMissing(raw) {
		return "", false
	}
	switch raw[0] {
	case '"':
		if strings.IndexByte(raw, '\\') < 0 {
			return raw[1 : len(raw)-1], true
		}
		return wire.Unquote(raw), true
	case '{', '[':
		return hogql.Compact(raw), true
	case 't', 'f':
		return raw, true
	}
	return numberText(raw), true
}

// numberText is the shortest decimal form of a JSON number; whole ones keep their
// digits, so that those above 2^53 are what was sent.
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
	return formatNumber(f)
}

// formatNumber is the shortest decimal form of a number.
func formatNumber(f float64) string { return string(hogql.AppendFloat(nil, f)) }

// numberOf is a property as a number (§3.2.2): a JSON number, or a text that is
// wholly a decimal number.
func numberOf(raw string) (float64, bool) {
	if isMissing(raw) {
		return 0, false
	}
	if raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	if !isDecimal(raw) {
		return 0, false
	}
	f, err := strconv.ParseFloat(raw, 64)
	return f, err == nil
}

// isDecimal says whether a text is sign, digits, point and exponent.
func isDecimal(s string) bool {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	rest := strings.TrimLeft(s, "0123456789")
	digits := len(s) - len(rest)
	if strings.HasPrefix(rest, ".") {
		after := strings.TrimLeft(rest[1:], "0123456789")
		digits += len(rest) - 1 - len(after)
		rest = after
	}
	if digits == 0 {
		return false
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		rest = rest[1:]
		if rest != "" && (rest[0] == '-' || rest[0] == '+') {
			rest = rest[1:]
		}
		return rest != "" && strings.Trim(rest, "0123456789") == ""
	}
	return rest == ""
}
