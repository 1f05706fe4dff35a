package rustregexp

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/dlclark/regexp2/v2"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// stopClock ends the goroutine of the backtracking engine's clock, which would run for another
// second.
func stopClock() { regexp2.StopTimeoutClock() }

func TestFlags_4_5_Regex(t *testing.T) {
	defer stopClock()
	for _, v := range vectors {
		p, err := Compile(v.pattern)
		if err != nil {
			t.Errorf("%s: %q: %v", v.source, v.pattern, err)
			continue
		}
		if got := p.Find(v.text); got != resultOf(v.want) {
			t.Errorf("%s: %q on %.60q: %d, want %v", v.source, v.pattern, v.text, got, v.want)
		}
		if got := onlyEngine(t, v.pattern).Find(v.text); got != resultOf(v.want) && got != Timeout {
			t.Errorf("%s: %q on %.60q: the engine says %d, want %v", v.source, v.pattern, v.text, got, v.want)
		}
	}
}

// Patterns that fancy_regex 0.17 refuses: parse.rs and analyze.rs, their tests, and regex-syntax
// 0.8 for classes.
func TestFlags_4_5_RegexInvalid(t *testing.T) {
	for _, v := range []struct {
		pattern string
		pos     int
	}{
		{`(`, 1}, {`a)`, 1}, {`?*`, 0}, {`a**`, 2}, {`a|*`, 2}, {`(?:)*`, 4}, {`(?=a)*`, 5}, {`\K?`, 2}, {`\G*`, 2},
		{`\`, 0}, {`\y`, 0}, {`\q`, 0}, {`\c`, 0}, {`\Q`, 0}, {`\X`, 0}, {`a\R`, 1}, {`\N`, 0}, {`[\Z]`, 1}, {`[\y]`, 1}, {`[\1]`, 1},
		{`\x`, 2}, {`\xA`, 2}, {`\x{}`, 2}, {`\x{AG}`, 2}, {`\x{D800}`, 2}, {`\x{110000}`, 2}, {`\u123`, 2}, {`\u{123456789}`, 2},
		{`[a`, 0}, {`[]`, 0}, {`[z-a]`, 0}, {`[a-\d]`, 0}, {`[\d-z]`, 0}, {`[a-[b]]`, 0}, {`[[^]]x]`, 0},
		{`\p{Foo}`, 0}, {`\p{Greek`, 0}, {`\pX`, 0}, {`\p{sc=Foo}`, 0}, {`\p{^Greek}`, 0}, {`\p{isc}`, 0}, {`\p{age=6.0}`, 0}, {`\p`, 0},
		{`a\b{middle}`, 1}, {`\B{start}`, 0}, {`\b{start`, 0},
		{`(?z)`, 2}, {`(?-u)`, 3}, {`(?)`, 2}, {`(?-)`, 3}, {`(?--i)`, 3}, {`(?i`, 1},
		{`(?P<n`, 1}, {`(?<>a)`, 1}, {`(?P<-n>a)`, 1}, {`(?#a`, 0},
		{`(a)\2`, 3}, {`a\1`, 1}, {`(a)\0`, 3}, {`\k<n>(?<n>a)`, 2}, {`(a)\k<-2>`, 5}, {`(?P=n)`, 4}, {`(?<n>a)\1`, 9},
		{`(a)\k<1+0>`, 5}, {`(?P>n)`, 0}, {`(a)\g1`, 3}, {`(?(foo))`, 7}, {`(?(`, 3}, {`(?(?=a)b)`, 3},
		{`a{3,2}`, 1}, {`x(?<=\ba+)`, 1}, {`(a+)(?<=\1)`, 4},
	} {
		_, err := Compile(v.pattern)
		if err == nil {
			t.Errorf("%q compiled", v.pattern)
			continue
		}
		var fault *syntaxError
		if !errors.As(err, &fault) || fault.pos != v.pos {
			t.Errorf("%q: %v, want position %d", v.pattern, err, v.pos)
		}
	}
	for _, pattern := range []string{"\xff", strings.Repeat("a", maxLength+1)} {
		if _, err := Compile(pattern); err == nil {
			t.Errorf("%.20q compiled", pattern)
		}
	}
}

func TestFlags_4_5_RegexErrorText(t *testing.T) {
	_, err := Compile(`ab\y`)
	if diff := cmp.Diff(`pattern: position 2: unknown escape \y`, err.Error()); diff != "" {
		t.Error(diff)
	}
}

// Malicious patterns. Those for package regexp get a result; for the others the search must only
// end.
func hostilePatterns() []struct{ pattern, text string } {
	as := strings.Repeat("a", 5000) + "!"
	return []struct{ pattern, text string }{
		{`(a+)+$`, as}, {`(a*)*b`, as}, {`(a|aa)+$`, as}, {`(.*)(.*)(.*)(.*)(.*)x`, as}, {`((((((a+)+)+)+)+)+)+$`, as},
		{`(?!b)(a+)+$`, as}, {`(a|b|ab)*(?>c)`, as}, {`^(?=(a+)+!!)`, as}, {`(a*)*\1b`, as}, {`(?<=a*)+b`, as}, {`(\w+\s?)+\b\z`, "é" + as},
		{`(?:a{1000}){1000}`, as}, {`\w{1000}`, as}, {`a{4294967296}`, as}, {`(?:a?){9000}b`, as[:300]},
		{strings.Repeat("(?:", maxGroups) + "a" + strings.Repeat("){10}", maxGroups), as},
		{strings.Repeat("(", 5000), as}, {strings.Repeat("(a|", 63) + strings.Repeat(")*", 63), as[:100]},
		{strings.Repeat("[", 8000), as}, {strings.Repeat("[", 249) + "a" + strings.Repeat("]", 249), as},
		{"[" + strings.Repeat(`\w&&`, 4000) + "]", as}, {"[" + strings.Repeat(`\pL`, 5000) + "]", as},
		{strings.Repeat(`\w`, 8000), as}, {strings.Repeat(`\b`, 8000), as}, {strings.Repeat("a|b", 5000), as},
		{strings.Repeat("(?(", 30) + "a" + strings.Repeat(")b|c)", 30), as}, {"(?i)" + strings.Repeat("k", 16000), as},
		{strings.Repeat("(a)", 2000) + `\1`, as}, {strings.Repeat("(?x", 5000), as}, {strings.Repeat("{", 16000), as},
		{nestedConditions(18), as}, {"(?i)[" + strings.Repeat(`\w&&`, 4000) + "]", as}, {"(?i)" + strings.Repeat("[^a]", 4000), as},
		{`(?!b)` + strings.Repeat(`[\w--a]`, 160), as}, {`(?!b)` + strings.Repeat(`\b|`, 2400), as},
	}
}

func TestFlags_4_5_RegexHostile(t *testing.T) {
	defer stopClock()
	for _, v := range hostilePatterns() {
		if p, err := compileBounded(t, v.pattern); err == nil {
			p.Find(v.text) // which ends: every search has limits
		}
	}
	for _, pattern := range []string{
		`\w{1000}`, `(?:a{1000}){1000}`, `a{4294967296}`, strings.Repeat("(", 64) + strings.Repeat(")", 64),
		strings.Repeat("[", 251) + "a" + strings.Repeat("]", 251),
	} {
		if _, err := Compile(pattern); err == nil {
			t.Errorf("%.40q compiled", pattern)
		}
	}
	for _, pattern := range []string{ // rust-lang/regex: `\w{100}` is big but allowed; fancy_regex: 63 groups deep
		`\w{100}`, strings.Repeat("(", 63) + strings.Repeat(")", 63), strings.Repeat("a", maxLength),
	} {
		if _, err := Compile(pattern); err != nil {
			t.Errorf("%.40q: %v", pattern, err)
		}
	}
}

// A search over the limit is neither hit nor miss, and is counted; package regexp has no time
// limit.
func TestFlags_4_5_RegexTimeLimit(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	text := strings.Repeat("a", 64) + "!"
	for _, v := range []struct {
		pattern, text string
		want          Result
	}{
		{`(?!b)(a|aa)+$`, text, Timeout},
		{`(?i)(a|b|ab)*(?>c)`, strings.Repeat("ab", 27), Timeout}, // fancy, backtrack_limit
		{`(a|aa)+$`, text, Miss},
		{`(?!b)a+$`, text, Miss},
		{`(?!b)a`, strings.Repeat("a", maxBacktrackingText), Hit},
		{`(?!b)a`, strings.Repeat("a", maxBacktrackingText+1), Timeout},
	} {
		p, err := Compile(v.pattern)
		if err != nil {
			t.Fatal(err)
		}
		before := Timeouts()
		if got := p.Find(v.text); got != v.want {
			t.Errorf("%q: %d, want %d", v.pattern, got, v.want)
		}
		if counted := Timeouts() > before; counted != (v.want == Timeout) {
			t.Errorf("%q: counted %v", v.pattern, counted)
		}
	}
	stopClock()
	goleak.VerifyNone(t, ignore)
}

// The short form of \w for the engine, and the set from which other sets are computed, equal the
// definition in the Unicode tables.
func TestFlags_4_5_RegexWordCharacters(t *testing.T) {
	engine := onlyEngine(t, `^\w$`).engine
	engine.MatchTimeout = regexp2.DefaultMatchTimeout // no limit in practice: the loop has a million matches, and the machine may be busy
	var m referenceMatcher
	for _, r := range anySet {
		for c := r.lo; c <= r.hi; c++ {
			m.text = []rune{c}
			want := m.assertion(opWordStart, 0)
			if wordSet().has(c) != want {
				t.Fatalf("%U in the set: %v", c, !want)
			}
			if got, err := engine.MatchRunes(m.text); err != nil || got != want {
				t.Fatalf("%U in the engine: %v, %v", c, got, err)
			}
		}
	}
}

func TestFlags_4_5_RegexWithoutAllocation(t *testing.T) {
	for _, v := range []struct{ pattern, text string }{
		{`@example\.com$`, "someone@example.com"}, {`(?i)^[\w.+-]+@\w+\.\w{2,}$`, "someone@example.com"}, {`\bsome`, "a some"},
	} {
		p, err := Compile(v.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if p.Find(v.text) != Hit {
			t.Errorf("%q missed", v.pattern)
		}
		if n := testing.AllocsPerRun(1000, func() { p.Find(v.text) }); n > 0 {
			t.Errorf("%q: %v allocations", v.pattern, n)
		}
	}
}

// Random patterns of a small language agree with the reference matcher; the sequence is fixed.
func TestFlags_4_5_RegexAgainstReference(t *testing.T) {
	defer stopClock()
	random := rand.New(rand.NewPCG(4, 5))
	forms := []string{"@", "(@)@\\1@", "(?:(@)@|@\\1)+", "(?>@|@)@", "(?<=@|@)@", "(@)?@(?(1)@|a)", "(?!@)@(?=@)b", "(?(@)@|@)", "(?<!@@)@"}
	texts := []string{"", "a", "ab", "abc", "aab", "ba\nb", "a1 b", "aé b", "A b\n", "abab", "\r\n", "a\rb", "Kk\u212A", "ç1é", "bbb", "\n"}
	compiled := 0
	for range 20_000 {
		var rust strings.Builder
		for _, c := range forms[random.IntN(len(forms))] {
			if c != '@' {
				rust.WriteRune(c)
				continue
			}
			for range random.IntN(6) {
				rust.WriteString(wordClasses[random.IntN(len(wordClasses))])
			}
		}
		p, err := Compile(rust.String())
		if err != nil {
			continue
		}
		compiled++
		for _, text := range texts {
			againstReference(t, rust.String(), text, p.Find(text))
		}
	}
	if compiled < 2000 {
		t.Errorf("only %d patterns compiled", compiled)
	}
}

func BenchmarkPattern(b *testing.B) {
	defer stopClock()
	for _, v := range []struct{ name, pattern, text string }{
		{"text", `@example\.com$`, "someone@example.com"},
		{"linear", `^[\w.+-]+@[\w-]+\.\w{2,}$`, "someone@example.com"},
		{"boundaryASCII", `\bfoo\b`, "a foo b"},
		{"boundaryOther", `\bfoo\b`, "é foo b"},
		{"lookAround", `^(?!.*@spam)\w+@`, "someone@example.com"},
	} {
		b.Run("compile/"+v.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Compile(v.pattern); err != nil {
					b.Fatal(err)
				}
			}
		})
		p, err := Compile(v.pattern)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("find/"+v.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Find(v.text)
			}
		})
	}
}

// The first search compiles a pattern's program, and concurrent searches share it.
func TestPattern_FirstUseAtOnce(t *testing.T) {
	p, err := Compile(`^user-\d+@corp\.test$`)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			text, want := "user-17@corp.test", Hit
			if i%2 == 1 {
				text, want = "user-17@corp.tests", Miss
			}
			if got := p.Find(text); got != want {
				t.Errorf("%q: %v, want %v", text, got, want)
			}
		})
	}
	all.Wait()
	if n := testing.AllocsPerRun(100, func() { p.Find("user-17@corp.test") }); n != 0 {
		t.Errorf("%v allocations in a later search", n)
	}
}
