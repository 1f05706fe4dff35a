package sqlstore

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// Limits for the data of a project other than events and persons, whose size must not
// depend on the clients that send events.
const (
	// maxSeen is the number of names of one kind that are stored. When there are
	// seenSlack more, the names that were not seen for the longest time are deleted.
	maxSeen   = 10_000
	seenSlack = 1_000
	// maxFlagCalls is the number of pairs of flag and value that are stored. Beyond it,
	// new values of a flag are counted as otherValue; beyond twice that number, also as
	// the flag otherValue. Values that an existing flag of the project can have are
	// always counted, and its other values as its otherValue.
	maxFlagCalls = 10_000
	otherValue   = "(others)"
	// maxWarnings and maxWarningsOfType are the numbers of warnings of a project, and
	// of one type of them, that are stored. The oldest are deleted.
	maxWarnings       = 20_000
	maxWarningsOfType = 1_000
)

// groupByProject groups pointers to the elements of a list by project.
func groupByProject[T any](list []T, project func(*T) int64) map[int64][]*T {
	out := map[int64][]*T{}
	for i := range list {
		id := project(&list[i])
		out[id] = append(out[id], &list[i])
	}
	return out
}

// forEachProject calls do for each project in ascending order, so that two servers do
// not deadlock.
func forEachProject[T any](projects map[int64][]*T, do func(project int64, list []*T) error) error {
	for _, id := range slices.Sorted(maps.Keys(projects)) {
		if err := do(id, projects[id]); err != nil {
			return err
		}
	}
	return nil
}

// flagValue is a flag and one of its values.
type flagValue struct{ flag, value string }

var (
	upsertCalls = database.NewInsert(`INSERT INTO flag_calls (project_id, flag_key, value, calls, first_called_at, last_called_at)`, 6,
		`ON CONFLICT (project_id, flag_key, value) DO UPDATE SET calls = flag_calls.calls + excluded.calls,
		first_called_at = CASE WHEN excluded.first_called_at < flag_calls.first_called_at THEN excluded.first_called_at ELSE flag_calls.first_called_at END,
		last_called_at = CASE WHEN excluded.last_called_at > flag_calls.last_called_at THEN excluded.last_called_at ELSE flag_calls.last_called_at END`)
	findCalls = database.NewFind(`value`, `flag_calls WHERE project_id = $1 AND flag_key = $2`, `value`, database.TextKey, 2)
)

// saveCalls adds to the counts of calls of flags.
func (t *ledgerTx) saveCalls(c *capture.Changes) error {
	return forEachProject(groupByProject(c.Calls, func(f *capture.FlagCalls) int64 { return f.ProjectID }), t.saveProjectCalls)
}

// saveProjectCalls implements saveCalls for one project, within the limits of
// maxFlagCalls.
func (t *ledgerTx) saveProjectCalls(project int64, list []*capture.FlagCalls) error {
	valuesByFlag := map[string][]string{} // the values in list, with otherValue
	for _, c := range list {
		if valuesByFlag[c.Flag] == nil {
			valuesByFlag[c.Flag] = []string{otherValue}
		}
		valuesByFlag[c.Flag] = append(valuesByFlag[c.Flag], c.Value)
	}
	hasRow, err := t.findExistingCalls(project, valuesByFlag)
	if err != nil {
		return err
	}
	total, err := t.ReadCounter(project, database.CounterFlagCalls)
	if err != nil {
		return err
	}
	// existing are the possible values of the flags that exist, needed only near the
	// limit.
	var existing map[string][]string
	if total+int64(len(list)) > maxFlagCalls {
		if existing, err = t.possibleValues(project, slices.Sorted(maps.Keys(valuesByFlag))); err != nil {
			return err
		}
	}
	before := total
	sums, hours := map[flagValue]capture.FlagCalls{}, map[flagHour]int64{}
	for _, c := range list {
		k := flagValue{c.Flag, c.Value}
		// A value that cannot be stored any more is replaced by otherValue, and near
		// twice the limit its flag as well, unless the flag exists.
		answers, exists := existing[k.flag]
		if !hasRow[k] && total >= maxFlagCalls && !slices.Contains(answers, k.value) {
			k.value = otherValue
			if !hasRow[k] && total >= 2*maxFlagCalls && !exists {
				k.flag = otherValue
			}
		}
		if !hasRow[k] && k.flag != otherValue {
			hasRow[k] = true
			total++
		}
		addCalls(sums, k, c)
		hours[flagHour{k, hourOf(c.Last)}] += c.Calls
	}
	if err := cmp.Or(t.upsertSums(project, sums), t.upsertCallHours(project, hours)); err != nil {
		return err
	}
	return t.Count(project, database.CounterFlagCalls, total-before)
}

