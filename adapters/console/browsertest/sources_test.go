package browsertest

import (
	"os/exec"
	"testing"
)

// §6.4: the TypeScript sources pass the type check.
func TestSources_Types(t *testing.T) {
	if out, err := exec.Command("node", "node_modules/typescript/bin/tsc", "-p", "../src").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// No link leads to the page Not found. Links to pages that do not exist yet are excluded.
func TestLinks_LeadSomewhere(t *testing.T) {
	s := serve(t)
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "banner", "filters": map[string]any{"groups": []any{map[string]any{"properties": []any{}}}}}, nil)
	s.person("ana", map[string]any{"email": "ana@example.com"})
	p := s.open(t, "p/1")
	rows := map[string]string{"/console/p/1/flags": "banner", "/console/p/1/people": "ana@example.com"} // these are loaded after the page
	visited, next := map[string]bool{}, []string{js[string](p, "location.pathname")}
	for len(next) > 0 && (*long || len(visited) < 15) {
		path := next[0]
		next = next[1:]
		if visited[path] {
			continue
		}
		visited[path] = true
		p.visit(path[len("/console/"):])
		p.waitLoaded()
		if rows[path] != "" {
			p.node("link", rows[path])
		}
		if js[string](p, "document.querySelector('h1').innerText") == "Not found" {
			t.Errorf("a link leads to %s, where nothing is", path)
		}
		next = append(next, js[[]string](p, "[...document.querySelectorAll('a[href]:not(.skip)')].map(a => new URL(a.href).pathname)")...)
	}
	if len(visited) < 8 {
		t.Errorf("links lead to %v alone", visited)
	}
}
