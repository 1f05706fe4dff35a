package featureflags

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// maxCounted is the number of persons or groups that a preview evaluates. If there are more, the
// result is extrapolated from the newest.
const maxCounted = 100_000

// maxMembers limits the members of static cohorts that a preview reads into memory.
const maxMembers = 1_000_000

// blastRadiusFields are the fields of the request that counts who meets a condition.
var blastRadiusFields = management.Fields{
	{Name: "condition", Type: management.Object, Null: true, Help: "one of the groups in a flag's filters; its rollout percentage is ignored"},
	{Name: "group_type_index", Type: management.Int, Null: true, Help: "count groups of the type with this index instead of persons"},
}

// blastRadius is the number of persons or groups that meet a condition.
type blastRadius struct {
	// Affected is the number that meet the condition, extrapolated if Exact is false.
	Affected int `json:"users_affected"`
	// Total is the number of all persons, or of all groups of the type.
	Total int `json:"total_users"`
	// Exact is false if there are more than maxCounted persons or groups.
	Exact bool `json:"exact"`
}

// preview evaluates one flag for persons and groups as they are stored. It is used for conditions
// that are not saved yet, which it compiles as a flag with the key PreviewKey. A preview must not
// be used from several goroutines, since answers is reused.
type preview struct {
	// set has the flag, with the flags and cohorts to which it refers.
	set     *flags.Set
	key     string                    // of the flag to evaluate
	members map[int64]map[string]bool // of static cohorts, by distinct id
	// groupType is the name of the group type; empty for flags about persons.
	groupType string
	// people is nil if the service reads no persons.
	people management.People
	// answers is the buffer of EvaluateFlag.
	answers flags.Decisions
	core    *core
}

