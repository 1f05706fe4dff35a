package httpapi_test

import "testing"

// Protocol v1, over a connection and into a store: an answer for each uuid, and
// what of it is stored (§6). Encodings and the other rules for requests are those
// of testdata/capture/httpv1.json and decodev1.json.
func TestCapture_6(t *testing.T) { clauses(t, "6.json") }
