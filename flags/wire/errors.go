package wire

import "errors"

// ErrUnknownKey is returned for a key that belongs to no project. It is declared in this package
// because flags and capture, which return it, do not import each other.
var ErrUnknownKey = errors.New("unknown project key")
