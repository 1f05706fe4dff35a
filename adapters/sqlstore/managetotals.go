package sqlstore

import (
	"fmt"

	"github.com/bunting-flags/bunting/management/featureflags"
)

// definitionSize is what definitions add to the totals of their project.
type definitionSize struct {
	n     int
	bytes int64
}

// definitionWeight sums up definitions that are not deleted. Neither database reads
// long texts for it.
const definitionWeight = `SELECT COUNT(*), COALESCE(SUM(octet_length(record) + octet_length(meta)), 0) FROM %s WHERE project_id = $1 AND deleted = 0`

// DefinitionTotals implements rooms.Tx. They are summed up when they are first
// asked for, and kept up to date until the transaction ends.
func (t *manageTx) DefinitionTotals(projectID int64) (featureflags.DefinitionTotals, error) {
	if cached := t.totals[projectID]; cached != nil {
		return *cached, nil
	}
	var sums [2]definitionSize
	for kind := range definitionTables {
		if _, err := t.queryRow("summing up definitions", fmt.Sprintf(definitionWeight, definitionTables[kind].table), []any{projectID}, &sums[kind].n, &sums[kind].bytes); err != nil {
			return featureflags.DefinitionTotals{}, err
		}
	}
	if t.totals == nil {
		t.totals = map[int64]*featureflags.DefinitionTotals{}
	}
	t.totals[projectID] = &featureflags.DefinitionTotals{}
	for kind, w := range sums {
		t.addToTotals(featureflags.DefinitionKind(kind), projectID, w, 1)
	}
	return *t.totals[projectID], nil
}

// readSize is what a definition adds, nothing where there is none or the totals are not
// asked for.
func (t *manageTx) readSize(kind featureflags.DefinitionKind, projectID, id int64) (w definitionSize, err error) {
	if t.totals[projectID] == nil || id == 0 {
		return w, nil
	}
	_, err = t.queryRow("weighing a definition", fmt.Sprintf(definitionWeight, definitionTables[kind].table)+` AND id = $2`, []any{projectID, id}, &w.n, &w.bytes)
	return w, err
}

// addToTotals adds a weight to the totals, or takes it away.
func (t *manageTx) addToTotals(kind featureflags.DefinitionKind, projectID int64, w definitionSize, sign int) {
	totals := t.totals[projectID]
	if totals == nil {
		return
	}
	totals.Bytes += int64(sign) * w.bytes
	if kind == featureflags.FlagDefinition {
		totals.Flags += sign * w.n
	} else {
		totals.Cohorts += sign * w.n
	}
}
