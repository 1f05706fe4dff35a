package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// repository is where links to files lead that are not part of the site.
const repository = "https://github.com/bunting-flags/bunting"

// A group is a part of the navigation, and a section of llms.txt.
type group struct {
	name  string
	pages []entry
}

// An entry is a page in the navigation.
type entry struct {
	source string // relative to the root of the repository
	about  string // one line, for llms.txt and search engines
}

// groups has all pages in the order of the navigation. A page without an entry is an error.
var groups = []group{
	{"Start", []entry{
		{"README.md", "what Bunting is, how it compares, and the first flag"},
		{"INSTALL.md", "packages, archives, the image, the service"},
		{"adapters/console/README.md", "the web pages with which people manage flags, experiments and people"},
		{"adapters/command/internal/convert/README.md", "import flags from LaunchDarkly, Unleash, Flipt, flagd, GO Feature Flag, GrowthBook or PostHog"},
	}},
	{"Flags and experiments", []entry{
		{"management/EXPERIMENTS.md", "from a flag with two variants to a decision"},
		{"management/ROLLOUTS.md", "increase the share of a flag in steps, and roll it back if a metric is harmed"},
		{"adapters/command/ci/README.md", "show in a pull request whose flags would change"},
	}},
	{"Operation", []entry{
		{"cmd/bunting/README.md", "settings, flags as code, storage, backups, metrics, several servers, the command line, limits"},
		{"cmd/bunting/CONTAINERS.md", "the image, Compose and the Helm chart"},
		{"cmd/bunting/CERTIFICATES.md", "certificates by ACME or from files"},
		{"cmd/bunting/SEGMENTS.md", "older events as Parquet files, which DuckDB, pandas and others read"},
		{"cmd/bunting/CAPACITY.md", "what a billion events need, on one machine and with ten servers"},
		{"cmd/bunting/LITESTREAM.md", "replicate the SQLite file continuously with Litestream, and restore it"},
		{"cmd/bunting/UPGRADING.md", "upgrades of one server and of several, and the way back"},
		{"SECURITY.md", "which attacks Bunting withstands, and how to report a vulnerability"},
	}},
	{"In your code", []entry{
		{"adapters/remote/README.md", "evaluate flags in a Go service with the definitions of a server"},
		{"flags/README.md", "evaluate flags in a Go service with a definitions file"},
		{"adapters/ofprovider/README.md", "OpenFeature over HTTP and in a Go service"},
		{"cmd/examples/README.md", "small Go programs that embed or use Bunting"},
	}},
	{"HTTP", []entry{
		{"adapters/httpapi/README.md", "the endpoints for SDKs: flags, definitions, OFREP, events"},
		{"management/README.md", "the API that manages flags and all other objects"},
		{"adapters/httpapi/ERRORS.md", "every error code"},
	}},
	{optional, []entry{
		{"CHANGELOG.md", "notable changes of each version"},
		{"CONTRIBUTING.md", "where to add a feature, tests, style, terms"},
		{"ARCHITECTURE.md", "the packages and what each may import"},
		{"bench/README.md", "speed beside other engines"},
		{"testdata/README.md", "the test cases and the source of each expected value"},
		{"testdata/geoip/README.md", "the GeoIP databases of the tests"},
	}},
}

// optional is the section of llms.txt that a program may skip (llmstxt.org, "Format").
const optional = "Optional"

// groupTitles are the names of groups in the navigation that differ from those in llms.txt.
var groupTitles = map[string]string{optional: "The project"}

// excluded are folders with pages that are not part of the site: the specification, which tests read,
// and notes on files from elsewhere.
var excluded = []string{"testdata/spec/", "testdata/http/recorded/", "adapters/httpapi/sdktest/"}

// A page is one HTML document of the site.
type page struct {
	entry
	path     string // in the site
	title    string
	body     string // HTML
	markdown []byte // nil if there is no Markdown
	headings []heading
	sections []section
}

type heading struct {
	level    int
	id, text string
}

// A section is a heading with the text below it, for the search.
type section struct{ heading, id, text string }

// pathOf returns the path in the site of a Markdown page.
func pathOf(source string) string {
	dir, name := path.Split(source)
	if name == "README.md" {
		return dir + "index.html"
	}
	return dir + strings.TrimSuffix(name, ".md") + ".html"
}

// listPages returns the Markdown pages of the repository, and reports pages that have no entry in
// groups and entries that have no page.
func listPages(root string) (sources []string, err error) {
	out, err := exec.Command("git", "-C", root, "ls-files", "*.md").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w: the site is made in a clone", err)
	}
	for _, g := range groups {
		for _, e := range g.pages {
			sources = append(sources, e.source)
		}
	}
	stored := strings.Fields(string(out))
	for _, source := range stored {
		isExcluded := slices.ContainsFunc(excluded, func(dir string) bool { return strings.HasPrefix(source, dir) })
		if isExcluded == slices.Contains(sources, source) {
			return nil, fmt.Errorf("%s: want an entry in groups, or its folder in excluded (adapters/internal/docs/build/pages.go)", source)
		}
	}
	for _, source := range sources {
		if !slices.Contains(stored, source) {
			return nil, fmt.Errorf("%s has an entry in groups and does not exist", source)
		}
	}
	return sources, nil
}

// readPages reads and renders all Markdown pages. files are the pictures that they show.
func readPages(root string, sources []string) (pages []*page, files map[string][]byte, err error) {
	files = map[string][]byte{}
	for _, g := range groups {
		for _, e := range g.pages {
			text, err := os.ReadFile(filepath.Join(root, e.source))
			if err != nil {
				return nil, nil, err
			}
			r := renderer{root: root, sources: sources, source: e.source, files: files}
			p, err := r.render(text)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", e.source, err)
			}
			p.entry = e
			pages = append(pages, p)
		}
	}
	return pages, files, nil
}
