package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/swaggest/jsonschema-go"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/flags/wire"
)

// openAPI generates the description of the API in OpenAPI 3.1 from the same tables as the router.
type openAPI struct {
	reflector jsonschema.Reflector
	reflected map[reflect.Type]object // what schema has returned
	schemas   map[string]object
	paths     map[string]map[string]any
	tags      map[string]bool
	pathParts pathParts
	writable  map[string]map[string]bool

	responses, securitySchemes object
}

const (
	schemaPrefix   = "#/components/schemas/"
	responsePrefix = "#/components/responses/"
)

// describe returns the description of the endpoints in table as JSON.
func describe(table []endpoint) ([]byte, error) {
	d := (&openAPI{
		reflected: map[reflect.Type]object{},
		schemas:   map[string]object{"Error": errorSchema}, paths: map[string]map[string]any{}, tags: map[string]bool{},
		pathParts: pathPartsOf(table), writable: map[string]map[string]bool{},
		responses:       maps.Clone(errorResponses),
		securitySchemes: object{"personalKey": object{"type": "http", "scheme": "bearer", "description": "a personal API key; the security of each operation lists the scopes that it requires"}},
	}).inline()
	for _, e := range table {
		if e.serve != nil {
			continue
		}
		if err := d.add(&e); err != nil {
			return nil, fmt.Errorf("%s %s: %w", e.method, e.path, err)
		}
	}
	if err := d.addSDKs(table); err != nil {
		return nil, err
	}
	d.markReadOnly()
	tags := []object{}
	for _, name := range slices.Sorted(maps.Keys(d.tags)) {
		tags = append(tags, object{"name": name})
	}
	document := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Bunting API", "version": "1",
			"description": "The endpoints for SDKs (flags, OFREP, events) and for managing flags, cohorts, persons, projects, organizations, insights and other objects.",
		},
		"servers":  []object{{"url": "/"}},
		"security": []object{{"personalKey": []string{}}},
		"tags":     tags,
		"paths":    d.paths,
		"components": object{
			"securitySchemes": d.securitySchemes,
			"schemas":         d.schemas,
			"responses":       d.responses,
		},
	}
	return json.Marshal(document)
}

var errorSchema = object{
	"type": "object", "required": []string{"type", "code", "detail", "attr"},
	"properties": object{
		"type": object{"type": "string"}, "code": object{"type": "string"}, "detail": object{"type": "string"},
		"attr": object{"type": []string{"string", "null"}, "description": "path of the invalid field or parameter in the request, or null"},
	},
}

// errorResponses are the error responses that operations share, by their name in the components.
var errorResponses = func() object {
	out := object{}
	for name, text := range map[string]string{
		"Invalid": "the request is invalid", "Unauthorized": "the API key is missing or invalid", "Forbidden": "the caller lacks permission",
		"Missing": "the object does not exist, or the caller may not see it", "Error": "an error",
	} {
		out[name] = object{"description": text, "content": object{"application/json": object{"schema": object{"$ref": schemaPrefix + "Error"}}}}
	}
	return out
}()

// add adds an endpoint on each of its paths.
func (d *openAPI) add(e *endpoint) error {
	for _, prefix := range e.area.prefixes {
		op, err := d.operation(e, prefix+e.path)
		if err != nil {
			return err
		}
		d.put(e, prefix+e.path, op)
	}
	return nil
}

// operation returns the OpenAPI operation of an endpoint on one path.
func (d *openAPI) operation(e *endpoint, path string) (object, error) {
	op := object{"summary": e.summary, "tags": []any{tagOf(e.path)}, "parameters": queryParameters(e)}
	switch e.keyScope {
	case public:
		op["security"] = []object{}
	case anyKey:
	default:
		scopes := []string{e.keyScope}
		if e.secondScope != "" {
			scopes = append(scopes, e.secondScope)
		}
		op["security"] = []object{{"personalKey": scopes}}
	}
	responseSchema := object{}
	if e.response != nil {
		var err error
		if responseSchema, err = d.schema(e.response); err != nil {
			return nil, err
		}
	}
	if e.bodyFields != nil {
		schema := fieldsSchema(e.bodyFields, e.method != http.MethodPatch)
		d.noteWritten(e, schema, responseSchema)
		schema = d.body(e, schema)
		if e.array {
			schema = object{"type": "array", "items": schema}
		}
		op["requestBody"] = object{"content": object{"application/json": object{"schema": schema}}}
	}
	if e.lines {
		op["requestBody"] = object{"content": object{"application/x-ndjson": object{"schema": object{"type": "string"}}}, "required": true}
	}
	responses := errorsOf(e, path)
	responses[strconv.Itoa(cmp.Or(e.status, http.StatusOK))] = successResponse(e, responseSchema)
	if e.laterResponse != nil {
		later, err := d.schema(e.laterResponse)
		if err != nil {
			return nil, err
		}
		responses["202"] = object{"description": "the run is still in progress", "content": object{"application/json": object{"schema": later}}}
	}
	op["responses"] = responses
	return op, nil
}

