package sqlstore

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/capture"
)

// Bounds of what is kept of a project beside events and people: none of it may
// grow for ever, whatever is sent.
const (
	// maxSeen is how many names of one kind are kept: when there are seenSlack more,
	// those that have not come for the longest time go.
	maxSeen   = 10_000
	seenSlack = 1_000
	// maxFlagCalls is how many pairs of flag and value are kept. Then a flag's new
	// values are counted as otherValue, until there are twice as many; then all new
	// ones are counted for otherValue of flag otherValue. What a flag of the project
	// may answer is always counted, and its other values as its otherValue.
	maxFlagCalls = 10_000
	otherValue   = "(others)"
	// maxWarnings and maxWarningsOfType are how many warnings are kept of a project,
	// and of one type of them; the oldest go.
	maxWarnings       = 20_000
	maxWarningsOfType = 1_000
)

// groupByProject sorts a list by project.
func groupByProject[T any](list []T, project func(*T) int64) map[int64][]*T {
	out := map[int64][]*T{}
	for i := range list {
		id := project(&list[i])
		out[id] = append(out[id], &list[i])
	}
	return out
}

// forEachProject calls do for each project, in order: two servers must not wait for one
// another.
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
	upsertCalls = newInsert(`INSERT INTO flag_calls (project_id, flag_key, value, calls, first_called_at, last_called_at)`, 6,
		`ON CONFLICT (project_id, flag_key, value) DO UPDATE SET calls = flag_calls.calls + excluded.calls,
		first_called_at = CASE WHEN excluded.first_called_at < flag_calls.first_called_at THEN excluded.first_called_at ELSE flag_calls.first_called_at END,
		last_called_at = CASE WHEN excluded.last_called_at > flag_calls.last_called_at THEN excluded.last_called_at ELSE flag_calls.last_called_at END`)
	findCalls = newFind(`value`, `flag_calls WHERE project_id = $1 AND flag_key = $2`, `value`, textKey, 2)
)

func (t *ledgerTx) saveCalls(c *capture.Changes) error {
	return forEachProject(groupByProject(c.Calls, func(f *capture.FlagCalls) int64 { return f.ProjectID }), t.saveProjectCalls)
}

func (t *ledgerTx) saveProjectCalls(project int64, list []*capture.FlagCalls) error {
	valuesByFlag := map[string][]string{} // values by flag, and otherValue
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
	total, err := t.readCounter(project, counterFlagCalls)
	if err != nil {
		return err
	}
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
	return t.count(project, counterFlagCalls, total-before)
}

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

// findExistingCalls are those of the asked values, by flag, that have a row.
func (t *ledgerTx) findExistingCalls(project int64, requested map[string][]string) (map[flagValue]bool, error) {
	existing := map[flagValue]bool{}
	for _, flag := range slices.Sorted(maps.Keys(requested)) {
		values, err := t.findExisting(&findCalls, requested[flag], project, flag)
		if err != nil {
			return nil, err
		}
		for value := range values {
			existing[flagValue{flag, value}] = true
		}
	}
	return existing, nil
}

func (t *ledgerTx) upsertSums(project int64, sums map[flagValue]capture.FlagCalls) error {
	rows := slices.SortedFunc(maps.Keys(sums), func(a, b flagValue) int {
		return cmp.Or(cmp.Compare(a.flag, b.flag), cmp.Compare(a.value, b.value))
	})
	return t.insert(&upsertCalls, len(rows), func(args []any, i int) []any {
		sum := sums[rows[i]]
		return append(args, project, rows[i].flag, rows[i].value, sum.Calls, micros(sum.First), micros(sum.Last))
	})
}

var findFlags = newFind(`key, record`, `flag_records WHERE project_id = $1 AND deleted = 0`, `key`, textKey, 1)

// possibleValues are the values that flags may have, by key, of those that exist.
func (t *ledgerTx) possibleValues(project int64, keys []string) (map[string][]string, error) {
	out := map[string][]string{}
	err := t.findTexts(&findFlags, keys, func(rows *sql.Rows) error {
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
		_ = json.Unmarshal([]byte(text), &record) // a broken record has no variants
		answers := []string{"true", "false"}
		for _, v := range record.Filters.Multivariate.Variants {
			answers = append(answers, v.Key)
		}
		out[key] = answers
		return nil
	}, project)
	return out, err
}

// seenName is a name of one kind.
type seenName struct {
	kind  capture.SeenKind
	group int
	name  string
}

var (
	// A type that is known stays.
	upsertSeen = newInsert(`INSERT INTO seen_names (project_id, kind, group_index, name, type, seen_at)`, 6,
		`ON CONFLICT (project_id, kind, group_index, name) DO UPDATE SET
		type = CASE WHEN seen_names.type = '' THEN excluded.type ELSE seen_names.type END,
		seen_at = CASE WHEN excluded.seen_at > seen_names.seen_at THEN excluded.seen_at ELSE seen_names.seen_at END`)
	findSeen = newFind(`name`, `seen_names WHERE project_id = $1 AND kind = $2 AND group_index = $3`, `name`, textKey, 3)
)

