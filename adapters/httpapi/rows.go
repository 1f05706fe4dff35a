package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// row is an endpoint of a resource S, which is all of the server that what answers
// can touch.
type row[S any] struct {
	endpoint
	do func(S, *call) (any, error)
	// put is the summary of PUT, which is answered as PATCH is; empty: there is none.
	put string
}

// resource makes endpoints of rows in an area; of finds what they are about. A row
// that names no scope needs the one of the object to read, with another method than
// GET the one to write; public ones need none.
func resource[S any](a *area, object string, service func(*server) S, rows []row[S]) (out []endpoint) {
	for _, r := range rows {
		e := r.endpoint
		e.area = a
		e.bind = func(s *server) func(*call) (any, error) {
			subject := service(s)
			return func(c *call) (any, error) { return r.do(subject, c) }
		}
		switch {
		case e.keyScope != "":
		case object == public:
			e.keyScope = public
		case e.method == http.MethodGet:
			e.keyScope = object + ":read"
		default:
			e.keyScope = object + ":write"
		}
		out = append(out, e)
		if r.put != "" {
			e.method, e.summary = http.MethodPut, r.put
			out = append(out, e)
		}
	}
	return out
}

// withScope gives a row another scope than that of its object.
func (r row[S]) withScope(keyScope string) row[S] { r.keyScope = keyScope; return r }

// created answers with 201; withoutBody with no body, unless that is preferred.
func (r row[S]) created() row[S]     { return r.withStatus(http.StatusCreated) }
func (r row[S]) withoutBody() row[S] { r.bare = true; return r }

// withPut answers PUT as PATCH, under another summary.
func (r row[S]) withPut(summary string) row[S] { r.put = summary; return r }

// withStatus has another status, taking a body, asking parameters of the query, giving
// an answer of another type than the handler says, pages of a size of their own.
func (r row[S]) withStatus(status int) row[S]             { r.status = status; return r }
func (r row[S]) withBody(fields management.Fields) row[S] { r.bodyFields = fields; return r }
func (r row[S]) withQuery(query ...parameterDoc) row[S]   { r.query = query; return r }
func (r row[S]) withPageSize(size int) row[S]             { r.pageSize = size; return r }
func (r row[S]) withResponse(a any) row[S]                { r.response = a; return r }

// withLaterResponse answers with 202 and something else while a run goes on.
func (r row[S]) withLaterResponse(a any) row[S] { r.laterResponse = a; return r }

// withProof wants a fresh proof of sessions.
func (r row[S]) withProof() row[S] { r.needsProof = true; return r }

// withMediaType answers with text or bytes of a media type.
func (r row[S]) withMediaType(media string) row[S] { r.kind = media; return r }

// withoutTimeout has no limit of time.
func (r row[S]) withoutTimeout() row[S] { r.noTimeout = true; return r }

// withArrayBody takes an array of bodies, withLinesBody text with a JSON object a line.
func (r row[S]) withArrayBody() row[S] { r.array = true; return r }
func (r row[S]) withLinesBody() row[S] { r.lines = true; return r }

// handle is a row with a handler of its own.
func handle[S, T any](method, path, summary string, do func(S, *call) (T, error)) row[S] {
	return row[S]{
		endpoint: endpoint{method: method, path: path, summary: summary, response: example[T]()},
		do:       func(s S, c *call) (any, error) { return do(s, c) },
	}
}

// example is a value of what a method returns, of what a pointer points to.
func example[T any]() any {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return reflect.Zero(t).Interface()
}

// first and second are the parameters of a path, in its order.
func (c *call) first(path string) string  { return c.part(parameterNames(path)[0]) }
func (c *call) second(path string) string { return c.part(parameterNames(path)[1]) }

func parameterNames(path string) (names []string) {
	for part := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(part, "{") {
			names = append(names, strings.Trim(part, "{}"))
		}
	}
	return names
}

// What follows are the rows that hand a request over to one method of a resource:
// the place of the caller, the parameters of the path, the body.

type body = management.Body

// paged answers with a page.
func paged[S, T any](path, summary string, do func(S, context.Context, *management.Scope, management.Page) (T, error)) row[S] {
	return handle(http.MethodGet, path, summary, func(s S, c *call) (T, error) { return do(s, c.ctx, c.scope, c.page()) })
}

