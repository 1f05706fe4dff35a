//go:build sdk

package sdktest

import (
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// ofrepDefinitions have a flag for each type of value.
const ofrepDefinitions = `{"group_type_mapping": {"0": "company"}, "flags": [
	{"id": 1, "key": "for-all", "version": 7, "active": true, "filters": {"groups": [{"properties": []}], "payloads": {"true": "{\"color\": \"blue\"}"}}},
	{"id": 2, "key": "for-pro", "active": true, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["pro"]}]}]}},
	{"id": 3, "key": "layout", "active": true, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["pro"]}], "variant": "two"}],
		"multivariate": {"variants": [{"key": "one", "rollout_percentage": 100}, {"key": "two", "rollout_percentage": 0}]}}},
	{"id": 4, "key": "for-large", "active": true, "filters": {"aggregation_group_type_index": 0, "groups": [{"properties": [
		{"key": "size", "type": "group", "group_type_index": 0, "operator": "exact", "value": "large"}]}]}},
	{"id": 5, "key": "limits", "active": true, "is_remote_configuration": true, "filters": {"groups": [{}], "payloads": {"true": "{\"max\": 5}"}}},
	{"id": 6, "key": "price", "active": true, "is_remote_configuration": true, "filters": {"groups": [{}], "payloads": {"true": "2.5"}}},
	{"id": 7, "key": "paused", "active": false, "filters": {"groups": [{}]}},
	{"id": 8, "key": "broken", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": 99}]}]}},
	{"id": 9, "key": "on-servers", "active": true, "evaluation_runtime": "server", "filters": {"groups": [{}]}}
]}`

// ofrepDetails is the SDK's result.
type ofrepDetails struct {
	Value        any            `json:"value"`
	Variant      string         `json:"variant"`
	Reason       string         `json:"reason"`
	ErrorCode    string         `json:"errorCode"`
	ErrorMessage string         `json:"errorMessage"`
	FlagMetadata map[string]any `json:"flagMetadata"`
}

func TestOFREP_Node(t *testing.T) {
	d, err := flags.ParseDefinitions([]byte(ofrepDefinitions))
	if err != nil {
		t.Fatal(err)
	}
	decider, err := serving.NewDecider(serving.Config{Source: serving.StaticSource("phc_ofrep", flags.Project{ID: 1}, d)})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := httpapi.New(httpapi.Config{Decider: decider})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(handler)
	defer s.Close()
	n := startScript(t, "ofrep.mjs")
	for domain, header := range map[string][]string{
		"bearer": {"Authorization", "Bearer phc_ofrep"}, "header": {"X-API-Key", "phc_ofrep"},
		"nobody": {"Authorization", "Bearer phc_nobody"}, "secret": {"Authorization", "Bearer phs_ofrep"},
	} {
		n.do("open", object{"domain": domain, "baseUrl": s.URL, "headers": [][]string{header}}, nil)
	}
	pro, large := object{"targetingKey": "u", "plan": "pro"}, object{"targetingKey": "u", "groups": object{"company": "acme"}, "group_properties": object{"company": object{"size": "large"}}}
	someone := object{"targetingKey": "u"}
	for name, c := range map[string]struct {
		domain, kind, key string
		fallback          any
		context           object
		want              ofrepDetails
	}{
		"on":                      {"bearer", "boolean", "for-all", false, someone, ofrepDetails{Value: true, Reason: "STATIC"}},
		"by X-API-Key":            {"header", "boolean", "for-all", false, someone, ofrepDetails{Value: true, Reason: "STATIC"}},
		"matched":                 {"bearer", "boolean", "for-pro", false, pro, ofrepDetails{Value: true, Reason: "TARGETING_MATCH"}},
		"off":                     {"bearer", "boolean", "for-pro", true, someone, ofrepDetails{Value: false, Reason: "DEFAULT"}},
		"variant":                 {"bearer", "string", "layout", "none", pro, ofrepDetails{Value: "two", Variant: "two", Reason: "TARGETING_MATCH"}},
		"group":                   {"bearer", "boolean", "for-large", false, large, ofrepDetails{Value: true, Reason: "TARGETING_MATCH"}},
		"object":                  {"bearer", "object", "limits", object{}, someone, ofrepDetails{Value: object{"max": 5.0}, Reason: "STATIC"}},
		"number":                  {"bearer", "number", "price", 1, someone, ofrepDetails{Value: 2.5, Reason: "STATIC"}},
		"for servers":             {"bearer", "boolean", "on-servers", false, someone, ofrepDetails{Value: true, Reason: "STATIC"}},
		"another type":            {"bearer", "string", "for-all", "none", someone, ofrepDetails{Value: "none", Reason: "ERROR", ErrorCode: "TYPE_MISMATCH"}},
		"no such flag":            {"bearer", "boolean", "nowhere", true, someone, ofrepDetails{Value: true, Reason: "ERROR", ErrorCode: "FLAG_NOT_FOUND"}},
		"no targeting key":        {"bearer", "boolean", "for-all", false, object{}, ofrepDetails{Value: false, Reason: "ERROR", ErrorCode: "TARGETING_KEY_MISSING"}},
		"a context of wrong form": {"bearer", "boolean", "for-all", false, object{"targetingKey": "u", "groups": []string{"x"}}, ofrepDetails{Value: false, Reason: "ERROR", ErrorCode: "INVALID_CONTEXT"}},
		"failed":                  {"bearer", "boolean", "broken", true, someone, ofrepDetails{Value: true, Reason: "ERROR", ErrorCode: "PARSE_ERROR"}},
		// This version of the provider does not support a response without a value (ADR 6), but
		// returns the default.
		"variant, off":    {"bearer", "string", "layout", "none", someone, ofrepDetails{Value: "none", Reason: "ERROR", ErrorCode: "GENERAL"}},
		"disabled":        {"bearer", "boolean", "paused", true, someone, ofrepDetails{Value: true, Reason: "ERROR", ErrorCode: "GENERAL"}},
		"an unknown key":  {"nobody", "boolean", "for-all", false, someone, ofrepDetails{Value: false, Reason: "ERROR", ErrorCode: "GENERAL"}},
		"a key of secret": {"secret", "boolean", "for-all", false, someone, ofrepDetails{Value: false, Reason: "ERROR", ErrorCode: "GENERAL"}},
	} {
		var got ofrepDetails
		n.do("details", object{"domain": c.domain, "type": c.kind, "key": c.key, "fallback": c.fallback, "context": c.context}, &got)
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(ofrepDetails{}, "ErrorMessage", "FlagMetadata")); diff != "" {
			t.Errorf("%s (-want +got)\n%s%s", name, diff, got.ErrorMessage)
		}
		if c.key != "for-all" || got.ErrorCode != "" {
			continue
		}
		want := map[string]any{"id": 1.0, "version": 7.0, "reason_code": "condition_match", "condition_index": 0.0, "payload": `{"color": "blue"}`}
		if diff := cmp.Diff(want, got.FlagMetadata); diff != "" {
			t.Errorf("%s, metadata (-want +got)\n%s", name, diff)
		}
	}
}
