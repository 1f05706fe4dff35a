package openapi

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/swaggest/jsonschema-go"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
)

// typePackage matches the parts of the names of generic Go types that schema names omit: the packages
// of the type arguments, and brackets.
var typePackage = regexp.MustCompile(`GithubComBuntingFlagsBunting(AdaptersHttpapi(Internal(` + serverPackages + `))?|Management(Internal)?)(` + servicePackages + `)?|[\[\]]`)

const (
	module          = "github.com/bunting-flags/bunting/"
	serverPackages  = "Frame|History|Manage|Openapi|Results|Signin"
	servicePackages = "Batchexports|Changes|Cohorts|Dashboards|Definitions|Earlyaccess|Errortracking|Experiments|Featureflags|Organizations|Rollouts|Storedcohorts|Storedflags|Surveys"
)

// schemaName returns the name of the component for a type. name is the default name, which begins
// with the name of the type's package. It is removed if the package belongs to the server or to
// management. The types of guarded rollouts count as types of experiments, so that the names in
// generated clients stay.
func schemaName(typ reflect.Type, name string) string {
	folder, isOurs := strings.CutPrefix(typ.PkgPath(), module)
	if isOurs && (strings.HasPrefix(folder, "management") || strings.HasPrefix(folder, "adapters/httpapi")) {
		base := path.Base(folder)
		name = strings.TrimPrefix(name, strings.ToUpper(base[:1])+base[1:])
	}
	if folder == "capture/guarded" {
		name = "Experiments" + strings.TrimPrefix(name, "Guarded")
	}
	return typePackage.ReplaceAllString(name, "")
}

// schema returns the schema of a value's type. Named types become references to components.
func (d *openAPI) schema(v any) (frame.Object, error) {
	if list, ok := v.(interface{ Counted() (int, any) }); ok {
		_, results := list.Counted()
		items, err := d.schema(reflect.New(reflect.TypeOf(results).Elem()).Elem().Interface())
		link := frame.Object{"type": []string{"string", "null"}, "format": "uri"}
		return frame.Object{
			"type": "object", "required": []string{"count", "next", "previous", "results"},
			"properties": frame.Object{"count": frame.Object{"type": "integer"}, "next": link, "previous": link, "results": frame.Object{"type": "array", "items": items}},
		}, err
	}
	typ := reflect.TypeOf(v)
	if cachedSchema, ok := d.reflected[typ]; ok {
		return maps.Clone(cachedSchema), nil
	}
	var failed error
	schema, err := d.reflector.Reflect(v, jsonschema.RootRef, jsonschema.InterceptNullability(allowNull),
		func(rc *jsonschema.ReflectContext) { rc.EnvelopNullability = true }, jsonschema.DefinitionsPrefix(schemaPrefix),
		jsonschema.CollectDefinitions(func(name string, s jsonschema.Schema) {
			if d.schemas[name] != nil {
				return
			}
			o, err := objectOf(s)
			d.schemas[name], failed = o, cmp.Or(failed, err)
		}),
		jsonschema.InterceptSchema(interceptSchema), jsonschema.InterceptProp(requireAlways),
		jsonschema.InterceptDefName(schemaName))
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	out, err := objectOf(schema)
	d.reflected[typ] = out
	return maps.Clone(out), err
}

// objectOf converts a schema to a generic object.
func objectOf(schema jsonschema.Schema) (out frame.Object, err error) {
	text, err := json.Marshal(schema)
	if err != nil || string(text) == "true" {
		return frame.Object{}, err
	}
	return out, json.Unmarshal(text, &out)
}

// inline configures the reflector to inline types with custom JSON, and levels, instead of a
// reference.
func (d *openAPI) inline() *openAPI {
	d.reflector.InlineDefinition(management.Level(0))
	for t := range customSchemas {
		d.reflector.InlineDefinition(reflect.Zero(t).Interface())
	}
	return d
}

// customSchemas are the schemas of types that implement json.Marshaler.
var customSchemas = map[reflect.Type]string{
	reflect.TypeFor[*struct{}]():        `{"type": "null"}`,
	reflect.TypeFor[management.Stamp](): `{"type": ["string", "null"], "format": "date-time"}`,
	reflect.TypeFor[json.RawMessage]():  `{}`,
	reflect.TypeFor[capture.UUID]():     `{"type": "string", "format": "uuid"}`,
	reflect.TypeFor[capture.Object]():   `{"type": "object", "additionalProperties": {}}`,
	reflect.TypeFor[frame.Instant]():    `{"type": ["string", "null"], "format": "date-time"}`,
}

// allowNull corrects nullable schemas and schemas of named types. The reflector leaves the type
// next to anyOf, which would reject null.
func allowNull(p jsonschema.InterceptNullabilityParams) {
	for _, choice := range p.Schema.AnyOf {
		p.Schema.Type = nil
		if s := choice.TypeObject; s != nil && s.Ref != nil {
			s.Type = nil
		}
	}
}

