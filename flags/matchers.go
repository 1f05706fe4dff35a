package flags

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/internal/rustregexp"
	"github.com/bunting-flags/bunting/flags/internal/values"
)

// matcher compares a present property with a prepared operand.
type matcher interface {
	match(f *fact, r *reader) verdict
	// operand returns the operand as it appears in traces.
	operand(r *reader) any
}

// preparation is the context in which operands are prepared, shared by all flags of a set.
type preparation struct {
	matchingVersion int
	zone            *time.Location // the project's zone
	patterns        map[string]*compiledPattern
	buf             []byte // scratch memory
}

// compiledPattern is a cached regular expression or its error.
type compiledPattern struct {
	p   *rustregexp.Pattern
	err error
}

// pattern compiles a regular expression and caches the result.
func (p *preparation) pattern(text string) (*rustregexp.Pattern, error) {
	if compiled, ok := p.patterns[text]; ok {
		return compiled.p, compiled.err
	}
	pattern, err := rustregexp.Compile(text)
	p.patterns[text] = &compiledPattern{pattern, err}
	return pattern, err
}

// newPreparation returns a preparation for a zone and a version of property matching. A nil
// zone is UTC, a version below 1 is 1.
func newPreparation(zone *time.Location, matchingVersion int) *preparation {
	if zone == nil {
		zone = time.UTC
	}
	return &preparation{matchingVersion: max(matchingVersion, 1), zone: zone, patterns: map[string]*compiledPattern{}}
}

// prepare returns the matcher for an operator and its operand. lists selects the meaning that
// lists have outside of flags, see [Filter]. If m is nil, problem describes why the operator
// can never match.
func (p *preparation) prepare(op *operator, value any, lists bool) (m matcher, problem string) {
	value = values.Normalize(value)
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

// constMatcher has the same verdict for every present property.
type constMatcher verdict

func (m constMatcher) match(*fact, *reader) verdict { return verdict(m) }

func (m constMatcher) matchText(string) verdict    { return verdict(m) }
func (m constMatcher) matchNumber(float64) verdict { return verdict(m) }

func (constMatcher) operand(*reader) any { return nil }

// compilePresence compiles operators that only check whether the property is present.
func compilePresence(v verdict) func(*preparation, any) (matcher, string) {
	return func(*preparation, any) (matcher, string) { return constMatcher(v), "" }
}

// compileExact compiles exact and is_not (§4.6).
func compileExact(p *preparation, v any) (matcher, string) {
	list, isList := v.([]any)
	if boolean := values.IsBoolean(v); boolean && (p.matchingVersion != 2 || isList && len(list) == 0) {
		return truthyMatcher(values.IsTrue(v)), ""
	}
	if !isList {
		return p.equalText(v)
	}
	if len(list) == 1 {
		return p.equalText(list[0])
	}
	set := p.lowerAll(list)
	if len(set) > 8 {
		return newTextSetMatcher(set), ""
	}
	return textListMatcher(set), ""
}

// equalText compiles equality with one value, without regard to case.
func (p *preparation) equalText(v any) (matcher, string) {
	var ok bool
	if p.buf, ok = appendLowerText(p.buf[:0], v); !ok {
		return nil, tooDeep
	}
	return textMatcher(p.buf), ""
}

// lowerAll returns the lower-case forms of values, as substrings of one string. Values
// without a text are left out.
func (p *preparation) lowerAll(list []any) []string {
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
		return values.Lower(dst, s), true
	}
	text, ok := values.Text(nil, v)
	if !ok {
		return dst, false
	}
	return values.Lower(dst, string(text)), true
}

// truthyMatcher compares the truth of two values (§4.6).
type truthyMatcher bool

func (m truthyMatcher) match(f *fact, _ *reader) verdict {
	return verdictOf(values.IsTrue(f.value) == bool(m))
}

func (m truthyMatcher) matchText(s string) verdict {
	return verdictOf(values.EqualLower(s, "true") == bool(m))
}
func (m truthyMatcher) matchNumber(float64) verdict { return verdictOf(!bool(m)) }

func (m truthyMatcher) operand(*reader) any { return bool(m) }

// textMatcher matches one text, without regard to case.
type textMatcher string

func (m textMatcher) match(f *fact, r *reader) verdict {
	text, ok := r.text(f)
	return verdictOf(ok && values.EqualLower(text, string(m)))
}

func (m textMatcher) matchText(s string) verdict { return verdictOf(values.EqualLower(s, string(m))) }
func (textMatcher) matchNumber(float64) verdict  { return unknown }

func (m textMatcher) operand(*reader) any { return string(m) }

// textListMatcher matches any text of a short list, without regard to case.
type textListMatcher []string

func (m textListMatcher) match(f *fact, r *reader) verdict {
	text, ok := r.text(f)
	if !ok {
		return no
	}
	return m.matchText(text)
}

func (m textListMatcher) matchText(text string) verdict {
	for _, s := range m {
		if values.EqualLower(text, s) {
			return yes
		}
	}
	return no
}

func (textListMatcher) matchNumber(float64) verdict { return unknown }

