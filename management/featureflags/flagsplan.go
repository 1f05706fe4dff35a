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
)

// maxPlanned is how many persons a plan looks at: all where there are no more,
// else a random sample of that size (decision 27).
const maxPlanned = 100_000

// errPlanOnly takes back what a plan has tried.
var errPlanOnly = errors.New("planned")

// Plan says what Apply would do, and for how many known people it would change a
// flag's value. Nothing is changed.
func (s Flags) Plan(ctx context.Context, scope *management.Scope, b management.Body, prune bool) (*DocumentResult, error) {
	parsed, err := readDocument(b)
	if err != nil {
		return nil, err
	}
	var out *DocumentResult
	var before, after *decider
	err = s.Env.Store.Write(ctx, func(tx Tx) (err error) {
		if before, err = newDecider(tx, scope); err != nil {
			return err
		}
		if out, err = s.applyDocument(tx, scope, parsed, prune, &approval{}); err != nil {
			return err
		}
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

// decider is what decides the flags of a project at one moment.
type decider struct {
	set     *flags.Set
	members map[string][]int64 // static cohorts by distinct id
}

func newDecider(tx Tx, scope *management.Scope) (*decider, error) {
	out := &decider{members: map[string][]int64{}}
	document := map[string]any{}
	for name, raw := range scope.Project.Settings {
		document[name] = raw
	}
	list, _, err := tx.Definitions(DefinitionQuery{Kind: FlagDefinition, Project: scope.Project.ID})
	if err != nil {
		return nil, err
	}
	records := make([]json.RawMessage, len(list))
	for i := range list {
		records[i] = list[i].Record
	}
	cohorts, _, err := tx.Definitions(DefinitionQuery{Kind: CohortDefinition, Project: scope.Project.ID})
	if err != nil {
		return nil, err
	}
	byID := map[string]json.RawMessage{}
	for i := range cohorts {
		byID[strconv.FormatInt(cohorts[i].ID, 10)] = cohorts[i].Record
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
	definitions, err := flags.ParseDefinitions(management.Encode(document))
	if err != nil {
		return nil, err
	}
	out.set = flags.Compile(definitions)
	return out, addPinnedMembers(tx, scope.Project.ID, out.set, out.members)
}

// countChanged counts for each flag of a result the people whose value it
// changes. Flags about groups, and those behind changed ones, count by their own
// value.
func (s Flags) countChanged(ctx context.Context, scope *management.Scope, out *DocumentResult, before, after *decider) error {
	if s.People == nil || len(out.Changes) == 0 {
		return nil
	}
	total, err := s.People.CountPersons(ctx, scope.Project.ID)
	if err != nil {
		return err
	}
	changed := newValueCount(out)
	counted := 0
	now := s.Env.Now()
	var valuesBefore, valuesAfter flags.Decisions
	count := func(p *Person) {
		counted++
		before.decide(p, now, &valuesBefore)
		after.decide(p, now, &valuesAfter)
		changed.add(&valuesBefore, &valuesAfter)
	}
	sample := total > maxPlanned
	if !sample {
		err = s.People.Persons(ctx, scope.Project.ID, func(p *Person) bool { count(p); return counted < maxPlanned })
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

// valueCount counts by change for how many persons a flag has another value. Each
// list of decisions is gone through once a person.
type valueCount struct {
	positions     map[string]int // of flags among the changes
	before, after []string       // values of the person that is looked at
	counts        []int
}

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

func (v *valueCount) add(before, after *flags.Decisions) {
	for list, values := range map[*flags.Decisions][]string{before: v.before, after: v.after} {
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

// visitSample looks at some persons, each with the same chance.
func (s Flags) visitSample(ctx context.Context, scope *management.Scope, total int, visit func(*Person)) error {
	needed, remaining := maxPlanned, total
	return s.People.Persons(ctx, scope.Project.ID, func(p *Person) bool {
		if remaining > 0 && rand.IntN(remaining) < needed {
			visit(p)
			needed--
		}
		remaining--
		return needed > 0
	})
}

// decide decides all flags for a person, as a request with the first distinct id
// would be.
func (d *decider) decide(p *Person, now time.Time, out *flags.Decisions) {
	sub := flags.Subject{Stored: &flags.Stored{Person: p.Properties, CreatedAt: p.CreatedAt, Overrides: map[string]string{}}}
	if len(p.DistinctIDs) > 0 {
		sub.DistinctID = p.DistinctIDs[0]
	}
	for _, id := range p.DistinctIDs {
		sub.Stored.Cohorts = append(sub.Stored.Cohorts, d.members[id]...)
	}
	d.set.Select(&sub, now, &flags.Selection{Runtime: "all"}, out)
}

// valueOf is a decision as it is compared.
func valueOf(d *flags.Decision) string {
	switch {
	case d == nil || !d.Enabled:
		return ""
	case d.Variant != "":
		return "=" + d.Variant
	}
	return "true"
}
