package sdk

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture/jsontext"
)

// Error codes of OpenFeature for errors of a whole request. The error codes of single flags are
// in package flags.
const (
	ofrepParseError     = "PARSE_ERROR"
	ofrepInvalidContext = "INVALID_CONTEXT"
	ofrepNoTargetingKey = "TARGETING_KEY_MISSING"
	ofrepFlagNotFound   = "FLAG_NOT_FOUND"
	ofrepGeneral        = "GENERAL"
	ofrepQuotaRetry     = 3600 // in seconds; a larger quota takes effect within an hour
)

// Errors that only OFREP has. Code is the error code of OpenFeature.
var (
	problemOFREPNoKey       = problem.Problem{Status: 401, Code: ofrepGeneral, Detail: "No API key provided: send the project's public key as Authorization: Bearer, or in X-API-Key."}
	problemOFREPSecretKey   = problem.Problem{Status: 403, Code: ofrepGeneral, Detail: "Flags are evaluated with the project's public key; this is a secret or personal key, which must not be used in clients."}
	problemOFREPQuota       = problem.Problem{Status: 429, Code: ofrepGeneral, Detail: "The monthly quota of feature flag requests has been reached, or feature flags are paused for this project.", RetryAfter: ofrepQuotaRetry}
	problemOFREPNotFound    = problem.Problem{Status: 404, Code: ofrepFlagNotFound, Detail: "The flag does not exist, or is not available to this kind of client."}
	problemOFREPNoTargeting = problem.Problem{Status: 400, Code: ofrepNoTargetingKey, Detail: "The context has no targetingKey: send a string that identifies the subject of the evaluation."}
)

// ofrepCodes is the set of OpenFeature's error codes.
var ofrepCodes = map[string]bool{
	ofrepParseError: true, ofrepInvalidContext: true, ofrepNoTargetingKey: true, ofrepFlagNotFound: true, ofrepGeneral: true,
}

// ofrepFault returns the 400 response for a fault in the body.
func ofrepFault(f *jsontext.Fault, code string) *problem.Problem {
	switch code {
	case ofrepNoTargetingKey:
		return &problemOFREPNoTargeting
	case ofrepInvalidContext:
		return &problem.Problem{Status: 400, Code: code, Detail: "The evaluation context cannot be used. " + faultPosition(f)}
	}
	return &problem.Problem{Status: 400, Code: code, Detail: faultInBody(f).Detail}
}

// ofrepProblem converts an error to OFREP's form, {key, errorCode, errorDetails}. The key is
// present if the request was for one flag. The cause of the error is joined, for the log.
func ofrepProblem(err error, key string) error {
	p := *problem.Of(err)
	if !ofrepCodes[p.Code] {
		var body *problem.Body
		p.Code = ofrepGeneral
		if errors.As(err, &body) {
			p.Code = ofrepParseError
		}
	}
	if len(key) > maxOFREPKey {
		key = problem.Shorten(key)
	}
	p.Body, _ = json.Marshal(struct { // marshaling strings cannot fail
		Key     string `json:"key,omitempty"`
		Code    string `json:"errorCode"`
		Details string `json:"errorDetails"`
	}{key, p.Code, p.Detail})
	return errors.Join(&p, err)
}

const (
	ofrepBulk   = "/ofrep/v1/evaluate/flags"
	ofrepEvents = "/ofrep/v1/events"
	// maxOFREPKey is the maximum length in bytes of a flag key. Longer keys are not found.
	maxOFREPKey = 1024
)

// ofrepKey returns the project key of a request, or an empty string if there is no key.
func ofrepKey(r *http.Request) string {
	if key := frame.Bearer(r); key != "" {
		return key
	}
	if keys := r.Header["X-Api-Key"]; len(keys) > 0 {
		return keys[0]
	}
	return ""
}

const versionParameter = "flagConfigEtag"
