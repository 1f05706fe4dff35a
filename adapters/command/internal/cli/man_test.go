package cli

import "testing"

// The manual page has each command with its help. Characters that man would interpret are escaped as
// man's own manual, groff(7), prescribes.
func TestManual(t *testing.T) {
	t.Parallel()
	p := &Program{Commands: []Command{{Name: "one", Summary: "does it", Help: "Usage: bunting one --now\n.hidden \\n\n'quoted\n"}}}
	const want = ".SS one\n.nf\nUsage: bunting one \\-\\-now\n\\&.hidden \\en\n\\&'quoted\n.fi\n"
	if got := p.manual(); len(got) < len(want) || got[len(got)-len(want):] != want {
		t.Errorf("%s\nwant it to end with\n%s", got, want)
	}
}
