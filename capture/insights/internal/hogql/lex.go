package hogql

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/wire"
)

// These are the limits of the text of a query.
const (
	maxTokens  = 10_000
	maxNesting = 50
	// maxText is the greatest length of a query in bytes (§2.9.5).
	maxText = 64 << 10
)

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokName
	tokQuoted // a name in backquotes or double quotes
	tokString
	tokNumber
	tokSign
	tokBad // err is the reason
)

// token is a word, a sign or a literal of a query.
type token struct {
	kind       tokenKind
	start, end int // offsets in bytes
	// text is a name in upper case, a sign, a number as written, or the content of a string
	// or quoted name.
	text string
	err  *Error
}

// signs are all signs. A sign must precede its own prefixes.
var signs = []string{
	"!~*", "=~*", "==", "!=", "<>", "<=", ">=", "=~", "!~", "||", "->",
	"=", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", "{", "}", ",", ".", "?", ":", ";",
}

// lex splits a text into tokens. The last token is tokEnd, or tokBad if there is an error.
//
// Names consist of letters, digits, _ and $; names in backquotes or double quotes may contain
// any character; strings are in single quotes. Comments begin with -- or are enclosed in /*
// and */.
func lex(text string) *source {
	s := &source{text: text}
	if len(text) > maxText {
		s.tokens = []token{{kind: tokBad, err: s.fault(TooLarge, 0, 0, fmt.Sprintf("A text may have %d bytes: this one ends too late", maxText), "")}}
		return s
	}
	for pos := 0; ; {
		t, next := s.next(pos)
		// The token after the last permitted one becomes an error.
		if t.kind != tokEnd && t.kind != tokBad && len(s.tokens) == maxTokens {
			t = token{kind: tokBad, start: t.start, end: t.end, err: s.fault(TooLarge, t.start, t.end, fmt.Sprintf("A query may have %d words and signs: it goes on", maxTokens), "")}
		}
		s.tokens = append(s.tokens, t)
		if t.kind == tokEnd || t.kind == tokBad {
			return s
		}
		pos = next
	}
}

// next returns the token at or after an offset, and the offset after it.
func (s *source) next(pos int) (token, int) {
	pos, bad := s.blank(pos)
	if bad != nil {
		return token{kind: tokBad, start: pos, end: pos, err: bad}, pos
	}
	if pos >= len(s.text) {
		return token{kind: tokEnd, start: pos, end: pos}, pos
	}
	c, size := utf8.DecodeRuneInString(s.text[pos:])
	var t token
	switch {
	case c == '\'':
		t = s.str(pos)
	case c == '`' || c == '"':
		t = s.quotedName(pos, byte(c))
	case isLetter(c):
		end := pos
		for end < len(s.text) {
			c, n := utf8.DecodeRuneInString(s.text[end:])
			if !isLetter(c) && !unicode.IsDigit(c) {
				break
			}
			end += n
		}
		t = token{kind: tokName, end: end, text: strings.ToUpper(s.text[pos:end])}
	case c >= '0' && c <= '9':
		end := s.number(pos)
		t = token{kind: tokNumber, end: end, text: s.text[pos:end]}
	default:
		t = s.sign(pos, size)
	}
	t.start = pos
	return t, t.end
}

// isLetter reports whether a character may begin a name.
func isLetter(c rune) bool { return c == '_' || c == '$' || unicode.IsLetter(c) }

