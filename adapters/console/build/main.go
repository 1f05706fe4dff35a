// Command build bundles the console's sources into the folder that is embedded. It does not need
// Node: esbuild is a Go library.
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Without an argument the command writes the bundles of all languages. With pseudo DIR it writes that of
// the pseudo-language to DIR.
func main() {
	dir, run := "../dist", bundle
	if len(os.Args) == 3 && os.Args[1] == "pseudo" {
		dir, run = os.Args[2], func(src string) (map[string][]byte, error) { return bundleLanguage(src, pseudoLanguage) }
	}
	files, err := run("../src")
	if err == nil {
		err = write(dir, files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// pageGroups are the groups in which pages are loaded, by the first part of their path in src/pages.
// Pages of the group mainScript are in the main script; pages without a row are in the
// group otherPages. A request costs more than the pages of a group that are not opened.
var pageGroups = map[string]string{
	"home": mainScript, "flags": mainScript, "signin": mainScript, "notfound": mainScript,
	"flag": "flag", "why": "flag", "approvals": "flag",
	"people": "people", "groups": "people", "cohorts": "people", "events": "people",
	"insights": "analysis", "dashboards": "analysis", "experiments": "experiments",
	"surveys": "records", "earlyaccess": "records", "errors": "records", "exports": "records",
}

const (
	mainScript = "main"
	otherPages = "manage"
)

// A language is one of the pages. Its bundle has the messages of its catalogue.
type language struct {
	code      string
	shell     string // the name of its document
	catalogue string // the folder with its messages; "" for words.ts and words
}

var languages = []language{{"en", "shell.html", ""}, {"de", "shell.de.html", "words/de"}}

// bundle returns the files of dist by name, uncompressed. Each language has its own document and
// scripts: a browser loads only the messages of its language, with no more requests than for another.
func bundle(src string) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, l := range languages {
		files, err := bundleLanguage(src, l)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, files)
	}
	return all, nil
}

// bundleLanguage returns the files of a language.
//
// esbuild writes a file with the modules that the same set of entry points needs, so pages that share
// modules in different combinations become dozens of small files. bundleLanguage therefore loads pages in
// groups, puts every module that several groups need into the main script, and lets every group need
// the whole main script: then there are one file for the main script and one for each group.
func bundleLanguage(src string, l language) (map[string][]byte, error) {
	src, err := filepath.Abs(src)
	if err != nil {
		return nil, err
	}
	_, modules, err := build(src, l, nil)
	if err != nil {
		return nil, err
	}
	files, _, err := build(src, l, modules)
	if err != nil {
		return nil, err
	}
	var script, style string
	for name, text := range files {
		switch {
		case strings.HasPrefix(name, "main-") && path.Ext(name) == ".css":
			style = name
		case strings.HasPrefix(name, "main-"):
			script = name
			// Since groups need the main script, the entry point only imports the file that has it.
			if m := onlyImport.FindSubmatch(text); m != nil {
				script = string(m[1])
				delete(files, name)
			}
		}
	}
	icon, err := os.ReadFile(filepath.Join(src, "icon.svg"))
	if err != nil {
		return nil, err
	}
	iconName := fmt.Sprintf("icon-%X.svg", sha256.Sum256(icon))[:13] + ".svg"
	files[iconName] = icon
	files[l.shell] = fmt.Appendf(nil, shell, l.code, iconName, style, script)
	return files, nil
}

// onlyImport matches a file that only imports another one.
var onlyImport = regexp.MustCompile(`^import"\./([\w-]+\.js)";\s*$`)

// build bundles the sources. If modules has the modules of an earlier build, shared modules are
// in the main script.
func build(src string, l language, modules *graph) (map[string][]byte, *graph, error) {
	routes, err := os.ReadFile(filepath.Join(src, "routes.ts"))
	if err != nil {
		return nil, nil, err
	}
	grouped, groups := groupPages(string(routes))
	additional := modules.additionalImports()
	// load returns a module with its additional imports.
	load := func(contents, module, dir string) api.OnLoadResult {
		for _, name := range additional[module] {
			contents += fmt.Sprintf("\nimport %q;", filepath.Join(src, name))
		}
		return api.OnLoadResult{Contents: &contents, Loader: api.LoaderTS, ResolveDir: dir}
	}
	out := api.Build(api.BuildOptions{
		EntryPoints: []string{"main.ts", "styles/main.css"}, AbsWorkingDir: src,
		Bundle: true, Splitting: true, Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8, Metafile: true,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LegalComments: api.LegalCommentsNone,
		Define:     map[string]string{"LANGUAGE": strconv.Quote(l.code)},
		EntryNames: "[name]-[hash]", ChunkNames: "[name]-[hash]", Outdir: "dist", TsconfigRaw: `{"compilerOptions": {"strict": true}}`,
		Plugins: []api.Plugin{{Name: "groups of pages and texts", Setup: func(b api.PluginBuild) {
			b.OnResolve(api.OnResolveOptions{Filter: "^group:"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
				return api.OnResolveResult{Path: strings.TrimPrefix(a.Path, "group:"), Namespace: "group"}, nil
			})
			b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: "group"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
				return load(groups[a.Path], "group:"+a.Path, src), nil
			})
			b.OnLoad(api.OnLoadOptions{Filter: `\.ts$`, Namespace: "file"}, func(a api.OnLoadArgs) (out api.OnLoadResult, err error) {
				module, err := filepath.Rel(src, a.Path)
				if module = filepath.ToSlash(module); err == nil && module == "routes.ts" {
					return load(grouped, module, src), nil
				}
				file := l.fileOf(src, module)
				if err != nil || file == a.Path && len(additional[module]) == 0 {
					return out, err // esbuild loads it
				}
				if l.catalogue == pseudoCatalogue && isTexts(module) {
					text, err := pseudoTexts(a.Path)
					return load(text, module, filepath.Dir(a.Path)), err
				}
				text, err := os.ReadFile(file)
				if err != nil {
					return out, err
				}
				return load(string(text), module, filepath.Dir(file)), nil
			})
			loadEnglish(b)
		}}},
	})
	if len(out.Errors) > 0 {
		return nil, nil, fmt.Errorf("the console cannot be bundled:\n%s", strings.Join(api.FormatMessages(out.Errors, api.FormatMessagesOptions{}), ""))
	}
	files := map[string][]byte{}
	for _, f := range out.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
	var found graph
	err = json.Unmarshal([]byte(out.Metafile), &found)
	return files, &found, err
}

