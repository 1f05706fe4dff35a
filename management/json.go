package management

import "encoding/json"

// JSONObject returns the members of a JSON object, or nil if raw is not an object.
func JSONObject(raw json.RawMessage) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// JSONText returns the value of a JSON string, or "" if raw is not a string.
func JSONText(raw json.RawMessage) string {
	var text string
	_ = json.Unmarshal(raw, &text) // on failure text stays empty
	return text
}