// blank skips white space and comments.
func (s *source) blank(pos int) (int, *Error) {
	for pos < len(s.text) {
		rest := s.text[pos:]
		c, n := utf8.DecodeRuneInString(rest)
		switch {
		case unicode.IsSpace(c):
			pos += n
		case strings.HasPrefix(rest, "--"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			pos += end
		case strings.HasPrefix(rest, "/*"):
			_, after, closed := strings.Cut(rest[2:], "*/")
			if !closed {
				return pos, s.fault(SyntaxError, pos, pos+2, `Unexpected "/*"`, ": expected */ behind it")
			}
			pos += len(rest) - len(after)
		default:
			return pos, nil
		}
	}
	return pos, nil
}

// sign returns the sign at pos, or a bad token.
func (s *source) sign(pos, size int) token {
	for _, sign := range signs {
		if strings.HasPrefix(s.text[pos:], sign) {
			return token{kind: tokSign, end: pos + len(sign), text: sign}
		}
	}
	word := s.text[pos : pos+size]
	return token{kind: tokBad, end: pos + size, err: s.fault(SyntaxError, pos, pos+size, "Unexpected "+quoted(strings.ToValidUTF8(word, "\uFFFD")), ": expected a name, a value or an operator")}
}

// number returns the end of the number at pos. A number after a dot is a position in a tuple,
// so it has no fraction.
//
// It accepts an optional fraction and exponent. A sign is not part of the number; see
// parser.unary.
func (s *source) number(pos int) int {
	digits := func(at int) int {
		for at < len(s.text) && s.text[at] >= '0' && s.text[at] <= '9' {
			at++
		}
		return at
	}
	end := digits(pos)
	// In t.1.2 each number is a position of its own.
	if n := len(s.tokens); n > 0 && s.tokens[n-1].text == "." && s.tokens[n-1].kind == tokSign {
		return end
	}
	if end < len(s.text) && s.text[end] == '.' && digits(end+1) > end+1 {
		end = digits(end + 1)
	}
	if end < len(s.text) && (s.text[end] == 'e' || s.text[end] == 'E') {
		at := end + 1
		if at < len(s.text) && (s.text[at] == '+' || s.text[at] == '-') {
			at++
		}
		if digits(at) > at {
			end = digits(at)
		}
	}
	return end
}

// str reads a string. Unknown escapes are not changed, so that backslashes in patterns need
// not be doubled.
//
// A quote inside of a string is written as two quotes, or with a backslash.
func (s *source) str(pos int) token {
	var b strings.Builder
	for i := pos + 1; i < len(s.text); {
		c := s.text[i]
		switch {
		case c == '\'' && strings.HasPrefix(s.text[i:], "''"):
			b.WriteByte('\'')
			i += 2
		case c == '\'':
			return token{kind: tokString, end: i + 1, text: b.String()}
		case c == '\\' && i+1 < len(s.text):
			i += escape(&b, s.text[i+1:])
		default:
			b.WriteByte(c)
			i++
		}
	}
	return token{kind: tokBad, end: pos + 1, err: s.fault(SyntaxError, pos, pos+1, `Unexpected "'"`, ": expected a closing quote behind it")}
}

// escapes are the characters after a backslash, and the characters that they represent.
var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', 'a': '\a', 'v': '\v', '0': 0, '\\': '\\', '\'': '\'', '"': '"', '`': '`', '/': '/', '=': '='}

// escape writes the character that an escape represents, and returns the length of the
// escape. rest is the text after the backslash.
func escape(b *strings.Builder, rest string) int {
	if c, ok := escapes[rest[0]]; ok {
		b.WriteByte(c)
		return 2
	}
	if rest[0] == 'x' && len(rest) >= 3 {
		if high, low := wire.HexDigit(rest[1]), wire.HexDigit(rest[2]); high >= 0 && low >= 0 {
			b.WriteRune(rune(high<<4 | low)) // strings consist of characters, not bytes
			return 4
		}
	}
	b.WriteByte('\\')
	return 1
}

// quotedName reads a name in quotes. A doubled quote represents the quote itself.
func (s *source) quotedName(pos int, quote byte) token {
	var b strings.Builder
	for i := pos + 1; i < len(s.text); i++ {
		if s.text[i] != quote {
			b.WriteByte(s.text[i])
			continue
		}
		if i+1 < len(s.text) && s.text[i+1] == quote {
			b.WriteByte(quote)
			i++
			continue
		}
		return token{kind: tokQuoted, end: i + 1, text: b.String()}
	}
	return token{kind: tokBad, end: pos + 1, err: s.fault(SyntaxError, pos, pos+1, "Unexpected "+quoted(string(quote)), ": expected a closing quote behind it")}
}

// word returns a part of the text without comments, and with white space reduced to single
// spaces.
func (s *source) word(start, end int) string {
	var b strings.Builder
	last := -1
	for _, t := range s.tokens {
		if t.start < start || t.end > end || t.kind == tokEnd {
			continue
		}
		if last >= 0 && t.start > last {
			b.WriteByte(' ')
		}
		b.WriteString(s.text[t.start:t.end])
		last = t.end
	}
	return b.String()
}

// source is a text and its tokens. Nodes refer to it.
type source struct {
	text   string
	tokens []token
}

// fault returns an error about the bytes from start to end. The message is head, the position
// and tail.
func (s *source) fault(code string, start, end int, head, tail string) *Error {
	start = min(start, len(s.text))
	end = max(start, min(end, len(s.text)))
	before := s.text[:start]
	e := &Error{In: s.text, Code: code, Line: 1 + strings.Count(before, "\n")}
	e.Column = 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	e.Start = utf8.RuneCountInString(before)
	e.End = e.Start + utf8.RuneCountInString(s.text[start:end])
	e.Text = fmt.Sprintf("%s at line %d, column %d%s", head, e.Line, e.Column, tail)
	return e
}
