package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// description is an OpenAPI document, with the members that the tests check.
type description struct {
	OpenAPI    string                          `json:"openapi"`
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas   map[string]map[string]any
		Responses map[string]answerDoc
	}
}

type operation struct {
	OperationID string `json:"operationId"`
	Summary     string
	Security    []map[string][]string
	Parameters  []struct {
		Name, In string
		Required bool
		Schema   map[string]any
	}
	RequestBody *content `json:"requestBody"`
	Responses   map[string]answerDoc
}

type content struct {
	Content map[string]struct{ Schema map[string]any }
}

type answerDoc struct {
	content
	Ref string `json:"$ref"`
}

// description requests a description from a server.
func (o *office) description(t testing.TB, version string) (d description) {
	t.Helper()
	res, err := http.Get(o.URL + "/api/schema/?version=" + version)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res.StatusCode, err, string(text))
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// describedVersions are the available versions.
var describedVersions = map[string]string{"3.1": "3.1.0", "3.0": "3.0.3"}

// each calls f for every operation.
func (d *description) each(f func(where string, path string, op *operation)) {
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for method, op := range d.Paths[path] {
			f(method+" "+path, path, &op)
		}
	}
}

// schemas calls f for every schema, and for nested schemas first.
func (d *description) schemas(f func(where string, s map[string]any)) {
	for name, s := range d.Components.Schemas {
		within(name, s, f)
	}
	d.each(func(where, _ string, op *operation) {
		for _, p := range op.Parameters {
			within(where+" "+p.Name, p.Schema, f)
		}
		if op.RequestBody != nil {
			for _, c := range op.RequestBody.Content {
				within(where, c.Schema, f)
			}
		}
		for status, r := range op.Responses {
			for _, c := range r.Content {
				within(where+" "+status, c.Schema, f)
			}
		}
	})
}

func within(where string, v any, f func(string, map[string]any)) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	for _, word := range []string{"items", "additionalProperties", "not"} {
		within(where, s[word], f)
	}
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[word].([]any)
		for _, one := range list {
			within(where, one, f)
		}
	}
	properties, _ := s["properties"].(map[string]any)
	for name, property := range properties {
		within(where+"."+name, property, f)
	}
	f(where, s)
}

var nameOfPart = regexp.MustCompile(`\{[^}]*\}`)

// Every route of the management API is in its description, with a summary.
func TestOpenAPI_EveryRoute(t *testing.T) {
	d := newOffice(t, "sqlite::memory:").description(t, "")
	described := map[string]operation{}
	d.each(func(where, _ string, op *operation) { described[nameOfPart.ReplaceAllString(where, "{}")] = *op })
	routes := httpapi.ManagementRoutesForTest()
	for path, methods := range routes {
		for _, method := range methods {
			op, ok := described[strings.ToLower(method)+" "+nameOfPart.ReplaceAllString(path, "{}")+"/"]
			if !ok || op.Summary == "" || len(op.Responses) < 2 {
				t.Errorf("%s %s is not described: %t, %q", method, path, ok, op.Summary)
			}
		}
	}
	for _, route := range httpapi.SDKRoutesForTest() {
		method, path, _ := strings.Cut(route, " ")
		op, ok := described[strings.ToLower(method)+" "+nameOfPart.ReplaceAllString(path, "{}")+"/"]
		if method == http.MethodHead { // like GET
			continue
		}
		if ok == notDescribed[route] || ok && op.Summary == "" {
			t.Errorf("%s is described: %t, %q", route, ok, op.Summary)
		}
	}
	if len(routes) < 30 || len(d.Components.Schemas) < 3 {
		t.Errorf("%d routes and %d schemas: is the right table looked at?", len(routes), len(d.Components.Schemas))
	}
}

// notDescribed are scripts, pages, routes for load tests, and paths without their token.
var notDescribed = map[string]bool{
	"GET /": true, "GET /array/{token}/array.js": true, "GET /array/{token}/config.js": true,
	"GET /array/config": true, "GET /array/config.js": true,
	"GET /static/{file}": true, "GET /static/{version}/{file}": true, "POST /test/black_hole": true,
}

