package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
)

// A description is an OpenAPI 3.1 document, with the members that the reference shows.
type description struct {
	Info       struct{ Description string }
	Paths      map[string]map[string]*operation
	Components struct {
		Schemas map[string]*schema
	}
}

type operation struct {
	OperationID string `json:"operationId"`
	Summary     string
	Description string
	Tags        []string
	Security    []map[string][]string
	Parameters  []parameter
	RequestBody *content `json:"requestBody"`
	Responses   map[string]content

	method, path string
}

type parameter struct {
	Name, In, Description string
	Required              bool
	Schema                *schema
}

type content struct {
	Description string
	Content     map[string]struct{ Schema *schema }
}

type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any    // a name, or a list of names
	Format, Description  string
	Items                *schema
	AdditionalProperties *schema `json:"additionalProperties"`
	Properties           map[string]*schema
	Required             []string
	Enum                 []any
	AnyOf, OneOf, AllOf  []*schema
	ReadOnly, WriteOnly  bool
}

// UnmarshalJSON implements json.Unmarshaler. The schemas true and false have no members.
func (s *schema) UnmarshalJSON(text []byte) error {
	type members schema
	if bytes.Equal(text, []byte("true")) || bytes.Equal(text, []byte("false")) {
		return nil
	}
	return json.Unmarshal(text, (*members)(s))
}

const schemaPrefix = "#/components/schemas/"

// methods are the methods in the order in which a path lists them.
var methods = []string{"get", "post", "put", "patch", "delete"}

// operations returns the operations by tag. Paths below /api/environments/ have the same operations
// as paths below /api/projects/ and are left out.
func (d *description) operations() map[string][]*operation {
	out := map[string][]*operation{}
	for _, p := range slices.Sorted(maps.Keys(d.Paths)) {
		if below, is := strings.CutPrefix(p, "/api/environments/"); is && d.Paths["/api/projects/"+below] != nil {
			continue
		}
		for method, op := range d.Paths[p] {
			op.method, op.path = method, p
			for _, tag := range op.Tags {
				out[tag] = append(out[tag], op)
			}
		}
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(a, b *operation) int {
			return cmp.Or(strings.Compare(a.path, b.path), slices.Index(methods, a.method)-slices.Index(methods, b.method))
		})
	}
	return out
}

// apiPages returns the reference of the HTTP API: an index, and a page for each tag.
func apiPages(text []byte) ([]*page, error) {
	var d description
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	byTag := d.operations()
	index := &page{
		entry: entry{about: "every endpoint with its parameters, body and response"}, path: apiIndex, title: "API reference",
		headings: []heading{{1, "api-reference", "API reference"}},
	}
	var groups []apiGroup
	var pages []*page
	for _, tag := range slices.Sorted(maps.Keys(byTag)) {
		p, err := d.tagPage(tag, byTag[tag])
		if err != nil {
			return nil, fmt.Errorf("operations of %s: %w", tag, err)
		}
		pages = append(pages, p)
		groups = append(groups, apiGroup{Name: tag, Page: relative(apiIndex, p.path), ID: anchor(tag), Operations: views(byTag[tag])})
		index.headings = append(index.headings, heading{2, anchor(tag), tag})
	}
	var err error
	index.body, err = execute("apiindex.html", map[string]any{"About": d.Info.Description, "Groups": groups})
	return append([]*page{index}, pages...), err
}

const apiIndex = "api/index.html"

type apiGroup struct {
	Name, Page, ID string
	Operations     []operationView
}

// An operationView is an operation as a page shows it.
type operationView struct {
	ID, Method, Path, Summary, Description, Key string
	Parameters                                  []row
	Bodies, Responses                           []row
}

// A row is a row of a table: a parameter, a member of an object, a body or a response.
type row struct {
	Name, About string
	Type        template.HTML
	Notes       []string // such as "required"
}

// places are the places of parameters in a request.
var places = map[string]string{"path": "the path", "query": "the query", "header": "a header", "cookie": "a cookie"}

func views(list []*operation) (out []operationView) {
	for _, op := range list {
		v := operationView{
			ID: op.OperationID, Method: strings.ToUpper(op.method), Path: op.path, Summary: op.Summary, Description: op.Description, Key: op.key(),
		}
		for _, p := range op.Parameters {
			v.Parameters = append(v.Parameters, row{Name: p.Name, About: p.Description, Type: typeOf(p.Schema), Notes: []string{"in " + places[p.In]}})
		}
		if op.RequestBody != nil {
			v.Bodies = op.RequestBody.rows("")
		}
		for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
			if strings.HasPrefix(status, "2") || strings.HasPrefix(status, "3") {
				response := op.Responses[status]
				v.Responses = append(v.Responses, response.rows(status)...)
			}
		}
		out = append(out, v)
	}
	return out
}

// key returns the keys that permit an operation.
func (op *operation) key() string {
	if op.Security == nil {
		return "any personal key"
	}
	if len(op.Security) == 0 {
		return "no key"
	}
	var keys []string
	for _, requirement := range op.Security {
		for _, scheme := range slices.Sorted(maps.Keys(requirement)) {
			key := schemeNames[scheme]
			if scopes := requirement[scheme]; len(scopes) > 0 {
				key += " with " + strings.Join(scopes, " and ")
			}
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), ", or ")
}

