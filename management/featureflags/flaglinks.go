package featureflags

import (
	"encoding/json"
	"strconv"
)

// flagLinks are the things that use a flag, and keep it from being deleted.
type flagLinks struct {
	Experiments []flagLink `json:"experiments,omitempty"`
	Surveys     []flagLink `json:"surveys,omitempty"`
	Features    []flagLink `json:"features,omitempty"` // early access features
}

// flagLink is one thing that uses a flag.
type flagLink struct {
	ID   linkID `json:"id"`
	Name string `json:"name"`
	// Deleted things hold the key of a flag that is deleted, and nothing else.
	Deleted bool `json:"deleted,omitempty"`
}

// linkID is an id of either kind: digits are shown as a number.
type linkID string

// MarshalJSON implements json.Marshaler.
func (id linkID) MarshalJSON() ([]byte, error) {
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil && strconv.FormatInt(n, 10) == string(id) {
		return []byte(id), nil
	}
	return json.Marshal(string(id))
}

// UnmarshalJSON implements json.Unmarshaler.
func (id *linkID) UnmarshalJSON(text []byte) error {
	var s string
	if len(text) > 0 && text[0] != '"' {
		*id = linkID(text)
		return nil
	}
	err := json.Unmarshal(text, &s)
	*id = linkID(s)
	return err
}

// liveCount counts the links that are not deleted.
func liveCount(list []flagLink) (n int) {
	for i := range list {
		if !list[i].Deleted {
			n++
		}
	}
	return n
}
