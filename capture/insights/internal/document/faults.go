package document

import (
	"fmt"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Codes of errors (§1.7).
const (
	InvalidInput  = "invalid_input"
	InvalidChoice = "invalid_choice"
	Required      = "required"
	NotSupported  = "not_supported"
	TooLarge      = "query_too_large"
)

// NewFault returns an error whose detail is formatted as by fmt.Sprintf.
func NewFault(code, attr, format string, args ...any) *port.Error {
	return &port.Error{Code: code, Attr: attr, Detail: fmt.Sprintf(format, args...)}
}