// addCalls adds calls to the sum for a flag and value.
func addCalls(sums map[flagValue]capture.FlagCalls, k flagValue, c *capture.FlagCalls) {
	sum, ok := sums[k]
	if !ok {
		sum = capture.FlagCalls{First: c.First, Last: c.Last}
	}
	sum.Calls += c.Calls
	if c.First.Before(sum.First) {
		sum.First = c.First
	}
	if c.Last.After(sum.Last) {
		sum.Last = c.Last
	}
	sums[k] = sum
}

// findExistingCalls returns the requested values, by flag, that have a row.
func (t *ledgerTx) findExistingCalls(project int64, requested map[string][]string) (map[flagValue]bool, error) {
	existing := map[flagValue]bool{}
	for _, flag := range slices.Sorted(maps.Keys(requested)) {
		values, err := t.FindExisting(&findCalls, requested[flag], project, flag)
		if err != nil {
			return nil, err
		}
		for value := range values {
			existing[flagValue{flag, value}] = true
		}
	}
	return existing, nil
}

// upsertSums adds the sums to the rows, in the order of their index.
func (t *ledgerTx) upsertSums(project int64, sums map[flagValue]capture.FlagCalls) error {
	rows := slices.SortedFunc(maps.Keys(sums), func(a, b flagValue) int {
		return cmp.Or(cmp.Compare(a.flag, b.flag), cmp.Compare(a.value, b.value))
	})
	return t.Insert(&upsertCalls, len(rows), func(args []any, i int) []any {
		sum := sums[rows[i]]
		return append(args, project, rows[i].flag, rows[i].value, sum.Calls, database.Micros(sum.First), database.Micros(sum.Last))
	})
}

var findFlags = database.NewFind(`key, record`, `flag_records WHERE project_id = $1 AND deleted = 0`, `key`, database.TextKey, 1)

// possibleValues returns the values that flags can have, by key, for the flags that
// exist.
func (t *ledgerTx) possibleValues(project int64, keys []string) (map[string][]string, error) {
	out := map[string][]string{}
	err := t.FindTexts(&findFlags, keys, func(rows *sql.Rows) error {
		var key, text string
		if err := rows.Scan(&key, &text); err != nil {
			return err
		}
		var record struct {
			Filters struct {
				Multivariate struct {
					Variants []struct{ Key string }
				}
			}
		}
		_ = json.Unmarshal([]byte(text), &record) // an invalid record has no variants
		answers := []string{"true", "false"}
		for _, v := range record.Filters.Multivariate.Variants {
			answers = append(answers, v.Key)
		}
		out[key] = answers
		return nil
	}, project)
	return out, err
}

// seenName is the key of a name. Without a name it is the key of a kind and group.
type seenName struct {
	kind  capture.SeenKind
	group int
	name  string
}

var (
	// An existing type is not changed.
	upsertSeen = database.NewInsert(`INSERT INTO seen_names (project_id, kind, group_index, name, type, seen_at)`, 6,
		`ON CONFLICT (project_id, kind, group_index, name) DO UPDATE SET
		type = CASE WHEN seen_names.type = '' THEN excluded.type ELSE seen_names.type END,
		seen_at = CASE WHEN excluded.seen_at > seen_names.seen_at THEN excluded.seen_at ELSE seen_names.seen_at END`)
	findSeen = database.NewFind(`name`, `seen_names WHERE project_id = $1 AND kind = $2 AND group_index = $3`, `name`, database.TextKey, 3)
)

