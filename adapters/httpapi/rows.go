package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// row is an endpoint of a resource. S is the part of the server that its handler uses.
type row[S any] struct {
	endpoint
	do func(S, *call) (any, error)
	// put is the summary of PUT, which has the same handler as PATCH. If empty, there is no PUT.
	put string
}

// resource returns the endpoints of rows in an area. service returns the value that is passed to
// their handlers. A row without a scope requires object:read for GET and object:write for other
// methods. If object is public, its rows require no scope.
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

// withScope sets a scope other than that of the object.
func (r row[S]) withScope(keyScope string) row[S] { r.keyScope = keyScope; return r }

// created sets the status 201. withoutBody omits the body of the response, unless the caller
// prefers one.
func (r row[S]) created() row[S]     { return r.withStatus(http.StatusCreated) }
func (r row[S]) withoutBody() row[S] { r.bare = true; return r }

// withPut adds PUT with the same handler and another summary.
func (r row[S]) withPut(summary string) row[S] { r.put = summary; return r }

// withStatus, withBody, withQuery, withPageSize and withResponse set the status of success, the
// fields of the request body, the query parameters, the default page size, and a type of the
// response other than that of the handler.
func (r row[S]) withStatus(status int) row[S]             { r.status = status; return r }
func (r row[S]) withBody(fields management.Fields) row[S] { r.bodyFields = fields; return r }
func (r row[S]) withQuery(query ...parameterDoc) row[S]   { r.query = query; return r }
func (r row[S]) withPageSize(size int) row[S]             { r.pageSize = size; return r }
func (r row[S]) withResponse(a any) row[S]                { r.response = a; return r }

// withLaterResponse sets the type of the 202 response, which is sent while a run continues.
func (r row[S]) withLaterResponse(a any) row[S] { r.laterResponse = a; return r }

// withProof requires that sessions have signed in recently.
func (r row[S]) withProof() row[S] { r.needsProof = true; return r }

// withMediaType sets the media type of a response that is not JSON.
func (r row[S]) withMediaType(media string) row[S] { r.kind = media; return r }

// withoutTimeout removes the time limit.
func (r row[S]) withoutTimeout() row[S] { r.noTimeout = true; return r }

// withArrayBody accepts an array of bodies, withLinesBody a text with a JSON object on each line.
func (r row[S]) withArrayBody() row[S] { r.array = true; return r }
func (r row[S]) withLinesBody() row[S] { r.lines = true; return r }

// withCheck adds a check before the handler.
func (r row[S]) withCheck(check func(*call) error) row[S] {
	do := r.do
	r.do = func(s S, c *call) (any, error) {
		if err := check(c); err != nil {
			return nil, err
		}
		return do(s, c)
	}
	return r
}

// handle returns a row with its own handler.
func handle[S, T any](method, path, summary string, do func(S, *call) (T, error)) row[S] {
	return row[S]{
		endpoint: endpoint{method: method, path: path, summary: summary, response: example[T]()},
		do:       func(s S, c *call) (any, error) { return do(s, c) },
	}
}

// example returns a zero value of the type that a handler returns, without a pointer, for the
// description.
func example[T any]() any {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return reflect.Zero(t).Interface()
}

// first and second return the first and second parameter of a path.
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

// The functions below return rows that call one method of a resource with the caller's scope, the
// parameters of the path, and the body.

type body = management.Body

// paged lists objects.
func paged[S, T any](path, summary string, do func(S, context.Context, *management.Scope, management.Page) (T, error)) row[S] {
	return handle(http.MethodGet, path, summary, func(s S, c *call) (T, error) { return do(s, c.ctx, c.scope, c.page()) })
}

// pagedOf lists objects that belong to another object.
func pagedOf[S, T any](path, summary string, do func(S, context.Context, *management.Scope, string, management.Page) (T, error)) row[S] {
	return handle(http.MethodGet, path, summary, func(s S, c *call) (T, error) {
		return do(s, c.ctx, c.scope, c.first(path), c.page())
	})
}

// read returns an object that exists once per scope.
func read[S, T any](path, summary string, do func(S, context.Context, *management.Scope) (T, error)) row[S] {
	return handle(http.MethodGet, path, summary, func(s S, c *call) (T, error) { return do(s, c.ctx, c.scope) })
}

// get returns one object, and getOf one object that belongs to another one.
func get[S, T any](path, summary string, do func(S, context.Context, *management.Scope, string) (T, error)) row[S] {
	return act(http.MethodGet, path, summary, do)
}

func getOf[S, T any](path, summary string, do func(S, context.Context, *management.Scope, string, string) (T, error)) row[S] {
	return actOf(http.MethodGet, path, summary, do)
}

// act does something with one object, and actOf with one object that belongs to another one.
func act[S, T any](method, path, summary string, do func(S, context.Context, *management.Scope, string) (T, error)) row[S] {
	return handle(method, path, summary, func(s S, c *call) (T, error) { return do(s, c.ctx, c.scope, c.first(path)) })
}

func actOf[S, T any](method, path, summary string, do func(S, context.Context, *management.Scope, string, string) (T, error)) row[S] {
	return handle(method, path, summary, func(s S, c *call) (T, error) {
		return do(s, c.ctx, c.scope, c.first(path), c.second(path))
	})
}

// create creates an object, and add one that belongs to another object.
func create[S, T any](path, summary string, fields management.Fields, do func(S, context.Context, *management.Scope, body) (T, error)) row[S] {
	return handle(http.MethodPost, path, summary, func(s S, c *call) (T, error) { return do(s, c.ctx, c.scope, c.body) }).withBody(fields).created()
}

func add[S, T any](path, summary string, fields management.Fields, do func(S, context.Context, *management.Scope, string, body) (T, error)) row[S] {
	return change(http.MethodPost, path, summary, fields, do).created()
}

// change does something with one object, as the body says.
func change[S, T any](method, path, summary string, fields management.Fields, do func(S, context.Context, *management.Scope, string, body) (T, error)) row[S] {
	return handle(method, path, summary, func(s S, c *call) (T, error) {
		return do(s, c.ctx, c.scope, c.first(path), c.body)
	}).withBody(fields)
}

// update changes one object with PATCH, or replaces it with PUT.
func update[S, T any](path, summary, put string, fields management.Fields, do func(S, context.Context, *management.Scope, string, body, bool) (T, error)) row[S] {
	return handle(http.MethodPatch, path, summary, func(s S, c *call) (T, error) {
		return do(s, c.ctx, c.scope, c.first(path), c.body, c.replaces())
	}).withBody(fields).withPut(put)
}

// patch is like update, but PUT has the same effect as PATCH.
func patch[S, T any](path, summary, put string, fields management.Fields, do func(S, context.Context, *management.Scope, string, body) (T, error)) row[S] {
	return update(path, summary, put, fields, func(s S, ctx context.Context, scope *management.Scope, id string, b body, _ bool) (T, error) {
		return do(s, ctx, scope, id, b)
	})
}

// remove deletes an object, and removeOf one that belongs to another object.
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