func TestOpenAPI_Versions(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	operations := map[string][]string{}
	for version, wantVersion := range describedVersions {
		d := o.description(t, version)
		if d.OpenAPI != wantVersion {
			t.Errorf("%s: %s", version, d.OpenAPI)
		}
		d.each(func(where, _ string, op *operation) {
			operations[version] = append(operations[version], where+" "+op.OperationID)
		})
		slices.Sort(operations[version])
	}
	if !slices.Equal(operations["3.0"], operations["3.1"]) {
		t.Error("the versions have different operations")
	}
	res, err := http.Get(o.URL + "/api/schema/?version=2.0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), `"attr":"version"`) {
		t.Errorf("version 2.0: %d %s %v", res.StatusCode, text, err)
	}
}

// laws check the rules of spec/clients.md §15 for both versions.
var laws = map[string]func(t *testing.T, d *description){
	"identifiers of operations": func(t *testing.T, d *description) {
		seen := map[string]string{}
		d.each(func(where, _ string, op *operation) {
			plain := strings.ToLower(strings.ReplaceAll(op.OperationID, "_", "")) // generators may join the words
			if !regexp.MustCompile(`^[a-z][A-Za-z0-9_]*$`).MatchString(op.OperationID) || seen[plain] != "" {
				t.Errorf("%s: operationId %q, as %s", where, op.OperationID, seen[plain])
			}
			seen[plain] = where
		})
	},
	"items of arrays": func(t *testing.T, d *description) {
		d.schemas(func(where string, s map[string]any) {
			if isArray := fmt.Sprint(s["type"]); strings.Contains(isArray, "array") && s["items"] == nil {
				t.Errorf("%s: an array without items", where)
			}
		})
	},
	"members of objects": func(t *testing.T, d *description) { // otherwise openapi-typescript generates an object without members
		d.schemas(func(where string, s map[string]any) {
			if fmt.Sprint(s["type"]) != "object" && !strings.Contains(fmt.Sprint(s["type"]), "object ") {
				return
			}
			if s["properties"] == nil && s["additionalProperties"] == nil {
				t.Errorf("%s: an object of which nothing is said: %v", where, s)
			}
		})
	},
	"parameters of paths": func(t *testing.T, d *description) {
		kinds := map[string]string{}
		d.each(func(where, path string, op *operation) {
			names := nameOfPart.FindAllString(path, -1)
			for _, p := range op.Parameters {
				if p.In != "path" {
					continue
				}
				at := slices.Index(names, "{"+p.Name+"}")
				if at < 0 || !p.Required {
					t.Errorf("%s: %s is declared: %d, required: %t", where, p.Name, at, p.Required)
					continue
				}
				names[at] = ""
				before, _, _ := strings.Cut(path, "{"+p.Name+"}")
				kind := fmt.Sprint(p.Name, p.Schema)
				if kinds[before] == "" {
					kinds[before] = kind
				}
				if kinds[before] != kind {
					t.Errorf("%s: the place %s is %s and %s", where, before, kinds[before], kind)
				}
			}
			if remaining := strings.Join(names, ""); remaining != "" {
				t.Errorf("%s: %s is not declared", where, remaining)
			}
		})
		for place, want := range placesOfIntegers {
			if !strings.HasPrefix(kinds[place], want+"map[format:int64 type:integer]") {
				t.Errorf("%s: %s is %s", place, want, kinds[place])
			}
		}
	},
	"names of schemas": func(t *testing.T, d *description) {
		seen := map[string]string{}
		for name := range d.Components.Schemas {
			lower := strings.ToLower(name)
			if seen[lower] != "" || !regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`).MatchString(name) {
				t.Errorf("the schema %s, as %s", name, seen[lower])
			}
			seen[lower] = name
		}
	},
	"values of enums": func(t *testing.T, d *description) {
		d.schemas(func(where string, s map[string]any) {
			values, _ := s["enum"].([]any)
			names, named := s["x-enum-varnames"].([]any)
			if values = slices.DeleteFunc(values, func(v any) bool { return v == nil }); !named {
				names = values
			}
			seen := map[string]bool{}
			for _, v := range names {
				name := strings.ToLower(regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(fmt.Sprint(v), ""))
				if name == "" || seen[name] {
					t.Errorf("%s: %v of %v as an identifier", where, v, names)
				}
				seen[name] = true
			}
			if len(names) != len(values) {
				t.Errorf("%s: %v are called %v", where, values, names)
			}
		})
	},
	"required members of requests": func(t *testing.T, d *description) {
		d.each(func(where, _ string, op *operation) {
			if op.RequestBody == nil {
				return
			}
			for _, c := range op.RequestBody.Content {
				ref, _ := c.Schema["$ref"].(string)
				body := d.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
				if inline := c.Schema["properties"] != nil; inline || ref != "" && body == nil {
					t.Errorf("%s: its body has no name: %v", where, c.Schema)
				}
				properties, _ := body["properties"].(map[string]any)
				for name, property := range properties {
					if property.(map[string]any)["readOnly"] == true {
						t.Errorf("%s: %s is read-only", where, name)
					}
				}
			}
		})
		if id := memberOfSchema(d, "Flag", "id"); id["readOnly"] != true {
			t.Errorf("the id of a flag: %v", id)
		}
		if key := memberOfSchema(d, "Flag", "key"); key["readOnly"] != nil {
			t.Errorf("the key of a flag: %v", key)
		}
	},
	"answers that are errors": func(t *testing.T, d *description) {
		d.each(func(where, path string, op *operation) {
			errors := []string{}
			for status, r := range op.Responses {
				if status[0] != '4' && status != "default" || status == "405" {
					continue
				}
				errors = append(errors, status)
				shared := d.Components.Responses[strings.TrimPrefix(r.Ref, "#/components/responses/")]
				schema := shared.Content["application/json"].Schema
				if !regexp.MustCompile(`^#/components/schemas/(CaptureV1|OFREP|)Error$`).MatchString(fmt.Sprint(schema["$ref"])) {
					t.Errorf("%s %s: %v", where, status, schema)
				}
			}
			if len(errors) == 0 || strings.Contains(path, "{") && !slices.Contains(errors, "404") {
				t.Errorf("%s: the errors %v", where, errors)
			}
		})
	},
}

