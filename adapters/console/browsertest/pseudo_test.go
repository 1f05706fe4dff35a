package browsertest

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// inPseudoLanguage returns the server with the console in the pseudo-language, behind a proxy. Its texts
// are in brackets and 40 % longer.
func (s *server) inPseudoLanguage() *server {
	t := s.t
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("go", "run", "-C", "../build", ".", "pseudo", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	shell, err := os.ReadFile(filepath.Join(dir, "shell.html"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := proxyTo(t, s.url, "")
	return s.behind(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasPrefix(r.URL.Path, "/console/"):
			proxy.ServeHTTP(w, r)
		case path.Ext(r.URL.Path) == "":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, strings.ReplaceAll(string(shell), "{{.}}", "/console/"))
		default:
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", map[string]string{".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}[path.Ext(r.URL.Path)])
			http.ServeFile(w, r, filepath.Join(dir, path.Base(r.URL.Path)+".gz"))
		}
	}), "")
}

// uncataloguedTexts returns the texts and names of a page that have Latin letters outside of the brackets
// of the pseudo-language. It leaves out the data that the page shows: strings of everyRoute, values that
// are the text of their option, code, and what data matches.
const uncataloguedTexts = `(data => {
	const found = new Set();
	const check = (text, el) => {
		if (el.closest("code, pre, kbd, bdi, .code, textarea") || /attacked|<\/a>|Mozilla/.test(text) || (el.localName === "option" && el.value === text)) return;
		const rest = text.replace(/⟦[^⟧]*⟧/g, " ").replace(data, " ");
		if (/[A-Za-z]{2}/.test(rest)) found.add(rest.trim().slice(0, 80) + " in " + el.outerHTML.slice(0, 150));
	};
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n; (n = walk.nextNode()); ) check(n.data, n.parentElement);
	for (const name of ["aria-label", "title", "placeholder", "alt"]) {
		for (const el of document.body.querySelectorAll("[" + name + "]")) check(el.getAttribute(name), el);
	}
	check(document.title, document.documentElement);
	return [...found];
})`

// pseudoData matches data: names of the brand and of standards, keys, addresses, ids, and names of events
// and properties.
const pseudoData = `/Bunting|\bUTC\b|owner@localhost|Default project|\bbanner\b|\btried\b|\bplan\b|\bcompany\b|\btrue\b|\bfalse\b|Go-http-client|ph[xcs]_\w+|https?:\S+|\$\w+|[0-9a-f-]{8,}/g`

// T31 (console.md §7): every text of a page is in the catalogue, so no text remains in English. Controls
// stay within reach when all texts are 40 % longer, on a screen and on a phone.
func TestEveryRoute_Pseudo(t *testing.T) {
	s := serve(t)
	paths := sample(s.everyRoute())
	p := s.inPseudoLanguage().open(t, "account")
	for _, path := range paths {
		p.visit(path)
		p.waitLoaded()
		for _, text := range js[[]string](p, uncataloguedTexts+"("+pseudoData+")") {
			t.Errorf("%s: %s", path, text)
		}
		for _, width := range []int64{360, 1280} {
			p.size(width, 800)
			for _, wrong := range js[[]string](p, unreachableControls) {
				t.Errorf("%s, %d wide: %s", path, width, wrong)
			}
		}
	}
}