func (m textListMatcher) operand(*reader) any { return anyList(m) }

// textSetMatcher matches any text of a long list, without regard to case. Most texts that are
// not in the list are rejected by their first byte.
type textSetMatcher struct {
	texts  []string
	starts [utf8.RuneSelf + 1]bool
	// slots is a hash table with open addressing. Its values are indexes of strings plus 1; 0
	// is a free slot. Its length is a power of two, and at least half of the slots are free.
	slots []uint32
}

func newTextSetMatcher(texts []string) *textSetMatcher {
	m := &textSetMatcher{texts: texts, slots: make([]uint32, 1<<bits.Len(uint(2*len(texts)-1)))}
	for i, s := range texts {
		m.starts[startOf(s)] = true
		at := maphash.String(values.Seed, s)
		for m.slots[m.slot(at)] != 0 {
			at++
		}
		m.slots[m.slot(at)] = uint32(i + 1)
	}
	return m
}

func (m *textSetMatcher) slot(hash uint64) uint64 { return hash & uint64(len(m.slots)-1) }

func (m *textSetMatcher) has(lowered []byte) bool {
	for at := maphash.Bytes(values.Seed, lowered); ; at++ {
		i := m.slots[m.slot(at)]
		if i == 0 || m.texts[i-1] == string(lowered) {
			return i != 0
		}
	}
}

// startOf returns the first byte of a lowered text if it is ASCII. All other strings,
// including the empty string, share one value.
func startOf(lowered string) byte {
	if lowered == "" || lowered[0] >= utf8.RuneSelf {
		return utf8.RuneSelf
	}
	return lowered[0]
}

func (m *textSetMatcher) match(f *fact, r *reader) verdict {
	text, ok := r.text(f)
	if !ok {
		return no
	}
	return m.matchText(text)
}

func (m *textSetMatcher) matchText(text string) verdict {
	if text != "" && text[0] < utf8.RuneSelf && !m.starts[values.FoldASCII[text[0]]] {
		return no
	}
	var room [128]byte
	if len(text) > len(room)/longestLower {
		return textListMatcher(m.texts).matchText(text)
	}
	return verdictOf(m.has(values.Lower(room[:0], text)))
}

// longestLower is the maximum number of bytes that one byte of text becomes in lower case.
const longestLower = 3

func (*textSetMatcher) matchNumber(float64) verdict { return unknown }

func (m *textSetMatcher) operand(*reader) any {
	return anyList(slices.Compact(slices.Sorted(slices.Values(m.texts))))
}

// foldTest is one of values.ContainsFold, values.HasPrefixFold and values.HasSuffixFold.
type foldTest func(text, lowered string) bool

// compileText compiles a test on text with one operand.
func compileText(test foldTest) func(*preparation, any) (matcher, string) {
	return func(p *preparation, v any) (matcher, string) {
		var ok bool
		if p.buf, ok = values.Text(p.buf[:0], v); !ok {
			return nil, tooDeep
		}
		return foldMatcher{test, values.LowerASCII(string(p.buf))}, ""
	}
}

// compileAnyText compiles a test on text. The operand may be a list: then any element may match.
func compileAnyText(test foldTest) func(*preparation, any) (matcher, string) {
	return func(p *preparation, v any) (matcher, string) {
		if list, ok := v.([]any); ok {
			return compileAnyOf(test)(p, list)
		}
		return compileText(test)(p, v)
	}
}

func compileAnyOf(test foldTest) func(*preparation, []any) (matcher, string) {
	return func(_ *preparation, list []any) (matcher, string) {
		m := anyFoldMatcher{test: test}
		for _, item := range list {
			if text, ok := values.Text(nil, item); ok {
				m.lowered = append(m.lowered, values.LowerASCII(string(text)))
			}
		}
		return m, ""
	}
}

type foldMatcher struct {
	test    foldTest
	lowered string
}

func (m foldMatcher) match(f *fact, r *reader) verdict {
	text, ok := r.text(f)
	return verdictOf(ok && m.test(text, m.lowered))
}

func (m foldMatcher) matchText(s string) verdict { return verdictOf(m.test(s, m.lowered)) }
func (foldMatcher) matchNumber(float64) verdict  { return unknown }

func (m foldMatcher) operand(*reader) any { return m.lowered }

type anyFoldMatcher struct {
	test    foldTest
	lowered []string
}

func (m anyFoldMatcher) match(f *fact, r *reader) verdict {
	text, ok := r.text(f)
	if !ok {
		return no
	}
	return m.matchText(text)
}

func (m anyFoldMatcher) matchText(text string) verdict {
	for _, s := range m.lowered {
		if m.test(text, s) {
			return yes
		}
	}
	return no
}

func (anyFoldMatcher) matchNumber(float64) verdict { return unknown }

func (m anyFoldMatcher) operand(*reader) any { return anyList(m.lowered) }

func anyList(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// directMatcher is a matcher that does not need a fact for texts and numbers. It returns
// unknown for values that need match.
type directMatcher interface {
	matchText(s string) verdict
	matchNumber(n float64) verdict
}
