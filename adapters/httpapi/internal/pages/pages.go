// Package pages has the HTML pages of the HTTP API. The pages load no resources, and their forms
// post to their own origin.
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

// styles are the style sources for the Content-Security-Policy, by page: the hash of its style
// element.
var styles = func() map[string]string {
	out := map[string]string{}
	for _, t := range templates.Templates() {
		text, err := files.ReadFile(t.Name())
		if err != nil {
			continue // a template that is part of other pages
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

// Policy returns the Content-Security-Policy of a page. It allows only the page's own style and
// forms. If framed is true, other sites may embed the page in a frame. name is a file name, as
// for [Render].
func Policy(name string, framed bool) string {
	policy := "default-src 'none'; style-src " + styles[name] + "; form-action 'self'; base-uri 'none'"
	if !framed {
		policy += "; frame-ancestors 'none'"
	}
	return policy
}

// Render executes the template of a page, such as root.html, with view as its data. It returns an
// error if view has no field that the page uses. It may be called concurrently.
func Render(name string, view any) ([]byte, error) {
	var page bytes.Buffer
	err := templates.ExecuteTemplate(&page, name, view)
	return page.Bytes(), err
}

// pretty formats a JSON value with indentation. It does not escape HTML, because the template
// does.
func pretty(raw json.RawMessage) (string, error) {
	var value any
	if err := wire.Decode(raw, &value); err != nil {
		return "", err
	}
	text, err := wire.Encode(value)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return "", err
	}
	return out.String() + "\n", nil
}
