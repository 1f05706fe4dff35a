package wire

import "errors"

// ErrUnknownKey says that nobody has a key. The cores know nothing of each other, and
// have it from here.
var ErrUnknownKey = errors.New("unknown project key")
