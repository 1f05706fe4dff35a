package records

import "github.com/bunting-flags/bunting/management"

// Existing returns an object that was read, or ErrNotFound if it does not exist.
func Existing[T any](x *T, err error) (*T, error) {
	if err == nil && x == nil {
		err = management.ErrNotFound()
	}
	return x, err
}
