package storedflags

import (
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// This file checks flags and cohorts for unknown members (decision 30). A misspelt member is
// refused, since for example a condition without its rollout_percentage matches everybody. Any
// other unknown member is stored and causes a warning.

// CheckUnknownKeys returns an error for the first misspelt member of a JSON object, and calls warn
// for each other unknown member. If warn is nil, there are no warnings.
func CheckUnknownKeys(part flags.Part, object []byte, warn func(string)) error {
	var l Faults
	FindUnknownKeys(part, object, warn, &l)
	return l.First()
}

// FindUnknownKeys is like CheckUnknownKeys, but adds all faults to l.
func FindUnknownKeys(part flags.Part, object []byte, warn func(string), l *Faults) {
	for _, unknown := range flags.UnknownKeys(part, object) { // misspelt members precede the rest
		text := unknown.Path + " " + unknown.Problem
		switch {
		case unknown.Suggestion != "":
			// A suggestion means that the member is a misspelling of a known member.
			_ = l.Add("", management.CodedFault("unknown_key", pathToField.Replace(unknown.Path), "%s", text))
		case warn != nil && l.First() == nil:
			warn(text)
		}
	}
}

// CheckBody checks the members of the body of a flag or cohort. The body may contain the caller's
// API key as personal_api_key.
func CheckBody(b *management.Body, part flags.Part) error {
	return CheckUnknownKeys(part, storage.Encode(definitions.Omit(b.Members, "personal_api_key")), b.Warn)
}
