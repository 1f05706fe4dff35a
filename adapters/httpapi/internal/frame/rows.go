package frame

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// Row is an endpoint of a resource. S is the part of the server that its handler uses.
type Row[S any] struct {
	Endpoint
	Do func(S, *Call) (any, error)
	// put is the summary of PUT, which has the same handler as PATCH. If empty, there is no PUT.
	put string
}

// Resource returns the endpoints of rows in an area. service returns the value that is passed to
// their handlers. A row without a scope requires object:read for GET and object:write for other
// methods. If object is public, its rows require no scope.
func Resource[S any](a *Area, object string, service func(*Server) S, rows []Row[S]) (out []Endpoint) {
	for _, r := range rows {
		e := r.Endpoint
		e.Area = a
		e.bind = func(s *Server) func(*Call) (any, error) {
			subject := service(s)
			return func(c *Call) (any, error) { return r.Do(subject, c) }
		}
		switch {
		case e.KeyScope != "":
		case object == Public:
			e.KeyScope = Public
		case e.Method == http.MethodGet:
			e.KeyScope = object + ":read"
		default:
			e.KeyScope = object + ":write"
		}
		out = append(out, e)
		if r.put != "" {
			e.Method, e.Summary = http.MethodPut, r.put
			out = append(out, e)
		}
	}
	return out
}

// Below returns rows of S for rows of R, which belongs to an object that the path names. of returns the
// R of a call, and may set the Scope of the call to that of the object.
func Below[S, R any](of func(S, *Call) (R, error), rows []Row[R]) []Row[S] {
	out := make([]Row[S], len(rows))
	for i, r := range rows {
		out[i] = Row[S]{r.Endpoint, func(s S, c *Call) (any, error) {
			inner, err := of(s, c)
			if err != nil {
				return nil, err
			}
			return r.Do(inner, c)
		}, r.put}
	}
	return out
}

// WithScope sets a scope other than that of the object.
func (r Row[S]) WithScope(keyScope string) Row[S] { r.KeyScope = keyScope; return r }

// Created sets the status 201.
func (r Row[S]) Created() Row[S] { return r.WithStatus(http.StatusCreated) }

// WithoutBody omits the body of the response, unless the caller prefers one.
func (r Row[S]) WithoutBody() Row[S] { r.Bare = true; return r }

// WithPut adds PUT with the same handler and another summary.
func (r Row[S]) WithPut(summary string) Row[S] { r.put = summary; return r }

// WithStatus sets the status of success.
func (r Row[S]) WithStatus(status int) Row[S] { r.Status = status; return r }

// WithBody sets the fields of the request body.
func (r Row[S]) WithBody(fields management.Fields) Row[S] { r.BodyFields = fields; return r }

// WithQuery sets the query parameters.
func (r Row[S]) WithQuery(query ...Parameter) Row[S] { r.Query = query; return r }

// WithPageSize sets the default page size.
func (r Row[S]) WithPageSize(size int) Row[S] { r.pageSize = size; return r }

// WithResponse sets a type of the response other than that of the handler.
func (r Row[S]) WithResponse(a any) Row[S] { r.Response = a; return r }

// WithLaterResponse sets the type of the 202 response, which is sent while a run continues.
func (r Row[S]) WithLaterResponse(a any) Row[S] { r.LaterResponse = a; return r }

// WithProof requires that sessions have signed in recently.
func (r Row[S]) WithProof() Row[S] { r.needsProof = true; return r }

// WithMediaType sets the media type of a response that is not JSON.
func (r Row[S]) WithMediaType(media string) Row[S] { r.Kind = media; return r }

// WithoutTimeout removes the time limit.
func (r Row[S]) WithoutTimeout() Row[S] { r.NoTimeout = true; return r }

// WithArrayBody accepts an array of bodies.
func (r Row[S]) WithArrayBody() Row[S] { r.Array = true; return r }

// WithLinesBody accepts a text with a JSON object on each line.
func (r Row[S]) WithLinesBody() Row[S] { r.Lines = true; return r }

// WithCheck adds a check before the handler.
func (r Row[S]) WithCheck(check func(*Call) error) Row[S] {
	do := r.Do
	r.Do = func(s S, c *Call) (any, error) {
		if err := check(c); err != nil {
			return nil, err
		}
		return do(s, c)
	}
	return r
}

// Handle returns a row with its own handler.
func Handle[S, T any](method, path, summary string, do func(S, *Call) (T, error)) Row[S] {
	return Row[S]{
		Endpoint: Endpoint{Method: method, Path: path, Summary: summary, Response: Example[T]()},
		Do:       func(s S, c *Call) (any, error) { return do(s, c) },
	}
}

// Example returns a zero value of the type that a handler returns, without a pointer, for the
// description.
func Example[T any]() any {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return reflect.Zero(t).Interface()
}

// first and last return the first and last parameter of a path.
func (c *Call) first(path string) string { return c.Part(parameterNames(path)[0]) }
func (c *Call) last(path string) string {
	names := parameterNames(path)
	return c.Part(names[len(names)-1])
}

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

