package sdktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// description checks requests and responses against an OpenAPI document.
//
// kin-openapi finds the operation and decodes parameters, and has its own validator of schemas. For
// documents of 3.1 it would use jsonschema instead, but only for schemas without references, and
// without formats. So its own validator is used for both versions, and bodies of 3.1 are
// additionally checked with JSON Schema 2020-12.
type description struct {
	router  routers.Router
	schemas *jsonschema.Compiler // nil for 3.0
}

// documentURL is the address of the schemas of a document for jsonschema.
const documentURL = "https://flags.example.com/api/schema/"

// The formats that kin-openapi supports but does not check by default.
func init() {
	openapi3.DefineStringFormatValidator("uuid", openapi3.NewRegexpFormatValidator(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`))
	openapi3.DefineStringFormatValidator("email", openapi3.NewRegexpFormatValidator(openapi3.FormatOfStringForEmail))
	openapi3.DefineStringFormatValidator("uri", openapi3.NewCallbackValidator(func(value string) error {
		u, err := url.Parse(value)
		if err == nil && !u.IsAbs() {
			err = errors.New("it has no scheme")
		}
		return err
	}))
}

func newDescription(text []byte) (*description, error) {
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	d := &description{}
	if doc.IsOpenAPI31OrLater() {
		isInteger, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		d.schemas = jsonschema.NewCompiler()
		d.schemas.AssertFormat()
		if err := d.schemas.AddResource(documentURL, isInteger); err != nil {
			return nil, err
		}
		doc.OpenAPI = "3.0.3" // this selects kin-openapi's own validator
	}
	if err := doc.WalkSchemas(exact); err != nil {
		return nil, err
	}
	d.router, err = gorillamux.NewRouter(doc)
	return d, err
}

// exact adjusts a schema for kin-openapi: null is allowed if the schema has no type, and int64 has
// bounds.
func exact(_ string, ref *openapi3.SchemaRef) error {
	s := ref.Value
	if s.Type == nil && s.Enum == nil && s.Const == nil && s.AllOf == nil && s.AnyOf == nil && s.OneOf == nil && s.Not == nil {
		s.Nullable = true
	}
	if s.Format == "int64" {
		low, high := float64(math.MinInt64), float64(math.MaxInt64)
		if s.Min == nil {
			s.Min = &low
		}
		if s.Max == nil {
			s.Max = &high
		}
	}
	return nil
}

// check returns the differences of a response from its description, and those of the request,
// unless the response refuses it as invalid.
func (d *description) check(req *http.Request, res *http.Response, body []byte) error {
	route, params, err := d.router.FindRoute(req)
	if err != nil {
		return err
	}
	input := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route, Options: &openapi3filter.Options{
		IncludeResponseStatus: true, SkipSettingDefaults: true, MultiError: true, AuthenticationFunc: hasKey,
	}}
	answered := d.checkResponse(input, res, body)
	if res.StatusCode >= http.StatusBadRequest && res.StatusCode != http.StatusMethodNotAllowed {
		return answered
	}
	return errors.Join(d.checkRequest(input), answered)
}

// hasKey returns an error if a request lacks the header of a security scheme.
func hasKey(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	name := "Authorization"
	if in.SecurityScheme.Type == "apiKey" {
		name = in.SecurityScheme.Name
	}
	if in.RequestValidationInput.Request.Header.Get(name) == "" {
		return fmt.Errorf("%s is missing", name)
	}
	return nil
}

func (d *description) checkRequest(in *openapi3filter.RequestValidationInput) error {
	if err := openapi3filter.ValidateRequest(in.Request.Context(), in); err != nil {
		return err
	}
	if in.Request.ContentLength == 0 {
		return nil
	}
	described := in.Route.Operation.RequestBody
	if described == nil {
		return errors.New("the request is described without a body")
	}
	sent, err := in.Request.GetBody()
	if err != nil {
		return err
	}
	body, err := io.ReadAll(sent)
	if err != nil {
		return err
	}
	return d.checkBody(place(in, "requestBody", described.Ref), described.Value.Content, in.Request.Header, body)
}

func (d *description) checkResponse(input *openapi3filter.RequestValidationInput, res *http.Response, body []byte) error {
	all, status := input.Route.Operation.Responses, strconv.Itoa(res.StatusCode)
	described := all.Value(status)
	if described == nil && res.StatusCode >= http.StatusBadRequest { // default describes errors
		status, described = "default", all.Default()
	}
	if described == nil {
		return fmt.Errorf("status %d is not described", res.StatusCode)
	}
	if len(described.Value.Content) == 0 && len(body) > 0 {
		return fmt.Errorf("status %d is described without a body", res.StatusCode)
	}
	in := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: res.StatusCode, Header: res.Header, Options: input.Options}
	if err := openapi3filter.ValidateResponse(input.Request.Context(), in.SetBodyBytes(body)); err != nil {
		return err
	}
	return d.checkBody(place(input, "responses/"+status, described.Ref), described.Value.Content, res.Header, body)
}

// place returns the JSON pointer of a part of an operation, or of the component that it refers to.
func place(in *openapi3filter.RequestValidationInput, part, ref string) string {
	if ref != "" {
		return strings.TrimPrefix(ref, "#")
	}
	return "/paths/" + inPointer.Replace(in.Route.Path) + "/" + strings.ToLower(in.Route.Method) + "/" + part
}

// inPointer escapes a name for a JSON pointer in a URL.
var inPointer = strings.NewReplacer("~", "~0", "/", "~1", "%", "%25")

// checkBody checks a body against the schema of its content type with JSON Schema 2020-12.
func (d *description) checkBody(at string, content openapi3.Content, header http.Header, body []byte) error {
	described := content.Get(header.Get("Content-Type"))
	if d.schemas == nil || described == nil || described.Schema == nil {
		return nil
	}
	var value any = string(body)
	if kind, _, err := mime.ParseMediaType(header.Get("Content-Type")); err != nil {
		return err
	} else if kind == "application/json" {
		if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(body)); err != nil {
			return err
		}
	}
	for name, kind := range content {
		if kind != described {
			continue
		}
		schema, err := d.schemas.Compile(documentURL + "#" + at + "/content/" + inPointer.Replace(name) + "/schema")
		if err != nil {
			return err
		}
		return schema.Validate(value)
	}
	return nil
}

// descriptions are the descriptions of a server, by version.
type descriptions map[string]*description

func described(t testing.TB, s *httptest.Server) descriptions {
	t.Helper()
	all := descriptions{}
	for _, version := range []string{"3.1", "3.0"} {
		d, err := newDescription(schemaOf(t, s, version))
		if err != nil {
			t.Fatal(version, err)
		}
		all[version] = d
	}
	return all
}

// ask sends a request and checks it and the response against all descriptions.
func (all descriptions) ask(t *testing.T, s *httptest.Server, request func(url string) *http.Request) (int, []byte) {
	t.Helper()
	res, err := s.Client().Do(request(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for version, d := range all {
		req := request("")
		if err := d.check(req, res, body); err != nil {
			t.Errorf("%s: %s %s: %d %v\n%s", version, req.Method, req.URL, res.StatusCode, err, body)
		}
	}
	return res.StatusCode, body
}
