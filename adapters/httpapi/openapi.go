package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/swaggest/jsonschema-go"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// openAPI describes the API in OpenAPI 3.1, out of the tables that the router is
// made of.
type openAPI struct {
	reflector jsonschema.Reflector
	schemas   map[string]any
	paths     map[string]map[string]any
	tags      map[string]bool
}

type object = map[string]any

// described are the endpoints that are in it.
func described(by *rooms.Rooms, queries bool) []endpoint {
	out := slices.Concat(managed(by), readBack(by))
	if queries {
		out = append(out, queryEndpoints...)
	}
	return out
}

const schemaPrefix = "#/components/schemas/"

// describe makes the whole description.
func describe(table []endpoint) ([]byte, error) {
	d := &openAPI{schemas: map[string]any{"Error": errorSchema}, paths: map[string]map[string]any{}, tags: map[string]bool{}}
	for _, e := range table {
		if err := d.add(&e); err != nil {
			return nil, fmt.Errorf("%s %s: %w", e.method, e.path, err)
		}
	}
	tags := []object{}
	for _, name := range slices.Sorted(maps.Keys(d.tags)) {
		tags = append(tags, object{"name": name})
	}
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Bunting management API", "version": "1",
			"description": "Flags, cohorts, people, projects, organizations and everything else that is managed. Ingestion and flag evaluation are not part of it.",
		},
		"servers":  []object{{"url": "/"}},
		"security": []object{{"personalKey": []string{}}},
		"tags":     tags,
		"paths":    d.paths,
		"components": object{
			"securitySchemes": object{"personalKey": object{"type": "http", "scheme": "bearer", "description": "a personal API key; the scopes that an operation needs stand in its security"}},
			"schemas":         d.schemas,
		},
	})
}

var errorSchema = object{
	"type": "object", "required": []string{"type", "code", "detail", "attr"},
	"properties": object{
		"type": object{"type": "string"}, "code": object{"type": "string"}, "detail": object{"type": "string"},
		"attr": object{"type": []string{"string", "null"}, "description": "the place in what was sent"},
	},
}

// add describes an endpoint on each of its paths.
func (d *openAPI) add(e *endpoint) error {
	for _, prefix := range e.area.prefixes {
		path := prefix + e.path + "/"
		op, err := d.operation(e, path)
		if err != nil {
			return err
		}
		if d.paths[path] == nil {
			d.paths[path] = object{}
		}
		d.paths[path][strings.ToLower(e.method)] = op
	}
	return nil
}

func (d *openAPI) operation(e *endpoint, path string) (object, error) {
	tag := tagOf(e.path)
	d.tags[tag] = true
	op := object{
		"operationId": operationID(e.method, path), "summary": e.summary, "tags": []string{tag},
		"parameters": parametersOf(e, path),
	}
	switch e.scope {
	case public:
		op["security"] = []object{}
	case anyKey:
	default:
		scopes := []string{e.scope}
		if e.also != "" {
			scopes = append(scopes, e.also)
		}
		op["security"] = []object{{"personalKey": scopes}}
	}
	if e.takes != nil {
		schema := fieldsSchema(e.takes, e.method != http.MethodPatch)
		if e.array {
			schema = object{"type": "array", "items": schema}
		}
		op["requestBody"] = object{"content": object{"application/json": object{"schema": schema}}}
	}
	done := object{"description": "done"}
	if e.gives != nil {
		schema, err := d.schema(e.gives)
		if err != nil {
			return nil, err
		}
		done["content"] = object{"application/json": object{"schema": schema}}
		done["description"] = "the answer"
		if e.bare {
			done["description"] = "no body, unless the request says Prefer: return=representation"
		}
	}
	op["responses"] = object{
		strconv.Itoa(cmp.Or(e.status, http.StatusOK)): done,
		"default": object{"description": "an error", "content": object{"application/json": object{"schema": object{"$ref": schemaPrefix + "Error"}}}},
	}
	return op, nil
}

// tagOf is the first fixed part of a path.
func tagOf(path string) string {
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if part != "" && part[0] != '{' {
			return part
		}
	}
	return "other"
}

func operationID(method, path string) string {
	name := strings.NewReplacer("/", "_", "{", "", "}", "", "@", "").Replace(strings.Trim(path, "/"))
	return strings.ToLower(method) + "_" + name
}

