package rustregexp

import (
	"regexp/syntax"
	"strings"
	"testing"
)

// attack ran 10 s on a megabyte of text. It has about 10·(10·(100+99)+10) instructions.
const attack = `((a{1,100}){1,10}b){1,10}`

// A program of more than 10,000 instructions is refused, with the number. In the calculations a
// counted repetition is expanded, with a choice before each optional repetition.
func TestCompile_Bounded(t *testing.T) {
	for pattern, fits := range map[string]bool{
		attack:                     false,
		`(a{1,100}){1,10}b`:        true,
		`(?:[a-z]{10}){1000}`:      false, // 10·1000 letters, and the end
		`(?:[a-z]{9}x){900}`:       true,
		`\b` + attack:              false, // for both engines
		strings.Repeat("x?", 4000): true,
		strings.Repeat("x?", 6000): false,
	} {
		_, err := Compile(pattern)
		if (err == nil) != fits || err != nil && !strings.Contains(err.Error(), "instructions, more than 10000") {
			t.Errorf("%.40s: %v", pattern, err)
		}
	}
}

// The estimate is close to the number of instructions that package regexp generates.
func TestInstructions(t *testing.T) {
	for _, pattern := range []string{attack, `^a{2500,}$`, `abc|abd|x`, `(?i)straße\d+`, `[a-z]*(x|yy)?`, `(a{1,100}){1,10}b`, `a{3}`, `a{0,0}b`, `(?:(?:)|a)*`} {
		tree, _, err := parse(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (&analyzer{groups: map[int]nodeFacts{}}).node(tree); err != nil {
			t.Fatal(err)
		}
		text, err := newLinearWriter(false).text(tree)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		got := instructions(parsed)
		prog, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if made := len(prog.Inst); got < made*2/3-4 || got > made*3/2+4 {
			t.Errorf("%s: %d, package regexp makes %d", pattern, got, made)
		}
	}
}

// A text is searched while instructions times bytes are within 2^25, and up to 1 MiB; a longer text
// does not match, and is counted. Literal patterns have no limit.
func TestFind_Bounded(t *testing.T) {
	for _, v := range []struct {
		pattern string
		text    int
		want    Result
	}{
		{`(a{1,100}){1,10}b`, 1 << 20, Timeout}, // about 2,000 instructions: 16 KiB
		{`(a{1,100}){1,10}b`, 1 << 13, Miss},
		{`a+b`, 1 << 20, Miss},
		{`a+b`, 1<<20 + 1, Timeout},
		{`aab`, 4 << 20, Miss},
	} {
		p, err := Compile(v.pattern)
		if err != nil {
			t.Fatal(err)
		}
		before := Timeouts()
		if got := p.Find(strings.Repeat("a", v.text)); got != v.want {
			t.Errorf("%s on %d bytes: %d, want %d", v.pattern, v.text, got, v.want)
		}
		if counted := Timeouts() - before; (counted == 1) != (v.want == Timeout) {
			t.Errorf("%s on %d bytes: counted %d", v.pattern, v.text, counted)
		}
	}
}

// nestedConditions returns conditions with expressions, nested in each other: the engine's syntax
// repeats each expression.
func nestedConditions(deep int) string {
	return strings.Repeat("(?(", deep) + "a" + strings.Repeat(")b|c)", deep)
}

// The work of computing sets, and of the engine's compilation, is limited.
func TestCompile_WorkBounded(t *testing.T) {
	scripts := func(n int) (pattern string) {
		for _, code := range strings.Fields("Latn Grek Cyrl Armn Hebr Arab Thai Deva Beng")[:n] {
			pattern += `\p{scx=` + code + `}`
		}
		return pattern
	}
	const classes, size = "its classes take too long", "too big once compiled"
	for _, v := range []struct{ pattern, refusal string }{
		{"[" + strings.Repeat(`\w&&`, 300) + "a]", ""}, // 300·(770+770+1,540) of 2^20
		{"[" + strings.Repeat(`\w&&`, 400) + "a]", classes},
		{"(?i)[" + strings.Repeat(`\w&&`, 50) + "a]", ""},
		{"(?i)[" + strings.Repeat(`\w&&`, 200) + "a]", classes},
		{"(?i)" + strings.Repeat(`\pL`, 160), ""}, // computed once
		{strings.Repeat(`\W`, 160), ""},
		{strings.Repeat(`\W`, 4000), classes},
		{scripts(7), ""},
		{scripts(9), classes},
		{nestedConditions(8), ""},
		{nestedConditions(18), size}, // 2^18 times four parts
		{`(?!x)` + strings.Repeat(`[\w--a]`, 20), ""},
		{`(?!x)` + strings.Repeat(`[\w--a]`, 40), size}, // 40·770² of 2^24
	} {
		switch _, err := compileBounded(t, v.pattern); {
		case v.refusal == "" && err != nil:
			t.Errorf("%.40q of %d bytes: %v", v.pattern, len(v.pattern), err)
		case v.refusal != "" && (err == nil || !strings.Contains(err.Error(), v.refusal)):
			t.Errorf("%.40q of %d bytes: %v, want %q", v.pattern, len(v.pattern), err, v.refusal)
		}
	}
}
