package command

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// specOf maps a package to the page that a § without a page name refers to:
// testdata/spec/README.md.
var specOf = map[string]string{
	"flags": "flags", "geoip": "flags", "adapters/remote": "flags", "adapters/ofprovider": "flags", "bench": "flags",
	"adapters/command/internal/convert": "flags", "adapters/command/internal/flagsdiff": "flags",
	"capture": "capture", "capture/insights": "insights", "capture/experiments": "experiments", "capture/guarded": "experiments", "adapters/internal/natsstream": "capture",
	"adapters/console": "console",
	"management":       "management", "adapters/internal/exports": "management", "adapters/internal/dnstxt": "management", "adapters/internal/smtpmail": "management",
}

var (
	specSection  = regexp.MustCompile(`§ ?([0-9]+(?:\.[0-9]+)*|[A-Z][0-9]*)`)
	specNamed    = regexp.MustCompile(`\b(flags|capture|management|clients|interface|insights|console|experiments)(?:\.md)?,? §|§[0-9.]+ of (?:the )?(flags|capture|management|clients|interface)`)
	specDecision = regexp.MustCompile(`\bdecisions? ([0-9]+)`)
	specHeading  = regexp.MustCompile(`(?m)^#+ ([0-9]+(?:\.[0-9]+)*|[A-Z])\.? `)
	specItem     = regexp.MustCompile(`(?m)^\s*([0-9]+)\. `)
	// specMark matches the endpoints, decisions and journeys of console.md in comments, and
	// specMarked matches their definitions on that page.
	specMark   = regexp.MustCompile(`\bconsole\.md,? ([CJN][0-9]+)\b|\b(N[0-9]{1,2})\b`)
	specMarked = regexp.MustCompile(`(?m)^\| ([CN][0-9]+) \||^\*\*([JN][0-9]+) `)
	specClause = regexp.MustCompile(`(?m)^ *"clause": .*$`)
	// otherDocuments matches references to sections of external standards.
	otherDocuments = regexp.MustCompile(`RFC [0-9]+|WHATWG|SQLite's|SemVer|W3C`)
)

// Each § and each decision that a comment names exists in testdata/spec, so that readers of the
// comment find it.
func TestSpec_SectionsAreFound(t *testing.T) {
	pages := map[string]map[string]bool{}
	for _, page := range specPages {
		pages[page] = map[string]bool{}
		for _, heading := range specHeading.FindAllStringSubmatch(specPage(t, page), -1) {
			pages[page][heading[1]] = true
		}
	}
	decisions := map[string]bool{}
	for _, item := range specItem.FindAllStringSubmatch(specPage(t, "decisions"), -1) {
		decisions[item[1]] = true
	}
	marks := map[string]bool{}
	for _, mark := range specMarked.FindAllStringSubmatch(specPage(t, "console"), -1) {
		marks[mark[1]+mark[2]] = true
	}
	references := 0
	eachSource(t, func(path, text string) {
		before := ""
		for n, line := range strings.Split(text, "\n") {
			// The expressions below are slow, and most lines have no text that they could match.
			couldRefer := strings.ContainsAny(line, "§N") || strings.Contains(line, "decision") || strings.Contains(line, "console.md")
			if !couldRefer || otherDocuments.MatchString(before+" "+line) {
				before = line
				continue
			}
			for _, m := range specDecision.FindAllStringSubmatch(line, -1) {
				if references++; !decisions[m[1]] {
					t.Errorf("%s:%d: no decision %s in testdata/spec/decisions.md", path, n+1, m[1])
				}
			}
			for _, m := range specMark.FindAllStringSubmatch(line, -1) {
				if references++; !marks[m[1]+m[2]] {
					t.Errorf("%s:%d: no %s in testdata/spec/console.md", path, n+1, m[1]+m[2])
				}
			}
			for _, m := range specSection.FindAllStringSubmatch(line, -1) {
				references++
				wantPages := pagesOf(path, before, line)
				if !slices.ContainsFunc(wantPages, func(page string) bool { return hasSection(pages[page], m[1]) }) {
					t.Errorf("%s:%d: no §%s in %v of testdata/spec", path, n+1, m[1], wantPages)
				}
			}
			before = line
		}
	})
	if references < 500 {
		t.Errorf("only %d references were looked at", references)
	}
}

// specPages are the pages whose sections comments name.
var specPages = []string{"flags", "capture", "management", "clients", "interface", "insights", "experiments", "console"}

// hasSection reports whether a page has a section or its parent section: items of lists are
// numbered below it.
func hasSection(page map[string]bool, number string) bool {
	if page[number] {
		return true
	}
	above, _, ok := cutLast(number, ".")
	return ok && page[above]
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// pagesOf returns the pages that a § may refer to: those named by the words before it, else the
// page of the package, else all pages. A page that adds to management.md also counts for it. A name
// at the end of the previous line may be meant, or may belong to that line.
func pagesOf(path, before, line string) (out []string) {
	for _, m := range specNamed.FindAllStringSubmatch(line, -1) {
		out = append(out, m[1]+m[2])
	}
	if len(out) > 0 {
		if !slices.ContainsFunc(out, func(page string) bool { return page != "console" }) {
			return out
		}
		return append(out, "clients")
	}
	for _, m := range specNamed.FindAllStringSubmatch(before+" "+line, -1) {
		out = append(out, m[1]+m[2])
	}
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		if page := specOf[filepath.ToSlash(dir)]; page != "" {
			return append(out, page, "clients", "interface")
		}
	}
	return specPages
}

func specPage(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../testdata/spec", name+".md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// eachSource reads every Go and TypeScript file of the repository, and the clauses of the files of
// cases. path is relative to the root.
func eachSource(t *testing.T, look func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "dist"):
			return filepath.SkipDir
		case !slices.Contains([]string{".go", ".ts", ".json"}, filepath.Ext(path)) || d.Name() == "spec_test.go":
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(data)
		if filepath.Ext(path) == ".json" {
			text = strings.Join(specClause.FindAllString(text, -1), "\n")
		}
		relative, err := filepath.Rel("../..", path)
		if err == nil {
			look(relative, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
