package capture

import (
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// maxMergeID is how many characters an id may have that is merged (§10.4).
const maxMergeID = 400

// illegalAnyCase and illegalExact are ids that programs send when they do not
// know whom they mean: merging them would make strangers one person (§10.4).
var (
	illegalAnyCase = nameSetOf("anonymous", "guest", "distinctid", "distinct_id", "id", "not_authenticated", "email", "undefined", "true", "false", wire.CookielessID)
	illegalExact   = nameSetOf("[object Object]", "NaN", "None", "none", "null", "0", "undefined")
)

// longestIllegal is above the length of every illegal id with its quotes.
const longestIllegal = 32

func nameSetOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}

// isLegalID reports whether an id may be merged (§10.4). Any other use of an id
// is free.
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

// impersonalV1 are the distinct ids, in any case, of which protocol v1 makes no
// person (§6.3).
var impersonalV1 = nameSetOf("0", "00000000-0000-0000-0000-000000000000", "[object object]", "anonymous", "anonymous-user",
	"backend", "distinct_id", "distinctid", "email", "false", "guest", "id", "nan", "none", "not_authenticated", "null",
	"system", "true", "undefined", "user")

// IsImpersonalV1 reports whether protocol v1 keeps the events of a distinct id
// without a person, because programs send it when they do not know whom they
// mean (§6.3).
func IsImpersonalV1(distinctID string) bool {
	return len(distinctID) <= 36 && impersonalV1[strings.ToLower(distinctID)]
}
