package flags

import "strings"

// Nearest returns the element of names that a misspelt name most likely means: the one with
// the fewest edits, at most two and at most half of its length. It returns "" if no element
// is that similar. Case is ignored. For a name of more than 63 bytes it returns "".
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
