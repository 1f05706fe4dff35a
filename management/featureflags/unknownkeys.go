package featureflags

import (
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// This file looks for members of flags and cohorts that nothing reads (decision 30):
// a misspelt one is refused, since a condition without its rollout is for everybody;
// others are kept and named.

// pathToField turns a place such as filters.groups[0].rollout into the field of an
// error, filters__groups__0__rollout.
var pathToField = strings.NewReplacer(".", "__", "[", "__", "]", "")

// checkUnknownKeys refuses a misspelt member of a JSON object and tells warn, unless it is
// nil, of the others that nothing reads.
func checkUnknownKeys(part flags.Part, object []byte, warn func(string)) error {
	var l faultList
	findUnknownKeys(part, object, warn, &l)
	return l.first()
}

// findUnknownKeys is checkUnknownKeys that gathers all that is wrong.
func findUnknownKeys(part flags.Part, object []byte, warn func(string), l *faultList) {
	for _, unknown := range flags.UnknownKeys(part, object) { // misspelt ones come first
		text := unknown.Path + " " + unknown.Problem
		switch {
		case unknown.Suggestion != "":
			_ = l.add("", management.CodedFault("unknown_key", pathToField.Replace(unknown.Path), "%s", text))
		case warn != nil && l.first() == nil:
			warn(text)
		}
	}
}

// checkBody looks at the members of the body of a flag or a cohort. A key of the caller
// may stand among them.
func checkBody(b *management.Body, part flags.Part) error {
	return checkUnknownKeys(part, management.Encode(omit(b.Members, "personal_api_key")), b.Warn)
}
