package files

import "slices"

// state is the work of applying one file.
type state struct {
	tx     Tx
	origin string
	file   *File
	// organization is the id of the file's organization.
	organization string
	stored       []Project // all projects before the file
	changed      []int64   // projects with new definitions
}

// lock acquires the locks of all affected projects in ascending order, which is the
// order of all transactions.
func (y *state) lock() error {
	var ids []int64
	for i := range y.file.projects {
		ids = append(ids, y.file.projects[i].ID)
	}
	for i := range y.stored {
		if y.stored[i].Origin == y.origin {
			ids = append(ids, y.stored[i].ID)
		}
	}
	slices.Sort(ids)
	return y.tx.Lock(slices.Compact(ids))
}
