package flags

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/internal/rustregexp"
)

// matcher compares a property that is there with a prepared value.
type matcher interface {
	match(f *fact, r *reader) verdict
	// operand is the value as traces show it.
	operand(r *reader) any
}

// preparation is what values are prepared with, once for all flags.
type preparation struct {
	matchingVersion int
	zone            *time.Location // the project's
	patterns        map[string]*compiledPattern
	buf             []byte // for texts on their way
}

type compiledPattern struct {
	p   *rustregexp.Pattern
	err error
}

func (p *preparation) pattern(text string) (*rustregexp.Pattern, error) {
	if known, ok := p.patterns[text]; ok {
		return known.p, known.err
	}
	pattern, err := rustregexp.Compile(text)
	p.patterns[text] = &compiledPattern{pattern, err}
	return pattern, err
}

func newPreparation(zone *time.Location, matchingVersion int) *preparation {
	if zone == nil {
		zone = time.UTC
	}
	return &preparation{matchingVersion: max(matchingVersion, 1), zone: zone, patterns: map[string]*compiledPattern{}}
}

// prepare makes an operator and a value into a matcher; lists says that they mean what they
// do outside of flags. Without a matcher, problem says why nothing can match.
func (p *preparation) prepare(op *operator, value any, lists bool) (m matcher, problem string) {
	value = normalize(value)
	if list, ok := value.([]any); ok && lists {
		if op.any != nil {
			return op.any(p, list)
		}
		if op.strict && len(list) == 1 {
			if _, nested := list[0].([]any); !nested {
				value = list[0]
			}
		}
	}
	return op.compile(p, value)
}

const tooDeep = "the value is nested too deeply"

type always verdict

func (m always) match(*fact, *reader) verdict { return verdict(m) }

func (m always) matchText(string) verdict    { return verdict(m) }
func (m always) matchNumber(float64) verdict { return verdict(m) }

func (always) operand(*reader) any { return nil }

func present(v verdict) func(*preparation, any) (matcher, string) {
	return func(*preparation, any) (matcher, string) { return always(v), "" }
}

// exactly compiles exact and is_not (§4.6).
func exactly(p *preparation, v any) (matcher, string) {
	list, isList := v.([]any)
	if boolean := booleanLike(v); boolean && (p.matchingVersion != 2 || isList && len(list) == 0) {
		return isTruthy(truthy(v)), ""
	}
	if !isList {
		return p.equalText(v)
	}
	if len(list) == 1 {
		return p.equalText(list[0])
	}
	set := p.lowered(list)
	if len(set) > 8 {
		return newOneOfMany(set), ""
	}
	return oneOf(set), ""
}

func (p *preparation) equalText(v any) (matcher, string) {
	var ok bool
	if p.buf, ok = appendLowerText(p.buf[:0], v); !ok {
		return nil, tooDeep
	}
	return equalTo(p.buf), ""
}

// lowered are the texts of values in lower case, in one piece of memory. Those that have
// none are left out.
func (p *preparation) lowered(list []any) []string {
	var room [64]int
	ends, ok := room[:0], false
	p.buf = p.buf[:0]
	for _, item := range list {
		if p.buf, ok = appendLowerText(p.buf, item); ok {
			ends = append(ends, len(p.buf))
		}
	}
	all, from := string(p.buf), 0
	texts := make([]string, len(ends))
	for i, end := range ends {
		texts[i], from = all[from:end], end
	}
	return texts
}

// appendLowerText appends the lower-case form of the text of a value (§4.2).
func appendLowerText(dst []byte, v any) ([]byte, bool) {
	if s, ok := v.(string); ok {
		return appendLower(dst, s), true
	}
	text, ok := appendText(nil, v)
	if !ok {
		return dst, false
	}
	return appendLower(dst, string(text)), true
}

// booleanLike is rule 1 of §4.6: a boolean, "true" or "false" in any case, or
// an array of nothing else, the empty one included.
func booleanLike(v any) bool {
	switch v := v.(type) {
	case bool:
		return true
	case string:
		return equalLower(v, "true") || equalLower(v, "false")
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !booleanLike(item) })
	}
	return false
}

func truthy(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case string:
		return equalLower(v, "true")
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !truthy(item) })
	}
	return false
}

type isTruthy bool

func (m isTruthy) match(f *fact, _ *reader) verdict { return is(truthy(f.value) == bool(m)) }

func (m isTruthy) matchText(s string) verdict  { return is(equalLower(s, "true") == bool(m)) }
func (m isTruthy) matchNumber(float64) verdict { return is(!bool(m)) }

func (m isTruthy) operand(*reader) any { return bool(m) }

type equalTo string

func (m equalTo) match(f *fact, r *reader) verdict {
	text, ok := r.text(f)
	return is(ok && equalLower(text, string(m)))
}

func (m equalTo) matchText(s string) verdict { return is(equalLower(s, string(m))) }
func (equalTo) matchNumber(float64) verdict  { return unknown }

