// Package pages has the web pages that the HTTP surface shows to people. They load
// nothing, and their forms are sent to where they came from.
package pages

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Policy is the Content-Security-Policy of pages with forms, which nobody may frame.
const Policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

//go:embed *.html
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{"pretty": pretty}).ParseFS(files, "*.html"))

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
