package resource

import (
	"errors"

	"github.com/bunting-flags/bunting/management"
)

// PrefixField puts field in front of the Field of an error of kind Invalid, for faults inside the
// value of that field. It returns all other errors unchanged.
func PrefixField(field string, err error) error {
	var fault *management.Error
	if errors.As(err, &fault) && fault.Kind == management.Invalid {
		inner := *fault
		inner.Field = field
		if fault.Field != "" {
			inner.Field += "__" + fault.Field
		}
		return &inner
	}
	return err
}
