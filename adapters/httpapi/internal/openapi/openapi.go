package openapi

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

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/flags/wire"
)

// openAPI generates the description of the API in OpenAPI 3.1 from the same tables as the router.
type openAPI struct {
	reflector jsonschema.Reflector
	reflected map[reflect.Type]frame.Object // what schema has returned
	schemas   map[string]frame.Object
	paths     map[string]map[string]any
	tags      map[string]bool
	pathParts pathParts
	writable  map[string]map[string]bool

	responses, securitySchemes frame.Object
}

const (
	schemaPrefix   = "#/components/schemas/"
	responsePrefix = "#/components/responses/"
)

// describe returns the description of the endpoints in table as JSON.
func describe(table []frame.Endpoint) ([]byte, error) {
	d := (&openAPI{
		reflected: map[reflect.Type]frame.Object{},
		schemas:   map[string]frame.Object{"Error": errorSchema}, paths: map[string]map[string]any{}, tags: map[string]bool{},
		pathParts: pathPartsOf(table), writable: map[string]map[string]bool{},
		responses:       maps.Clone(errorResponses),
		securitySchemes: frame.Object{"personalKey": frame.Object{"type": "http", "scheme": "bearer", "description": "a personal API key; the security of each operation lists the scopes that it requires"}},
	}).inline()
	for _, e := range table {
		if e.Serve != nil {
			continue
		}
		if err := d.add(&e); err != nil {
			return nil, fmt.Errorf("%s %s: %w", e.Method, e.Path, err)
		}
	}
	if err := d.addSDKs(table); err != nil {
		return nil, err
	}
	d.markReadOnly()
	tags := []frame.Object{}
	for _, name := range slices.Sorted(maps.Keys(d.tags)) {
		tags = append(tags, frame.Object{"name": name})
	}
	document := frame.Object{
		"openapi": "3.1.0",
		"info": frame.Object{
			"title": "Bunting API", "version": "1",
			"description": "The endpoints for SDKs (flags, OFREP, events) and for managing flags, cohorts, persons, projects, organizations, insights and other objects.",
		},
		"servers":  []frame.Object{{"url": "/"}},
		"security": []frame.Object{{"personalKey": []string{}}},
		"tags":     tags,
		"paths":    d.paths,
		"components": frame.Object{
			"securitySchemes": d.securitySchemes,
			"schemas":         d.schemas,
			"responses":       d.responses,
		},
	}
	return json.Marshal(document)
}

var errorSchema = frame.Object{
	"type": "object", "required": []string{"type", "code", "detail", "attr"},
	"properties": frame.Object{
		"type": frame.Object{"type": "string"}, "code": frame.Object{"type": "string"}, "detail": frame.Object{"type": "string"},
		"attr": frame.Object{"type": []string{"string", "null"}, "description": "path of the invalid field or parameter in the request, or null"},
	},
}

// errorResponses are the error responses that operations share, by their name in the components.
var errorResponses = func() frame.Object {
	out := frame.Object{}
	for name, text := range map[string]string{
		"Invalid": "the request is invalid", "Unauthorized": "the API key is missing or invalid", "Forbidden": "the caller lacks permission",
		"Missing": "the object does not exist, or the caller may not see it", "Error": "an error",
	} {
		out[name] = frame.Object{"description": text, "content": frame.Object{"application/json": frame.Object{"schema": frame.Object{"$ref": schemaPrefix + "Error"}}}}
	}
	return out
}()

// add adds an endpoint on each of its paths.
func (d *openAPI) add(e *frame.Endpoint) error {
	for _, prefix := range e.Area.Prefixes {
		op, err := d.operation(e, prefix+e.Path)
		if err != nil {
			return err
		}
		d.put(e, prefix+e.Path, op)
	}
	return nil
}

