package featureflags

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// maxCounted is how many persons or groups a preview counts exactly; of more it
// looks at the newest, and concludes from them.
const maxCounted = 100_000

// maxMembers is how many members of static cohorts a preview keeps in memory.
const maxMembers = 1_000_000

// BlastRadiusFields are those of the body that asks whom a condition is for.
var BlastRadiusFields = management.Fields{
	{Name: "condition", Type: management.Object, Null: true, Help: "a group of a flag's filters; its rollout is not looked at"},
	{Name: "group_type_index", Type: management.Int, Null: true, Help: "count groups of this type instead of persons"},
}

// BlastRadius is how many persons or groups meet a condition.
type BlastRadius struct {
	Affected int `json:"users_affected"`
	Total    int `json:"total_users"`
	// Exact is false where there are more than maxCounted.
	Exact bool `json:"exact"`
}

// preview is a condition that is tried on everybody.
type preview struct {
	set       *flags.Set
	key       string                    // of the flag in it
	members   map[int64]map[string]bool // of static cohorts, by distinct id
	groupType string
	people    People
	answers   flags.Decisions
	core      *core
}

// previewKey is the key of the flag that a condition is tried with: no other one
// can have it.
const previewKey = " "

// BlastRadius counts whom a condition is for (§5.1.3).
func (s Flags) BlastRadius(ctx context.Context, scope *management.Scope, b management.Body) (*BlastRadius, error) {
	v, err := BlastRadiusFields.Change(b)
	if err != nil {
		return nil, err
	}
	if !v.Has("condition") || v.IsNull("condition") {
		return nil, management.Fault("", "Missing condition for which to get blast radius")
	}
	condition := anyObject(wire.Value(v.Raw("condition")))
	delete(condition, "rollout_percentage")
	delete(condition, "variant")
	delete(condition, "aggregation_group_type_index")
	filters := map[string]any{"groups": []any{condition}}
	var index *int64
	if management.SetNull(v, "group_type_index", &index); index != nil {
		filters["aggregation_group_type_index"] = json.Number(strconv.FormatInt(*index, 10))
	}
	f := &storedFlag{Project: scope.Project.ID, Key: previewKey, Filters: wire.MustEncode(filters)}
	if err := f.checkFilters(); err != nil {
		return nil, err
	}
	p := &preview{key: previewKey, people: s.People, core: s.core}
	err = s.Env.Store.Read(ctx, func(tx Tx) (err error) {
		if p.set, err = s.compile(tx, scope, f); err != nil {
			return err
		}
		if index != nil {
			types, err := tx.GroupTypes(scope.Project.ID)
			if err != nil {
				return err
			}
			p.groupType = types[int(*index)]
		}
		return p.readMembers(tx, scope.Project.ID)
	})
	switch {
	case err != nil:
		return nil, err
	case p.people == nil || index != nil && p.groupType == "":
		return &BlastRadius{Exact: true}, nil
	case index != nil:
		return p.groups(ctx, scope.Project.ID, int(*index))
	}
	return p.persons(ctx, scope.Project.ID)
}

// readMembers reads the static cohorts that the condition asks for.
func (p *preview) readMembers(tx Tx, project int64) error {
	const page = 10_000
	p.members = map[int64]map[string]bool{}
	remaining := maxMembers
	for _, id := range p.set.Needs().Cohorts {
		p.members[id] = map[string]bool{}
		for after := ""; ; {
			list, err := tx.Members(project, id, after, page)
			if err != nil {
				return err
			}
			for _, member := range list {
				p.members[id][member] = true
			}
			if remaining -= len(list); remaining < 0 {
				return management.Fault("condition", "The static cohorts of the condition have more than %d members.", maxMembers)
			}
			if len(list) < page {
				break
			}
			after = list[len(list)-1]
		}
	}
	return nil
}

// matches tries the condition on one subject.
func (p *preview) matches(sub *flags.Subject) bool {
	d, ok := p.set.EvaluateFlag(p.key, sub, p.core.Env.Now(), &p.answers)
	return ok && d.Enabled
}

// subject is a person as flags see one.
func (p *preview) subject(person *Person) flags.Subject {
	sub := flags.Subject{Stored: &flags.Stored{Person: person.Properties, CreatedAt: person.CreatedAt}}
	if len(person.DistinctIDs) > 0 {
		sub.DistinctID = person.DistinctIDs[0]
	}
	for id, members := range p.members {
		if slices.ContainsFunc(person.DistinctIDs, func(distinctID string) bool { return members[distinctID] }) {
			sub.Stored.Cohorts = append(sub.Stored.Cohorts, id)
		}
	}
	return sub
}

func (p *preview) persons(ctx context.Context, project int64) (*BlastRadius, error) {
	total, err := p.people.CountPersons(ctx, project)
	if err != nil {
		return nil, err
	}
	seen, matched := 0, 0
	err = p.people.Persons(ctx, project, func(person *Person) bool {
		if sub := p.subject(person); p.matches(&sub) {
			matched++
		}
		seen++
		return seen < maxCounted
	})
	if seen < maxCounted {
		total = seen // persons may have come or gone since they were counted
	}
	return estimate(seen, matched, max(total, seen)), cmp.Or(err, ctx.Err())
}

