package featureflags

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// maxPlanned limits the persons that a plan evaluates. If there are more, it evaluates a random
// sample of this size (decision 27).
const maxPlanned = 100_000

// errPlanOnly rolls back the transaction in which a plan applied the document.
var errPlanOnly = errors.New("planned")

// Plan returns the result that Apply would have, and the number of persons for whom each changed
// flag would have a different value. It stores no changes: the document is applied in a transaction
// that is rolled back. Changes that need an approval are planned too.
func (s Flags) Plan(ctx context.Context, scope *management.Scope, b management.Body, prune bool) (*DocumentResult, error) {
	parsed, err := readDocument(b)
	if err != nil {
		return nil, err
	}
	var out *DocumentResult
	var before, after *decider
	err = s.Env.Store.Write(ctx, func(tx storeTx) (err error) {
		if before, err = newDecider(tx, scope); err != nil {
			return err
		}
		if out, err = s.applyDocument(tx, scope, parsed, prune, &storedflags.Approval{}); err != nil {
			return err
		}
		// The second decider reads the changed state within the same transaction.
		if after, err = newDecider(tx, scope); err != nil {
			return err
		}
		return errPlanOnly
	})
	if !errors.Is(err, errPlanOnly) {
		return nil, err
	}
	return out, s.countChanged(ctx, scope, out, before, after)
}

// decider evaluates the flags of a project in the state of one moment.
type decider struct {
	set     *flags.Set
	members map[string][]int64 // ids of static cohorts, by distinct id
}

// newDecider compiles the flags and cohorts of a project in the state that tx sees.
func newDecider(tx storeTx, scope *management.Scope) (*decider, error) {
	// The document has the form of the definitions that /flags reads.
	out := &decider{members: map[string][]int64{}}
	document := map[string]any{}
	for name, raw := range scope.Project.Settings {
		document[name] = raw
	}
	list, _, err := tx.Definitions(management.DefinitionQuery{Kind: management.FlagDefinition, Project: scope.Project.ID})
	if err != nil {
		return nil, err
	}
	records := make([]json.RawMessage, len(list))
	for i := range list {
		records[i] = list[i].Record
	}
	cohorts, _, err := tx.Definitions(management.DefinitionQuery{Kind: management.CohortDefinition, Project: scope.Project.ID})
	if err != nil {
		return nil, err
	}
	byID := map[string]json.RawMessage{}
	for i := range cohorts {
		byID[strconv.FormatInt(cohorts[i].ID, 10)] = cohorts[i].Record
		// Only static cohorts have stored members; the members of dynamic cohorts are computed.
		if !bytes.Contains(cohorts[i].Record, []byte(`"is_static":true`)) {
			continue
		}
		ids, err := tx.Members(scope.Project.ID, cohorts[i].ID, "", management.MaxScan)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			out.members[id] = append(out.members[id], cohorts[i].ID)
		}
	}
	types, err := tx.GroupTypes(scope.Project.ID)
	if err != nil {
		return nil, err
	}
	document["flags"], document["cohorts"], document["group_type_mapping"] = records, byID, types
	definitions, err := flags.ParseDefinitions(storage.Encode(document))
	if err != nil {
		return nil, err
	}
	out.set = flags.Compile(definitions)
	return out, addPinnedMembers(tx, scope.Project.ID, out.set, out.members)
}

// countChanged sets, for each flag of a result, the number of persons for whom its value changes.
// It evaluates all flags of the project for each person, so a change through a changed cohort or a
// changed flag on which the flag depends is counted too.
func (s Flags) countChanged(ctx context.Context, scope *management.Scope, out *DocumentResult, before, after *decider) error {
	// Without persons or changes there is no need to evaluate.
	if s.People == nil || len(out.Changes) == 0 {
		return nil
	}
	total, err := s.People.CountPersons(ctx, scope.Project.ID)
	if err != nil {
		return err
	}
	changed := newValueCount(out)
	counted := 0
	// All evaluations use the same current time.
	now := s.Env.Now()
	var valuesBefore, valuesAfter flags.Decisions
	count := func(p *management.Person) {
		counted++
		before.decide(p, now, &valuesBefore)
		after.decide(p, now, &valuesAfter)
		changed.add(&valuesBefore, &valuesAfter)
	}
	sample := total > maxPlanned
	if !sample {
		err = s.People.Persons(ctx, scope.Project.ID, func(p *management.Person) bool { count(p); return counted < maxPlanned })
	} else {
		err = s.visitSample(ctx, scope, total, count)
	}
	if err != nil {
		return err
	}
	for i := range out.Changes {
		if c := &out.Changes[i]; c.Kind == "flag" {
			c.People = &peopleChange{Changed: changed.counts[i], Counted: counted, Total: max(total, counted), Sample: sample}
		}
	}
	return nil
}

// valueCount counts, for each changed flag, the persons for whom its value changes. It passes over
// each list of decisions only once for each person, since a project may have many flags.
type valueCount struct {
	positions     map[string]int // index in the list of changes, by the key of the flag
	before, after []string       // values for the current person, by index
	// counts has the number of persons with a different value, by index.
	counts []int
}

// newValueCount returns a counter for the changes of a result.
func newValueCount(out *DocumentResult) *valueCount {
	n := len(out.Changes)
	v := &valueCount{positions: map[string]int{}, before: make([]string, n), after: make([]string, n), counts: make([]int, n)}
	for i, c := range out.Changes {
		if c.Kind == "flag" {
			v.positions[c.Name] = i
		}
	}
	return v
}

// add compares the decisions for one person before and after the change.
func (v *valueCount) add(before, after *flags.Decisions) {
	for list, values := range map[*flags.Decisions][]string{before: v.before, after: v.after} {
		// Flags without a decision keep the value "".
		clear(values)
		for i := range list.List {
			if position, ok := v.positions[list.List[i].Key]; ok {
				values[position] = valueOf(&list.List[i])
			}
		}
	}
	for i := range v.counts {
		if v.before[i] != v.after[i] {
			v.counts[i]++
		}
	}
}

// visitSample calls visit for maxPlanned persons out of total, chosen at random with equal chances.
// It is selection sampling: each person is chosen with the probability needed / remaining.
func (s Flags) visitSample(ctx context.Context, scope *management.Scope, total int, visit func(*management.Person)) error {
	needed, remaining := maxPlanned, total
	return s.People.Persons(ctx, scope.Project.ID, func(p *management.Person) bool {
		if remaining > 0 && rand.IntN(remaining) < needed {
			visit(p)
			needed--
		}
		remaining--
		return needed > 0
	})
}

// decide evaluates all flags for a person, like a request with the first distinct id of the person.
func (d *decider) decide(p *management.Person, now time.Time, out *flags.Decisions) {
	sub := flags.Subject{Stored: &flags.Stored{Person: p.Properties, CreatedAt: p.CreatedAt, Overrides: map[string]string{}}}
	if len(p.DistinctIDs) > 0 {
		sub.DistinctID = p.DistinctIDs[0]
	}
	for _, id := range p.DistinctIDs {
		sub.Stored.Cohorts = append(sub.Stored.Cohorts, d.members[id]...)
	}
	d.set.Select(&sub, now, &flags.Selection{Runtime: "all"}, out)
}

// valueOf returns the value of a decision as a string that can be compared.
func valueOf(d *flags.Decision) string {
	switch {
	case d == nil || !d.Enabled:
		return ""
	case d.Variant != "":
		return "=" + d.Variant
	}
	return "true"
}