func (m equalTo) operand(*reader) any { return string(m) }

type oneOf []string

func (m oneOf) match(f *fact, r *reader) verdict {
	text, ok := r.text(f)
	if !ok {
		return no
	}
	return m.matchText(text)
}

func (m oneOf) matchText(text string) verdict {
	for _, s := range m {
		if equalLower(text, s) {
			return yes
		}
	}
	return no
}

func (oneOf) matchNumber(float64) verdict { return unknown }

func (m oneOf) operand(*reader) any { return anyList(m) }

// oneOfMany is a long list of texts in lower case. Most texts that are not in it are
// known by their first byte.
type oneOfMany struct {
	texts  []string
	starts [utf8.RuneSelf + 1]bool
	// slots are a hash table of places in texts, from 1 on; 0 is a free one. They are a
	// power of two, and at least half of them are free.
	slots []uint32
}

func newOneOfMany(texts []string) *oneOfMany {
	m := &oneOfMany{texts: texts, slots: make([]uint32, 1<<bits.Len(uint(2*len(texts)-1)))}
	for i, s := range texts {
		m.starts[startOf(s)] = true
		at := maphash.String(contentSeed, s)
		for m.slots[m.slot(at)] != 0 {
			at++
		}
		m.slots[m.slot(at)] = uint32(i + 1)
	}
	return m
}

func (m *oneOfMany) slot(at uint64) uint64 { return at & uint64(len(m.slots)-1) }

func (m *oneOfMany) has(lowered []byte) bool {
	for at := maphash.Bytes(contentSeed, lowered); ; at++ {
		i := m.slots[m.slot(at)]
		if i == 0 || m.texts[i-1] == string(lowered) {
			return i != 0
		}
	}
}

// startOf is the first byte of a lowered text when that is ASCII; all other
// texts, the empty one included, share a place.
func startOf(lowered string) byte {
	if lowered == "" || lowered[0] >= utf8.RuneSelf {
		return utf8.RuneSelf
	}
	return lowered[0]
}

func (m *oneOfMany) match(f *fact, r *reader) verdict {
	text, ok := r.text(f)
	if !ok {
		return no
	}
	return m.matchText(text)
}

func (m *oneOfMany) matchText(text string) verdict {
	if text != "" && text[0] < utf8.RuneSelf && !m.starts[asciiFold[text[0]]] {
		return no
	}
	var room [128]byte
	if len(text) > len(room)/longestLower {
		return oneOf(m.texts).matchText(text)
	}
	return is(m.has(appendLower(room[:0], text)))
}

// longestLower is how many bytes a byte of text becomes at most when it is lowered.
const longestLower = 3

func (*oneOfMany) matchNumber(float64) verdict { return unknown }

func (m *oneOfMany) operand(*reader) any {
	return anyList(slices.Compact(slices.Sorted(slices.Values(m.texts))))
}

// foldTest is one of containsFold, hasPrefixFold and hasSuffixFold.
type foldTest func(text, lowered string) bool

func text(test foldTest) func(*preparation, any) (matcher, string) {
	return func(p *preparation, v any) (matcher, string) {
		var ok bool
		if p.buf, ok = appendText(p.buf[:0], v); !ok {
			return nil, tooDeep
		}
		return folded{test, asciiLower(string(p.buf))}, ""
	}
}

func anyText(test foldTest) func(*preparation, any) (matcher, string) {
	return func(p *preparation, v any) (matcher, string) {
		if list, ok := v.([]any); ok {
			return anyOf(test)(p, list)
		}
		return text(test)(p, v)
	}
}

func anyOf(test foldTest) func(*preparation, []any) (matcher, string) {
	return func(_ *preparation, list []any) (matcher, string) {
		m := anyFolded{test: test}
		for _, item := range list {
			if text, ok := appendText(nil, item); ok {
				m.lowered = append(m.lowered, asciiLower(string(text)))
			}
		}
		return m, ""
	}
}

type folded struct {
	test    foldTest
	lowered string
}

func (m folded) match(f *fact, r *reader) verdict {
	text, ok := r.text(f)
	return is(ok && m.test(text, m.lowered))
}

func (m folded) matchText(s string) verdict { return is(m.test(s, m.lowered)) }
func (folded) matchNumber(float64) verdict  { return unknown }

func (m folded) operand(*reader) any { return m.lowered }

type anyFolded struct {
	test    foldTest
	lowered []string
}

func (m anyFolded) match(f *fact, r *reader) verdict {
	text, ok := r.text(f)
	if !ok {
		return no
	}
	return m.matchText(text)
}

func (m anyFolded) matchText(text string) verdict {
	for _, s := range m.lowered {
		if m.test(text, s) {
			return yes
		}
	}
	return no
}

func (anyFolded) matchNumber(float64) verdict { return unknown }

func (m anyFolded) operand(*reader) any { return anyList(m.lowered) }

func anyList(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