func parametersOf(e *endpoint, path string) []object {
	out := []object{}
	for part := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(part, "{") {
			out = append(out, object{"name": strings.Trim(part, "{}"), "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	query := e.query
	if _, list := e.gives.(interface{ Counted() (int, any) }); list {
		query = append([]parameterDoc{{"limit", "integer", "most items on a page, 100 by default"}, {"offset", "integer", "items before the page"}}, query...)
	}
	for _, q := range query {
		out = append(out, object{"name": q.name, "in": "query", "description": q.help, "schema": object{"type": q.kind}})
	}
	if e.isList() {
		for _, p := range listOf(e.path) {
			if doc := p.described(); doc != nil {
				out = append(out, doc)
			}
		}
	}
	return out
}

// typePackage is what the names of schemas leave out of those of types: packages, and
// what stands around the argument of a generic one.
var typePackage = regexp.MustCompile(`^(Httpapi|Management|` + roomNames + `)|GithubComBuntingFlagsBuntingManagement(` + roomNames + `)?|[\[\]]`)

const roomNames = "Batchexports|Dashboards|Errortracking|Featureflags|Organizations"

// schema is that of a value's type. Types with a name stand among the schemas.
func (d *openAPI) schema(v any) (object, error) {
	if list, ok := v.(interface{ Counted() (int, any) }); ok {
		_, results := list.Counted()
		items, err := d.schema(reflect.New(reflect.TypeOf(results).Elem()).Elem().Interface())
		link := object{"type": []string{"string", "null"}, "format": "uri"}
		return object{
			"type": "object", "required": []string{"count", "next", "previous", "results"},
			"properties": object{"count": object{"type": "integer"}, "next": link, "previous": link, "results": object{"type": "array", "items": items}},
		}, err
	}
	schema, err := d.reflector.Reflect(v, jsonschema.RootRef, jsonschema.InterceptNullability(orNothing),
		func(rc *jsonschema.ReflectContext) { rc.EnvelopNullability = true }, jsonschema.DefinitionsPrefix(schemaPrefix),
		jsonschema.CollectDefinitions(func(name string, s jsonschema.Schema) { d.schemas[name] = s }),
		jsonschema.InterceptSchema(interceptSchema), jsonschema.InterceptDefName(func(of reflect.Type, name string) string {
			if of == uuidType {
				return "CaptureUUID" // as descriptions have always named it
			}
			return typePackage.ReplaceAllString(name, "")
		}))
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var out object
	if string(text) == "true" {
		return object{}, nil
	}
	return out, json.Unmarshal(text, &out)
}

var (
	stampType = reflect.TypeFor[management.Stamp]()
	rawType   = reflect.TypeFor[json.RawMessage]()
	uuidType  = reflect.TypeFor[capture.UUID]()
)

// orNothing mends what may be null or of a type with a name: the reflector leaves
// the type beside the choice, so that null would be refused.
func orNothing(p jsonschema.InterceptNullabilityParams) {
	for _, choice := range p.Schema.AnyOf {
		p.Schema.Type = nil
		if s := choice.TypeObject; s != nil && s.Ref != nil {
			s.Type = nil
		}
	}
}

// interceptSchema knows the types that write themselves.
func interceptSchema(p jsonschema.InterceptSchemaParams) (stop bool, err error) {
	if p.Processed {
		return false, nil
	}
	switch p.Value.Type() {
	case stampType:
		p.Schema.WithType(*(&jsonschema.Type{}).WithSliceOfSimpleTypeValues(jsonschema.String, jsonschema.Null))
		p.Schema.WithFormat("date-time")
		return true, nil
	case rawType:
		return true, nil
	}
	return false, nil
}

// fieldTypes are the schemas of the types of fields.
var fieldTypes = map[management.Type]object{
	management.Text: {"type": "string"}, management.Email: {"type": "string", "format": "email"}, management.URL: {"type": "string", "format": "uri"},
	management.UUID: {"type": "string", "format": "uuid"}, management.Choice: {"type": "string"}, management.Int: {"type": "integer"},
	management.IntChoice: {"type": "integer"}, management.Bool: {"type": "boolean"}, management.Time: {"type": "string", "format": "date-time"},
	management.Object: {"type": "object"}, management.Array: {"type": "array"}, management.Any: {},
	management.TextList:   {"type": "array", "items": object{"type": "string"}},
	management.IntList:    {"type": "array", "items": object{"type": "integer"}},
	management.ObjectList: {"type": "array", "items": object{"type": "object"}},
}

// fieldsSchema is the schema of a body.
func fieldsSchema(fields management.Fields, create bool) object {
	properties, required := object{}, []string{}
	for _, f := range fields {
		schema := maps.Clone(fieldTypes[f.Type])
		if f.Max > 0 && schema["type"] == "string" {
			schema["maxLength"] = f.Max
		}
		if f.Most != 0 {
			schema["minimum"], schema["maximum"] = f.Least, f.Most
		}
		switch {
		case len(f.Choices) > 0:
			schema["enum"] = nullableEnum(f.Choices, &f)
		case len(f.Numbers) > 0:
			schema["enum"] = nullableEnum(f.Numbers, &f)
		}
		if kind, ok := schema["type"].(string); ok && f.Null {
			schema["type"] = []string{kind, "null"}
		}
		if f.Help != "" {
			schema["description"] = f.Help
		}
		properties[f.Name] = schema
		if f.Required && create {
			required = append(required, f.Name)
		}
	}
	out := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func nullableEnum[T any](values []T, f *management.Field) (out []any) {
	for _, v := range values {
		out = append(out, v)
	}
	if f.Blank {
		out = append(out, "")
	}
	if f.Null {
		out = append(out, nil)
	}
	return out
}

// schemaEndpoint serves the description itself. It is made at the first request.
func schemaEndpoint() []endpoint {
	return resource(atRoot, public, func(s *server) *server { return s }, []row[*server]{
		by(http.MethodGet, "/schema", "Read this description", (*server).described).giving(json.RawMessage{}),
	})
}

func (s *server) described(c *call) (any, error) {
	s.describeOnce.Do(func() { s.description, s.descriptionErr = describe(described(s.Management, s.Queries != nil)) })
	if s.descriptionErr != nil {
		return nil, s.descriptionErr
	}
	text := s.description
	if prefix := prefixOf(c.r); prefix != "" {
		text = bytes.Replace(text, []byte(`"url":"/"`), wire.AppendQuoted([]byte(`"url":`), prefix+"/"), 1)
	}
	return answer{status: http.StatusOK, raw: text, kind: "application/json"}, nil
}
