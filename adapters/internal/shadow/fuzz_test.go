package shadow

import (
	"net/http/httptest"
	"testing"
)

// Every pair of responses is counted exactly once.
func FuzzCompare(f *testing.F) {
	for _, text := range []string{
		`{"flags": {"a": {"enabled": true, "variant": "x", "reason": {"code": "condition_match", "condition_index": 0}, "metadata": {"payload": "{}"}}}}`,
		`{"featureFlags": {"a": true, "b": "x"}, "featureFlagPayloads": {"a": "1"}}`, `{"featureFlags": ["a"]}`, `{"flags": {}, "quotaLimited": ["feature_flags"]}`,
		`{"featureFlags": {"a": null}}`, `{"distinct_id": 5}`, "\x1f\x8b\x08", `null`, `[]`, ``,
	} {
		f.Add([]byte(text), []byte(`{"flags": {"a": {"enabled": false}}}`))
	}
	f.Fuzz(func(t *testing.T, self, upstream []byte) {
		b := newBook()
		who := distinctID(httptest.NewRequest("POST", "/flags", nil), self)
		b.compare(who, answer{status: 200, body: self}, answer{status: 200, body: upstream})
		r := b.report()
		if r.Compared+r.Skipped[unreadable] != 1 || r.Differing > r.Compared {
			t.Errorf("%+v", r)
		}
		for _, flag := range r.Flags {
			if flag.Rate > 1 || len(flag.Key) > maxText {
				t.Errorf("%+v", flag)
			}
		}
	})
}