func (p *preview) groups(ctx context.Context, project int64, index int) (*BlastRadius, error) {
	seen, matched := 0, 0
	err := p.people.Groups(ctx, project, index, func(key string, properties map[string]any) bool {
		if seen++; seen > maxCounted { // the others are only counted
			return true
		}
		sub := flags.Subject{
			Groups: map[string]string{p.groupType: key},
			Stored: &flags.Stored{Groups: map[string]flags.Properties{p.groupType: properties}},
		}
		if p.matches(&sub) {
			matched++
		}
		return true
	})
	return estimate(min(seen, maxCounted), matched, seen), cmp.Or(err, ctx.Err())
}

// estimate is the result for all, of those that were looked at.
func estimate(seen, matched, total int) *BlastRadius {
	out := &BlastRadius{Affected: matched, Total: total, Exact: seen == total}
	if !out.Exact && seen > 0 {
		out.Affected = int(math.Round(float64(matched) / float64(seen) * float64(total)))
	}
	return out
}

// MyFlag is an active flag, and what it is for whoever asks.
type MyFlag struct {
	Flag  json.RawMessage `json:"feature_flag"` // a minimal flag
	Value any             `json:"value"`
}

// listedFlag is a flag that can be answered, or is switched off.
type listedFlag struct {
	Key     string
	Active  bool
	Minimal json.RawMessage
}

// ListAll are the flags that are not deleted, newest first.
func (s Flags) ListAll(ctx context.Context, scope *management.Scope) ([]listedFlag, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (out []listedFlag, err error) {
		list, _, err := tx.Definitions(DefinitionQuery{Kind: FlagDefinition, Project: scope.Project.ID})
		for i := range list {
			f, err := decodeFlag(scope.Project.ID, &list[i])
			if err != nil {
				return nil, err
			}
			if !f.Hidden && scope.CanSee(f.accessObject()) {
				out = append(out, listedFlag{f.Key, f.Active, encodeMinimalFlag(f)})
			}
		}
		return out, err
	})
}

// hiddenIDs are the ids of the flags that rules hide from the caller.
func (s Flags) hiddenIDs(ctx context.Context, scope *management.Scope) (map[string]bool, error) {
	if !scope.IsRestricted() {
		return nil, nil
	}
	return management.Read(ctx, &s.Env, func(tx Tx) (map[string]bool, error) {
		list, _, err := tx.Definitions(DefinitionQuery{Kind: FlagDefinition, Project: scope.Project.ID})
		out := map[string]bool{}
		for i := range list {
			f, err := decodeFlag(scope.Project.ID, &list[i])
			if err != nil {
				return nil, err
			}
			if !scope.CanSee(f.accessObject()) {
				out[f.itemID()] = true
			}
		}
		return out, err
	})
}

// BulkKeysFields are those of the body that asks for the keys of flags.
var BulkKeysFields = management.Fields{{Name: "ids", Type: management.Any, Help: "ids of flags, as numbers or texts"}}

// BulkKeys are the keys of flags by id. Warning names what are no ids.
type BulkKeys struct {
	Keys    map[string]string `json:"keys"`
	Warning string            `json:"warning,omitempty"`
}

// ErrNoFlagIDs says that none of the ids of a list can be one.
var ErrNoFlagIDs = management.Fault("", "Invalid flag IDs provided")

// BulkKeys finds the keys of flags; unknown ones are left out.
func (s Flags) BulkKeys(ctx context.Context, scope *management.Scope, b management.Body) (*BulkKeys, error) {
	v, err := BulkKeysFields.Change(b)
	if err != nil {
		return nil, err
	}
	out := &BulkKeys{Keys: map[string]string{}}
	var ids []int64
	var bad []string
	if v.IsNull("ids") || !v.Has("ids") {
		return out, nil
	}
	field := management.Field{Name: "ids"}
	list, err := management.Items(&field, v.Raw("ids"), management.JSONKind(v.Raw("ids")))
	if err != nil {
		return nil, err
	}
	for _, raw := range list {
		if id, ok := management.Integer(raw, management.JSONKind(raw)); ok {
			ids = append(ids, id)
		} else {
			bad = append(bad, plainText(wire.Value(raw)))
		}
	}
	if len(ids) == 0 && len(bad) > 0 {
		return nil, ErrNoFlagIDs
	}
	if len(bad) > 0 {
		out.Warning = "Invalid flag IDs ignored: " + plainText(bad)
	}
	return management.Read(ctx, &s.Env, func(tx Tx) (*BulkKeys, error) {
		for _, id := range ids {
			d, err := tx.Definition(FlagDefinition, scope.Project.ID, id)
			if err != nil {
				return nil, err
			}
			if d == nil {
				continue
			}
			f, err := decodeFlag(scope.Project.ID, d)
			if err != nil {
				return nil, err
			}
			if scope.CanSee(f.accessObject()) {
				out.Keys[strconv.FormatInt(id, 10)] = d.Key
			}
		}
		return out, nil
	})
}
