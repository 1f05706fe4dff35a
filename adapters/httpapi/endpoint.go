package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"github.com/bunting-flags/bunting/management"
)

// anyKey is the scope of endpoints that every personal key opens, public of those
// that need none.
const (
	anyKey = "any"
	public = "public"
)

// endpoint is one operation: a row of the tables of this room, out of which the
// router and the API's description are made.
type endpoint struct {
	method      string
	area        *area
	path        string // below the area's prefix, with names in braces
	keyScope    string
	secondScope string // a second scope that the key must have, empty for none
	// summary says in a few words what it does.
	summary string
	// bodyFields are the fields that the body may have; nil: the body is not read.
	bodyFields management.Fields
	// array: the body is an array of such objects.
	array bool
	// lines: the body is text, JSON on each line.
	lines bool
	// unread bodies are left to what answers, which has a lease for them.
	unread bool
	// query are the parameters that it looks at, beside limit and offset of lists.
	query []parameterDoc
	// status is that of success, 200 when zero.
	status int
	// response is a value of the answer's type, nil for no body. A management.List is a
	// paginated list.
	response any
	// laterResponse is one of the answer of 202 while a run goes on, nil for none.
	laterResponse any
	// kind is the media type of an answer that is no JSON, empty for JSON.
	kind string
	// pageSize is that of a list when nobody says, 100 when zero.
	pageSize int
	// bare answers have no body, unless the caller prefers one (decision 18).
	bare bool
	// needsProof: a session must have proven itself just now (console.md §5.1).
	needsProof bool
	// reads events or persons, which has limits of its own (§2.6).
	reads bool
	// uncompressed answers are sent as they are, whatever the client accepts.
	uncompressed bool
	// noTimeout: without a limit of time, for what bounds itself.
	noTimeout bool
	// bind makes what answers, of the server that it is served by.
	bind func(*server) func(*call) (any, error)
	// serve answers instead, by itself: whom, what of the body and how, for what is
	// asked most.
	serve handler
}

// checkScopes looks whether a caller's key has the scopes.
func (e *endpoint) checkScopes(caller *management.Caller) error {
	if e.keyScope == anyKey {
		return nil
	}
	return cmp.Or(caller.Require(e.keyScope), caller.Require(e.secondScope))
}

// parameterDoc is a parameter of the query.
type parameterDoc struct{ name, kind, help string } // kind: string, integer, boolean

// handler answers a request by itself. It returns an error for what it has not
// answered.
type handler func(*server, http.ResponseWriter, *http.Request) error

// call is one request to an endpoint, whose caller may send it.
type call struct {
	ctx           context.Context
	w             http.ResponseWriter
	r             *http.Request
	scheme        string             // http or https, as the caller sees it
	authenticated *management.Caller // whom Config.Authenticate names
	scope         *management.Scope  // nil for public endpoints
	body          management.Body
	lease         *memoryLease      // of an unread body
	isAdmitted    bool              // it was let in before
	recheck       func() error      // looks again whether the caller may send it; of what is long
	listValues    management.Values // the parameters of a list
	pageSize      int               // of a list when nobody says, 0 for the usual one
}

// part is a named part of the path.
func (c *call) part(name string) string { return parameter(c.r, name) }

// query is the query of the request.
func (c *call) query() url.Values { return c.r.URL.Query() }

// project is the number of the project that the call is in.
func (c *call) project() int64 { return c.scope.Project.ID }

// page is the stretch of a list that is asked for (§3).
func (c *call) page() management.Page {
	p := c.requestedPage()
	return management.Page{Limit: p.limit, Offset: p.offset}
}

func (c *call) requestedPage() page {
	q := c.query()
	p := pageOf(q)
	if c.pageSize > 0 && positive(q.Get("limit")) == 0 {
		p.limit = c.pageSize
	}
	return p
}

// replaces reports whether the body is all of a thing and not a part.
func (c *call) replaces() bool { return c.r.Method == http.MethodPut }

// answer is for what an endpoint says in another way than with its status and a
// JSON value.
type answer struct {
	status int
	body   any    // as JSON; nil: no body
	raw    []byte // instead of body
	kind   string // content type of raw
	sent   bool   // everything is sent
}

// methods are the handlers of a path.
type methods map[string]handler

// serving makes endpoints of handlers that answer by themselves.
func serving(a *area, path string, handlers methods) (out []endpoint) {
	for method, h := range handlers {
		out = append(out, endpoint{method: method, area: a, path: path, keyScope: public, serve: h})
	}
	return out
}

// parameter is a part of the path. chi matches the escaped form of a path
// that has one, and then the part is escaped too.
func parameter(r *http.Request, name string) string {
	part := chi.URLParam(r, name)
	if r.URL.RawPath != "" {
		if plain, err := url.PathUnescape(part); err == nil {
			return plain
		}
	}
	return part
}

// area is where the paths of endpoints begin, and what they have in common.
type area struct {
	// prefixes: an endpoint is served below each of them.
	prefixes []string
	// pages of any origin may read the answers.
	pages bool
	// allow orders the methods of the Allow header; empty: by the alphabet.
	allow []string
	// options answers OPTIONS; nil: with 204.
	options handler
	// missing says what is wrong with a method that a path lacks, nil: just that.
	missing func(*server, *area, http.ResponseWriter, *http.Request) error
	// findScope finds the place of a call; nil: it is in no project or organization.
	findScope func(*management.Service, *call, *management.Caller) (*management.Scope, error)
}
