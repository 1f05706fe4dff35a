package httpapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// Every route of the management API is in its description, in words.
func TestOpenAPI_EveryRoute(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	res, err := http.Get(o.URL + "/api/schema/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res.StatusCode, err, string(text))
	}
	var d struct {
		OpenAPI string `json:"openapi"`
		Paths   map[string]map[string]struct {
			Summary     string         `json:"summary"`
			OperationID string         `json:"operationId"`
			Responses   map[string]any `json:"responses"`
			RequestBody any            `json:"requestBody"`
		} `json:"paths"`
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(text, &d); err != nil || !strings.HasPrefix(d.OpenAPI, "3.1") {
		t.Fatal(d.OpenAPI, err)
	}
	seen := map[string]string{}
	for path, methods := range httpapi.ManagementRoutesForTest() {
		for _, method := range methods {
			op, ok := d.Paths[path+"/"][strings.ToLower(method)]
			if !ok || op.Summary == "" || len(op.Responses) < 2 {
				t.Errorf("%s %s is not described: %t, %q", method, path, ok, op.Summary)
			}
			if first := seen[op.OperationID]; first != "" {
				t.Errorf("%s %s has the operationId of %s", method, path, first)
			}
			seen[op.OperationID] = method + " " + path
		}
	}
	if len(seen) < 30 || len(d.Components.Schemas) < 3 {
		t.Errorf("%d operations and %d schemas: is the right table looked at?", len(seen), len(d.Components.Schemas))
	}
}
