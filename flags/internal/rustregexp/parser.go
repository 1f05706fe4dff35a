package rustregexp

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// maxGroups is the maximum depth of nested groups (fancy_regex refuses the 64th level).
const maxGroups = 63

// syntaxError is an error at a byte offset of a pattern, counted from 0.
type syntaxError struct {
	pos int
	msg string
}

// Error implements error.
func (e *syntaxError) Error() string {
	return fmt.Sprintf("pattern: position %d: %s", e.pos, e.msg)
}

// parseFlags are the inline flags that affect parsing; (?u) is always on.
type parseFlags struct{ fold, multiLine, dotAll, swapGreed, verbose, crlf bool }

// parser is the state of parsing one pattern. pos is the byte offset of the next character.
type parser struct {
	src     string
	pos     int
	depth   int
	flags   parseFlags
	groups  int            // capture groups opened so far
	names   map[string]int // group by name
	numeric bool           // there is a reference to a group by number
	refs    []groupRef
	sets    map[propertyName]runeSet // computed once for a pattern
	work    int                      // see maxSetWork
}

// groupRef is a reference to a group. It is checked after all groups have been read.
type groupRef struct{ group, pos int }

// errorf returns a syntaxError at a byte offset.
func (p *parser) errorf(pos int, format string, args ...any) error {
	return &syntaxError{pos, fmt.Sprintf(format, args...)}
}

// atEnd reports whether the whole pattern has been read.
func (p *parser) atEnd() bool { return p.pos >= len(p.src) }

// hasPrefix reports whether the rest of the pattern begins with prefix.
func (p *parser) hasPrefix(prefix string) bool {
	return strings.HasPrefix(p.src[p.pos:], prefix)
}

// accept skips prefix if the rest of the pattern begins with it.
func (p *parser) accept(prefix string) bool {
	if !p.hasPrefix(prefix) {
		return false
	}
	p.pos += len(prefix)
	return true
}

// skipBlanks skips (?#comments) and, in verbose mode, white space and # comments.
func (p *parser) skipBlanks() error {
	for !p.atEnd() {
		switch c := p.src[p.pos]; {
		case p.flags.verbose && c == '#':
			if i := strings.IndexByte(p.src[p.pos:], '\n'); i >= 0 {
				p.pos += i + 1
			} else {
				p.pos = len(p.src)
			}
		case p.flags.verbose && strings.IndexByte(" \r\n\t", c) >= 0:
			p.pos++
		case p.hasPrefix("(?#"):
			start := p.pos
			for p.pos += len("(?#"); ; p.pos++ {
				if p.atEnd() {
					return p.errorf(start, "unclosed comment")
				}
				// A backslash escapes the next character of a comment.
				if p.src[p.pos] == '\\' {
					p.pos++
				} else if p.src[p.pos] == ')' {
					p.pos++
					break
				}
			}
		default:
			return nil
		}
	}
	return nil
}

// decimal reads digits that fit 64 bits. It reduces numbers beyond maxSize to maxSize, so that no
// sum overflows; the size limit refuses them later, like the original number.
func (p *parser) decimal() (int, bool) {
	end := p.pos
	for end < len(p.src) && '0' <= p.src[end] && p.src[end] <= '9' {
		end++
	}
	n, err := strconv.ParseUint(p.src[p.pos:end], 10, 64)
	if err != nil {
		return 0, false
	}
	p.pos = end
	return int(min(n, maxSize)), true
}

// isNameRune reports whether r may appear in a group name (letters, numbers, "_").
func isNameRune(r rune) bool {
	return r == '_' || unicode.In(r, unicode.L, unicode.N, unicode.Other_Alphabetic)
}

// propertyName is a property as written in a pattern, with the flags and \P that change its
// meaning.
type propertyName struct {
	name          string
	fold, negated bool
}