// operation returns the OpenAPI operation of an endpoint on one path.
func (d *openAPI) operation(e *frame.Endpoint, path string) (frame.Object, error) {
	op := frame.Object{"summary": e.Summary, "tags": []any{tagOf(e.Path)}, "parameters": queryParameters(e)}
	switch e.KeyScope {
	case frame.Public:
		op["security"] = []frame.Object{}
	case frame.AnyKey:
	default:
		scopes := []string{e.KeyScope}
		if e.SecondScope != "" {
			scopes = append(scopes, e.SecondScope)
		}
		op["security"] = []frame.Object{{"personalKey": scopes}}
	}
	responseSchema := frame.Object{}
	if e.Response != nil {
		var err error
		if responseSchema, err = d.schema(e.Response); err != nil {
			return nil, err
		}
	}
	if e.BodyFields != nil {
		schema := fieldsSchema(e.BodyFields, e.Method != http.MethodPatch)
		d.noteWritten(e, schema, responseSchema)
		schema = d.body(e, schema)
		if e.Array {
			schema = frame.Object{"type": "array", "items": schema}
		}
		op["requestBody"] = frame.Object{"content": frame.Object{"application/json": frame.Object{"schema": schema}}}
	}
	if e.Lines {
		op["requestBody"] = frame.Object{"content": frame.Object{"application/x-ndjson": frame.Object{"schema": frame.Object{"type": "string"}}}, "required": true}
	}
	responses := errorsOf(e, path)
	responses[strconv.Itoa(cmp.Or(e.Status, http.StatusOK))] = successResponse(e, responseSchema)
	if e.LaterResponse != nil {
		later, err := d.schema(e.LaterResponse)
		if err != nil {
			return nil, err
		}
		responses["202"] = frame.Object{"description": "the run is still in progress", "content": frame.Object{"application/json": frame.Object{"schema": later}}}
	}
	op["responses"] = responses
	return op, nil
}

// successResponse returns the response for success; gives is the schema of its type. For
// endpoints that always fail it is an error.
func successResponse(e *frame.Endpoint, schema frame.Object) frame.Object {
	switch {
	case e.Status >= http.StatusBadRequest && e.Status != http.StatusMethodNotAllowed:
		return frame.Object{"$ref": responsePrefix + "Missing"}
	case e.Kind == frame.HTML:
		return frame.Object{"description": "an HTML page", "content": frame.Object{frame.HTML: frame.Object{"schema": frame.Object{"type": "string"}}}}
	case e.Kind != "":
		return frame.Object{"description": "a file", "content": frame.Object{e.Kind: frame.Object{"schema": frame.Object{"type": "string", "format": "binary"}}}}
	case e.Response == nil:
		return frame.Object{"description": "success"}
	}
	text := "success"
	if e.Bare {
		text = "success; there is no body unless the request has the header Prefer: return=representation"
	}
	return frame.Object{"description": text, "content": frame.Object{"application/json": frame.Object{"schema": schema}}}
}

// errorsOf returns the error responses of an endpoint by status.
func errorsOf(e *frame.Endpoint, path string) frame.Object {
	out := frame.Object{"default": frame.Object{"$ref": responsePrefix + "Error"}}
	for _, row := range []struct {
		status, name string
		there        bool
	}{
		{"400", "Invalid", e.BodyFields != nil || e.Lines || len(e.Query) > 0 || e.IsList()},
		{"401", "Unauthorized", e.KeyScope != frame.Public},
		{"403", "Forbidden", e.KeyScope != frame.Public && e.KeyScope != frame.AnyKey},
		{"404", "Missing", strings.Contains(path, "{")},
	} {
		if row.there {
			out[row.status] = frame.Object{"$ref": responsePrefix + row.name}
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

// document is the description of the endpoints that table returns. It is generated by the first
// request.
type document struct {
	table     func() []frame.Endpoint
	once      sync.Once
	text      []byte // in OpenAPI 3.1
	olderText []byte // in OpenAPI 3.0
	err       error
}

// Endpoints returns the endpoint of the description of the endpoints in a table.
func Endpoints(table func() []frame.Endpoint) []frame.Endpoint {
	d := &document{table: table}
	return frame.Resource(frame.AtRoot, frame.Public, func(*frame.Server) *document { return d }, []frame.Row[*document]{
		frame.Handle(http.MethodGet, "/schema", "Read this OpenAPI description", (*document).get).WithResponse(json.RawMessage{}).
			WithQuery(frame.Param("version", "string", "OpenAPI version: 3.1 (default) or 3.0")),
	})
}

// in returns the description in the given version of OpenAPI. An empty version is 3.1.
func (d *document) in(version string) ([]byte, error) {
	d.once.Do(func() {
		if d.text, d.err = describe(d.table()); d.err == nil {
			d.olderText, d.err = OpenAPI30(d.text)
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
func (d *document) get(c *frame.Call) (any, error) {
	text, err := d.in(c.Query().Get("version"))
	if err != nil {
		return nil, err
	}
	if prefix := frame.PrefixOf(c.R); prefix != "" {
		text = bytes.Replace(text, []byte(`"url":"/"`), wire.AppendQuoted([]byte(`"url":`), prefix+"/"), 1)
	}
	return frame.Answer{Status: http.StatusOK, Raw: text, Kind: "application/json"}, nil
}