// interceptSchema sets the schemas of customSchemas, and the format of integers.
func interceptSchema(p jsonschema.InterceptSchemaParams) (stop bool, err error) {
	if text, ok := customSchemas[p.Value.Type()]; ok && !p.Processed {
		return true, json.Unmarshal([]byte(text), p.Schema)
	}
	if kind := p.Value.Kind(); p.Processed && (kind == reflect.Int64 || kind == reflect.Int) {
		p.Schema.WithFormat("int64")
	}
	return false, nil
}

// requireAlways marks the members that encoding/json never omits as required.
func requireAlways(p jsonschema.InterceptPropParams) error {
	if _, options, _ := strings.Cut(p.Field.Tag.Get("json"), ","); p.Processed && !strings.Contains(options, "omit") {
		p.ParentSchema.Required = append(p.ParentSchema.Required, p.Name)
	}
	return nil
}

// fieldTypes are the schemas of field types.
var fieldTypes = map[management.Type]frame.Object{
	management.Text: {"type": "string"}, management.Email: {"type": "string", "format": "email"}, management.URL: {"type": "string", "format": "uri"},
	management.UUID: {"type": "string", "format": "uuid"}, management.Choice: {"type": "string"}, management.Int: int64Schema,
	management.IntChoice: int64Schema, management.Bool: {"type": "boolean"}, management.Time: {"type": "string", "format": "date-time"},
	management.Object: freeObject, management.Array: {"type": "array", "items": frame.Object{}}, management.Any: {},
	management.TextList:   {"type": "array", "items": frame.Object{"type": "string"}},
	management.IntList:    {"type": "array", "items": int64Schema},
	management.ObjectList: {"type": "array", "items": freeObject},
}

var int64Schema = frame.Object{"type": "integer", "format": "int64"}

// freeObject allows all members. Without additionalProperties, generators assume that there are
// no members.
var freeObject = frame.Object{"type": "object", "additionalProperties": frame.Object{}}

// fieldsSchema returns the schema of a request body. If create is true, it marks required fields.
func fieldsSchema(fields management.Fields, create bool) frame.Object {
	properties, required := frame.Object{}, []string{}
	for _, f := range fields {
		schema := maps.Clone(fieldTypes[f.Type])
		if f.MaxLength > 0 && schema["type"] == "string" {
			schema["maxLength"] = f.MaxLength
		}
		if f.MaxValue != 0 {
			schema["minimum"], schema["maximum"] = f.MinValue, f.MaxValue
		}
		switch {
		case len(f.Choices) > 0:
			schema["enum"] = nullableEnum(f.Choices, &f)
			nameValues(schema, f.Choices, f.Blank)
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
	out := frame.Object{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// nameValues sets x-enum-varnames if the names that generators derive from the values would be
// invalid or ambiguous. This happens for empty values and for values with a leading minus sign.
func nameValues(schema frame.Object, values []string, blank bool) {
	names := []string{}
	for _, v := range values {
		if plain, descending := strings.CutPrefix(v, "-"); descending {
			v = plain + "_descending"
		}
		names = append(names, v)
	}
	if blank {
		names = append(names, "empty")
	}
	if blank || !slices.Equal(names, values) {
		schema["x-enum-varnames"] = names
	}
}

// nullableEnum returns the values of an enum, with an empty string and null if the field allows
// them.
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

// body adds the schema of a request body to the components, since some generators support only
// named schemas. The name is built from the method and the path. If the name is in use for a
// different schema, it includes the prefix of the path too.
func (d *openAPI) body(e *frame.Endpoint, schema frame.Object) frame.Object {
	name := capitals(strings.ToLower(e.Method)+"/"+e.Path) + "Body"
	if same := d.schemas[name]; same != nil && !reflect.DeepEqual(same, schema) {
		name = capitals(e.Area.Prefixes[0]) + name
	}
	d.schemas[name] = schema
	return frame.Object{"$ref": schemaPrefix + name}
}

// capitals joins the words of a text, each with a capital letter.
func capitals(text string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// noteWritten records which members of a response schema can be written by requests, and marks
// the members of a request that are in no response as writeOnly.
func (d *openAPI) noteWritten(e *frame.Endpoint, request, answer frame.Object) {
	ref, _ := answer["$ref"].(string)
	name := strings.TrimPrefix(ref, schemaPrefix)
	if name == "" || e.Method == http.MethodPost && e.Status != http.StatusCreated {
		return
	}
	if d.writable[name] == nil {
		d.writable[name] = map[string]bool{}
	}
	answered, _ := d.schemas[name]["properties"].(frame.Object)
	for member, schema := range request["properties"].(frame.Object) {
		d.writable[name][member] = true
		if answered[member] == nil {
			schema.(frame.Object)["writeOnly"] = true
		}
	}
}

// markReadOnly marks the members of responses that no request can write as readOnly.
func (d *openAPI) markReadOnly() {
	for name, members := range d.writable {
		properties, _ := d.schemas[name]["properties"].(frame.Object)
		for member, schema := range properties {
			if s, ok := schema.(frame.Object); ok && !members[member] {
				s["readOnly"] = true
			}
		}
	}
}