// saveSeen stores names of events and properties.
func (t *ledgerTx) saveSeen(c *capture.Changes) error {
	return forEachProject(groupByProject(c.Seen, func(s *capture.SeenName) int64 { return s.ProjectID }), t.saveProjectSeen)
}

// saveProjectSeen implements saveSeen for one project, within the limits of maxSeen.
func (t *ledgerTx) saveProjectSeen(project int64, list []*capture.SeenName) error {
	sums := map[seenName]capture.SeenName{}
	names := map[seenName][]string{} // by kind and group
	for _, s := range list {
		k := seenName{s.Kind, s.Group, s.Name}
		sum, ok := sums[k]
		if !ok {
			group := seenName{kind: s.Kind, group: s.Group}
			names[group] = append(names[group], s.Name)
		}
		if sum.Type == "" {
			sum.Type = s.Type
		}
		if !ok || s.At.After(sum.At) {
			sum.At = s.At
		}
		sums[k] = sum
	}
	// Each kind and group has its own names, but the limit applies to all names of a
	// kind.
	keep, full := make([]seenName, 0, len(sums)), map[capture.SeenKind]bool{}
	for _, group := range slices.SortedFunc(maps.Keys(names), func(a, b seenName) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.group, b.group))
	}) {
		admitted, overLimit, err := t.admitSeen(project, group, names[group])
		if err != nil {
			return err
		}
		keep = append(keep, admitted...)
		if overLimit {
			full[group.kind] = true
		}
	}
	err := t.Insert(&upsertSeen, len(keep), func(args []any, i int) []any {
		k := keep[i]
		return append(args, project, int(k.kind), k.group, k.name, sums[k].Type, database.Micros(sums[k].At))
	})
	if err != nil {
		return err
	}
	for _, kind := range slices.Sorted(maps.Keys(full)) {
		if err := t.trimSeen(project, kind); err != nil {
			return err
		}
	}
	return nil
}

// trimSeen deletes the names of a kind that were not seen for the longest time, until
// maxSeen are left.
func (t *ledgerTx) trimSeen(project int64, kind capture.SeenKind) error {
	counter := database.CounterSeen + strconv.Itoa(int(kind))
	n, err := t.ReadCounter(project, counter)
	if err != nil || n <= maxSeen {
		return err
	}
	if _, err := t.Exec(`DELETE FROM seen_names WHERE project_id = $1 AND kind = $2 AND (group_index, name) IN (
		SELECT group_index, name FROM seen_names WHERE project_id = $1 AND kind = $2 ORDER BY seen_at, group_index, name LIMIT $3)`,
		project, int(kind), n-maxSeen); err != nil {
		return err
	}
	return t.Count(project, counter, maxSeen-n)
}

// admitSeen returns the names of one kind and group that are stored already, and at
// most maxSeen new ones, which it counts. It reports whether trimSeen is needed.
func (t *ledgerTx) admitSeen(project int64, group seenName, names []string) (keep []seenName, full bool, err error) {
	existing, err := t.FindExisting(&findSeen, names, project, int(group.kind), group.group)
	if err != nil {
		return nil, false, err
	}
	counter := database.CounterSeen + strconv.Itoa(int(group.kind))
	var added int64
	for _, name := range names {
		if !existing[name] {
			if added >= maxSeen {
				continue
			}
			added++
		}
		keep = append(keep, seenName{group.kind, group.group, name})
	}
	if added > 0 {
		n, err := t.ReadCounter(project, counter)
		if err != nil {
			return nil, false, err
		}
		full = n+added > maxSeen+seenSlack
	}
	return keep, full, t.Count(project, counter, added)
}

var upsertWarnings = database.NewInsert(`INSERT INTO warnings (project_id, type, distinct_id, event_uuid, detail, count, first_at, last_at)`, 8,
	`ON CONFLICT (project_id, type, distinct_id) DO UPDATE SET event_uuid = excluded.event_uuid, detail = excluded.detail,
	count = warnings.count + excluded.count,
	first_at = CASE WHEN excluded.first_at < warnings.first_at THEN excluded.first_at ELSE warnings.first_at END,
	last_at = CASE WHEN excluded.last_at > warnings.last_at THEN excluded.last_at ELSE warnings.last_at END`)

