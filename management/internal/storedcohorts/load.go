package storedcohorts

import (
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
)

// Load reads a cohort, deleted or not. It returns a NotFound error if the id is invalid.
func Load(tx definitions.Tx, scope *management.Scope, idText string) (*Cohort, error) {
	id, err := strconv.ParseInt(idText, 10, 64)
	if err != nil || id <= 0 {
		return nil, management.ErrNotFound()
	}
	d, err := tx.Definition(management.CohortDefinition, scope.Project.ID, id)
	if err == nil && d == nil {
		err = management.ErrNotFound()
	}
	if err != nil {
		return nil, err
	}
	return Decode(d)
}