// placesOfIntegers are the integer ids of spec/clients.md §1.1.
var placesOfIntegers = map[string]string{
	"/api/projects/":                                    "project_id",
	"/api/environments/":                                "project_id",
	"/api/projects/{project_id}/feature_flags/":         "id",
	"/api/projects/{project_id}/dashboards/":            "id",
	"/api/projects/{project_id}/cohorts/":               "id",
	"/api/projects/{project_id}/actions/":               "id",
	"/api/environments/{project_id}/scheduled_changes/": "id",
}

func memberOfSchema(d *description, schema, name string) map[string]any {
	properties, _ := d.Components.Schemas[schema]["properties"].(map[string]any)
	m, _ := properties[name].(map[string]any)
	return m
}

func TestOpenAPI_Laws(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	for version := range describedVersions {
		d := o.description(t, version)
		for name, law := range laws {
			t.Run(version+" "+name, func(t *testing.T) { law(t, &d) })
		}
	}
}

// 3.0.3 has no keywords that only 3.1 has, and expresses null differently (the table of
// spec/clients.md §15).
func TestOpenAPI_30(t *testing.T) {
	d := newOffice(t, "sqlite::memory:").description(t, "3.0.3")
	d.schemas(func(where string, s map[string]any) {
		kind, isText := s["type"].(string)
		if s["type"] != nil && !isText || kind == "null" {
			t.Errorf("%s: type %v", where, s["type"])
		}
		for _, word := range []string{"const", "examples", "$schema", "unevaluatedProperties", "prefixItems"} {
			if s[word] != nil {
				t.Errorf("%s: %s", where, word)
			}
		}
		if s["$ref"] != nil && len(s) > 1 {
			t.Errorf("%s: a reference beside %v", where, s)
		}
	})
	d.each(func(where, _ string, op *operation) {
		for _, scheme := range op.Security {
			for name, scopes := range scheme {
				if len(scopes) > 0 {
					t.Errorf("%s: %s has %v", where, name, scopes)
				}
			}
		}
	})
	for _, row := range []struct{ schema, member, want string }{
		{"Flag", "bucketing_hash", `{"nullable":true,"type":"string"}`},
		{"Flag", "created_by", `{"allOf":[{"$ref":"#/components/schemas/UserView"}],"nullable":true,"readOnly":true}`},
		{"Flag", "filters", `{}`}, // free JSON has no type
	} {
		if got, err := json.Marshal(memberOfSchema(&d, row.schema, row.member)); err != nil || string(got) != row.want {
			t.Errorf("%s.%s: %s %v, want %s", row.schema, row.member, got, err, row.want)
		}
	}
}

