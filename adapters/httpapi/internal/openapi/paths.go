package openapi

import (
	"cmp"
	"net/http"
	"reflect"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
)

// partNames are the names of path parameters in descriptions that differ from those in the
// router.
var partNames = map[string]string{"project": "project_id"}

// aliasedIDs are the collections that accept other identifiers in a path than the numeric id, for
// example a short id or @me.
var aliasedIDs = map[string]bool{"insights": true, "users": true}

// pathParts are the path parameters, keyed by the path before each, so that each position has one
// name and one type.
type pathParts map[string]frame.Object

// pathPartsOf returns the path parameters of all endpoints in a table. A parameter is an integer
// if the object in the response of GET has an integer id.
func pathPartsOf(table []frame.Endpoint) pathParts {
	out := pathParts{}
	for _, e := range table {
		for _, prefix := range e.Area.Prefixes {
			parts := strings.Split(prefix+e.Path, "/")
			for i, part := range parts {
				itself := i == len(parts)-1 && e.Method == http.MethodGet
				partKey := partPrefix(parts, i)
				if part == "" || part[0] != '{' || out[partKey] != nil && !itself {
					continue
				}
				schema, name := frame.Object{"type": "string"}, strings.Trim(part, "{}")
				if itself && !aliasedIDs[parts[i-1]] && idKind(e.Response) == reflect.Int64 {
					schema = int64Schema
				}
				out[partKey] = frame.Object{"name": cmp.Or(partNames[name], name), "in": "path", "required": true, "schema": schema}
			}
		}
	}
	return out
}

// partPrefix returns the path before part i, with {} in place of parameters.
func partPrefix(parts []string, i int) string {
	var b strings.Builder
	for _, part := range parts[:i] {
		if strings.HasPrefix(part, "{") {
			part = "{}"
		}
		b.WriteString(part + "/")
	}
	return b.String()
}

// describe returns a path with the names of its parameters in descriptions, and the parameter
// objects.
func (p pathParts) describe(path string) (named string, parameters []any) {
	parts, parameters := strings.Split(path, "/"), []any{}
	out := make([]string, len(parts))
	for i, part := range parts {
		if out[i] = part; strings.HasPrefix(part, "{") {
			parameter := p[partPrefix(parts, i)]
			out[i] = "{" + parameter["name"].(string) + "}"
			parameters = append(parameters, parameter)
		}
	}
	return strings.Join(out, "/"), parameters
}

// idKind returns the kind of the member id of a response type, or reflect.Invalid if there is
// none.
func idKind(response any) reflect.Kind {
	t := reflect.TypeOf(response)
	if t == nil || t.Kind() != reflect.Struct {
		return reflect.Invalid
	}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == "id" {
			return f.Type.Kind()
		}
	}
	return reflect.Invalid
}

// queryParameters returns the parameter objects of the query.
func queryParameters(e *frame.Endpoint) (out []any) {
	query := e.Query
	if _, list := e.Response.(interface{ Counted() (int, any) }); list {
		query = append([]frame.Parameter{frame.Param("limit", "integer", "maximum number of items per page, 100 by default"), frame.Param("offset", "integer", "number of items to skip")}, query...)
	}
	for _, q := range query {
		out = append(out, frame.Object{"name": q.Name, "in": "query", "description": q.Help, "schema": frame.Object{"type": q.Kind}})
	}
	if e.IsList() {
		for _, p := range frame.ListOf(e.Path) {
			if doc := describeParameter(&p); doc != nil {
				out = append(out, doc)
			}
		}
	}
	return out
}

// describeParameter returns the parameter for the OpenAPI document, or nil if it has no effect.
func describeParameter(p *frame.ListParameter) frame.Object {
	kinds := map[frame.ListKind]string{frame.KindInt: "integer", frame.KindBool: "boolean", frame.KindPresent: "boolean"}
	schema := frame.Object{"type": cmp.Or(kinds[p.Kind], "string")}
	if len(p.Choices) > 0 {
		schema["enum"] = p.Choices
		nameValues(schema, p.Choices, false)
	}
	if p.Kind == frame.KindIgnored || p.Kind == frame.KindUnsupported {
		return nil
	}
	return frame.Object{"name": p.Name, "in": "query", "description": p.Help, "schema": schema}
}
