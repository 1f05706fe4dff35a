package httpapi

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/swaggest/jsonschema-go"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
)

// typePackage is what the names of schemas leave out of those of types: packages, and
// what stands around the argument of a generic one.
var typePackage = regexp.MustCompile(`^(Httpapi|Management|` + servicePackages + `)|GithubComBuntingFlagsBunting(AdaptersHttpapi|Management)(` + servicePackages + `)?|[\[\]]`)

const servicePackages = "Batchexports|Dashboards|Errortracking|Featureflags|Organizations"

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
		jsonschema.InterceptDefName(func(typ reflect.Type, name string) string { return typePackage.ReplaceAllString(name, "") }))
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	return objectOf(schema)
}

// objectOf is a schema as an object.
func objectOf(schema jsonschema.Schema) (out object, err error) {
	text, err := json.Marshal(schema)
	if err != nil || string(text) == "true" {
		return object{}, err
	}
	return out, json.Unmarshal(text, &out)
}

// inline makes the types that write themselves, and levels, stand where they are used.
func (d *openAPI) inline() *openAPI {
	d.reflector.InlineDefinition(management.Level(0))
	for t := range customSchemas {
		d.reflector.InlineDefinition(reflect.Zero(t).Interface())
	}
	return d
}

// customSchemas are the schemas of types that write themselves.
var customSchemas = map[reflect.Type]string{
	reflect.TypeFor[*struct{}]():        `{"type": "null"}`,
	reflect.TypeFor[management.Stamp](): `{"type": ["string", "null"], "format": "date-time"}`,
	reflect.TypeFor[json.RawMessage]():  `{}`,
	reflect.TypeFor[capture.UUID]():     `{"type": "string", "format": "uuid"}`,
	reflect.TypeFor[capture.Object]():   `{"type": "object", "additionalProperties": {}}`,
	reflect.TypeFor[instant]():          `{"type": ["string", "null"], "format": "date-time"}`,
}

// allowNull mends what may be null or of a type with a name: the reflector leaves
// the type beside the choice, so that null would be refused.
func allowNull(p jsonschema.InterceptNullabilityParams) {
	for _, choice := range p.Schema.AnyOf {
		p.Schema.Type = nil
		if s := choice.TypeObject; s != nil && s.Ref != nil {
			s.Type = nil
		}
	}
}

// interceptSchema knows the types that write themselves, and how wide numbers are.
func interceptSchema(p jsonschema.InterceptSchemaParams) (stop bool, err error) {
	if text, ok := customSchemas[p.Value.Type()]; ok && !p.Processed {
		return true, json.Unmarshal([]byte(text), p.Schema)
	}
	if kind := p.Value.Kind(); p.Processed && (kind == reflect.Int64 || kind == reflect.Int) {
		p.Schema.WithFormat("int64")
	}
	return false, nil
}

// requireAlways are the members that encoding/json never leaves out.
func requireAlways(p jsonschema.InterceptPropParams) error {
	if _, options, _ := strings.Cut(p.Field.Tag.Get("json"), ","); p.Processed && !strings.Contains(options, "omit") {
		p.ParentSchema.Required = append(p.ParentSchema.Required, p.Name)
	}
	return nil
}

// fieldTypes are the schemas of the types of fields.
var fieldTypes = map[management.Type]object{
	management.Text: {"type": "string"}, management.Email: {"type": "string", "format": "email"}, management.URL: {"type": "string", "format": "uri"},
	management.UUID: {"type": "string", "format": "uuid"}, management.Choice: {"type": "string"}, management.Int: int64Schema,
	management.IntChoice: int64Schema, management.Bool: {"type": "boolean"}, management.Time: {"type": "string", "format": "date-time"},
	management.Object: freeObject, management.Array: {"type": "array", "items": object{}}, management.Any: {},
	management.TextList:   {"type": "array", "items": object{"type": "string"}},
	management.IntList:    {"type": "array", "items": int64Schema},
	management.ObjectList: {"type": "array", "items": freeObject},
}

var int64Schema = object{"type": "integer", "format": "int64"}

// freeObject has any members: without a word on them, generators say that it has none.
var freeObject = object{"type": "object", "additionalProperties": object{}}

// fieldsSchema is the schema of a body.
func fieldsSchema(fields management.Fields, create bool) object {
	properties, required := object{}, []string{}
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
	out := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// nameValues gives the values of an enum names where generated clients could make no
// identifiers of them, or the same of two: they stand empty, or with - in front.
func nameValues(schema object, values []string, blank bool) {
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

// body puts the schema of a body among the others, as some generators know those with
// a name alone. It is called by method and path; where the same path has another below
// another prefix, by that too.
func (d *openAPI) body(e *endpoint, schema object) object {
	name := capitals(strings.ToLower(e.method)+"/"+e.path) + "Body"
	if same := d.schemas[name]; same != nil && !reflect.DeepEqual(same, schema) {
		name = capitals(e.area.prefixes[0]) + name
	}
	d.schemas[name] = schema
	return object{"$ref": schemaPrefix + name}
}

// capitals makes one word of the letters of a text.
func capitals(text string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// noteWritten notes which members of an answer requests write, and marks those of a
// request that no answer has.
func (d *openAPI) noteWritten(e *endpoint, request, answer object) {
	ref, _ := answer["$ref"].(string)
	name := strings.TrimPrefix(ref, schemaPrefix)
	if name == "" || e.method == http.MethodPost && e.status != http.StatusCreated {
		return
	}
	if d.writable[name] == nil {
		d.writable[name] = map[string]bool{}
	}
	answered, _ := d.schemas[name]["properties"].(object)
	for member, schema := range request["properties"].(object) {
		d.writable[name][member] = true
		if answered[member] == nil {
			schema.(object)["writeOnly"] = true
		}
	}
}

// markReadOnly marks members of answers that no request writes.
func (d *openAPI) markReadOnly() {
	for name, members := range d.writable {
		properties, _ := d.schemas[name]["properties"].(object)
		for member, schema := range properties {
			if s, ok := schema.(object); ok && !members[member] {
				s["readOnly"] = true
			}
		}
	}
}
