package management

import "encoding/json"

// JSONObject are the members of a JSON object, nil when it is none.
func JSONObject(raw json.RawMessage) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// JSONText is the text of a JSON value, "" for what is none.
func JSONText(raw json.RawMessage) string {
	var text string
	_ = json.Unmarshal(raw, &text) // what is no text is an empty one
	return text
}
