package sdktest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// schemaCases are schemas in each version, with a valid value and an invalid one. If v30 is empty,
// version 3.0 uses the same schema; "-" means that it has no equivalent.
var schemaCases = []struct{ name, v31, v30, right, wrong string }{
	{"type", `{"type": "integer"}`, "", `1`, `"1"`},
	{"types", `{"type": ["integer", "boolean"]}`, `{"oneOf": [{"type": "integer"}, {"type": "boolean"}]}`, `true`, `"true"`},
	{"no null", `{"type": "string"}`, "", `""`, `null`},
	{"null", `{"type": ["string", "null"]}`, `{"type": "string", "nullable": true}`, `null`, `1`},
	{"any member", `{"type": "object", "properties": {"a": {"readOnly": false}}}`, "", `{"a": null}`, `[]`},
	{"reference", `{"$ref": "#/components/schemas/Thing"}`, "", `{"a": 1}`, `{"a": "1"}`},
	{"no null by reference", `{"$ref": "#/components/schemas/Thing"}`, "", `{"a": 1}`, `null`},
	{"null or reference", `{"anyOf": [{"$ref": "#/components/schemas/Thing"}, {"type": "null"}]}`,
		`{"allOf": [{"$ref": "#/components/schemas/Thing"}], "nullable": true}`, `null`, `{"a": "1"}`},
	{"required", `{"$ref": "#/components/schemas/Thing"}`, "", `{"a": 1}`, `{}`},
	{"list", `{"type": "array", "items": {"$ref": "#/components/schemas/Thing"}}`, "", `[{"a": 1}]`, `[{"a": 1}, {}]`},
	{"additional of a schema", `{"type": "object", "additionalProperties": {"type": "integer"}}`, "", `{"a": 1}`, `{"a": "1"}`},
	{"no additional", `{"type": "object", "properties": {"a": {}}, "additionalProperties": false}`, "", `{"a": 1}`, `{"b": 1}`},
	{"unevaluated", `{"allOf": [{"$ref": "#/components/schemas/Thing"}], "unevaluatedProperties": false}`, "-", `{"a": 1}`, `{"a": 1, "b": 1}`},
	{"const", `{"const": "a"}`, "-", `"a"`, `"b"`},
	{"tuple", `{"prefixItems": [{"type": "integer"}, {"type": "string"}]}`, "-", `[1, "a"]`, `["a", 1]`},
	{"enum", `{"type": "string", "enum": ["a"]}`, "", `"a"`, `"b"`},
	{"maxLength", `{"type": "string", "maxLength": 2}`, "", `"ab"`, `"abc"`},
	{"minimum", `{"type": "integer", "minimum": 1}`, "", `1`, `0`},
	{"date-time", `{"type": "string", "format": "date-time"}`, "", `"2026-01-01T00:00:00Z"`, `"2026-01-01 00:00"`},
	{"date-time of a list", `{"type": ["string", "null"], "format": "date-time"}`, `{"type": "string", "format": "date-time", "nullable": true}`, `null`, `"today"`},
	{"uuid", `{"type": "string", "format": "uuid"}`, "", `"0191f0a2-5b1c-7d3e-8f40-000000000001"`, `"0191f0a2"`},
	{"email", `{"type": "string", "format": "email"}`, "", `"a@example.com"`, `"example.com"`},
	{"uri", `{"type": "string", "format": "uri"}`, "", `"https://example.com/"`, `"example.com"`},
	{"int64", `{"type": "integer", "format": "int64"}`, "", `9007199254740992`, `1e20`},
}

// smallDocument describes POST /things/{id}/; its request and its response with status 200 have a
// schema.
const smallDocument = `{"openapi": %q, "info": {"title": "t", "version": "1"}, "servers": [{"url": "/"}], "paths": {"/things/{id}/": {"post": {
	"parameters": [{"in": "path", "name": "id", "required": true, "schema": {"type": "integer"}},
		{"in": "query", "name": "at", "schema": {"type": "string", "format": "date-time"}},
		{"in": "header", "name": "X-Try", "required": true, "schema": {"type": "integer"}}],
	"security": [{"key": []}],
	"requestBody": {"required": true, "content": {"application/json": {"schema": %[2]s}}},
	"responses": {"200": {"$ref": "#/components/responses/Found"}, "204": {"description": "d"},
		"default": {"description": "d", "content": {"application/json": {"schema": {"type": "object", "required": ["detail"], "properties": {"detail": {"type": "string"}}}}}}}},
	"delete": {"parameters": [{"in": "path", "name": "id", "required": true, "schema": {"type": "integer"}}], "responses": {"204": {"description": "d"}}}}},
	"components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
		"responses": {"Found": {"description": "d", "content": {"application/json": {"schema": %[2]s}}}},
		"schemas": {"Thing": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}}}}`

// exchange is a request and its response.
type exchange struct {
	request, header, body string
	status                int
	kind, answer          string
}

func (e exchange) check(t *testing.T, version, schema string) error {
	t.Helper()
	d, err := newDescription(fmt.Appendf(nil, smallDocument, version, schema))
	if err != nil {
		t.Fatal(err)
	}
	method, path, _ := strings.Cut(e.request, " ")
	req, err := http.NewRequest(method, path, strings.NewReader(e.body))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(e.header, "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			req.Header.Set(name, value)
		}
	}
	res := &http.Response{StatusCode: e.status, Header: http.Header{}}
	if e.kind != "" {
		res.Header.Set("Content-Type", e.kind)
	}
	return d.check(req, res, []byte(e.answer))
}

