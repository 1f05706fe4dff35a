package flags

import (
	"bytes"
	"encoding/json"
	"errors"
)

// This file says what a Decision is in OpenFeature's words. Both roads to it stand
// on it, the server's OFREP and the provider of adapters/ofprovider, so that they
// answer alike.

// OpenFeature's words for a reason.
const (
	reasonTargetingMatch = "TARGETING_MATCH"
	reasonSplit          = "SPLIT"
	reasonStatic         = "STATIC"
	reasonDefault        = "DEFAULT"
	reasonDisabled       = "DISABLED"
	reasonUnknown        = "UNKNOWN"
	reasonError          = "ERROR"
)

// OpenFeature's error codes that a decision can have.
const (
	errorParse          = "PARSE_ERROR"
	errorInvalidContext = "INVALID_CONTEXT"
	errorGeneral        = "GENERAL"
	errorNoTargetingKey = "TARGETING_KEY_MISSING"
)

// openFeatureText is the table of OpenFeature's words for the reason codes of §3.9.
// Of condition_match it has the word for a match by requirements alone: where a
// bucket decided about rollout or variant it is SPLIT, and STATIC where the first
// condition takes everybody, with nothing before it. A decision without a reason has
// a value all the same: its reason is open, or a server named one that is not known here.
var openFeatureText = [...]struct{ reason, err string }{
	NoReason:                  {reasonUnknown, ""},
	ConditionMatch:            {reasonTargetingMatch, ""},
	NoConditionMatch:          {reasonDefault, ""},
	OutOfRolloutBound:         {reasonSplit, ""},
	NoGroupType:               {reasonDefault, ""},
	SuperConditionValue:       {reasonTargetingMatch, ""},
	Pinned:                    {reasonTargetingMatch, ""},
	HoldoutConditionValue:     {reasonSplit, ""},
	FlagDisabled:              {reasonDisabled, ""},
	MissingDependency:         {reasonDefault, ""},
	FlagDataParsingError:      {reasonError, errorParse},
	CohortFiltersParsingError: {reasonError, errorParse},
	CohortNotFound:            {reasonError, errorParse},
	CohortCycle:               {reasonError, errorParse},
	FlagCycle:                 {reasonError, errorParse},
	HashKeyOverrideError:      {reasonError, errorGeneral},
	DatabaseError:             {reasonError, errorGeneral},
	DatabaseUnavailable:       {reasonError, errorGeneral},
	StatementTimeout:          {reasonError, errorGeneral},
	CookielessIdentity:        {reasonError, errorNoTargetingKey},
}

// OpenFeature is the decision's reason in OpenFeature's words (types, "Resolution
// Reason"), and the error code (types, "Error Code") of one that failed or is not
// decided, empty for every other. A fact that the caller could have given and did
// not is INVALID_CONTEXT, one that only a store knows GENERAL.
func (d *Decision) OpenFeature() (reason, errorCode string) {
	if d == nil {
		return reasonUnknown, ""
	}
	if u := d.Undecided; u != nil {
		if u.Fact == "person property" || u.Fact == "group property" {
			return reasonError, errorInvalidContext
		}
		return reasonError, errorGeneral
	}
	if d.Reason.Code == ConditionMatch {
		switch d.Reason.note {
		case noteSplit:
			return reasonSplit, ""
		case noteStatic:
			return reasonStatic, ""
		}
	}
	if int(d.Reason.Code) < len(openFeatureText) {
		t := &openFeatureText[d.Reason.Code]
		return t.reason, t.err
	}
	return reasonError, errorGeneral
}

// openFeatureErrors are the error codes of what a read can fail with, besides those of the
// decision.
var openFeatureErrors = [...]struct {
	err  error
	code string
}{
	{ErrUnknownFlag, "FLAG_NOT_FOUND"}, {ErrNoDistinctID, errorNoTargetingKey}, {ErrWrongKind, "TYPE_MISMATCH"},
	{ErrUnknownKey, "PROVIDER_FATAL"}, {ErrNotReady, "PROVIDER_NOT_READY"},
}

// OpenFeature is as [Decision.OpenFeature], of a read: where Err is set the reason is
// ERROR, but for a flag that is not active, which is DISABLED without an error code.
func (d *Detail) OpenFeature() (reason, errorCode string) {
	if d == nil {
		return reasonUnknown, ""
	}
	reason, errorCode = d.Decision.OpenFeature()
	if d.Err == nil || errorCode != "" || d.Reason.Code == FlagDisabled {
		return reason, errorCode
	}
	for _, entry := range openFeatureErrors {
		if errors.Is(d.Err, entry.err) {
			return reasonError, entry.code
		}
	}
	return reasonError, errorGeneral
}

// PayloadJSON is the payload as the JSON that it stands for: payloads are mostly
// stored as texts that contain JSON (§3.7), and then it is that JSON. A text that
// contains none is itself. Nil: there is no payload.
func (d *Decision) PayloadJSON() json.RawMessage {
	if d == nil {
		return nil
	}
	raw := bytes.TrimSpace(d.Payload)
	if len(raw) == 0 || raw[0] != '"' {
		return raw
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw
	}
	if inner := bytes.TrimSpace([]byte(text)); json.Valid(inner) {
		return inner
	}
	return raw
}

// IsDisabled reports whether a key names a flag that is inactive, and would be
// answered for sel if it were active.
func (s *Set) IsDisabled(key string, sel *Selection) bool {
	s = s.orEmpty()
	i, ok := s.byKey[key]
	return ok && s.flags[i].has(bitDisabled) && s.flags[i].isSelected(s.narrow(sel))
}

// IsUnanswered reports whether a key names an active flag that cannot be answered,
// since it is on a dependency cycle or behind one, and that would be answered for
// sel otherwise.
func (s *Set) IsUnanswered(key string, sel *Selection) bool {
	s = s.orEmpty()
	i, ok := s.byKey[key]
	return ok && s.flags[i].has(bitActive) && !s.isAnswered(i) && s.flags[i].isSelected(s.narrow(sel))
}
