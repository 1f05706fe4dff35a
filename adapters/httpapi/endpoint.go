package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/management"
)

// anyKey is the scope of endpoints that every personal key may use. public is the scope of
// endpoints that require no authentication.
const (
	anyKey = "any"
	public = "public"
)

// endpoint is one operation of the API: a method and path with its handler. The router and the
// OpenAPI document are generated from the tables of endpoints in this package.
type endpoint struct {
	method      string
	area        *area
	path        string // below the area's prefix, with parameters in braces
	keyScope    string
	secondScope string // a second scope that the key must have, if not empty
	// summary describes the operation in a few words.
	summary string
	// bodyFields are the fields of the request body. If nil, the body is not read.
	bodyFields management.Fields
	// array reports whether the body is an array of such objects.
	array bool
	// lines reports whether the body is JSON lines: one JSON value on each line.
	lines bool
	// unread leaves reading the body to the handler, which receives a lease for it.
	unread bool
	// query are the query parameters, except for limit and offset of lists.
	query []parameterDoc
	// status is the status of success; 0 means 200.
	status int
	// response is a value of the response type, or nil if the response has no body. A
	// management.List is a paginated list.
	response any
	// laterResponse is a value of the type of the 202 response while a run continues, or nil.
	laterResponse any
	// kind is the media type of the response; empty means JSON.
	kind string
	// pageSize is the default page size of a list; 0 means 100.
	pageSize int
	// bare omits the response body unless the caller prefers one (decision 18).
	bare bool
	// needsProof requires that a session has verified its user recently (console.md §5.1).
	needsProof bool
	// reads marks endpoints that read events or persons; they have rate limits of their own (§2.6).
	reads bool
	// uncompressed responses are never compressed, whatever the client accepts.
	uncompressed bool
	// noTimeout disables the time limit, for handlers with limits of their own.
	noTimeout bool
	// bind returns the handler for the given server.
	bind func(*server) func(*call) (any, error)
	// serve handles the request instead of bind, including authentication, the body and the
	// response. It is for the most frequent endpoints.
	serve handler
}

// checkScopes returns an error if the caller's key lacks a scope of the endpoint.
func (e *endpoint) checkScopes(caller *management.Caller) error {
	if e.keyScope == anyKey {
		return nil
	}
	return cmp.Or(caller.Require(e.keyScope), caller.Require(e.secondScope))
}

// parameterDoc documents a query parameter.
type parameterDoc struct{ name, kind, help string }

// param returns the documentation of a query parameter of the kind string, integer or boolean.
func param(name, kind, help string) parameterDoc { return parameterDoc{name, kind, help} }

// handler handles a whole request. If it returns an error, it has not written a response yet, and
// the caller of the handler writes one for the error.
type handler func(http.ResponseWriter, *http.Request) error

// call is one authorized request to an endpoint.
type call struct {
	ctx           context.Context
	w             http.ResponseWriter
	r             *http.Request
	scheme        string             // http or https, as the client sees it
	authenticated *management.Caller // the caller that Config.Authenticate returned
	scope         *management.Scope  // nil for public endpoints
	body          management.Body
	lease         *admission.Lease  // for an unread body
	isAdmitted    bool              // a recheck of an admitted call, which does not extend its session
	recheck       func() error      // checks again whether the caller is authorized; for long responses
	listValues    management.Values // the validated query parameters of a list
	pageSize      int               // the default page size of a list; 0 for the general default
}

// part returns a path parameter.
func (c *call) part(name string) string { return parameter(c.r, name) }

// query returns the query parameters of the request.
func (c *call) query() url.Values { return c.r.URL.Query() }

// project returns the ID of the project of the call.
func (c *call) project() int64 { return c.scope.Project.ID }

// replaces reports whether the body replaces the whole object, as for PUT.
func (c *call) replaces() bool { return c.r.Method == http.MethodPut }

// answer is returned by handlers whose response is not the endpoint's status with a JSON body.
type answer struct {
	status int
	body   any    // encoded as JSON; nil for no body
	raw    []byte // replaces body
	kind   string // content type of raw
	sent   bool   // the handler has already written the whole response
}

// methods maps HTTP methods to the handlers of a path.
type methods map[string]handler

// serving returns endpoints for handlers that handle whole requests.
func serving(a *area, path string, handlers methods) (out []endpoint) {
	for method, h := range handlers {
		out = append(out, endpoint{method: method, area: a, path: path, keyScope: public, serve: h})
	}
	return out
}

// parameter returns a path parameter, unescaped. chi matches the escaped form of a path if there is
// one, and its parameters are then escaped too.
func parameter(r *http.Request, name string) string {
	part := chi.URLParam(r, name)
	if r.URL.RawPath != "" {
		if plain, err := url.PathUnescape(part); err == nil {
			return plain
		}
	}
	return part
}

// area is a group of endpoints with common path prefixes and common behavior.
type area struct {
	// prefixes are the path prefixes below which each endpoint is served.
	prefixes []string
	// pages reports whether web pages of all origins may read the responses.
	pages bool
	// allow is the order of methods in the Allow header. If empty, the order is alphabetical.
	allow []string
	// options handles OPTIONS. If nil, the response is 204.
	options handler
	// missing returns the error for a method that a path does not have. If nil, the error is 405.
	missing func(*server, *area, http.ResponseWriter, *http.Request) error
	// findScope returns the scope of a call. If nil, calls have no project or organization.
	findScope func(*management.Service, *call, *management.Caller) (*management.Scope, error)
}
