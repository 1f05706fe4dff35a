package sqlstore

import "github.com/bunting-flags/bunting/capture"

// failure marks an error of the database as capture.ErrStore without changing its
// message.
type failure struct{ error }

func (f failure) Unwrap() []error { return []error{f.error, capture.ErrStore} }
