package featureflags

import (
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// This file checks flags and cohorts for unknown members (decision 30). A misspelt member is
// refused, since for example a condition without its rollout_percentage matches everybody. Any
// other unknown member is stored and causes a warning.

// pathToField converts a path such as filters.groups[0].rollout to the field of an error,
// filters__groups__0__rollout.
var pathToField = strings.NewReplacer(".", "__", "[", "__", "]", "")

// checkUnknownKeys returns an error for the first misspelt member of a JSON object, and calls warn
// for each other unknown member. If warn is nil, there are no warnings.
func checkUnknownKeys(part flags.Part, object []byte, warn func(string)) error {
	var l faultList
	findUnknownKeys(part, object, warn, &l)
	return l.first()
}

// findUnknownKeys is like checkUnknownKeys, but adds all faults to l.
func findUnknownKeys(part flags.Part, object []byte, warn func(string), l *faultList) {
	for _, unknown := range flags.UnknownKeys(part, object) { // misspelt members precede the rest
		text := unknown.Path + " " + unknown.Problem
		switch {
		case unknown.Suggestion != "":
			// A suggestion means that the member is a misspelling of a known member.
			_ = l.add("", management.CodedFault("unknown_key", pathToField.Replace(unknown.Path), "%s", text))
		case warn != nil && l.first() == nil:
			warn(text)
		}
	}
}

// checkBody checks the members of the body of a flag or cohort. The body may contain the caller's
// API key as personal_api_key.
func checkBody(b *management.Body, part flags.Part) error {
	return checkUnknownKeys(part, management.Encode(omit(b.Members, "personal_api_key")), b.Warn)
}