func (t *ledgerTx) saveSeen(c *capture.Changes) error {
	return forEachProject(groupByProject(c.Seen, func(s *capture.SeenName) int64 { return s.ProjectID }), t.saveProjectSeen)
}

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
	err := t.insert(&upsertSeen, len(keep), func(args []any, i int) []any {
		k := keep[i]
		return append(args, project, int(k.kind), k.group, k.name, sums[k].Type, micros(sums[k].At))
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

// trimSeen lets names of a kind go until there are maxSeen.
func (t *ledgerTx) trimSeen(project int64, kind capture.SeenKind) error {
	counter := counterSeen + strconv.Itoa(int(kind))
	n, err := t.readCounter(project, counter)
	if err != nil || n <= maxSeen {
		return err
	}
	if _, err := t.exec(`DELETE FROM seen_names WHERE project_id = $1 AND kind = $2 AND (group_index, name) IN (
		SELECT group_index, name FROM seen_names WHERE project_id = $1 AND kind = $2 ORDER BY seen_at, group_index, name LIMIT $3)`,
		project, int(kind), n-maxSeen); err != nil {
		return err
	}
	return t.count(project, counter, maxSeen-n)
}

// admitSeen returns the names of one kind and group that are known, and as many new
// ones as there may be in all, which it counts. full: some have to go afterwards.
func (t *ledgerTx) admitSeen(project int64, group seenName, names []string) (keep []seenName, full bool, err error) {
	existing, err := t.findExisting(&findSeen, names, project, int(group.kind), group.group)
	if err != nil {
		return nil, false, err
	}
	counter := counterSeen + strconv.Itoa(int(group.kind))
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
		n, err := t.readCounter(project, counter)
		if err != nil {
			return nil, false, err
		}
		full = n+added > maxSeen+seenSlack
	}
	return keep, full, t.count(project, counter, added)
}

var upsertWarnings = newInsert(`INSERT INTO warnings (project_id, type, distinct_id, event_uuid, detail, count, first_at, last_at)`, 8,
	`ON CONFLICT (project_id, type, distinct_id) DO UPDATE SET event_uuid = excluded.event_uuid, detail = excluded.detail,
	count = warnings.count + excluded.count,
	first_at = CASE WHEN excluded.first_at < warnings.first_at THEN excluded.first_at ELSE warnings.first_at END,
	last_at = CASE WHEN excluded.last_at > warnings.last_at THEN excluded.last_at ELSE warnings.last_at END`)

func (t *ledgerTx) saveWarnings(c *capture.Changes) error {
	return forEachProject(groupByProject(c.Warnings, func(w *capture.Warning) int64 { return w.ProjectID }), t.saveProjectWarnings)
}

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
	err := t.insert(&upsertWarnings, len(sums), func(args []any, i int) []any {
		w := &sums[i]
		return append(args, project, string(w.Type), w.DistinctID, w.EventUUID[:], w.Detail, w.Count, micros(w.First), micros(w.At))
	})
	if err != nil {
		return err
	}
	for _, kind := range slices.Sorted(maps.Keys(types)) {
		if _, err := t.exec(trimType, project, kind, maxWarningsOfType); err != nil {
			return err
		}
	}
	_, err = t.exec(trimWarnings, project, maxWarnings)
	return err
}

// What is over a bound goes, the oldest first.
const (
	trimType = `DELETE FROM warnings WHERE project_id = $1 AND type = $2 AND distinct_id IN (
		SELECT distinct_id FROM warnings WHERE project_id = $1 AND type = $2 ORDER BY last_at, distinct_id
		LIMIT (SELECT CASE WHEN COUNT(*) > $3 THEN COUNT(*) - $3 ELSE 0 END FROM warnings WHERE project_id = $1 AND type = $2))`
	trimWarnings = `DELETE FROM warnings WHERE project_id = $1 AND (type, distinct_id) IN (
		SELECT type, distinct_id FROM warnings WHERE project_id = $1 ORDER BY last_at, type, distinct_id
		LIMIT (SELECT CASE WHEN COUNT(*) > $2 THEN COUNT(*) - $2 ELSE 0 END FROM warnings WHERE project_id = $1))`
)

var upsertUsage = newInsert(`INSERT INTO usage (organization_id, resource, day, project_id, n)`, 5,
	`ON CONFLICT (organization_id, resource, day, project_id) DO UPDATE SET n = usage.n + excluded.n`)

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
	return t.insert(&upsertUsage, len(rows), func(args []any, i int) []any {
		k := rows[i]
		return append(args, k.organization, k.resource, k.day, k.project, sums[k])
	})
}
