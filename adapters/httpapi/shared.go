package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
)

// sharedEndpoints are the links to dashboards (§4.1.8): JSON, or a page where the
// caller prefers one (decision 18). Where a password is required it is posted, so
// that it stands in no log of addresses.
var sharedEndpoints = func() (out []endpoint) {
	for _, path := range []string{"/shared/{token}", "/embedded/{token}", "/shared_dashboard/{token}"} {
		out = append(out, resource(atTop, public, linkDeskOf, []row[linkDesk]{
			by(http.MethodGet, path, "Read a shared dashboard", openShared).giving(dashboards.SharedDashboard{}),
			by(http.MethodPost, path, "Read a shared dashboard with a password", openShared).taking(sharedFields).giving(dashboards.SharedDashboard{}),
		})...)
	}
	return out
}()

// linkDesk is what links to dashboards stand on. guess counts a password that has not
// been right before, and says when it must not be looked at.
type linkDesk struct {
	dashboards.Dashboards
	guess func(r *http.Request, token string) error
}

func linkDeskOf(s *server) linkDesk { return linkDesk{s.Management.Dashboards.Dashboards, s.guess} }

var sharedFields = management.Fields{{Name: "password", Type: management.Text, Blank: true, Max: 128}}

// openShared answers a link.
func openShared(of linkDesk, c *call) (any, error) {
	h := c.w.Header()
	h.Add("Vary", "Accept")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer") // the address is the secret
	h.Set("X-Robots-Tag", "noindex")
	token := c.part("token")
	shared, err := of.Shared(c.ctx, token, textMember(c.body, "password"), func() error { return of.guess(c.r, token) })
	if !prefersPage(c.r) {
		return shared, err
	}
	return c.sharedPage(shared, err)
}

// sharedView is what the page shows.
type sharedView struct {
	*dashboards.SharedDashboard
	Title   string
	Asks    bool   // for a password
	Message string // what went wrong
}

// sharedPage is the page of a link. Other faults than those of the link stay JSON.
func (c *call) sharedPage(shared *dashboards.SharedDashboard, err error) (any, error) {
	view, status := sharedView{SharedDashboard: shared, Title: "Dashboard"}, http.StatusOK
	var told *management.Error
	switch {
	case errors.As(err, &told) && told.Kind == management.Unauthenticated:
		view.Asks, status = true, http.StatusUnauthorized
		if told.Code == dashboards.CodePasswordWrong {
			view.Message = told.Message
		}
		c.w.Header().Set("WWW-Authenticate", "Bearer")
	case errors.As(err, &told) && told.Kind == management.NotFound:
		view.Message, status = "There is no such dashboard, or it is not shared.", http.StatusNotFound
	case err != nil:
		return nil, err
	case shared.Dashboard.Name != nil && *shared.Dashboard.Name != "":
		view.Title = *shared.Dashboard.Name
	}
	var page bytes.Buffer
	if err := sharedTemplate.Execute(&page, view); err != nil {
		return nil, err
	}
	h := c.w.Header()
	policy := "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'"
	if !strings.HasPrefix(c.r.URL.Path, "/embedded/") {
		policy += "; frame-ancestors 'none'"
	}
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	return answer{status: status, raw: page.Bytes(), kind: "text/html; charset=utf-8"}, nil
}

// prefersPage reports whether the caller wants HTML.
func prefersPage(r *http.Request) bool { return prefers(r, "text/html") }

// prefers reports whether the caller wants a media type at least as much as JSON
// and asks for it by name.
func prefers(r *http.Request, wanted string) bool {
	page, data, other := -1.0, -1.0, -1.0
	for _, line := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			kind, rest, _ := strings.Cut(part, ";")
			switch weight := acceptWeight(rest); strings.ToLower(strings.TrimSpace(kind)) {
			case wanted:
				page = max(page, weight)
			case "application/json":
				data = max(data, weight)
			case "*/*":
				other = max(other, weight)
			}
		}
	}
	if data < 0 {
		data = other
	}
	return page > 0 && page >= data
}

// acceptWeight is the q of an entry of Accept, 1 when it has none that can be read.
func acceptWeight(parameters string) float64 {
	list := strings.Split(parameters, ";")
	at := slices.IndexFunc(list, func(p string) bool { return strings.HasPrefix(strings.ToLower(strings.TrimSpace(p)), "q=") })
	if at < 0 {
		return 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(list[at])[2:], 64)
	if err != nil {
		return 1
	}
	return q
}

var sharedTemplate = template.Must(template.New("shared").Funcs(template.FuncMap{
	"pretty": pretty,
}).Parse(sharedHTML))

// pretty is a JSON value for people to read: indented, without escapes that are
// for HTML, which the template makes itself.
func pretty(raw json.RawMessage) (string, error) {
	var value any
	if err := wire.Decode(raw, &value); err != nil {
		return "", err
	}
	return wire.Indent(value)
}

// sharedHTML is the page of a link. Texts are shown as they were written; queries
// are not run, so an insight is its name and description, and with showInspector
// its query.
const sharedHTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{{.Title}}</title>
<style>
body { font-family: sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
section { border: 1px solid #ccc; border-radius: 4px; margin: 1rem 0; padding: 1rem; }
.text, pre { overflow-wrap: anywhere; white-space: pre-wrap; }
footer { color: #666; font-size: small; }
</style>
</head>
<body>
{{- if .Message}}
<p role="alert">{{.Message}}</p>
{{- end}}
{{- if .Asks}}
<form method="post">
<label>This dashboard asks for a password: <input type="password" name="password" maxlength="128" required autofocus></label>
<button>Open</button>
</form>
{{- end}}
{{- with .SharedDashboard}}
{{- $settings := .Settings}}
{{- if not (index $settings "noHeader")}}
<header>
<h1>{{$.Title}}</h1>
{{- with .Dashboard.Description}}
<p class="text">{{.}}</p>
{{- end}}
</header>
{{- end}}
<main>
{{- range .Dashboard.Tiles}}
<section>
{{- with .Text}}
<div class="text">{{.Body}}</div>
{{- end}}
{{- with .Insight}}
<h2>{{with .Name}}{{.}}{{else}}Insight{{end}}</h2>
{{- if and .Description (not (index $settings "hideExtraDetails"))}}
<p class="text">{{.Description}}</p>
{{- end}}
{{- if index $settings "showInspector"}}
<pre>{{pretty .Query}}</pre>
{{- end}}
{{- end}}
</section>
{{- else}}
<p>This dashboard has no tiles.</p>
{{- end}}
</main>
{{- if not (index $settings "whitelabel")}}
<footer>Shared with Bunting</footer>
{{- end}}
{{- end}}
</body>
</html>
`