// isTexts reports whether a module has messages.
func isTexts(module string) bool { return module == "words.ts" || path.Dir(module) == "words" }

// fileOf returns the file of a module in a language.
func (l language) fileOf(src, module string) string {
	if l.catalogue != "" && isTexts(module) {
		return filepath.Join(src, l.catalogue, path.Base(module))
	}
	return filepath.Join(src, module)
}

// pageImport matches how the table of routes loads a page.
var pageImport = regexp.MustCompile(`import\("(\./pages/([\w]+)[^"]*)"\)`)

// groupPages returns the table of routes with pages that are loaded in groups, and the modules of the
// groups by name.
func groupPages(routes string) (string, map[string]string) {
	groups := map[string]string{}
	pages := 0
	routes = pageImport.ReplaceAllStringFunc(routes, func(text string) string {
		m := pageImport.FindStringSubmatch(text)
		group := cmp.Or(pageGroups[m[2]], otherPages)
		pages++
		if group == mainScript {
			groups[group] += fmt.Sprintf("\nimport * as page%d from %q;", pages, m[1])
			return fmt.Sprintf("Promise.resolve(page%d)", pages)
		}
		groups[group] += fmt.Sprintf("export * as page%d from %q;\n", pages, m[1])
		return fmt.Sprintf(`import("group:%s").then((group) => group.page%d)`, group, pages)
	})
	return routes + groups[mainScript], groups
}

// graph has the modules of a bundle, by their path in the folder of the sources.
type graph struct {
	Inputs map[string]struct {
		Imports []struct {
			Path string
			Kind string
		}
	}
}

// additionalImports returns the imports with which the main script contains all modules that several
// groups need, and every group needs the main script. Without a graph the result is empty.
func (g *graph) additionalImports() map[string][]string {
	imports := map[string][]string{}
	if g == nil {
		return imports
	}
	const main = "main.ts"
	users := map[string]int{} // by module, how many groups need it
	for _, group := range g.loadedLater() {
		imports[group] = []string{main}
		for module := range g.neededBy(group) {
			users[module]++
		}
	}
	first := g.neededBy(main)
	for _, module := range slices.Sorted(maps.Keys(users)) {
		if users[module] > 1 && !first[module] && !strings.HasPrefix(module, english) { // messages in English are loaded with their users
			imports[main] = append(imports[main], module)
		}
	}
	return imports
}

// loadedLater returns the modules that are loaded when they are needed, in order.
func (g *graph) loadedLater() []string {
	found := map[string]bool{}
	for _, module := range g.Inputs {
		for _, i := range module.Imports {
			if i.Kind == "dynamic-import" {
				found[i.Path] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// neededBy returns the modules that are loaded together with a module, with itself.
func (g *graph) neededBy(module string) map[string]bool {
	found := map[string]bool{}
	var visit func(string)
	visit = func(at string) {
		if found[at] {
			return
		}
		found[at] = true
		for _, i := range g.Inputs[at].Imports {
			if i.Kind != "dynamic-import" {
				visit(i.Path)
			}
		}
	}
	visit(module)
	return found
}

// shell is the HTML document of a language. Scripts create the content of all pages.
const shell = `<!doctype html>
<html lang="%s" dir="ltr">
<head>
<meta charset="utf-8">
<base href="{{.}}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Bunting</title>
<link rel="icon" href="%s">
<link rel="stylesheet" href="%s">
<script type="module" src="%s"></script>
</head>
<body></body>
</html>
`

// write replaces the folder's files. Assets are stored compressed.
func write(dir string, files map[string][]byte) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if path.Ext(name) != ".html" {
			var err error
			if text, err = pack(text); err != nil {
				return err
			}
			name += ".gz"
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func pack(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}
