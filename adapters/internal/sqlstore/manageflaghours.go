package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/management"
)

// hourOf returns the number of the hour of a time since 1970, negative for earlier
// times.
func hourOf(t time.Time) int64 {
	hour := t.Unix() / 3600
	if t.Unix()%3600 < 0 {
		hour--
	}
	return hour
}

// upsertHours adds to counts by flag, hour and value. The column evaluations is 0 for
// reported calls, 1 for evaluations by servers.
var upsertHours = database.NewInsert(`INSERT INTO flag_hours (project_id, evaluations, flag_key, hour, value, n)`, 6,
	`ON CONFLICT (project_id, evaluations, flag_key, hour, value) DO UPDATE SET n = flag_hours.n + excluded.n`)

// flagHour is the key of a row of flag_hours within a project.
type flagHour struct {
	flagValue
	hour int64
}

// sortedHours returns the keys in the order of the index. All transactions write in
// this order, so that two servers do not deadlock.
func sortedHours(sums map[flagHour]int64) []flagHour {
	return slices.SortedFunc(maps.Keys(sums), func(a, b flagHour) int {
		return cmp.Or(cmp.Compare(a.flag, b.flag), cmp.Compare(a.hour, b.hour), cmp.Compare(a.value, b.value))
	})
}

// upsertCallHours adds to the counts of reported calls of flags.
func (t *ledgerTx) upsertCallHours(project int64, sums map[flagHour]int64) error {
	rows := sortedHours(sums)
	return t.Insert(&upsertHours, len(rows), func(args []any, i int) []any {
		return append(args, project, 0, rows[i].flag, rows[i].hour, rows[i].value, sums[rows[i]])
	})
}

// Evaluation is the number of evaluations of a flag with a certain value.
type Evaluation struct {
	// Token is the public key of the project.
	Token, Flag, Value string
	N                  int64
}

// AddEvaluations adds evaluations to the counts of the hour of when. Evaluations for
// tokens of deleted projects are ignored.
func (s *Store) AddEvaluations(ctx context.Context, when time.Time, list []Evaluation) error {
	projects := map[int64]map[flagHour]int64{}
	ids, err := s.projectIDsByToken(ctx, len(list), func(i int) string { return list[i].Token })
	if err != nil {
		return err
	}
	for _, e := range list {
		id := ids[e.Token]
		if id == 0 {
			continue
		}
		if projects[id] == nil {
			projects[id] = map[flagHour]int64{}
		}
		projects[id][flagHour{flagValue{database.CleanText(e.Flag), database.CleanText(e.Value)}, hourOf(when)}] += e.N
	}
	for _, id := range slices.Sorted(maps.Keys(projects)) {
		sums := projects[id]
		for rows := range slices.Chunk(sortedHours(sums), hoursChunk) { // so that other writers run between
			err := s.db.InWrite(ctx, func(tx *sql.Tx) error {
				return upsertHours.Chunks(&s.db.Dialect, len(rows), func(text string, from, n int) error {
					args := make([]any, 0, 6*n)
					for _, row := range rows[from : from+n] {
						args = append(args, id, 1, row.flag, row.hour, row.value, sums[row])
					}
					_, err := tx.ExecContext(ctx, text, args...)
					return err
				})
			})
			if err != nil {
				return database.WrapError("counting answers", err)
			}
		}
	}
	return nil
}

// hoursChunk is the maximum number of rows of flag_hours that one transaction writes or
// deletes.
const hoursChunk = 1000

// DeleteFlagHours deletes at most hoursChunk counts of flags from hours before the hour
// of the given time. It reports whether there may be more.
func (s *Store) DeleteFlagHours(ctx context.Context, before time.Time) (more bool, err error) {
	err = s.db.InWrite(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM flag_hours WHERE (project_id, evaluations, flag_key, hour, value) IN (
			SELECT project_id, evaluations, flag_key, hour, value FROM flag_hours WHERE hour < $1 ORDER BY hour LIMIT $2)`, hourOf(before), hoursChunk)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		more = n == hoursChunk
		return err
	})
	return more, database.WrapError("deleting old counts of flags", err)
}

// FlagTotals implements rooms.Tx.
func (t *manageTx) FlagTotals(q management.HoursQuery) (map[string]int64, error) {
	type total struct {
		value string
		n     int64
	}
	args := append(hoursArgs(&q), database.CleanText(q.Keys[0]))
	rows, err := listRows(t, "reading what flags were answered", func(v *total) []any { return []any{&v.value, &v.n} },
		`SELECT value, CAST(SUM(n) AS BIGINT) FROM flag_hours WHERE project_id = $1 AND evaluations = $2 AND hour >= $3 AND hour < $4
		AND flag_key = $5 GROUP BY value`, args...)
	out := make(map[string]int64, len(rows))
	for _, row := range rows {
		out[row.value] = row.n
	}
	return out, err
}

// FlagHours implements rooms.Tx.
func (t *manageTx) FlagHours(q management.HoursQuery) ([]management.FlagHour, error) {
	value, values, args := `''`, "", hoursArgs(&q)
	keys := ` AND flag_key IN (` + database.Placeholders(len(args)+1, len(q.Keys)) + `)`
	for _, key := range q.Keys {
		args = append(args, database.CleanText(key))
	}
	if q.Values != nil {
		value, values = `value`, ` AND value IN (`+database.Placeholders(len(args)+1, len(q.Values))+`)`
		for _, v := range q.Values {
			args = append(args, database.CleanText(v))
		}
	}
	return listRows(t, "reading when flags were answered", func(h *management.FlagHour) []any {
		return []any{&h.Flag, &h.Value, database.ScanTime(&h.At), &h.N}
	}, `SELECT flag_key, `+value+`, hour * 3600000000, CAST(SUM(n) AS BIGINT) FROM flag_hours WHERE project_id = $1 AND evaluations = $2 AND hour >= $3 AND hour < $4`+
		keys+values+` GROUP BY 1, 2, 3`, args...)
}

// hoursArgs returns the arguments that the queries of flag_hours share.
func hoursArgs(q *management.HoursQuery) []any {
	evaluations := 0
	if q.Evaluations {
		evaluations = 1
	}
	return []any{q.Project, evaluations, hourOf(q.From), hourOf(q.To)}
}
