package sqlstore

import (
	"fmt"

	"github.com/bunting-flags/bunting/management"
)

// definitionSize is the number and the size of some definitions, as parts of the totals
// of their project.
type definitionSize struct {
	n     int
	bytes int64
}

// definitionSizeQuery selects the number and the size of the definitions that are not
// deleted. Neither database reads the contents of long strings for octet_length.
const definitionSizeQuery = `SELECT COUNT(*), COALESCE(SUM(octet_length(record) + octet_length(meta)), 0) FROM %s WHERE project_id = $1 AND deleted = 0`

// DefinitionTotals implements rooms.Tx. The totals are computed on the first request of
// a transaction and updated by its changes.
func (t *manageTx) DefinitionTotals(projectID int64) (management.DefinitionTotals, error) {
	if cached := t.totals[projectID]; cached != nil {
		return *cached, nil
	}
	var sums [2]definitionSize
	for kind := range definitionTables {
		if _, err := t.queryRow("summing up definitions", fmt.Sprintf(definitionSizeQuery, definitionTables[kind].table), []any{projectID}, &sums[kind].n, &sums[kind].bytes); err != nil {
			return management.DefinitionTotals{}, err
		}
	}
	if t.totals == nil {
		t.totals = map[int64]*management.DefinitionTotals{}
	}
	t.totals[projectID] = &management.DefinitionTotals{}
	for kind, w := range sums {
		t.addToTotals(management.DefinitionKind(kind), projectID, w, 1)
	}
	return *t.totals[projectID], nil
}

// readSize returns the size of a stored definition, to be subtracted from the totals.
// It returns zero if there is no such definition or if the totals were not requested.
func (t *manageTx) readSize(kind management.DefinitionKind, projectID, id int64) (w definitionSize, err error) {
	if t.totals[projectID] == nil || id == 0 {
		return w, nil
	}
	_, err = t.queryRow("weighing a definition", fmt.Sprintf(definitionSizeQuery, definitionTables[kind].table)+` AND id = $2`, []any{projectID, id}, &w.n, &w.bytes)
	return w, err
}

// addToTotals adds a size to the totals of a project, or subtracts it if sign is -1. It
// does nothing if the totals were not requested.
func (t *manageTx) addToTotals(kind management.DefinitionKind, projectID int64, w definitionSize, sign int) {
	totals := t.totals[projectID]
	if totals == nil {
		return
	}
	totals.Bytes += int64(sign) * w.bytes
	if kind == management.FlagDefinition {
		totals.Flags += sign * w.n
	} else {
		totals.Cohorts += sign * w.n
	}
}
