package httpapi

import (
	"cmp"
	"net/http"
	"reflect"
	"strings"
)

// partNames are the names of path parameters in descriptions that differ from those in the
// router.
var partNames = map[string]string{"project": "project_id"}

// aliasedIDs are the collections that accept other identifiers in a path than the numeric id, for
// example a short id or @me.
var aliasedIDs = map[string]bool{"insights": true, "users": true}

// pathParts are the path parameters, keyed by the path before each, so that each position has one
// name and one type.
type pathParts map[string]object

// pathPartsOf returns the path parameters of all endpoints in a table. A parameter is an integer
// if the object in the response of GET has an integer id.
func pathPartsOf(table []endpoint) pathParts {
	out := pathParts{}
	for _, e := range table {
		for _, prefix := range e.area.prefixes {
			parts := strings.Split(prefix+e.path, "/")
			for i, part := range parts {
				itself := i == len(parts)-1 && e.method == http.MethodGet
				partKey := partPrefix(parts, i)
				if part == "" || part[0] != '{' || out[partKey] != nil && !itself {
					continue
				}
				schema, name := object{"type": "string"}, strings.Trim(part, "{}")
				if itself && !aliasedIDs[parts[i-1]] && idKind(e.response) == reflect.Int64 {
					schema = int64Schema
				}
				out[partKey] = object{"name": cmp.Or(partNames[name], name), "in": "path", "required": true, "schema": schema}
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
func queryParameters(e *endpoint) (out []any) {
	query := e.query
	if _, list := e.response.(interface{ Counted() (int, any) }); list {
		query = append([]parameterDoc{param("limit", "integer", "maximum number of items per page, 100 by default"), param("offset", "integer", "number of items to skip")}, query...)
	}
	for _, q := range query {
		out = append(out, object{"name": q.name, "in": "query", "description": q.help, "schema": object{"type": q.kind}})
	}
	if e.isList() {
		for _, p := range listOf(e.path) {
			if doc := describeParameter(&p); doc != nil {
				out = append(out, doc)
			}
		}
	}
	return out
}

// describeParameter returns the parameter for the OpenAPI document, or nil if it has no effect.
func describeParameter(p *listParameter) object {
	kinds := map[listKind]string{kindInt: "integer", kindBool: "boolean", kindPresent: "boolean"}
	schema := object{"type": cmp.Or(kinds[p.kind], "string")}
	if len(p.choices) > 0 {
		schema["enum"] = p.choices
		nameValues(schema, p.choices, false)
	}
	if p.kind == kindIgnored || p.kind == kindUnsupported {
		return nil
	}
	return object{"name": p.name, "in": "query", "description": p.help, "schema": schema}
}
