package organizations

import (
	"html"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/notices"
)

// displayName returns the name of a user in mails.
func displayName(u *management.User) string {
	if name := oneLine(u.FirstName + " " + u.LastName); name != "" {
		return name
	}
	return u.Email
}

// singleLink returns a list with one link.
func singleLink(label, link string) []notices.Link {
	return []notices.Link{{Label: label, Path: link}}
}

// write sets both forms of a mail from paragraphs, links with full addresses, and a last paragraph.
// The HTML form escapes all texts.
func (m *Mail) write(parts []string, links []notices.Link, last string) {
	var body strings.Builder
	body.WriteString("<!DOCTYPE html>\n<html><body>\n")
	paragraph := func(text string) {
		body.WriteString("<p>" + text + "</p>\n")
	}
	for _, text := range parts {
		paragraph(strings.ReplaceAll(html.EscapeString(text), "\n", "<br>\n"))
	}
	for _, l := range links {
		paragraph(`<a href="` + html.EscapeString(l.Path) + `">` + html.EscapeString(l.Label) + "</a>")
		parts = append(parts, l.Label+":\n"+l.Path)
	}
	if last != "" {
		parts = append(parts, last)
		paragraph(html.EscapeString(last))
	}
	body.WriteString("</body></html>\n")
	m.Text, m.HTML = strings.Join(parts, "\n\n")+"\n", body.String()
}