// pagedOf answers with a page of what one thing has.
func pagedOf[S, T any](path, summary string, do func(S, context.Context, *management.Scope, string, management.Page) (T, error)) row[S] {
	return handle(http.MethodGet, path, summary, func(s S, c *call) (T, error) {
		return do(s, c.ctx, c.scope, c.first(path), c.page())
	})
}

// read answers with what there is one of.
func read[S, T any](path, summary string, do func(S, context.Context, *management.Scope) (T, error)) row[S] {
	return handle(http.MethodGet, path, summary, func(s S, c *call) (T, error) { return do(s, c.ctx, c.scope) })
}

// get answers with one thing, and getOf with one of what a thing has.
func get[S, T any](path, summary string, do func(S, context.Context, *management.Scope, string) (T, error)) row[S] {
	return act(http.MethodGet, path, summary, do)
}

func getOf[S, T any](path, summary string, do func(S, context.Context, *management.Scope, string, string) (T, error)) row[S] {
	return actOf(http.MethodGet, path, summary, do)
}

// act does something with one thing, and actOf with one of what a thing has.
func act[S, T any](method, path, summary string, do func(S, context.Context, *management.Scope, string) (T, error)) row[S] {
	return handle(method, path, summary, func(s S, c *call) (T, error) { return do(s, c.ctx, c.scope, c.first(path)) })
}

func actOf[S, T any](method, path, summary string, do func(S, context.Context, *management.Scope, string, string) (T, error)) row[S] {
	return handle(method, path, summary, func(s S, c *call) (T, error) {
		return do(s, c.ctx, c.scope, c.first(path), c.second(path))
	})
}

// create makes a thing, and add one of what a thing has.
func create[S, T any](path, summary string, takes management.Fields, do func(S, context.Context, *management.Scope, body) (T, error)) row[S] {
	return handle(http.MethodPost, path, summary, func(s S, c *call) (T, error) { return do(s, c.ctx, c.scope, c.body) }).withBody(takes).created()
}

func add[S, T any](path, summary string, takes management.Fields, do func(S, context.Context, *management.Scope, string, body) (T, error)) row[S] {
	return change(http.MethodPost, path, summary, takes, do).created()
}

// change does what a body says with one thing.
func change[S, T any](method, path, summary string, takes management.Fields, do func(S, context.Context, *management.Scope, string, body) (T, error)) row[S] {
	return handle(method, path, summary, func(s S, c *call) (T, error) {
		return do(s, c.ctx, c.scope, c.first(path), c.body)
	}).withBody(takes)
}

// update changes one thing, with PUT all of it.
func update[S, T any](path, summary, put string, takes management.Fields, do func(S, context.Context, *management.Scope, string, body, bool) (T, error)) row[S] {
	return handle(http.MethodPatch, path, summary, func(s S, c *call) (T, error) {
		return do(s, c.ctx, c.scope, c.first(path), c.body, c.replaces())
	}).withBody(takes).withPut(put)
}

// patch is update where PUT changes no more than PATCH does.
func patch[S, T any](path, summary, put string, takes management.Fields, do func(S, context.Context, *management.Scope, string, body) (T, error)) row[S] {
	return update(path, summary, put, takes, func(s S, ctx context.Context, scope *management.Scope, id string, b body, _ bool) (T, error) {
		return do(s, ctx, scope, id, b)
	})
}

// remove takes a thing away, and removeOf one of what a thing has.
func remove[S any](path, summary string, do func(S, context.Context, *management.Scope, string) error) row[S] {
	return handle(http.MethodDelete, path, summary, func(s S, c *call) (any, error) {
		return nil, do(s, c.ctx, c.scope, c.first(path))
	}).withStatus(http.StatusNoContent)
}

func removeOf[S any](path, summary string, do func(S, context.Context, *management.Scope, string, string) error) row[S] {
	return handle(http.MethodDelete, path, summary, func(s S, c *call) (any, error) {
		return nil, do(s, c.ctx, c.scope, c.first(path), c.second(path))
	}).withStatus(http.StatusNoContent)
}
