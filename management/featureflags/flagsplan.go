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

// errPlanned takes back what a plan has tried.
var errPlanned = errors.New("planned")

// Plan says what Apply would do, and for how many known people it would change a
// flag's value. Nothing is changed.
func (s Flags) Plan(ctx context.Context, st *management.Standing, b management.Body, prune bool) (*DocumentResult, error) {
	wanted, err := readDocument(b)
	if err != nil {
		return nil, err
	}
	var out *DocumentResult
	var before, after *decider
	err = s.Desk.Store.Write(ctx, func(tx Tx) (err error) {
		if before, err = deciderOf(tx, st); err != nil {
			return err
		}
		if out, err = s.applyDocument(tx, st, wanted, prune, &approval{}); err != nil {
			return err
		}
		if after, err = deciderOf(tx, st); err != nil {
			return err
		}
		return errPlanned
	})
	if !errors.Is(err, errPlanned) {
		return nil, err
	}
	return out, s.countChanged(ctx, st, out, before, after)
}

// decider is what decides the flags of a project at one moment.
type decider struct {
	set     *flags.Set
	members map[string][]int64 // static cohorts by distinct id
}

func deciderOf(tx Tx, st *management.Standing) (*decider, error) {
	out := &decider{members: map[string][]int64{}}
	document := map[string]any{}
	for name, raw := range st.Project.Settings {
		document[name] = raw
	}
	list, _, err := tx.Definitions(DefinitionQuery{Kind: FlagDefinition, Project: st.Project.ID})
	if err != nil {
		return nil, err
	}
	records := make([]json.RawMessage, len(list))
	for i := range list {
		records[i] = list[i].Record
	}
	cohorts, _, err := tx.Definitions(DefinitionQuery{Kind: CohortDefinition, Project: st.Project.ID})
	if err != nil {
		return nil, err
	}
	byID := map[string]json.RawMessage{}
	for i := range cohorts {
		byID[strconv.FormatInt(cohorts[i].ID, 10)] = cohorts[i].Record
		if !bytes.Contains(cohorts[i].Record, []byte(`"is_static":true`)) {
			continue
		}
		ids, err := tx.Members(st.Project.ID, cohorts[i].ID, "", management.MaxScan)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			out.members[id] = append(out.members[id], cohorts[i].ID)
		}
	}
	types, err := tx.GroupTypes(st.Project.ID)
	if err != nil {
		return nil, err
	}
	document["flags"], document["cohorts"], document["group_type_mapping"] = records, byID, types
	definitions, err := flags.ParseDefinitions(management.Encode(document))
	if err != nil {
		return nil, err
	}
	out.set = flags.Compile(definitions)
	return out, pinnedMembers(tx, st.Project.ID, out.set, out.members)
}

// countChanged counts for each flag of a result the people whose value it
// changes. Flags about groups, and those behind changed ones, count by their own
// value.
func (s Flags) countChanged(ctx context.Context, st *management.Standing, out *DocumentResult, before, after *decider) error {
	if s.People == nil || len(out.Changes) == 0 {
		return nil
	}
	of, err := s.People.CountPersons(ctx, st.Project.ID)
	if err != nil {
		return err
	}
	changed := newValueCount(out)
	counted := 0
	now := s.Desk.Now()
	var was, is flags.Decisions
	look := func(p *Person) {
		counted++
		before.decide(p, now, &was)
		after.decide(p, now, &is)
		changed.add(&was, &is)
	}
	sample := of > maxPlanned
	if !sample {
		err = s.People.Persons(ctx, st.Project.ID, func(p *Person) bool { look(p); return counted < maxPlanned })
	} else {
		err = s.sampled(ctx, st, of, look)
	}
	if err != nil {
		return err
	}
	for i := range out.Changes {
		if c := &out.Changes[i]; c.Kind == "flag" {
			c.People = &peopleChanged{Changed: changed.counts[i], Counted: counted, Of: max(of, counted), Sample: sample}
		}
	}
	return nil
}

// valueCount counts by change for how many persons a flag has another value. Each
// list of decisions is gone through once a person.
type valueCount struct {
	places  map[string]int // of flags among the changes
	was, is []string       // values of the person that is looked at
	counts  []int
}

func newValueCount(out *DocumentResult) *valueCount {
	n := len(out.Changes)
	v := &valueCount{places: map[string]int{}, was: make([]string, n), is: make([]string, n), counts: make([]int, n)}
	for i, c := range out.Changes {
		if c.Kind == "flag" {
			v.places[c.Name] = i
		}
	}
	return v
}

func (v *valueCount) add(was, is *flags.Decisions) {
	for list, values := range map[*flags.Decisions][]string{was: v.was, is: v.is} {
		clear(values)
		for i := range list.List {
			if place, ok := v.places[list.List[i].Key]; ok {
				values[place] = valueOf(&list.List[i])
			}
		}
	}
	for i := range v.counts {
		if v.was[i] != v.is[i] {
			v.counts[i]++
		}
	}
}

// sampled looks at some persons, each with the same chance.
func (s Flags) sampled(ctx context.Context, st *management.Standing, of int, look func(*Person)) error {
	wanted, left := maxPlanned, of
	return s.People.Persons(ctx, st.Project.ID, func(p *Person) bool {
		if left > 0 && rand.IntN(left) < wanted {
			look(p)
			wanted--
		}
		left--
		return wanted > 0
	})
}

// decide decides all flags for a person, as a request with the first distinct id
// would be.
func (d *decider) decide(p *Person, at time.Time, out *flags.Decisions) {
	sub := flags.Subject{Stored: &flags.Stored{Person: p.Properties, CreatedAt: p.CreatedAt, Overrides: map[string]string{}}}
	if len(p.DistinctIDs) > 0 {
		sub.DistinctID = p.DistinctIDs[0]
	}
	for _, id := range p.DistinctIDs {
		sub.Stored.Cohorts = append(sub.Stored.Cohorts, d.members[id]...)
	}
	d.set.Select(&sub, at, &flags.Selection{Runtime: "all"}, out)
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
