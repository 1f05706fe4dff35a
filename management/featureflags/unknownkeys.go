package featureflags

import (
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// This file looks for members of flags and cohorts that nothing reads (decision 30):
// a misspelt one is refused, since a condition without its rollout is for everybody;
// others are kept and named.

// placeField turns a place such as filters.groups[0].rollout into the field of an
// error, filters__groups__0__rollout.
var placeField = strings.NewReplacer(".", "__", "[", "__", "]", "")

// checkKnown refuses a misspelt member of a JSON object and tells warn, unless it is
// nil, of the others that nothing reads.
func checkKnown(part flags.Part, object []byte, warn func(string)) error {
	var l faultList
	gatherMisspelt(part, object, warn, &l)
	return l.first()
}

// gatherMisspelt is checkKnown that gathers all that is wrong.
func gatherMisspelt(part flags.Part, object []byte, warn func(string), l *faultList) {
	for _, unknown := range flags.UnknownKeys(part, object) { // misspelt ones come first
		text := unknown.Path + " " + unknown.Problem
		switch {
		case unknown.Suggestion != "":
			_ = l.at("", management.Coded("unknown_key", placeField.Replace(unknown.Path), "%s", text))
		case warn != nil && l.first() == nil:
			warn(text)
		}
	}
}

// checkBody looks at the members of the body of a flag or a cohort. A key of the caller
// may stand among them.
func checkBody(b *management.Body, part flags.Part) error {
	return checkKnown(part, management.Encode(without(b.Members, "personal_api_key")), b.Warn)
}