const smallHeader = "Authorization: Bearer k\nX-Try: 1\nContent-Type: application/json"

// Invalid values are detected in requests and in responses of both versions.
func TestDescription_Schemas(t *testing.T) {
	for _, c := range schemaCases {
		for version, schema := range map[string]string{"3.1.0": c.v31, "3.0.3": c.v30} {
			if schema == "-" {
				continue
			}
			if schema == "" {
				schema = c.v31
			}
			for _, e := range []struct {
				asked, answered string
				fits            bool
			}{{c.right, c.right, true}, {c.wrong, c.right, false}, {c.right, c.wrong, false}} {
				err := exchange{"POST /things/1/", smallHeader, e.asked, 200, "application/json", e.answered}.check(t, version, schema)
				if (err == nil) != e.fits {
					t.Errorf("%s in %s: %s answered with %s: %v", c.name, version, e.asked, e.answered, err)
				}
			}
		}
	}
}

// Requests and responses that are not described are detected in both versions.
func TestDescription_Exchanges(t *testing.T) {
	const (
		schema = `{"type": "object", "properties": {"id": {"type": "integer", "readOnly": true}, "secret": {"type": "string", "writeOnly": true}}}`
		json   = "application/json"
	)
	without := func(line string) string { return strings.Replace(smallHeader, line, "", 1) }
	for _, c := range []struct {
		name string
		exchange
		wrong string // a word of the error
	}{
		{"as described", exchange{"POST /things/1/?at=2026-01-01T00:00:00Z", smallHeader, `{}`, 200, json, `{}`}, ""},
		{"with a charset", exchange{"POST /things/1/", smallHeader, `{}`, 200, json + "; charset=utf-8", `{}`}, ""},
		{"no body", exchange{"POST /things/1/", smallHeader, `{}`, 204, "", ""}, ""},
		{"no body of the request either", exchange{"DELETE /things/1/", "", "", 204, "", ""}, ""},
		{"an error", exchange{"POST /things/1/", "", "", 400, json, `{"detail": "d"}`}, ""},
		{"path", exchange{"POST /thing/1/", smallHeader, `{}`, 200, json, `{}`}, "no matching operation"},
		{"path without its slash", exchange{"POST /things/1", smallHeader, `{}`, 200, json, `{}`}, "no matching operation"},
		{"method", exchange{"PUT /things/1/", smallHeader, `{}`, 200, json, `{}`}, "method not allowed"},
		{"status", exchange{"POST /things/1/", smallHeader, `{}`, 201, json, `{}`}, "status 201"},
		{"content type", exchange{"POST /things/1/", smallHeader, `{}`, 200, "text/plain", `{}`}, "text/plain"},
		{"no content type", exchange{"POST /things/1/", smallHeader, `{}`, 200, "", `{}`}, "Content-Type"},
		{"body of none", exchange{"POST /things/1/", smallHeader, `{}`, 204, json, `{}`}, "without a body"},
		{"no JSON", exchange{"POST /things/1/", smallHeader, `{}`, 200, json, `{`}, "decode"},
		{"writeOnly", exchange{"POST /things/1/", smallHeader, `{}`, 200, json, `{"secret": "s"}`}, "writeOnly"},
		{"another error", exchange{"POST /things/1/", smallHeader, `{}`, 400, json, `{}`}, "detail"},
		{"content type of the request", exchange{"POST /things/1/", strings.Replace(smallHeader, json, "text/plain", 1), `{}`, 200, json, `{}`}, "text/plain"},
		{"no body of the request", exchange{"POST /things/1/", smallHeader, "", 200, json, `{}`}, "required"},
		{"body of the request", exchange{"DELETE /things/1/", smallHeader, `{}`, 204, "", ""}, "without a body"},
		{"readOnly", exchange{"POST /things/1/", smallHeader, `{"id": 1}`, 200, json, `{}`}, "readOnly"},
		{"parameter of the path", exchange{"POST /things/a/", smallHeader, `{}`, 200, json, `{}`}, "integer"},
		{"parameter of the query", exchange{"POST /things/1/?at=today", smallHeader, `{}`, 200, json, `{}`}, "date-time"},
		{"no header", exchange{"POST /things/1/", without("X-Try: 1"), `{}`, 200, json, `{}`}, "X-Try"},
		{"header", exchange{"POST /things/1/", strings.Replace(smallHeader, "Try: 1", "Try: a", 1), `{}`, 200, json, `{}`}, "X-Try"},
		{"no key", exchange{"POST /things/1/", without("Authorization: Bearer k"), `{}`, 200, json, `{}`}, "Authorization"},
		{"method refused", exchange{"POST /things/a/", smallHeader, `{}`, 405, json, `{"detail": "d"}`}, "integer"},
	} {
		for _, version := range []string{"3.1.0", "3.0.3"} {
			err := c.check(t, version, schema)
			if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s in %s: %v, want %q", c.name, version, err, c.wrong)
			}
		}
	}
}