// The table of spec/clients.md §15, row by row.
func TestOpenAPI_Lowered(t *testing.T) {
	for _, row := range []struct{ in31, in30 string }{
		{`{"type": ["string", "null"]}`, `{"type": "string", "nullable": true}`},
		{`{"type": ["integer", "string"]}`, `{"oneOf": [{"type": "integer"}, {"type": "string"}]}`},
		{`{"type": ["array", "string", "null"], "items": {"type": ["boolean", "null"]}}`,
			`{"oneOf": [{"type": "array", "items": {"type": "boolean", "nullable": true}}, {"type": "string"}], "nullable": true}`},
		{`{"anyOf": [{"type": "null"}, {"$ref": "#/components/schemas/A"}], "description": "d"}`,
			`{"allOf": [{"$ref": "#/components/schemas/A"}], "nullable": true, "description": "d"}`},
		{`{"oneOf": [{"type": "null"}, {"type": "string"}, {"type": "boolean"}]}`, `{"oneOf": [{"type": "string"}, {"type": "boolean"}], "nullable": true}`},
		{`{"const": "a"}`, `{"enum": ["a"]}`},
		{`{"type": "string", "examples": ["a", "b"]}`, `{"type": "string", "example": "a"}`},
		{`{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 9}`, `{"type": "number", "minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": true}`},
		{`{"enum": ["a", null], "type": ["string", "null"]}`, `{"enum": ["a"], "type": "string", "nullable": true}`},
		{`{"$schema": "x", "unevaluatedProperties": false, "prefixItems": [{}], "type": "array"}`, `{"type": "array", "items": {}}`},
		{`{"properties": {"const": {"type": "null"}, "type": {"$ref": "#/a", "readOnly": true}}}`,
			`{"properties": {"const": {"nullable": true}, "type": {"allOf": [{"$ref": "#/a"}], "readOnly": true}}}`}, // names of members are not keywords
		{`{"additionalProperties": {"type": ["string", "null"]}, "$ref": "#/a"}`, `{"additionalProperties": {"type": "string", "nullable": true}, "allOf": [{"$ref": "#/a"}]}`},
	} {
		in := func(schema, version, scopes, more string) string {
			return `{"openapi": "` + version + `", "components": {"schemas": {"A": ` + schema + `}}, "paths": {"/a": {"get": {"security": [{"key": [` + scopes + `]}]` + more + `,
				"parameters": [{"schema": ` + schema + `, "example": {"schema": {"type": ["null"]}}}]}}}}`
		}
		got, err := httpapi.OpenAPI30ForTest([]byte(in(row.in31, "3.1.0", `"a:read"`, "")))
		if want := in(row.in30, "3.0.3", "", `, "x-scopes": ["a:read"]`); err != nil || !sameJSON(t, string(got), want) {
			t.Errorf("%s: %v\n%s, want\n%s", row.in31, err, got, want)
		}
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var values [2]any
	for i, text := range []string{a, b} {
		if err := json.Unmarshal([]byte(text), &values[i]); err != nil {
			t.Fatal(err, text)
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}
