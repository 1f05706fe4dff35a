package storedflags

import (
	"encoding/json"
	"slices"
	"strconv"
)

// flagLinks lists the objects that use a flag. It is stored with the flag (Meta). A flag that
// an experiment or an early access feature uses cannot be deleted.
type flagLinks struct {
	// Experiments are the experiments that run on the flag.
	Experiments []FlagLink `json:"experiments,omitempty"`
	// Surveys are the surveys that are linked to the flag.
	Surveys  []FlagLink `json:"surveys,omitempty"`
	Features []FlagLink `json:"features,omitempty"` // early access features
}

// FlagLink is one object that uses a flag.
type FlagLink struct {
	// ID is the id of the experiment, survey or feature, and Name its name.
	ID   LinkID `json:"id"`
	Name string `json:"name"`
	// Deleted is true if the object is deleted. Such a link only reserves the key: a new flag with
	// the key of a deleted flag is refused while a deleted experiment links to it.
	Deleted bool `json:"deleted,omitempty"`
}

// LinkID is the id of a linked object. Experiments have numbers and surveys have UUIDs; an id of
// digits is written to JSON as a number, any other as a string.
type LinkID string

// MarshalJSON implements json.Marshaler.
func (id LinkID) MarshalJSON() ([]byte, error) {
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil && strconv.FormatInt(n, 10) == string(id) {
		return []byte(id), nil
	}
	return json.Marshal(string(id))
}

// UnmarshalJSON implements json.Unmarshaler. It accepts a string or a number, which it stores as
// the digits that were sent.
func (id *LinkID) UnmarshalJSON(text []byte) error {
	var s string
	if len(text) > 0 && text[0] != '"' {
		*id = LinkID(text)
		return nil
	}
	err := json.Unmarshal(text, &s)
	*id = LinkID(s)
	return err
}

// LiveCount returns the number of links in list that are not deleted.
func LiveCount(list []FlagLink) (n int) {
	for i := range list {
		if !list[i].Deleted {
			n++
		}
	}
	return n
}

// SetLink returns a copy of the list with link added, in place of an existing link with the same id.
func SetLink(list []FlagLink, link FlagLink) []FlagLink {
	out := slices.Clone(list)
	if i := slices.IndexFunc(out, func(l FlagLink) bool { return l.ID == link.ID }); i >= 0 {
		out[i] = link
		return out
	}
	return append(out, link)
}

// RemoveLink returns a copy of the list without the link with the given id.
func RemoveLink(list []FlagLink, id string) []FlagLink {
	return slices.DeleteFunc(slices.Clone(list), func(l FlagLink) bool { return string(l.ID) == id })
}

// Enrollment is the prefix of the person property that records a person's choice to enroll in an
// early access feature. The flag's key follows.
const Enrollment = "$feature_enrollment/"

// LiveLinks returns the links that are not deleted. The result is not nil.
func LiveLinks(list []FlagLink) []FlagLink {
	out := []FlagLink{}
	for _, link := range list {
		if !link.Deleted {
			out = append(out, link)
		}
	}
	return out
}
