package openapi

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The conversions of schemas from OpenAPI 3.1 to 3.0.3 (spec/clients.md §15). 3.0 has no type null,
// one type for each schema, boolean exclusive bounds, one example, and no siblings of a reference.
func TestOpenAPI30_Schemas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, want string }{
		"a plain type":          {`{"type":"string","maxLength":5}`, `{"type":"string","maxLength":5}`},
		"null":                  {`{"type":"null"}`, `{"nullable":true}`},
		"a type or null":        {`{"type":["string","null"]}`, `{"type":"string","nullable":true}`},
		"null first":            {`{"type":["null","integer"]}`, `{"type":"integer","nullable":true}`},
		"a list of one":         {`{"type":["string"]}`, `{"type":"string"}`},
		"two types":             {`{"type":["string","integer"],"description":"x"}`, `{"oneOf":[{"type":"string"},{"type":"integer"}],"description":"x"}`},
		"two types or null":     {`{"type":["string","null","boolean"]}`, `{"oneOf":[{"type":"string"},{"type":"boolean"}],"nullable":true}`},
		"an array among types":  {`{"type":["string","array"],"items":{"type":["string","null"]}}`, `{"oneOf":[{"type":"string"},{"type":"array","items":{"type":"string","nullable":true}}]}`},
		"a choice or null":      {`{"anyOf":[{"$ref":"#/a"},{"$ref":"#/b"},{"type":"null"}]}`, `{"anyOf":[{"$ref":"#/a"},{"$ref":"#/b"}],"nullable":true}`},
		"one schema or null":    {`{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}]}`, `{"type":"integer","minimum":1,"nullable":true}`},
		"a reference or null":   {`{"oneOf":[{"type":"null"},{"$ref":"#/a"}]}`, `{"allOf":[{"$ref":"#/a"}],"nullable":true}`},
		"a choice without null": {`{"anyOf":[{"type":["string","null"]},{"$ref":"#/b"}]}`, `{"anyOf":[{"type":"string","nullable":true},{"$ref":"#/b"}]}`},
		"a constant":            {`{"const":"x"}`, `{"enum":["x"]}`},
		"an enum with null":     {`{"type":["string","null"],"enum":["a",null]}`, `{"type":"string","nullable":true,"enum":["a"]}`},
		"an enum":               {`{"enum":["a","b"]}`, `{"enum":["a","b"]}`},
		"exclusive bounds":      {`{"exclusiveMinimum":0,"exclusiveMaximum":1.5}`, `{"minimum":0,"exclusiveMinimum":true,"maximum":1.5,"exclusiveMaximum":true}`},
		"inclusive bounds":      {`{"minimum":0,"maximum":1}`, `{"minimum":0,"maximum":1}`},
		"examples":              {`{"examples":["a","b"]}`, `{"example":"a"}`},
		"no examples":           {`{"examples":[]}`, `{}`},
		"a tuple":               {`{"type":"array","prefixItems":[{"type":"string"}]}`, `{"type":"array","items":{}}`},
		"a tuple with a rest":   {`{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"null"}}`, `{"type":"array","items":{"nullable":true}}`},
		"unknown keywords":      {`{"$schema":"x","unevaluatedProperties":false,"type":"object"}`, `{"type":"object"}`},
		"a reference":           {`{"$ref":"#/a"}`, `{"$ref":"#/a"}`},
		"a described reference": {`{"$ref":"#/a","description":"x"}`, `{"allOf":[{"$ref":"#/a"}],"description":"x"}`},
		"properties":            {`{"properties":{"type":{"type":["string","null"]},"const":{"const":1},"examples":{"type":"string"}}}`, `{"properties":{"type":{"type":"string","nullable":true},"const":{"enum":[1]},"examples":{"type":"string"}}}`},
		"further properties":    {`{"additionalProperties":{"type":["string","null"]}}`, `{"additionalProperties":{"type":"string","nullable":true}}`},
		"no further properties": {`{"additionalProperties":false}`, `{"additionalProperties":false}`},
		"below allOf":           {`{"allOf":[{"const":1}],"not":{"const":2}}`, `{"allOf":[{"enum":[1]}],"not":{"enum":[2]}}`},
	} {
		for place, wrap := range map[string]func(string) string{
			"component": func(s string) string { return `{"openapi":"V","components":{"schemas":{"schema":` + s + `}}}` },
			"parameter": func(s string) string {
				return `{"openapi":"V","paths":{"/x":{"get":{"parameters":[{"name":"a","schema":` + s + `}]}}}}`
			},
			"response": func(s string) string {
				return `{"openapi":"V","paths":{"/x":{"get":{"responses":{"200":{"content":{"application/json":{"schema":` + s + `}}}}}}}}`
			},
		} {
			sameDocument(t, name+" of a "+place, wrap(c.want), wrap(c.from))
		}
	}
}

// sameDocument checks that a document is converted to another; their versions are V.
func sameDocument(t *testing.T, name, want, from string) {
	t.Helper()
	text, err := OpenAPI30([]byte(from))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	var got, expected map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &expected); err != nil {
		t.Fatal(err)
	}
	expected["openapi"] = "3.0.3"
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// The scopes of an operation are in x-scopes, since a bearer scheme of 3.0 has no scopes; examples are
// values and are not converted.
func TestOpenAPI30_Document(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, want string }{
		"scopes":        {`{"get":{"security":[{"key":["flag:read","x"]}]}}`, `{"get":{"security":[{"key":[]}],"x-scopes":["flag:read","x"]}}`},
		"no scopes":     {`{"get":{"security":[{"key":[]}]}}`, `{"get":{"security":[{"key":[]}]}}`},
		"public":        {`{"get":{"security":[]}}`, `{"get":{"security":[]}}`},
		"optional keys": {`{"get":{"security":[{},{"key":["a"]}]}}`, `{"get":{"security":[{},{"key":[]}],"x-scopes":["a"]}}`},
		"an example":    {`{"example":{"schema":{"type":["string","null"]},"security":[{"key":["a"]}]}}`, `{"example":{"schema":{"type":["string","null"]},"security":[{"key":["a"]}]}}`},
		"examples":      {`{"examples":{"a":{"value":{"schema":{"const":1}}}}}`, `{"examples":{"a":{"value":{"schema":{"const":1}}}}}`},
		"a text member": {`{"schema":"x","schemas":["y"]}`, `{"schema":"x","schemas":["y"]}`},
	} {
		wrap := func(s string) string { return `{"openapi":"V","paths":{"/x":` + s + `}}` }
		sameDocument(t, name, wrap(c.want), wrap(c.from))
	}
	if _, err := OpenAPI30([]byte(`[]`)); err == nil {
		t.Error("a list is a document")
	}
}
