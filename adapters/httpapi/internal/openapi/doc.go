// Package openapi describes the HTTP API in OpenAPI 3.1 and 3.0, from the tables of endpoints that
// the server serves.
//
// [Endpoints] has the endpoint that returns the description. openapi.go puts it together,
// paths.go describes the parameters and responses of each endpoint, and schema.go makes schemas
// from Go types and from the fields of managed objects. Endpoints whose handlers write responses
// themselves are described in sdk.json (sdk.go). openapi30.go converts the result to OpenAPI 3.0.
package openapi
