package main

import (
	"archive/zip"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

var long = flag.Bool("long", false, "check that the embedded archive is current")

// theSite builds the site of the repository.
var theSite = sync.OnceValues(func() (map[string][]byte, error) {
	description, err := describeAPI(context.Background())
	if err != nil {
		return nil, err
	}
	return build(root, description)
})

func site(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := theSite()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Every page of the repository is in the site, as HTML with its heading and as Markdown, and is linked
// from the first page and from llms.txt. build reports links without a target: TestCheck.
func TestSite_HasEveryPage(t *testing.T) {
	files := site(t)
	out, err := exec.Command("git", "-C", root, "ls-files", "*.md").Output()
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, source := range strings.Fields(string(out)) {
		if regexp.MustCompile(`^testdata/(spec|http)/|/testdata/`).MatchString(source) {
			continue
		}
		pages++
		text, err := os.ReadFile(root + "/" + source)
		if err != nil {
			t.Fatal(err)
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		name := strings.TrimSuffix(strings.Replace(source, "README.md", "index.md", 1), ".md") + ".html"
		if !strings.Contains(string(files[name]), ">"+title+"</h1>") {
			t.Errorf("%s: %s has no heading %q", source, name, title)
		}
		if head, _, _ := strings.Cut(string(files[source]), "\n"); head != "# "+title {
			t.Errorf("%s begins with %q", source, head)
		}
		if !strings.Contains(string(files["index.html"]), `<li><a href="`+name+`"`) {
			t.Errorf("the first page does not link to %s", name)
		}
		if n := strings.Count(string(files["llms.txt"]), "- ["+title+"]("+source+"): "); n != 1 {
			t.Errorf("llms.txt links to %s %d times", source, n)
		}
	}
	if pages < 20 {
		t.Errorf("only %d pages were read", pages)
	}
}

// llms.txt has the parts of llmstxt.org in their order: a title, a summary as a quotation, text
// without headings, and sections that are lists of links.
func TestSite_LLMs(t *testing.T) {
	form := regexp.MustCompile(`\A# [^\n]+\n\n> [^\n]+\n\n([^#\n][^\n]*\n)+(\n## [^\n]+\n\n(- \[[^\]]+\]\([^)\s]+\)(: [^\n]+)?\n)+)+\z`)
	if text := site(t)["llms.txt"]; !form.Match(text) {
		t.Errorf("%s", text)
	}
}

// The reference has an anchor with the method and the path for each operation of the description,
// except for paths that have a second name.
func TestSite_API(t *testing.T) {
	files := site(t)
	var reference strings.Builder
	for name, text := range files {
		if strings.HasPrefix(name, "api/") {
			reference.Write(text)
		}
	}
	all := reference.String()
	operations := 0
	for _, m := range regexp.MustCompile(`"operationId": "(\w+)"`).FindAllStringSubmatch(string(files["openapi.json"]), -1) {
		if strings.Contains(m[1], "_api_environments") {
			continue
		}
		operations++
		if !strings.Contains(all, `<h2 id="`+m[1]+`">`) {
			t.Errorf("the reference does not have %s", m[1])
		}
	}
	if operations < 100 {
		t.Errorf("only %d operations were read", operations)
	}
}

// The search has the text of every page under its heading: a sentence of a page is in the data, with the
// link to its section.
func TestSite_SearchData(t *testing.T) {
	text := string(site(t)["search-data.js"])
	if want := `["Security","Threats that Bunting withstands","SECURITY.html#threats-that-bunting-withstands",`; !strings.Contains(text, want) {
		t.Errorf("the data does not have %s", want)
	}
}

// build reports each fault of a file with its place.
func TestCheck(t *testing.T) {
	const heading = "<h1 id=top>A</h1>"
	for name, c := range map[string]struct{ body, want string }{
		"a link to a page":        {`<a href="b.html#there">b</a>`, ""},
		"a link to another site":  {`<a href="https://example.com/">b</a>`, ""},
		"a missing page":          {`<a href="c.html">c</a>`, "a.html: links to c.html: there is no c.html"},
		"a missing anchor":        {`<a href="b.html#here">b</a>`, "a.html: links to b.html#here, which has no such anchor"},
		"a missing own anchor":    {`<a href="#here">b</a>`, "a.html: links to #here, which has no such anchor"},
		"a link above the site":   {`<a href="../b.html">b</a>`, "a.html: links to ../b.html: there is no ../b.html"},
		"a missing picture":       {`<img src="b.png" alt="b">`, "a.html: links to b.png: there is no b.png"},
		"a picture without text":  {`<img src="p.png">`, "a.html: it has a picture without a text"},
		"a picture elsewhere":     {`<img src="https://example.com/p.png" alt="p">`, "a.html: loads https://example.com/p.png"},
		"a script inside":         {`<script>a()</script>`, "a.html: it has a style or a script inside"},
		"a style inside":          {`<p style="color: red">a</p>`, "a.html: it has a style or a script inside"},
		"an id twice":             {`<p id="top">a</p>`, "a.html: the id top is used twice"},
		"a heading too deep":      {`<h3>a</h3>`, "a.html: a heading of level 3 follows one of level 1"},
		"a second first heading":  {`<h1>a</h1>`, "a.html: a heading of level 1 follows one of level 1"},
		"a form that leads wrong": {`<form action="c.html"></form>`, "a.html: links to c.html: there is no c.html"},
	} {
		err := check(map[string][]byte{"a.html": []byte(heading + c.body), "b.html": []byte(heading + `<p id="there">b</p>`), "p.png": {1}})
		if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if err := check(map[string][]byte{"llms.txt": []byte("[b](b.md)")}); fmt.Sprint(err) != "llms.txt: links to b.md: there is no b.md" {
		t.Errorf("a missing page in llms.txt: %v", err)
	}
}

// Links lead to pages of the site, and otherwise to the repository. Each target exists.
func TestRender_Links(t *testing.T) {
	for link, want := range map[string]string{
		"../../README.md":          "../../index.html",
		"UPGRADING.md#one-server":  "UPGRADING.html#one-server",
		"#backups":                 "#backups",
		"https://example.com/a.md": "https://example.com/a.md",
		"../../testdata/demo.json": repository + "/blob/main/testdata/demo.json",
		"../../testdata/spec":      repository + "/tree/main/testdata/spec",
		"../../../README.md":       "links to ../../../README.md, which does not exist",
		"MISSING.md":               "links to MISSING.md, which does not exist",
	} {
		r := renderer{root: root, sources: []string{"README.md", "cmd/bunting/UPGRADING.md"}, source: "cmd/bunting/README.md", files: map[string][]byte{}}
		p, err := r.render([]byte("# A\n\n[text](" + link + ")\n"))
		if err != nil {
			if err.Error() != want {
				t.Errorf("%s: %v, want %s", link, err, want)
			}
			continue
		}
		if !strings.Contains(p.body, `<a href="`+want+`">text</a>`) {
			t.Errorf("%s: %s, want %s", link, p.body, want)
		}
	}
}

// The anchors are the same as on GitHub: cases of test/fixtures.json in github.com/Flet/github-slugger, with
// expected values from GitHub.
func TestAnchor(t *testing.T) {
	for title, want := range map[string]string{
		"alpha": "alpha", "bravoCharlieDelta": "bravocharliedelta", "heading with a - dash": "heading-with-a---dash",
		"heading with an _ underscore": "heading-with-an-_-underscore", "heading with a period.txt": "heading-with-a-periodtxt",
		"exchange.bind_headers(exchange, routing [, bindCallback])": "exchangebind_headersexchange-routing--bindcallback",
		"apostrophe’s should be trimmed":                            "apostrophes-should-be-trimmed", "I ♥ unicode": "i--unicode", "en–dash": "endash", "Привет": "привет",
	} {
		if got := anchor(title); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
}

// Text has a contrast of at least 4.5 to 1 with each background, in light and in dark (WCAG 2.2, 1.4.3),
// and borders of fields have 3 to 1 (1.4.11).
func TestStyle_Contrast(t *testing.T) {
	style, err := assets.ReadFile("assets/style.css")
	if err != nil {
		t.Fatal(err)
	}
	themes := regexp.MustCompile(`(?s):root \{(.*?)\}`).FindAllSubmatch(style, -1)
	if len(themes) != 2 {
		t.Fatalf("%d themes", len(themes))
	}
	for i, theme := range themes {
		colours := map[string]float64{}
		for _, m := range regexp.MustCompile(`--(\w+): #(\w{6});`).FindAllSubmatch(theme[1], -1) {
			colours[string(m[1])] = luminance(t, string(m[2]))
		}
		for _, text := range []string{"text", "muted", "link"} {
			for _, background := range []string{"page", "block"} {
				a, b := colours[text]+0.05, colours[background]+0.05
				if ratio := math.Max(a, b) / math.Min(a, b); ratio < 4.5 {
					t.Errorf("theme %d: %s on %s has %.2f to 1", i, text, background, ratio)
				}
			}
		}
	}
}

// luminance returns the relative luminance of a colour (WCAG 2.2).
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	rgb, err := strconv.ParseUint(colour, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	linear := func(shift int) float64 {
		c := float64(rgb>>shift&255) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(16) + 0.7152*linear(8) + 0.0722*linear(0)
}

// The embedded archive has the files that the generator creates from the pages of the repository. It is
// generated again before a release only, because it would change with almost every commit.
func TestArchive(t *testing.T) {
	data, err := os.ReadFile("../site.zip")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range stored.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := check(files); err != nil {
		t.Error(err)
	}
	if len(data) > 2<<20 {
		t.Errorf("it has %d bytes, want at most 2 MiB", len(data))
	}
	if *long && !maps.EqualFunc(files, site(t), bytes.Equal) {
		t.Errorf("it is not what the pages make: go generate ./adapters/internal/docs")
	}
}

// Two archives of the same files are equal.
func TestPack(t *testing.T) {
	files := map[string][]byte{"a.html": []byte("a"), "b/c.png": {1, 2}, "d.css": []byte(strings.Repeat("d", 1000))}
	first, err := pack(files)
	if err != nil {
		t.Fatal(err)
	}
	second, err := pack(maps.Clone(files))
	if err != nil || !slices.Equal(first, second) {
		t.Errorf("%d and %d bytes, %v", len(first), len(second), err)
	}
}
