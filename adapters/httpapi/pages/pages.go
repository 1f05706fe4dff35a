// Package pages has the web pages that the HTTP surface shows to people. They load
// nothing, and their forms are sent to where they came from.
package pages

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html/template"

	"github.com/bunting-flags/bunting/flags/wire"
)

//go:embed *.html
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{"pretty": pretty}).ParseFS(files, "*.html"))

// styles are the sources of the style of each page: the hash of what stands in it.
var styles = func() map[string]string {
	out := map[string]string{}
	for _, t := range templates.Templates() {
		text, err := files.ReadFile(t.Name())
		if err != nil {
			continue // a part of a page
		}
		out[t.Name()] = "'none'"
		if _, rest, ok := bytes.Cut(text, []byte("<style>")); ok {
			style, _, _ := bytes.Cut(rest, []byte("</style>"))
			sum := sha256.Sum256(style)
			out[t.Name()] = "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		}
	}
	return out
}()

// Policy is the Content-Security-Policy of a page of this folder: its own style and
// forms and nothing else. framed: others may frame it.
func Policy(name string, framed bool) string {
	policy := "default-src 'none'; style-src " + styles[name] + "; form-action 'self'; base-uri 'none'"
	if !framed {
		policy += "; frame-ancestors 'none'"
	}
	return policy
}

// Render is the page of a file of this folder, such as root.html, with what its view
// says. It fails where the view lacks what the page shows.
func Render(name string, view any) ([]byte, error) {
	var page bytes.Buffer
	err := templates.ExecuteTemplate(&page, name, view)
	return page.Bytes(), err
}

// pretty is a JSON value for people to read: indented, without escapes that are
// for HTML, which the template makes itself.
func pretty(raw json.RawMessage) (string, error) {
	var value any
	if err := wire.Decode(raw, &value); err != nil {
		return "", err
	}
	return wire.Indent(value)
}