// schemeNames are the names of the security schemes.
var schemeNames = map[string]string{
	"personalKey": "a personal key", "projectKey": "the project key", "projectKeyHeader": "the project key", "secretKey": "the project's secret key",
}

// rows returns a row for each kind of content. name is the name of the first column, by default the
// kind.
func (c *content) rows(name string) (out []row) {
	for _, kind := range slices.Sorted(maps.Keys(c.Content)) {
		out = append(out, row{Name: cmp.Or(name, kind), About: c.Description, Type: typeOf(c.Content[kind].Schema)})
	}
	if len(out) == 0 && name != "" {
		out = []row{{Name: name, About: cmp.Or(c.Description, "no body")}}
	}
	return out
}

// tagPage returns the page of a tag, with the objects that its operations use.
func (d *description) tagPage(tag string, list []*operation) (*page, error) {
	p := &page{
		entry: entry{about: "endpoints of " + tag}, path: "api/" + anchor(tag) + ".html", title: "API: " + tag,
		headings: []heading{{1, "operations", "API: " + tag}},
	}
	for _, op := range list {
		p.headings = append(p.headings, heading{2, op.OperationID, op.Summary})
		p.sections = append(p.sections, section{op.Summary, op.OperationID, strings.ToUpper(op.method) + " " + op.path + " " + op.Description})
	}
	objects, err := d.objects(list)
	if err != nil {
		return nil, err
	}
	p.body, err = execute("api.html", map[string]any{"Title": p.title, "Operations": views(list), "Objects": objects})
	return p, err
}

// An object is a named schema as a page shows it.
type object struct {
	Name, About string
	Type        template.HTML // if there are no members
	Members     []row
}

// objects returns the schemas to which operations refer, directly or through other schemas.
func (d *description) objects(list []*operation) (out []object, err error) {
	found := map[string]bool{}
	var visit func(s *schema)
	visit = func(s *schema) {
		if s == nil {
			return
		}
		if name, is := strings.CutPrefix(s.Ref, schemaPrefix); is && !found[name] {
			found[name] = true
			if d.Components.Schemas[name] == nil {
				err = fmt.Errorf("there is no schema %s", name)
			}
			visit(d.Components.Schemas[name])
		}
		for _, inner := range slices.Concat([]*schema{s.Items, s.AdditionalProperties}, s.AnyOf, s.OneOf, s.AllOf, slices.Collect(maps.Values(s.Properties))) {
			visit(inner)
		}
	}
	for _, op := range list {
		contents := slices.Collect(maps.Values(op.Responses))
		if op.RequestBody != nil {
			contents = append(contents, *op.RequestBody)
		}
		for _, c := range contents {
			for _, kind := range c.Content {
				visit(kind.Schema)
			}
		}
		for _, p := range op.Parameters {
			visit(p.Schema)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if s := d.Components.Schemas[name]; s != nil {
			out = append(out, object{Name: name, About: s.Description, Type: typeOf(s), Members: s.members()})
		}
	}
	return out, err
}

// members returns the rows of an object's members.
func (s *schema) members() (out []row) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		m := s.Properties[name]
		r := row{Name: name, About: m.Description, Type: typeOf(m)}
		for _, note := range []struct {
			text string
			is   bool
		}{{"required", slices.Contains(s.Required, name)}, {"read only", m.ReadOnly}, {"write only", m.WriteOnly}} {
			if note.is {
				r.Notes = append(r.Notes, note.text)
			}
		}
		out = append(out, r)
	}
	return out
}

// typeOf returns the type of a value as text, with links to the objects of the page.
func typeOf(s *schema) template.HTML {
	if s == nil {
		return "any"
	}
	if name, is := strings.CutPrefix(s.Ref, schemaPrefix); is {
		name = template.HTMLEscapeString(name)
		return template.HTML(`<a href="#schema-` + name + `">` + name + `</a>`)
	}
	for _, choice := range []struct {
		schemas []*schema
		word    string
	}{{s.AnyOf, " or "}, {s.OneOf, " or "}, {s.AllOf, " and "}} {
		if len(choice.schemas) > 0 {
			return join(choice.schemas, choice.word)
		}
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			text, _ := json.Marshal(v) // cannot fail, v was decoded from JSON
			values = append(values, template.HTMLEscapeString(string(text)))
		}
		return template.HTML(strings.Join(values, ", "))
	}
	names, isList := s.Type.([]any)
	if !isList && s.Type != nil {
		names = []any{s.Type}
	}
	var out []string
	for _, name := range names {
		out = append(out, s.named(fmt.Sprint(name)))
	}
	return template.HTML(cmp.Or(strings.Join(out, " or "), "any"))
}

// named returns a type by its name, with the type of its items.
func (s *schema) named(name string) string {
	switch {
	case name == "array":
		return "array of " + string(typeOf(s.Items))
	case name == "object" && s.AdditionalProperties != nil && typeOf(s.AdditionalProperties) != "any":
		return "object of " + string(typeOf(s.AdditionalProperties))
	case name == "string" && s.Format != "":
		return "string (" + template.HTMLEscapeString(s.Format) + ")"
	}
	return template.HTMLEscapeString(name)
}

func join(schemas []*schema, word string) template.HTML {
	var out []string
	for _, s := range schemas {
		out = append(out, string(typeOf(s)))
	}
	return template.HTML(strings.Join(out, word))
}