// saveWarnings adds to the counts of warnings.
func (t *ledgerTx) saveWarnings(c *capture.Changes) error {
	return forEachProject(groupByProject(c.Warnings, func(w *capture.Warning) int64 { return w.ProjectID }), t.saveProjectWarnings)
}

// saveProjectWarnings implements saveWarnings for one project, then deletes warnings
// beyond the limits.
func (t *ledgerTx) saveProjectWarnings(project int64, list []*capture.Warning) error {
	type key struct{ kind, id string }
	indexByKey := map[key]int{}
	var sums []capture.StoredWarning
	types := map[string]bool{}
	for _, w := range list {
		k := key{string(w.Type), capture.WarningID(w.DistinctID)}
		i, ok := indexByKey[k]
		if !ok {
			i = len(sums)
			indexByKey[k], types[k.kind] = i, true
			sums = append(sums, capture.StoredWarning{Warning: capture.Warning{Type: w.Type, DistinctID: k.id}, First: w.At})
		}
		sum := &sums[i]
		sum.EventUUID, sum.Detail = w.EventUUID, w.Detail
		sum.Count += w.Count
		if w.At.Before(sum.First) {
			sum.First = w.At
		}
		if w.At.After(sum.At) {
			sum.At = w.At
		}
	}
	err := t.Insert(&upsertWarnings, len(sums), func(args []any, i int) []any {
		w := &sums[i]
		return append(args, project, string(w.Type), w.DistinctID, w.EventUUID[:], w.Detail, w.Count, database.Micros(w.First), database.Micros(w.At))
	})
	if err != nil {
		return err
	}
	for _, kind := range slices.Sorted(maps.Keys(types)) {
		if _, err := t.Exec(trimType, project, kind, maxWarningsOfType); err != nil {
			return err
		}
	}
	_, err = t.Exec(trimWarnings, project, maxWarnings)
	return err
}

// These statements delete the oldest warnings beyond a limit.
const (
	trimType = `DELETE FROM warnings WHERE project_id = $1 AND type = $2 AND distinct_id IN (
		SELECT distinct_id FROM warnings WHERE project_id = $1 AND type = $2 ORDER BY last_at, distinct_id
		LIMIT (SELECT CASE WHEN COUNT(*) > $3 THEN COUNT(*) - $3 ELSE 0 END FROM warnings WHERE project_id = $1 AND type = $2))`
	trimWarnings = `DELETE FROM warnings WHERE project_id = $1 AND (type, distinct_id) IN (
		SELECT type, distinct_id FROM warnings WHERE project_id = $1 ORDER BY last_at, type, distinct_id
		LIMIT (SELECT CASE WHEN COUNT(*) > $2 THEN COUNT(*) - $2 ELSE 0 END FROM warnings WHERE project_id = $1))`
)

var upsertUsage = database.NewInsert(`INSERT INTO usage (organization_id, resource, day, project_id, n)`, 5,
	`ON CONFLICT (organization_id, resource, day, project_id) DO UPDATE SET n = usage.n + excluded.n`)

// saveUsage adds to the counts by organization, resource, day and project, in the order
// in which projects are locked.
func (t *ledgerTx) saveUsage(c *capture.Changes) error {
	type key struct {
		organization, resource string
		day                    int
		project                int64
	}
	sums := map[key]int64{}
	for _, u := range c.Usage {
		sums[key{u.OrganizationID, string(u.Resource), dayOf(u.At), u.ProjectID}] += u.N
	}
	rows := slices.SortedFunc(maps.Keys(sums), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.project, b.project), cmp.Compare(a.organization, b.organization),
			cmp.Compare(a.resource, b.resource), cmp.Compare(a.day, b.day))
	})
	return t.Insert(&upsertUsage, len(rows), func(args []any, i int) []any {
		k := rows[i]
		return append(args, k.organization, k.resource, k.day, k.project, sums[k])
	})
}
