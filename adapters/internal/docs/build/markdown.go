package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// markdown parses like GitHub: with tables, and addresses as links.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM))

// A renderer renders one page.
type renderer struct {
	root    string
	sources []string          // of all pages
	source  string            // of this page
	files   map[string][]byte // pictures, which render adds
}

// render returns a page without its entry. It has the same anchors as on GitHub, and its links lead to
// other pages of the site or to the repository.
func (r *renderer) render(source []byte) (*page, error) {
	doc := markdown.Parser().Parse(text.NewReader(source))
	p := &page{path: pathOf(r.source), headings: setAnchors(doc, source)}
	if len(p.headings) == 0 || p.headings[0].level != 1 {
		return nil, errors.New("a page begins with a heading of level 1")
	}
	p.title = p.headings[0].text
	p.sections = sectionsOf(doc, source)
	err := ast.Walk(doc, func(n ast.Node, entering bool) (_ ast.WalkStatus, err error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination, err = r.link(n.Destination)
		case *ast.Image:
			n.Destination, err = r.picture(n.Destination)
		case *ast.RawHTML, *ast.HTMLBlock:
			err = errors.New("HTML in Markdown is not supported")
		}
		return ast.WalkContinue, err
	})
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, source, doc); err != nil {
		return nil, err
	}
	p.body = scrollable.Replace(body.String())
	p.markdown, err = r.copyMarkdown(source)
	return p, err
}

// scrollable makes tables and blocks of code that are wider than the page scroll, also with the
// keyboard. Text in HTML has no "<", so only elements are replaced.
var scrollable = strings.NewReplacer(
	"<table>", `<div class="scroll" role="group" aria-label="table" tabindex="0"><table>`, "</table>", "</table></div>",
	"<pre>", `<pre tabindex="0">`,
	"<th></th>", "<td></td>", // a header without a text is not a header
)

// link returns the destination of a link in the site.
func (r *renderer) link(destination []byte) ([]byte, error) {
	target, anchor, hasAnchor := strings.Cut(string(destination), "#")
	if target == "" || isExternal(target) {
		return destination, nil
	}
	name, isPage, err := r.find(target)
	if err != nil {
		return nil, err
	}
	out := repositoryLink(r.root, name)
	if isPage {
		out = relative(pathOf(r.source), pathOf(name))
	}
	if hasAnchor {
		out += "#" + anchor
	}
	return []byte(out), nil
}

// find returns the path of a link's target in the repository, and whether the target is a page of the
// site.
func (r *renderer) find(target string) (name string, isPage bool, err error) {
	name = path.Join(path.Dir(r.source), target)
	if _, err := os.Stat(filepath.Join(r.root, name)); err != nil || name == ".." || strings.HasPrefix(name, "../") {
		return "", false, fmt.Errorf("links to %s, which does not exist", target)
	}
	return name, slices.Contains(r.sources, name), nil
}

// picture returns the destination of a picture and adds its file to the site.
func (r *renderer) picture(destination []byte) ([]byte, error) {
	name, _, err := r.find(string(destination))
	if err != nil {
		return nil, err
	}
	r.files[name], err = os.ReadFile(filepath.Join(r.root, name))
	return destination, err // pages and pictures have the same folders in the site
}

func isExternal(target string) bool {
	return strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:")
}

// repositoryLink returns the address of a file or folder that is not part of the site.
func repositoryLink(root, name string) string {
	kind := "blob"
	if info, err := os.Stat(filepath.Join(root, name)); err == nil && info.IsDir() {
		kind = "tree"
	}
	return repository + "/" + kind + "/main/" + name
}

// relative returns the path of one file of the site relative to another.
func relative(from, to string) string {
	out, err := filepath.Rel(path.Dir(from), to)
	if err != nil {
		panic(err) // cannot happen, both paths are relative
	}
	return filepath.ToSlash(out)
}

// markdownLink matches the end of a link's text, and its destination.
var markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// copyMarkdown returns a page with links that are valid in the site: a file that is not part of the
// site is linked in the repository.
func (r *renderer) copyMarkdown(source []byte) (_ []byte, failed error) {
	out := markdownLink.ReplaceAllFunc(source, func(link []byte) []byte {
		target, _, _ := strings.Cut(string(markdownLink.FindSubmatch(link)[1]), "#")
		if target == "" || isExternal(target) {
			return link
		}
		name, isPage, err := r.find(target)
		_, isPicture := r.files[name]
		failed = errors.Join(failed, err)
		if isPage || isPicture {
			return link
		}
		return []byte("](" + repositoryLink(r.root, name) + ")")
	})
	return out, failed
}

// setAnchors sets the id of each heading to its id on GitHub, and returns the headings.
func setAnchors(doc ast.Node, source []byte) (out []heading) {
	used := map[string]int{}
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			continue
		}
		title := textOf(h, source)
		id := anchor(title)
		if before := used[id]; before > 0 {
			used[id]++
			id += "-" + strconv.Itoa(before)
		}
		used[id]++
		h.SetAttributeString("id", []byte(id))
		out = append(out, heading{h.Level, id, title})
	}
	return out
}

// anchor returns the id of a heading: its letters and digits in lower case, and hyphens.
func anchor(title string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case unicode.IsLetter(c), unicode.IsDigit(c), c == '-', c == '_':
			return unicode.ToLower(c)
		}
		return -1
	}, title)
}

// sectionsOf returns the text of a page by heading.
func sectionsOf(doc ast.Node, source []byte) (out []section) {
	var words []string
	end := func() {
		if len(out) > 0 {
			out[len(out)-1].text = strings.Join(strings.Fields(strings.Join(words, " ")), " ")
		}
		words = nil
	}
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			end()
			id, _ := h.AttributeString("id")
			out = append(out, section{heading: textOf(h, source), id: string(id.([]byte))})
			continue
		}
		words = append(words, textOf(n, source))
	}
	end()
	return out
}

// textOf returns the text of a node without markup. Blocks are separated by spaces.
func textOf(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Value(source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		case *ast.AutoLink:
			if entering {
				b.Write(n.Label(source))
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				b.Write(n.Lines().Value(source))
			}
		default:
			if !entering && n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}
