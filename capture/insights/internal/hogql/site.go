package hogql

import "github.com/bunting-flags/bunting/capture/insights/internal/boundedre"

// site is the location of a call in a query: its node for errors, and buffers for its
// arguments.
type site struct {
	env  *env
	node *node
	// args has the arguments for the current row, for functions that are called with a slice.
	args []Value
	// buf is a buffer to build strings and keys in.
	buf []byte
	// seen is the interval of the last time that was truncated; it usually contains the next
	// one.
	seen span
	zone string // the zone of seen
	// pattern caches the last pattern.
	pattern matcher
}

// fail ends the query with an error. head names the erroneous part; the position is added to
// it.
func (s *site) fail(code, head string) {
	if s.env.err == nil {
		s.env.fail(s.node.fault(code, head, ""))
	}
}

// allocate counts the size of a value before it is created for a row, and reports whether it
// may be created.
//
// If the limit is exceeded, the query ends with an error, so that a short query cannot use
// all memory for one row.
func (s *site) allocate(bytes int) bool {
	if !s.fits(bytes) {
		return false
	}
	s.env.built += int64(bytes)
	return true
}

// fits is like allocate for values that are counted after they have been created.
func (s *site) fits(bytes int) bool {
	if s.env.built+int64(bytes) > maxRowBytes {
		s.fail(TooLarge, "Texts and lists of one row are above 64 MiB with "+s.node.word())
		return false
	}
	return true
}

// matcher caches the last pattern of a call and its compiled form.
//
// The pattern is usually the same for all rows, but need not be a constant.
type matcher struct {
	text     string
	re       *boundedre.Pattern
	like     string // the pattern of ILIKE in lower case
	compiled bool
}
