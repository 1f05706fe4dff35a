package browsertest

import (
	"os/exec"
	"testing"
)

// §6.4: the types of the sources hold.
func TestSources_Types(t *testing.T) {
	if out, err := exec.Command("node", "node_modules/typescript/bin/tsc", "-p", "../src").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The address of no link leads to Not found: links to pages that are still to come are
// left out.
func TestLinks_LeadSomewhere(t *testing.T) {
	s := serve(t)
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "banner", "filters": map[string]any{"groups": []any{map[string]any{"properties": []any{}}}}}, nil)
	s.person("ana", map[string]any{"email": "ana@example.com"})
	p := s.open(t, "p/1")
	rows := map[string]string{"/console/p/1/flags": "banner", "/console/p/1/people": "ana@example.com"} // that come after the page
	seen, next := map[string]bool{}, []string{js[string](p, "location.pathname")}
	for len(next) > 0 && (*long || len(seen) < 15) {
		at := next[0]
		next = next[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		p.visit(at[len("/console/"):])
		p.settled()
		if rows[at] != "" {
			p.node("link", rows[at])
		}
		if js[string](p, "document.querySelector('h1').innerText") == "Not found" {
			t.Errorf("a link leads to %s, where nothing is", at)
		}
		next = append(next, js[[]string](p, "[...document.querySelectorAll('a[href]:not(.skip)')].map(a => new URL(a.href).pathname)")...)
	}
	if len(seen) < 8 {
		t.Errorf("links lead to %v alone", seen)
	}
}
