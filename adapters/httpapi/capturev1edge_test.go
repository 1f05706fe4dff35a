package httpapi_test

import "testing"

// Protocol v1, sent over a connection and stored: a result for each uuid, and the stored events
// (§6). Encodings and the other rules for requests are in testdata/capture/httpv1.json and
// decodev1.json.
func TestCapture_6(t *testing.T) { clauses(t, "6.json") }
