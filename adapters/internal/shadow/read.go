package shadow

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
)

// flagAnswer is one side's value of one flag.
type flagAnswer struct {
	// value is false, true or the variant.
	value   any
	payload any
	reason  string // empty in the older formats
	failed  bool
}

// wireAnswer is the union of the response formats of /flags and /decide.
type wireAnswer struct {
	Flags map[string]struct {
		Enabled bool    `json:"enabled"`
		Variant *string `json:"variant"`
		Failed  bool    `json:"failed"`
		Reason  *struct {
			Code      string `json:"code"`
			Condition *int   `json:"condition_index"`
		} `json:"reason"`
		Metadata struct {
			Payload any `json:"payload"`
		} `json:"metadata"`
	} `json:"flags"`
	FeatureFlags json.RawMessage `json:"featureFlags"` // by key, or a list of the keys that are on
	Payloads     map[string]any  `json:"featureFlagPayloads"`
	QuotaLimited []string        `json:"quotaLimited"`
}

// readAnswer parses a response into the values by flag key. limited reports whether the quota is
// exhausted.
func readAnswer(body []byte) (flags map[string]flagAnswer, limited bool, err error) {
	var w wireAnswer
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, false, err
	}
	flags = map[string]flagAnswer{}
	for key, f := range w.Flags {
		a := flagAnswer{value: f.Enabled, payload: payload(f.Metadata.Payload), failed: f.Failed}
		if f.Variant != nil {
			a.value = *f.Variant
		}
		if f.Reason != nil {
			a.reason = f.Reason.Code
			if f.Reason.Condition != nil {
				a.reason = fmt.Sprintf("%s, condition %d", a.reason, *f.Reason.Condition)
			}
		}
		flags[key] = a
	}
	if w.Flags == nil && w.FeatureFlags != nil {
		var list []string
		var values map[string]any
		if json.Unmarshal(w.FeatureFlags, &list) == nil {
			values = map[string]any{}
			for _, key := range list {
				values[key] = true
			}
		} else if err := json.Unmarshal(w.FeatureFlags, &values); err != nil {
			return nil, false, err
		}
		for key, v := range values {
			flags[key] = flagAnswer{value: v, payload: payload(w.Payloads[key])}
		}
	}
	return flags, len(w.QuotaLimited) > 0, nil
}

// payload parses a payload that is JSON in a string, so that white space does not count as a
// difference.
func payload(v any) any {
	text, ok := v.(string)
	var inner any
	if !ok || json.Unmarshal([]byte(text), &inner) != nil {
		return v
	}
	return inner
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// distinctID returns the distinct id of a request, for the examples of the report. It is empty if
// the body is neither JSON nor JSON compressed with gzip.
func distinctID(r *http.Request, body []byte) string {
	if id := r.URL.Query().Get("distinct_id"); id != "" {
		return id
	}
	if len(body) > 2 && body[0] == 0x1f && body[1] == 0x8b {
		if z, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, _ = io.ReadAll(io.LimitReader(z, maxBody))
		}
	}
	var named struct {
		DistinctID  any `json:"distinct_id"`
		DollarID    any `json:"$distinct_id"`
		DistinctID2 any `json:"distinctId"`
	}
	if json.Unmarshal(body, &named) != nil {
		return ""
	}
	for _, id := range []any{named.DistinctID, named.DollarID, named.DistinctID2} {
		if id != nil {
			return fmt.Sprint(id)
		}
	}
	return ""
}
