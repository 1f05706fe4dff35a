package capture

import (
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// maxMergeID is the greatest length of a distinct id that may be merged, in characters
// (§10.4).
const maxMergeID = 400

// illegalAnyCase and illegalExact are ids that programs send if they have no id for the user.
// Merging them would combine different people into one person (§10.4).
var (
	illegalAnyCase = nameSetOf("anonymous", "guest", "distinctid", "distinct_id", "id", "not_authenticated", "email", "undefined", "true", "false", wire.CookielessID)
	illegalExact   = nameSetOf("[object Object]", "NaN", "None", "none", "null", "0", "undefined")
)

// longestIllegal is greater than the length of every illegal id with quotes.
const longestIllegal = 32

// nameSetOf returns the set of names.
func nameSetOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}

// isLegalID reports whether an id may be merged (§10.4). Illegal ids may still be used for
// events.
func isLegalID(id string) bool {
	switch {
	case isLonger(id, maxMergeID), strings.IndexByte(id, 0) >= 0, strings.TrimSpace(id) == "":
		return false
	case len(id) > longestIllegal:
		return true
	}
	bare := id
	if last := len(id) - 1; last > 0 && id[0] == id[last] && (id[0] == '\'' || id[0] == '"') {
		bare = id[1:last]
	}
	if illegalExact[bare] {
		return false
	}
	// Only ASCII letters are converted to lower case.
	var lower [longestIllegal]byte
	for i := range len(bare) {
		c := bare[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return !illegalAnyCase[string(lower[:len(bare)])]
}

// impersonalV1 are the distinct ids for which protocol v1 does not create a person, in lower
// case (§6.3).
var impersonalV1 = nameSetOf("0", "00000000-0000-0000-0000-000000000000", "[object object]", "anonymous", "anonymous-user",
	"backend", "distinct_id", "distinctid", "email", "false", "guest", "id", "nan", "none", "not_authenticated", "null",
	"system", "true", "undefined", "user")

// IsImpersonalV1 reports whether protocol v1 stores the events of a distinct id without a
// person, because programs send such ids if they have no id for the user (§6.3).
func IsImpersonalV1(distinctID string) bool {
	return len(distinctID) <= 36 && impersonalV1[strings.ToLower(distinctID)]
}
