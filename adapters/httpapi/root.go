package httpapi

import (
	"net/http"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/pages"
)

// rootAnswer is the response of the root: a description of the service, and links.
type rootAnswer struct {
	Service string `json:"service"`
	About   string `json:"about"`
	// Links are paths on this host, by the name of a service.
	Links map[string]string `json:"links"`
}

// rootLink is one of the links of the root.
type rootLink struct {
	name, path, about string
	isServed          func(c *Config) bool // if nil, always true
}

var rootLinks = []rootLink{
	{"flags", "/flags", "evaluates feature flags: POST with the project's key and a distinct id", hasDecider},
	{"definitions", "/flags/definitions", "flag definitions for SDKs that evaluate locally", hasDecider},
	{"ofrep", "/ofrep/v1/evaluate/flags", "feature flags for OpenFeature providers (OFREP)", hasDecider},
	{"capture", "/batch", "captures events", func(c *Config) bool { return c.Intake != nil }},
	{"api", "/api/projects/", "management API; requires a personal API key", func(c *Config) bool { return c.Management != nil }},
	{"schema", "/api/schema/", "describes every endpoint (OpenAPI)", func(c *Config) bool { return c.Management != nil }},
	{"liveness", "/_liveness", "reports that the process is running", nil},
	{"readiness", "/_readiness", "reports that the server is ready for requests", nil},
}

func hasDecider(c *Config) bool { return c.Decider != nil }

const rootAbout = "Feature flags and event capture for PostHog's SDKs: use this address as their host."

// rootOf returns the handler of the root: JSON, or a page if the caller prefers HTML. If there is a
// console, browsers are redirected to it.
func rootOf(c *Config) frame.Handler {
	var there []rootLink
	for _, l := range rootLinks {
		if l.isServed == nil || l.isServed(c) {
			there = append(there, l)
		}
	}
	hasConsole := c.Console != nil
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Add("Vary", "Accept")
		if frame.PrefersPage(r) {
			if hasConsole {
				w.Header().Set("Location", relativeRoot(r)+"/console/")
				w.WriteHeader(http.StatusSeeOther)
				return nil
			}
			return rootPage(w, r, there)
		}
		out, prefix := rootAnswer{"bunting", rootAbout, map[string]string{}}, frame.PrefixOf(r)
		for _, l := range there {
			out.Links[l.name] = prefix + l.path
		}
		return frame.WriteJSON(w, http.StatusOK, out)
	}
}

// relativeRoot returns the root relative to the path of the request, without a trailing slash.
func relativeRoot(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if prefix := frame.PrefixOf(r); strings.HasSuffix(path, prefix) && prefix != "" { // the request has no trailing slash
		return "." + prefix[strings.LastIndexByte(prefix, '/'):]
	}
	return "."
}

// rootPage responds with the page of the root. Its links are relative, because a proxy may have
// stripped a prefix.
func rootPage(w http.ResponseWriter, r *http.Request, links []rootLink) error {
	type row struct{ Path, Link, About string }
	rows, here := make([]row, len(links)), relativeRoot(r)
	for i, l := range links {
		rows[i] = row{l.path, here + l.path, l.about}
	}
	h := w.Header()
	h.Set("Content-Security-Policy", pages.Policy("root.html", false))
	h.Set("X-Content-Type-Options", "nosniff")
	text, err := pages.Render("root.html", map[string]any{"About": rootAbout, "Rows": rows})
	if err != nil {
		return err
	}
	return frame.Send(w, "text/html; charset=utf-8", text)
}