// Paged lists objects.
func Paged[S, T any](path, summary string, do func(S, context.Context, *management.Scope, management.Page) (T, error)) Row[S] {
	return Handle(http.MethodGet, path, summary, func(s S, c *Call) (T, error) { return do(s, c.Ctx, c.Scope, c.Page()) })
}

// Unpaged lists all objects, as an array.
func Unpaged[S, T any](path, summary string, do func(S, context.Context, *management.Scope, management.Page) (management.List[T], error)) Row[S] {
	return Handle(http.MethodGet, path, summary, func(s S, c *Call) ([]T, error) {
		list, err := do(s, c.Ctx, c.Scope, management.Page{})
		return list.Results, err
	})
}

// PagedOf lists objects that belong to another object.
func PagedOf[S, T any](path, summary string, do func(S, context.Context, *management.Scope, string, management.Page) (T, error)) Row[S] {
	return Handle(http.MethodGet, path, summary, func(s S, c *Call) (T, error) {
		return do(s, c.Ctx, c.Scope, c.first(path), c.Page())
	})
}

// Read returns an object that exists once per scope.
func Read[S, T any](path, summary string, do func(S, context.Context, *management.Scope) (T, error)) Row[S] {
	return Handle(http.MethodGet, path, summary, func(s S, c *Call) (T, error) { return do(s, c.Ctx, c.Scope) })
}

// Get returns one object.
func Get[S, T any](path, summary string, do func(S, context.Context, *management.Scope, string) (T, error)) Row[S] {
	return Act(http.MethodGet, path, summary, do)
}

// GetOf returns one object that belongs to another one.
func GetOf[S, T any](path, summary string, do func(S, context.Context, *management.Scope, string, string) (T, error)) Row[S] {
	return ActOf(http.MethodGet, path, summary, do)
}

// Act does something with one object.
func Act[S, T any](method, path, summary string, do func(S, context.Context, *management.Scope, string) (T, error)) Row[S] {
	return Handle(method, path, summary, func(s S, c *Call) (T, error) { return do(s, c.Ctx, c.Scope, c.last(path)) })
}

// ActOf does something with one object that belongs to another one.
func ActOf[S, T any](method, path, summary string, do func(S, context.Context, *management.Scope, string, string) (T, error)) Row[S] {
	return Handle(method, path, summary, func(s S, c *Call) (T, error) {
		return do(s, c.Ctx, c.Scope, c.first(path), c.last(path))
	})
}

// Create creates an object.
func Create[S, T any](path, summary string, fields management.Fields, do func(S, context.Context, *management.Scope, body) (T, error)) Row[S] {
	return Handle(http.MethodPost, path, summary, func(s S, c *Call) (T, error) { return do(s, c.Ctx, c.Scope, c.Body) }).WithBody(fields).Created()
}

// Add creates an object that belongs to another one.
func Add[S, T any](path, summary string, fields management.Fields, do func(S, context.Context, *management.Scope, string, body) (T, error)) Row[S] {
	return Change(http.MethodPost, path, summary, fields, do).Created()
}

// Change does something with one object, as the body says.
func Change[S, T any](method, path, summary string, fields management.Fields, do func(S, context.Context, *management.Scope, string, body) (T, error)) Row[S] {
	return Handle(method, path, summary, func(s S, c *Call) (T, error) {
		return do(s, c.Ctx, c.Scope, c.first(path), c.Body)
	}).WithBody(fields)
}

// Update changes one object with PATCH, or replaces it with PUT.
func Update[S, T any](path, summary, put string, fields management.Fields, do func(S, context.Context, *management.Scope, string, body, bool) (T, error)) Row[S] {
	return Handle(http.MethodPatch, path, summary, func(s S, c *Call) (T, error) {
		return do(s, c.Ctx, c.Scope, c.last(path), c.Body, c.Replaces())
	}).WithBody(fields).WithPut(put)
}

// Patch is like Update, but PUT has the same effect as PATCH.
func Patch[S, T any](path, summary, put string, fields management.Fields, do func(S, context.Context, *management.Scope, string, body) (T, error)) Row[S] {
	return Update(path, summary, put, fields, func(s S, ctx context.Context, scope *management.Scope, id string, b body, _ bool) (T, error) {
		return do(s, ctx, scope, id, b)
	})
}

// Remove deletes an object.
func Remove[S any](path, summary string, do func(S, context.Context, *management.Scope, string) error) Row[S] {
	return Handle(http.MethodDelete, path, summary, func(s S, c *Call) (any, error) {
		return nil, do(s, c.Ctx, c.Scope, c.last(path))
	}).WithStatus(http.StatusNoContent)
}

// RemoveOf deletes an object that belongs to another one.
func RemoveOf[S any](path, summary string, do func(S, context.Context, *management.Scope, string, string) error) Row[S] {
	return Handle(http.MethodDelete, path, summary, func(s S, c *Call) (any, error) {
		return nil, do(s, c.Ctx, c.Scope, c.first(path), c.last(path))
	}).WithStatus(http.StatusNoContent)
}
