package openapi

import (
	_ "embed" // for sdk.json
	"encoding/json"
	"maps"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
)

// sdkText describes the endpoints for SDKs and monitors, whose handlers read requests and write
// responses themselves. It has the schemas and, for each operation, a row with its paths.
//
//go:embed sdk.json
var sdkText []byte

// addSDKs adds the endpoints in table that have their own handlers. Scripts and pages are not
// described.
func (d *openAPI) addSDKs(table []frame.Endpoint) error {
	var fragment struct {
		SecuritySchemes, Responses frame.Object
		Schemas                    map[string]frame.Object
		Operations                 []struct {
			Paths, Methods []string
			Operation      json.RawMessage
		}
	}
	if err := json.Unmarshal(sdkText, &fragment); err != nil {
		return err
	}
	maps.Copy(d.schemas, fragment.Schemas)
	maps.Copy(d.responses, fragment.Responses)
	maps.Copy(d.securitySchemes, fragment.SecuritySchemes)
	rows := map[string]json.RawMessage{}
	for _, row := range fragment.Operations {
		for _, path := range row.Paths {
			for _, method := range row.Methods {
				rows[method+" "+path] = row.Operation
			}
		}
	}
	for _, e := range table {
		text, there := rows[e.Method+" "+e.Area.Prefixes[0]+e.Path]
		if e.Serve == nil || !there {
			continue
		}
		var op frame.Object
		if err := json.Unmarshal(text, &op); err != nil {
			return err
		}
		d.put(&e, e.Path, op)
	}
	return nil
}

// put adds an operation on a path and prepends the parameters of the path to its parameters.
func (d *openAPI) put(e *frame.Endpoint, path string, op frame.Object) {
	op["operationId"] = operationID(e.Method, path)
	path, parameters := d.pathParts.describe(path + "/")
	own, _ := op["parameters"].([]any)
	op["parameters"] = append(parameters, own...)
	if d.paths[path] == nil {
		d.paths[path] = map[string]any{}
	}
	d.paths[path][strings.ToLower(e.Method)] = op
	for _, tag := range op["tags"].([]any) {
		d.tags[tag.(string)] = true
	}
}
