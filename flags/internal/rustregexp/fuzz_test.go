package rustregexp

import (
	"runtime"
	"strings"
	"testing"
)

// onlyEngine compiles a pattern for the backtracking engine, even if package regexp could match it.
func onlyEngine(t testing.TB, rust string) *Pattern {
	t.Helper()
	tree, refs, err := parse(rust)
	if err != nil {
		t.Fatalf("%q: %v", rust, err)
	}
	engine, err := compileEngine(withoutTrailingLook(tree), refs)
	if err != nil {
		t.Fatalf("%q on the engine: %v", rust, err)
	}
	return &Pattern{engine: engine}
}

// againstReference compares a result with that of the reference matcher, if both have one.
func againstReference(t *testing.T, rust, text string, got Result) {
	t.Helper()
	tree, _, err := parse(rust)
	if err != nil {
		t.Fatalf("%q: %v", rust, err)
	}
	if want, ok := referenceFind(tree, text); ok && got != Timeout && got != resultOf(want) {
		t.Fatalf("%q on %q: %d, want %v", rust, text, got, want)
	}
}

// wordClasses are the words of a small language in which many sentences are patterns.
var wordClasses = []string{
	"a", "b", "c", ".", "^", "$", "|", "(", ")", "(?:", "*", "+", "?", "*?", "{2}", "{1,3}", "{0,2}?", "[ab]", "[^a]",
	"[a-c&&[^b]]", `\d`, `\w`, `\W`, `\s`, `\b`, `\B`, "(?i)", "(?m)", "(?s:", "A", "1", " ", `\n`, "é", `\.`, "(?=", "(?!",
	"(?<=", "(?<!", "(?>", `\1`, "++", `\Z`, `\K`, `\G`, "(?(1)", `\<`, `\b{end}`, "(?R)", "K",
}

// compileCost is the maximum that Compile may allocate, in bytes. Allocation is measured instead of
// time because it is the same on every machine.
const compileCost = 64 << 20

// compileBounded compiles a pattern and fails the test if that allocates more than compileCost.
func compileBounded(t *testing.T, rust string) (*Pattern, error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := Compile(rust)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > compileCost {
		t.Errorf("%.100q takes %d bytes to compile, more than %d", rust, n, compileCost)
	}
	return p, err
}

// FuzzPattern uses a seed as a pattern, and as a sentence of the small language. No input panics or
// allocates more than compileCost; the results for short patterns equal those of the reference
// matcher and the backtracking engine.
func FuzzPattern(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.pattern, v.text)
	}
	for _, v := range hostilePatterns() {
		f.Add(v.pattern, v.text[:50])
	}
	f.Fuzz(func(t *testing.T, seed, text string) {
		text = strings.ToValidUTF8(text, "\uFFFD")
		var small strings.Builder
		for _, b := range []byte(seed[:min(len(seed), 40)]) {
			small.WriteString(wordClasses[int(b)%len(wordClasses)])
		}
		for _, rust := range []string{seed, small.String()} {
			p, err := compileBounded(t, rust)
			if err != nil {
				continue
			}
			got := p.Find(text)
			if len(rust) > 200 || len(text) > 50 {
				continue
			}
			againstReference(t, rust, text, got)
			againstReference(t, rust, text, onlyEngine(t, rust).Find(text))
		}
	})
}
