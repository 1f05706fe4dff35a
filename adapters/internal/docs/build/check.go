package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// A document has the parts of an HTML file that check compares.
type document struct {
	ids   map[string]bool
	links []string // of elements a
	loads []string // that a browser loads or to which a form leads
}

// check reads the files as a browser does and reports links and anchors without a target, resources
// of other sites, scripts and styles inside a document, pictures without a text, and wrong headings.
func check(files map[string][]byte) (problems error) {
	documents := map[string]*document{}
	for _, name := range sortedNames(files) {
		if path.Ext(name) != ".html" {
			continue
		}
		d, err := readDocument(files[name])
		documents[name], problems = d, errors.Join(problems, at(name, err))
	}
	for _, name := range sortedNames(files) {
		d := documents[name]
		if d == nil {
			d = &document{}
		}
		if ext := path.Ext(name); ext == ".md" || ext == ".txt" {
			for _, m := range markdownLink.FindAllSubmatch(files[name], -1) {
				d.links = append(d.links, string(m[1]))
			}
		}
		for _, target := range d.links {
			problems = errors.Join(problems, at(name, resolve(name, target, files, documents)))
		}
		for _, target := range d.loads {
			if isExternal(target) || strings.HasPrefix(target, "data:") {
				problems = errors.Join(problems, at(name, fmt.Errorf("loads %s", target)))
				continue
			}
			problems = errors.Join(problems, at(name, resolve(name, target, files, documents)))
		}
	}
	return problems
}

func at(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// resolve reports a link that leads to no file of the site, or to no element of its document. Anchors
// of a Markdown file are compared with its HTML.
func resolve(from, target string, files map[string][]byte, documents map[string]*document) error {
	if isExternal(target) {
		return nil
	}
	u, err := url.Parse(target)
	if err != nil {
		return err
	}
	to := from
	if u.Path != "" {
		to = path.Join(path.Dir(from), u.Path)
	}
	if files[to] == nil {
		return fmt.Errorf("links to %s: there is no %s", target, to)
	}
	d := documents[to]
	if path.Ext(to) == ".md" {
		d = documents[pathOf(to)]
	}
	if u.Fragment != "" && (d == nil || !d.ids[u.Fragment]) {
		return fmt.Errorf("links to %s, which has no such anchor", target)
	}
	return nil
}

// targets are the attributes with addresses, by element. The addresses of all elements but a are
// loaded.
var targets = map[string]string{"a": "href", "link": "href", "img": "src", "script": "src", "form": "action"}

// readDocument parses an HTML file.
func readDocument(text []byte) (*document, error) {
	tree, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	d := &document{ids: map[string]bool{}}
	level := 0
	for n := range tree.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if id := attribute(n, "id"); id != "" {
			if d.ids[id] {
				err = errors.Join(err, fmt.Errorf("the id %s is used twice", id))
			}
			d.ids[id] = true
		}
		if target := attribute(n, targets[n.Data]); target != "" {
			if n.Data == "a" {
				d.links = append(d.links, target)
			} else {
				d.loads = append(d.loads, target)
			}
		}
		err = errors.Join(err, judge(n, &level))
	}
	if level == 0 {
		err = errors.Join(err, errors.New("there is no heading"))
	}
	return d, err
}

// judge reports the faults of an element. level is the level of the last heading.
func judge(n *html.Node, level *int) error {
	switch {
	case n.Data == "style", n.Data == "script" && n.FirstChild != nil, attribute(n, "style") != "":
		return errors.New("it has a style or a script inside")
	case n.Data == "img" && attribute(n, "alt") == "":
		return errors.New("it has a picture without a text")
	case slices.Contains([]string{"h1", "h2", "h3", "h4", "h5", "h6"}, n.Data):
		last := *level
		*level = int(n.Data[1] - '0')
		if *level > last+1 || *level == 1 && last != 0 {
			return fmt.Errorf("a heading of level %d follows one of level %d", *level, last)
		}
	}
	return nil
}

// attribute returns the value of an attribute, or "".
func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
