package insights

import (
	"fmt"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Codes of errors (§1.7).
const (
	invalidInput  = "invalid_input"
	invalidChoice = "invalid_choice"
	required      = "required"
	notSupported  = "not_supported"
	tooLarge      = "query_too_large"
)

// newError returns an error whose detail is formatted as by fmt.Sprintf.
func newError(code, attr, format string, args ...any) *port.Error {
	return &port.Error{Code: code, Attr: attr, Detail: fmt.Sprintf(format, args...)}
}