// BlastRadius counts the persons or groups that meet a condition (§5.1.3). The rollout percentage
// and the variant of the condition are ignored.
func (s Flags) BlastRadius(ctx context.Context, scope *management.Scope, b management.Body) (*blastRadius, error) {
	v, err := blastRadiusFields.Change(b)
	if err != nil {
		return nil, err
	}
	if !v.Has("condition") || v.IsNull("condition") {
		return nil, management.Fault("", "Missing condition for which to get blast radius")
	}
	// The rollout and the variant do not affect who meets the condition.
	condition := definitions.Object(wire.Value(v.Raw("condition")))
	delete(condition, "rollout_percentage")
	delete(condition, "variant")
	delete(condition, "aggregation_group_type_index")
	filters := map[string]any{"groups": []any{condition}}
	var index *int64
	if management.SetNull(v, "group_type_index", &index); index != nil {
		filters["aggregation_group_type_index"] = json.Number(strconv.FormatInt(*index, 10))
	}
	f := &storedflags.Flag{Project: scope.Project.ID, Key: storedflags.PreviewKey, Filters: wire.MustEncode(filters)}
	if err := f.CheckFilters(); err != nil {
		return nil, err
	}
	p := &preview{key: storedflags.PreviewKey, people: s.People, core: s.core}
	err = s.Env.Store.Read(ctx, func(tx storeTx) (err error) {
		if p.set, err = s.stored.Compile(tx, scope, f); err != nil {
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
	// The evaluation runs outside of the transaction, which would otherwise be open for as long as
	// all persons are read.
	switch {
	case err != nil:
		return nil, err
	case p.people == nil || index != nil && p.groupType == "":
		return &blastRadius{Exact: true}, nil
	case index != nil:
		return p.groups(ctx, scope.Project.ID, int(*index))
	}
	return p.persons(ctx, scope.Project.ID)
}

// readMembers reads the members of the static cohorts to which the set refers. It fails if they
// have more than maxMembers members.
func (p *preview) readMembers(tx storeTx, project int64) error {
	const page = 10_000
	p.members = map[int64]map[string]bool{}
	remaining := maxMembers
	for _, id := range p.set.Needs().Cohorts {
		// Read the members page by page, since a cohort may be large.
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

// matches reports whether the flag is enabled for a subject.
func (p *preview) matches(sub *flags.Subject) bool {
	d, ok := p.set.EvaluateFlag(p.key, sub, p.core.Env.Now(), &p.answers)
	return ok && d.Enabled
}

// subject returns the subject of a stored person, with the static cohorts of all its distinct ids.
// The distinct id for the rollout is the first one, as in a request.
func (p *preview) subject(person *management.Person) flags.Subject {
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

// persons counts the persons who meet the condition. It evaluates at most maxCounted persons, the
// newest.
func (p *preview) persons(ctx context.Context, project int64) (*blastRadius, error) {
	total, err := p.people.CountPersons(ctx, project)
	if err != nil {
		return nil, err
	}
	seen, matched := 0, 0
	err = p.people.Persons(ctx, project, func(person *management.Person) bool {
		if sub := p.subject(person); p.matches(&sub) {
			matched++
		}
		seen++
		return seen < maxCounted
	})
	if seen < maxCounted {
		total = seen // persons may have been added or deleted after CountPersons
	}
	return estimateRadius(seen, matched, max(total, seen)), cmp.Or(err, ctx.Err())
}

// groups counts the groups of a type that meet the condition. It evaluates at most maxCounted
// groups.
func (p *preview) groups(ctx context.Context, project int64, index int) (*blastRadius, error) {
	seen, matched := 0, 0
	err := p.people.Groups(ctx, project, index, func(key string, properties map[string]any) bool {
		if seen++; seen > maxCounted { // the rest is only counted
			return true
		}
		sub := flags.Subject{
			Groups: map[string]string{p.groupType: key},
			// The properties of the group are passed with the subject, so the engine loads no data.
			Stored: &flags.Stored{Groups: map[string]flags.Properties{p.groupType: properties}},
		}
		if p.matches(&sub) {
			matched++
		}
		return true
	})
	return estimateRadius(min(seen, maxCounted), matched, seen), cmp.Or(err, ctx.Err())
}

// estimateRadius returns the result for total subjects, of which matched out of the evaluated seen
// subjects meet the condition.
func estimateRadius(seen, matched, total int) *blastRadius {
	affected, exact := definitions.Extrapolate(seen, matched, total)
	return &blastRadius{Affected: affected, Total: total, Exact: exact}
}

// MyFlag is an active flag with its value for the caller.
type MyFlag struct {
	// Flag is a minimalFlag, and Value the flag's value: true, false or the key of a variant.
	Flag  json.RawMessage `json:"feature_flag"`
	Value any             `json:"value"`
}

// listedFlag is a flag in the result of ListAll.
type listedFlag struct {
	// Key and Active are as in Flag.
	Key    string
	Active bool
	// Minimal is a minimalFlag.
	Minimal json.RawMessage
}

// ListAll returns the flags that the caller may see, newest first, without deleted and hidden
// flags.
func (s Flags) ListAll(ctx context.Context, scope *management.Scope) ([]listedFlag, error) {
	return management.Read(ctx, &s.Env, func(tx storeTx) (out []listedFlag, err error) {
		list, _, err := tx.Definitions(management.DefinitionQuery{Kind: management.FlagDefinition, Project: scope.Project.ID})
		for i := range list {
			f, err := storedflags.Decode(scope.Project.ID, &list[i])
			if err != nil {
				return nil, err
			}
			if !f.Hidden && scope.CanSee(f.AccessObject()) {
				out = append(out, listedFlag{f.Key, f.Active, storedflags.EncodeMinimal(f)})
			}
		}
		return out, err
	})
}

// bulkKeysFields are the fields of the request for the keys of several flags.
var bulkKeysFields = management.Fields{{Name: "ids", Type: management.Any, Help: "ids of flags, as numbers or strings"}}

// BulkKeys are the keys of flags by id. Warning lists the values of the request that are not ids;
// it is empty if all are.
type BulkKeys struct {
	Keys    map[string]string `json:"keys"`
	Warning string            `json:"warning,omitempty"`
}

// ErrNoFlagIDs is returned by BulkKeys if no value of the list is an id.
var ErrNoFlagIDs = management.Fault("", "Invalid flag IDs provided")

// BulkKeys returns the keys of the flags with given ids. Unknown ids, and the ids of flags that the
// caller may not see, are omitted.
func (s Flags) BulkKeys(ctx context.Context, scope *management.Scope, b management.Body) (*BulkKeys, error) {
	v, err := bulkKeysFields.Change(b)
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
		if id, ok := plain.Integer(raw, management.JSONKind(raw)); ok {
			ids = append(ids, id)
		} else {
			bad = append(bad, storedflags.PlainText(wire.Value(raw)))
		}
	}
	if len(ids) == 0 && len(bad) > 0 {
		return nil, ErrNoFlagIDs
	}
	if len(bad) > 0 {
		out.Warning = "Invalid flag IDs ignored: " + storedflags.PlainText(bad)
	}
	return management.Read(ctx, &s.Env, func(tx storeTx) (*BulkKeys, error) {
		for _, id := range ids {
			d, err := tx.Definition(management.FlagDefinition, scope.Project.ID, id)
			if err != nil {
				return nil, err
			}
			if d == nil {
				continue
			}
			f, err := storedflags.Decode(scope.Project.ID, d)
			if err != nil {
				return nil, err
			}
			if scope.CanSee(f.AccessObject()) {
				out.Keys[strconv.FormatInt(id, 10)] = d.Key
			}
		}
		return out, nil
	})
}

// addPinnedMembers adds the persons of all pins of a set to members, the static cohorts by distinct
// id.
func addPinnedMembers(tx storeTx, project int64, set *flags.Set, members map[string][]int64) error {
	for _, cohort := range set.Needs().Cohorts {
		if cohort >= 0 {
			continue
		}
		ids, err := tx.Members(project, cohort, "", storedflags.MaxPinMembers)
		if err != nil {
			return err
		}
		for _, id := range ids {
			members[id] = append(members[id], cohort)
		}
	}
	return nil
}
