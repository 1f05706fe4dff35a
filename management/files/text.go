package files

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// cohortTexts returns the cohorts by id. The file has an object by id, or a list of
// objects with ids.
func cohortTexts(text json.RawMessage) (map[int64]json.RawMessage, error) {
	out := map[int64]json.RawMessage{}
	var list []json.RawMessage
	if json.Unmarshal(text, &list) == nil {
		for _, record := range list {
			var header struct {
				ID json.Number `json:"id"`
			}
			if err := json.Unmarshal(record, &header); err != nil {
				return nil, err
			}
			id, err := strconv.ParseFloat(header.ID.String(), 64) // JSON numbers such as 3.0 are integers too
			if err != nil {
				return nil, err
			}
			if integer, err := strconv.ParseInt(header.ID.String(), 10, 64); err == nil {
				out[integer] = record
			} else {
				out[int64(id)] = record
			}
		}
		return out, nil
	}
	var object map[string]json.RawMessage
	if err := unmarshal(text, &object); err != nil {
		return nil, err
	}
	for name, record := range object {
		id, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			return nil, err
		}
		if _, exists := out[id]; exists {
			return nil, fmt.Errorf("%d stands there twice", id)
		}
		out[id] = record
	}
	return out, nil
}

// unmarshal is like json.Unmarshal and does nothing if text is nil.
func unmarshal(text json.RawMessage, v any) error {
	if text == nil {
		return nil
	}
	return json.Unmarshal(text, v)
}

// compactJSON returns a JSON text without insignificant white space.
func compactJSON(text json.RawMessage) (string, error) {
	var out bytes.Buffer
	err := json.Compact(&out, text)
	return out.String(), err
}

// quotasText returns the stored form of quotas.
func quotasText(quotas map[string]int64) string {
	if len(quotas) == 0 {
		return "{}"
	}
	text, _ := json.Marshal(quotas) // can always be encoded
	return string(text)
}
