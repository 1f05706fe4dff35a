package featureflags

import (
	"encoding/json"
	"strconv"
)

// flagLinks lists the objects that use a flag. It is stored with the flag (flagMeta). A flag that
// an experiment or an early access feature uses cannot be deleted.
type flagLinks struct {
	// Experiments are the experiments that run on the flag.
	Experiments []flagLink `json:"experiments,omitempty"`
	// Surveys are the surveys that are linked to the flag.
	Surveys  []flagLink `json:"surveys,omitempty"`
	Features []flagLink `json:"features,omitempty"` // early access features
}

// flagLink is one object that uses a flag.
type flagLink struct {
	// ID is the id of the experiment, survey or feature, and Name its name.
	ID   linkID `json:"id"`
	Name string `json:"name"`
	// Deleted is true if the object is deleted. Such a link only reserves the key: a new flag with
	// the key of a deleted flag is refused while a deleted experiment links to it.
	Deleted bool `json:"deleted,omitempty"`
}

// linkID is the id of a linked object. Experiments have numbers and surveys have UUIDs; an id of
// digits is written to JSON as a number, any other as a string.
type linkID string

// MarshalJSON implements json.Marshaler.
func (id linkID) MarshalJSON() ([]byte, error) {
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil && strconv.FormatInt(n, 10) == string(id) {
		return []byte(id), nil
	}
	return json.Marshal(string(id))
}

// UnmarshalJSON implements json.Unmarshaler. It accepts a string or a number, which it stores as
// the digits that were sent.
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

// liveCount returns the number of links in list that are not deleted.
func liveCount(list []flagLink) (n int) {
	for i := range list {
		if !list[i].Deleted {
			n++
		}
	}
	return n
}
