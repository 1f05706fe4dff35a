package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"path"
	"slices"
	"strings"
)

//go:embed assets
var assets embed.FS

var templates = template.Must(template.ParseFS(assets, "assets/*.html"))

func execute(name string, data any) (string, error) {
	var b bytes.Buffer
	err := templates.ExecuteTemplate(&b, name, data)
	return b.String(), err
}

// Files of the site that are not pages.
const (
	searchPage = "search.html"
	openAPI    = "openapi.json"
	llms       = "llms.txt"
)

// build returns the files of the site by path. description is the OpenAPI description of the API.
func build(root string, description []byte) (map[string][]byte, error) {
	sources, err := listPages(root)
	if err != nil {
		return nil, err
	}
	pages, files, err := readPages(root, sources)
	if err != nil {
		return nil, err
	}
	api, err := apiPages(description)
	if err != nil {
		return nil, err
	}
	if files[openAPI], err = indent(description); err != nil {
		return nil, err
	}
	searchable := slices.Concat(pages, api)
	search, err := searchOf(searchable)
	if err != nil {
		return nil, err
	}
	if files["search-data.js"], err = searchData(searchable); err != nil {
		return nil, err
	}
	for _, p := range append(searchable, search) {
		html, err := pageHTML(p, pages)
		if err != nil {
			return nil, err
		}
		files[p.path] = []byte(html)
		if p.markdown != nil {
			files[p.source] = p.markdown
		}
	}
	for _, name := range []string{"style.css", "search.js", "icon.svg"} {
		if files[name], err = assets.ReadFile("assets/" + name); err != nil {
			return nil, err
		}
	}
	files[llms] = []byte(llmsText(pages))
	return files, check(files)
}

func indent(text []byte) ([]byte, error) {
	var b bytes.Buffer
	err := json.Indent(&b, text, "", " ")
	return b.Bytes(), err
}

// A link is a link of the navigation.
type link struct {
	Href, Text string
	IsCurrent  bool
}

type navigation struct {
	Name  string
	Links []link
}

// pageHTML returns the document of a page.
func pageHTML(p *page, pages []*page) (string, error) {
	var groupLinks []navigation
	all := pages
	for _, g := range groups {
		n := navigation{Name: g.name}
		if title := groupTitles[g.name]; title != "" {
			n.Name = title
		}
		for _, other := range all[:len(g.pages)] {
			n.Links = append(n.Links, link{relative(p.path, other.path), other.title, other == p})
		}
		all = all[len(g.pages):]
		if g.name == "HTTP" {
			n.Links = append(n.Links, link{relative(p.path, apiIndex), "API reference", p.path == apiIndex})
		}
		groupLinks = append(groupLinks, n)
	}
	var contents []link
	for _, h := range p.headings {
		if h.level == 2 {
			contents = append(contents, link{Href: "#" + h.id, Text: h.text})
		}
	}
	if len(contents) < 3 {
		contents = nil
	}
	title := p.title
	if p.path != "index.html" {
		title += " · Bunting"
	}
	data := map[string]any{
		"Title": title, "About": p.about, "Root": strings.TrimSuffix(relative(p.path, "style.css"), "style.css"),
		"Groups": groupLinks, "Contents": contents, "Body": template.HTML(p.body), "IsSearch": p.path == searchPage, "Markdown": "",
	}
	if p.markdown != nil {
		data["Markdown"] = path.Base(p.source)
	}
	return execute("page.html", data)
}

// searchOf returns the page of the search, which lists all headings. Its script filters them and
// searches the text of all pages.
func searchOf(pages []*page) (*page, error) {
	var rows []navigation
	for _, p := range pages {
		n := navigation{Name: p.title}
		for _, h := range p.headings {
			if h.level <= 3 {
				n.Links = append(n.Links, link{Href: p.path + "#" + h.id, Text: h.text})
			}
		}
		rows = append(rows, n)
	}
	body, err := execute("search.html", rows)
	return &page{
		entry: entry{about: "searches the documentation, and lists all headings"}, path: searchPage, title: "Search",
		headings: []heading{{1, "search", "Search"}}, body: body,
	}, err
}

// searchData returns a script that defines the text of all sections: title of the page, heading, link
// and text. It is a script because in browsers, pages of file:// cannot read other files.
func searchData(pages []*page) ([]byte, error) {
	rows := [][]string{}
	for _, p := range pages {
		for _, s := range p.sections {
			rows = append(rows, []string{p.title, s.heading, p.path + "#" + s.id, s.text})
		}
	}
	var b bytes.Buffer
	b.WriteString("const sections = ")
	e := json.NewEncoder(&b)
	e.SetIndent("", "")
	if err := e.Encode(rows); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// llmsText returns llms.txt (llmstxt.org, "Format"): a title, a summary, and lists of links to the
// pages as Markdown.
func llmsText(pages []*page) string {
	var b strings.Builder
	summary := pages[0].sections[0].text
	if end := strings.Index(summary, ". "); end > 0 {
		summary = summary[:end+1]
	}
	fmt.Fprintf(&b, "# %s\n\n> %s\n\nEach page is Markdown. The same pages as HTML are next to them.\n", pages[0].title, summary)
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n\n", g.name)
		for _, p := range pages[:len(g.pages)] {
			fmt.Fprintf(&b, "- [%s](%s): %s\n", p.title, p.source, p.about)
		}
		if g.name == "HTTP" {
			fmt.Fprintf(&b, "- [OpenAPI description](%s): every endpoint with its parameters, body and response, in OpenAPI 3.1\n", openAPI)
		}
		pages = pages[len(g.pages):]
	}
	return b.String()
}

// sortedNames returns the paths of files in order.
func sortedNames(files map[string][]byte) []string { return slices.Sorted(maps.Keys(files)) }
