package remote

import (
	"context"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// Any response is parsed or rejected without a panic, and a parsed one is valid: keys are sorted,
// and flags that are off or failed have no variant or value.
func FuzzParseAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"flags":{}}`, `{"flags":{"a":null}}`, `{"flags":null}`, `[]`, `{"quotaLimited":["feature_flags"]}`,
		`{"errorsWhileComputingFlags":true,"flags":{"b":{"key":"b","enabled":true,"variant":"x","reason":{"code":"condition_match","condition_index":0,"description":"Matched condition set 1"},
			"metadata":{"id":1,"version":2,"payload":"{\"a\":1}","has_experiment":false}},"a":{"enabled":true,"variant":"v","failed":true,"reason":null,"metadata":{"payload":null}}},
			"minimalFlagCalledEvents":true,"requestId":"r","evaluatedAt":1700000000000}`,
		`{"flags":{"a":{"reason":{"code":"new","condition_index":-5}}}}`,
		`{"featureFlags":{"b":true,"a":"v","c":false},"featureFlagPayloads":{"a":"1"}}`, `{"featureFlags":["b","a"]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := parseAnswer(raw)
		if err != nil {
			return
		}
		for i := range a.Decisions {
			d := &a.Decisions[i]
			if i > 0 && a.Decisions[i-1].Key >= d.Key {
				t.Errorf("%q before %q", a.Decisions[i-1].Key, d.Key)
			}
			if (d.Failed() || !d.Enabled) && (d.Value() != false || d.Variant != "") {
				t.Errorf("%+v", d)
			}
			r := flags.NewReader(func(_ context.Context, _ string, _ *flags.Subject, out *flags.Detail) { out.Decision = *d }, nil)
			r.Number(t.Context(), d.Key, nil, 0)
			flags.JSON(t.Context(), r, d.Key, nil, map[string]any{})
			_ = d.Reason.Description()
		}
	})
}