// successResponse returns the response for success; gives is the schema of its type. For
// endpoints that always fail it is an error.
func successResponse(e *endpoint, schema object) object {
	switch {
	case e.status >= http.StatusBadRequest && e.status != http.StatusMethodNotAllowed:
		return object{"$ref": responsePrefix + "Missing"}
	case e.kind == html:
		return object{"description": "an HTML page", "content": object{html: object{"schema": object{"type": "string"}}}}
	case e.kind != "":
		return object{"description": "a file", "content": object{e.kind: object{"schema": object{"type": "string", "format": "binary"}}}}
	case e.response == nil:
		return object{"description": "success"}
	}
	text := "success"
	if e.bare {
		text = "success; there is no body unless the request has the header Prefer: return=representation"
	}
	return object{"description": text, "content": object{"application/json": object{"schema": schema}}}
}

// errorsOf returns the error responses of an endpoint by status.
func errorsOf(e *endpoint, path string) object {
	out := object{"default": object{"$ref": responsePrefix + "Error"}}
	for _, row := range []struct {
		status, name string
		there        bool
	}{
		{"400", "Invalid", e.bodyFields != nil || e.lines || len(e.query) > 0 || e.isList()},
		{"401", "Unauthorized", e.keyScope != public},
		{"403", "Forbidden", e.keyScope != public && e.keyScope != anyKey},
		{"404", "Missing", strings.Contains(path, "{")},
	} {
		if row.there {
			out[row.status] = object{"$ref": responsePrefix + row.name}
		}
	}
	return out
}

// tagOf returns the first part of a path that is not a parameter.
func tagOf(path string) string {
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if part != "" && part[0] != '{' {
			return part
		}
	}
	return "other"
}

// operationID returns an id that is a valid identifier in the languages of generated clients.
func operationID(method, path string) string {
	name := strings.NewReplacer("/", "_", "{", "", "}", "", "@", "", ".", "_", "-", "_").Replace(strings.Trim(path, "/"))
	return strings.ToLower(method) + "_" + name
}

// apiDocument is the description of the endpoints that table returns. It is generated by the first
// request.
type apiDocument struct {
	table     func() []endpoint
	once      sync.Once
	text      []byte // in OpenAPI 3.1
	olderText []byte // in OpenAPI 3.0
	err       error
}

// schemaEndpoint returns the endpoint of the description of the endpoints in a table.
func schemaEndpoint(table func() []endpoint) []endpoint {
	d := &apiDocument{table: table}
	return resource(atRoot, public, func(*server) *apiDocument { return d }, []row[*apiDocument]{
		handle(http.MethodGet, "/schema", "Read this OpenAPI description", (*apiDocument).get).withResponse(json.RawMessage{}).
			withQuery(param("version", "string", "OpenAPI version: 3.1 (default) or 3.0")),
	})
}

// in returns the description in the given version of OpenAPI. An empty version is 3.1.
func (d *apiDocument) in(version string) ([]byte, error) {
	d.once.Do(func() {
		if d.text, d.err = describe(d.table()); d.err == nil {
			d.olderText, d.err = openAPI30(d.text)
		}
	})
	switch version {
	case "", "3.1", "3.1.0":
		return d.text, d.err
	case "3.0", "3.0.3":
		return d.olderText, d.err
	}
	return nil, problem.Invalid("version", "%q is not an available version of this description. Use 3.0 or 3.1.", problem.Shorten(version))
}

// get serves the description. The server URL has the prefix where the API is mounted.
func (d *apiDocument) get(c *call) (any, error) {
	text, err := d.in(c.query().Get("version"))
	if err != nil {
		return nil, err
	}
	if prefix := prefixOf(c.r); prefix != "" {
		text = bytes.Replace(text, []byte(`"url":"/"`), wire.AppendQuoted([]byte(`"url":`), prefix+"/"), 1)
	}
	return answer{status: http.StatusOK, raw: text, kind: "application/json"}, nil
}
