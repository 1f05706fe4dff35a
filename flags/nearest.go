package flags

import "strings"

// Nearest is the one of some names that a misspelt one most likely stands for:
// within two edits, and not more than half of it. Empty: none is so near. Case
// does not count; names of more than 63 bytes are near to none.
func Nearest(name string, names []string) (best string) {
	lower, least := strings.ToLower(name), maxEdits+1
	for _, k := range names {
		d := edits(lower, strings.ToLower(k))
		if d > maxEdits || 2*d > len(k) {
			continue
		}
		if d < least || d == least && k < best {
			best, least = k, d
		}
	}
	return best
}
