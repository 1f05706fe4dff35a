package frame

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/management"
)

// AnyKey is the scope of endpoints that every personal key may use. public is the scope of
// endpoints that require no authentication.
const (
	AnyKey = "any"
	Public = "public"
)

// Endpoint is one operation of the API: a method and path with its handler. The router and the
// OpenAPI document are generated from the tables of endpoints in this package.
type Endpoint struct {
	Method      string
	Area        *Area
	Path        string // below the area's prefix, with parameters in braces
	KeyScope    string
	SecondScope string // a second scope that the key must have, if not empty
	// Summary describes the operation in a few words.
	Summary string
	// BodyFields are the fields of the request body. If nil, the body is not read.
	BodyFields management.Fields
	// Array reports whether the body is an array of such objects.
	Array bool
	// Lines reports whether the body is JSON lines: one JSON value on each line.
	Lines bool
	// Unread leaves reading the body to the handler, which receives a lease for it.
	Unread bool
	// Query are the query parameters, except for limit and offset of lists.
	Query []Parameter
	// Status is the status of success; 0 means 200.
	Status int
	// Response is a value of the response type, or nil if the response has no body. A
	// management.List is a paginated list.
	Response any
	// LaterResponse is a value of the type of the 202 response while a run continues, or nil.
	LaterResponse any
	// Kind is the media type of the response; empty means JSON.
	Kind string
	// pageSize is the default page size of a list; 0 means 100.
	pageSize int
	// Bare omits the response body unless the caller prefers one (decision 18).
	Bare bool
	// needsProof requires that a session has verified its user recently (console.md §5.1).
	needsProof bool
	// Reads marks endpoints that read events or persons; they have rate limits of their own (§2.6).
	Reads bool
	// Uncompressed responses are never compressed, whatever the client accepts.
	Uncompressed bool
	// NoTimeout disables the time limit, for handlers with limits of their own.
	NoTimeout bool
	// bind returns the handler for the given server.
	bind func(*Server) func(*Call) (any, error)
	// Serve handles the request instead of bind, including authentication, the body and the
	// response. It is for the most frequent endpoints.
	Serve Handler
}

// checkScopes returns an error if the caller's key lacks a scope of the endpoint.
func (e *Endpoint) checkScopes(caller *management.Caller) error {
	if e.KeyScope == AnyKey {
		return nil
	}
	return cmp.Or(caller.Require(e.KeyScope), caller.Require(e.SecondScope))
}

// Parameter documents a query parameter.
type Parameter struct{ Name, Kind, Help string }

// Param returns the documentation of a query parameter of the kind string, integer or boolean.
func Param(name, kind, help string) Parameter { return Parameter{name, kind, help} }

// Handler handles a whole request. If it returns an error, it has not written a response yet, and
// the caller of the handler writes one for the error.
type Handler func(http.ResponseWriter, *http.Request) error

// Call is one authorized request to an endpoint.
type Call struct {
	Ctx           context.Context
	W             http.ResponseWriter
	R             *http.Request
	Scheme        string             // http or https, as the client sees it
	authenticated *management.Caller // the caller that Config.Authenticate returned
	Scope         *management.Scope  // nil for public endpoints
	Body          management.Body
	Lease         *admission.Lease  // for an unread body
	isAdmitted    bool              // a recheck of an admitted call, which does not extend its session
	Recheck       func() error      // checks again whether the caller is authorized; for long responses
	ListValues    management.Values // the validated query parameters of a list
	pageSize      int               // the default page size of a list; 0 for the general default
}

// Part returns a path parameter.
func (c *Call) Part(name string) string { return PathValue(c.R, name) }

// Query returns the query parameters of the request.
func (c *Call) Query() url.Values { return c.R.URL.Query() }

// Project returns the ID of the project of the call.
func (c *Call) Project() int64 { return c.Scope.Project.ID }

// Replaces reports whether the body replaces the whole object, as for PUT.
func (c *Call) Replaces() bool { return c.R.Method == http.MethodPut }

// Answer is returned by handlers whose response is not the endpoint's status with a JSON body.
type Answer struct {
	Status int
	Body   any    // encoded as JSON; nil for no body
	Raw    []byte // replaces body
	Kind   string // content type of raw
	Sent   bool   // the handler has already written the whole response
}

// Methods maps HTTP methods to the handlers of a path.
type Methods map[string]Handler

// Serving returns endpoints for handlers that handle whole requests.
func Serving(a *Area, path string, handlers Methods) (out []Endpoint) {
	for method, h := range handlers {
		out = append(out, Endpoint{Method: method, Area: a, Path: path, KeyScope: Public, Serve: h})
	}
	return out
}

// PathValue returns a path parameter, unescaped. chi matches the escaped form of a path if there is
// one, and its parameters are then escaped too.
func PathValue(r *http.Request, name string) string {
	part := chi.URLParam(r, name)
	if r.URL.RawPath != "" {
		if plain, err := url.PathUnescape(part); err == nil {
			return plain
		}
	}
	return part
}

// Area is a group of endpoints with common path prefixes and common behavior.
type Area struct {
	// Prefixes are the path prefixes below which each endpoint is served.
	Prefixes []string
	// Pages reports whether web pages of all origins may read the responses.
	Pages bool
	// Allow is the order of methods in the Allow header. If empty, the order is alphabetical.
	Allow []string
	// options handles OPTIONS. If nil, the response is 204.
	options Handler
	// Missing returns the error for a method that a path does not have. If nil, the error is 405.
	Missing func(*Server, *Area, http.ResponseWriter, *http.Request) error
	// findScope returns the scope of a call. If nil, calls have no project or organization.
	findScope func(*management.Service, *Call, *management.Caller) (*management.Scope, error)
}
