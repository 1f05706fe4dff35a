package flags

import "errors"

// This file converts decisions to the terms of OpenFeature. Both the server's OFREP endpoints
// and the provider of adapters/ofprovider use it, so that their results are the same.

// OpenFeature's reasons.
const (
	reasonTargetingMatch = "TARGETING_MATCH"
	reasonSplit          = "SPLIT"
	reasonStatic         = "STATIC"
	reasonDefault        = "DEFAULT"
	reasonDisabled       = "DISABLED"
	reasonUnknown        = "UNKNOWN"
	reasonError          = "ERROR"
)

// OpenFeature's error codes of decisions.
const (
	errorParse          = "PARSE_ERROR"
	errorInvalidContext = "INVALID_CONTEXT"
	errorGeneral        = "GENERAL"
	errorNoTargetingKey = "TARGETING_KEY_MISSING"
)

// openFeatureText maps the reason codes of §3.9 to OpenFeature's terms. For condition_match
// the entry is that of a match by requirements. If a bucket decided about the rollout or the
// variant it is SPLIT, and STATIC if the first condition matches all subjects and no step
// precedes it. A decision without a reason still has a value: its reason is open, or a server
// sent a reason that is unknown here.
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

// OpenFeature returns the decision's reason in OpenFeature's terms (types, "Resolution
// Reason"). errorCode is the error code (types, "Error Code") of a decision that failed or is
// undecided, and empty otherwise. A missing fact that the caller could have supplied is
// INVALID_CONTEXT, one that only a store has is GENERAL.
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

// openFeatureErrors maps the errors of reads to error codes. Errors of decisions are not
// listed.
var openFeatureErrors = [...]struct {
	err  error
	code string
}{
	{ErrUnknownFlag, "FLAG_NOT_FOUND"}, {ErrNoDistinctID, errorNoTargetingKey}, {ErrWrongKind, "TYPE_MISMATCH"},
	{ErrUnknownKey, "PROVIDER_FATAL"}, {ErrNotReady, "PROVIDER_NOT_READY"},
}

// OpenFeature is like [Decision.OpenFeature] for a read. If Err is set the reason is ERROR,
// except for a flag that is not active, which is DISABLED without an error code.
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
