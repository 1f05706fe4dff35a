package featureflags

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// WhoFields are those of the body that asks who has which value of a flag, and who would
// have which after a change that is not made (console.md N6).
var WhoFields = management.Fields{
	{Name: "filters", Type: management.Object, Null: true, Help: "those of the flag after the change; absent: its own"},
	{Name: "active", Type: management.Bool, Null: true, Help: "whether it is on after the change; absent: as it is, of a new flag true"},
	{Name: "key", Type: management.Text, Null: true, Blank: true, MaxLength: 400, Help: "of a flag that is not saved yet"},
	{Name: "value", Type: management.Text, Null: true, Help: "only people who have this value after the change: true, false or a variant"},
	{Name: "changed", Type: management.Bool, Help: "true: only people whose value changes"},
	{Name: "search", Type: management.Text, Null: true, Blank: true, MaxLength: 200, Help: "a part of the name or of a distinct id"},
	{Name: "limit", Type: management.Int, Null: true, Help: "people a page, 1 to 200, 50 by default"},
	{Name: "cursor", Type: management.Text, Null: true, Blank: true, Help: "next of the page before"},
}

// Who is who has which value.
type Who struct {
	// Counts are people or groups by value now, After those after the change.
	Counts      map[string]int  `json:"counts"`
	After       map[string]int  `json:"after"`
	Transitions []whoTransition `json:"transitions"`
	Changed     int             `json:"changed"`
	Total       int             `json:"of"`
	Exact       bool            `json:"exact"`
	Sample      *int            `json:"sample"`  // how many were looked at where not all were
	Partial     bool            `json:"partial"` // time was over before all were looked at
	Results     []whoRow        `json:"results"`
	Next        *string         `json:"next"`
}

type whoTransition struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Count int    `json:"count"`
}

type whoRow struct {
	Person    whoPerson        `json:"person"`
	Before    string           `json:"before"`
	After     string           `json:"after"`
	Reason    flags.ReasonCode `json:"reason"`
	Condition *int             `json:"condition_index"`
}

// whoPerson is a person, or a group with its key as the name.
type whoPerson struct {
	UUID       string `json:"uuid,omitempty"`
	Name       string `json:"name"`
	DistinctID string `json:"distinct_id,omitempty"`
}

// Bounds of one answer.
const (
	defaultWho = 50
	maxWho     = 200
	whoTimeout = 5 * time.Second
)

// whoSearch is a question of who as it is answered.
type whoSearch struct {
	before, after *preview // nil: the flag is off or not there
	index         *int     // of the group type that it is about, nil for people
	value, search string
	changed       bool
	limit, skip   int
	transitions   map[[2]string]int
	matched       int // rows so far
	deadline      time.Time
	out           Who
}

// Who says who has which value of a flag by what is stored of them, and how a change
// would move them. An id of 0 is a flag that is not saved yet. Up to 100,000 persons all
// are looked at, above that a random sample.
func (s Flags) Who(ctx context.Context, scope *management.Scope, id int64, b management.Body) (*Who, error) {
	v, err := WhoFields.Change(b)
	if err != nil {
		return nil, err
	}
	l := &whoSearch{transitions: map[[2]string]int{}, changed: v.Bool("changed"), value: v.Text("value"), search: strings.ToLower(v.Text("search"))}
	l.out = Who{Counts: map[string]int{}, After: map[string]int{}, Transitions: []whoTransition{}, Results: []whoRow{}, Exact: true}
	if err := l.readPage(v); err != nil {
		return nil, err
	}
	if err := s.Env.Store.Read(ctx, func(tx Tx) error { return s.prepareWho(tx, scope, id, v, l) }); err != nil {
		return nil, err
	}
	if s.People != nil {
		l.deadline = time.Now().Add(whoTimeout)
		err = s.scanWho(ctx, scope, l)
	}
	l.finish()
	return &l.out, cmp.Or(err, ctx.Err())
}

func (l *whoSearch) readPage(v management.Values) error {
	l.limit = defaultWho
	if v.Has("limit") && !v.IsNull("limit") {
		l.limit = int(v.Int("limit"))
	}
	if l.limit < 1 || l.limit > maxWho {
		return management.Fault("limit", "Ensure this value is between 1 and %d.", maxWho)
	}
	if cursor := v.Text("cursor"); cursor != "" {
		skip, err := strconv.Atoi(cursor)
		if err != nil || skip < 0 {
			return management.Fault("cursor", "Not a cursor of this list.")
		}
		l.skip = skip
	}
	return nil
}

// prepareWho makes ready what decides before and after the change.
func (s Flags) prepareWho(tx Tx, scope *management.Scope, id int64, v management.Values, l *whoSearch) error {
	current := &storedFlag{Project: scope.Project.ID, Key: cmp.Or(v.Text("key"), previewKey), Filters: []byte(`{"groups":[]}`)}
	if id != 0 {
		f, err := s.loadFlag(tx, scope, id)
		if err == nil {
			err = scope.RequireAccess(management.Viewer, f.accessObject())
		}
		if err == nil && f.Deleted {
			err = management.ErrNotFound()
		}
		if err != nil {
			return err
		}
		current = f
	}
	changed := *current
	changed.Active = current.Active || id == 0
	if v.Has("active") && !v.IsNull("active") {
		changed.Active = v.Bool("active")
	}
	if raw := v.Raw("filters"); isPresent(raw) {
		changed.Filters = raw
	}
	if err := changed.checkFilters(); err != nil {
		return err
	}
	l.index = changed.shape().Aggregation
	var err error
	if l.before, err = s.newPreview(tx, scope, current); err == nil {
		l.after, err = s.newPreview(tx, scope, &changed)
	}
	return err
}

// newPreview is what decides a flag, nil for one that is off.
func (s Flags) newPreview(tx Tx, scope *management.Scope, f *storedFlag) (*preview, error) {
	if !f.Active {
		return nil, nil
	}
	p := &preview{key: f.Key, people: s.People, core: s.core}
	var err error
	if p.set, err = s.compile(tx, scope, f); err != nil {
		return nil, err
	}
	if index := f.shape().Aggregation; index != nil {
		types, err := tx.GroupTypes(scope.Project.ID)
		if err != nil {
			return nil, err
		}
		p.groupType = types[*index]
	}
	return p, p.readMembers(tx, scope.Project.ID)
}

// scanWho goes over the persons, or the groups of the flag's type.
func (s Flags) scanWho(ctx context.Context, scope *management.Scope, l *whoSearch) error {
	project := scope.Project.ID
	if l.index != nil {
		return s.People.Groups(ctx, project, *l.index, func(key string, properties map[string]any) bool {
			return l.count(whoPerson{Name: key}, []string{key}, func(p *preview) flags.Subject {
				return flags.Subject{Groups: map[string]string{p.groupType: key}, Stored: &flags.Stored{Groups: map[string]flags.Properties{p.groupType: properties}}}
			})
		})
	}
	total, err := s.People.CountPersons(ctx, project)
	if err != nil {
		return err
	}
	count := func(person *Person) bool {
		return l.count(newWhoPerson(person), person.DistinctIDs, func(p *preview) flags.Subject { return p.subject(person) })
	}
	if total <= maxPlanned {
		return s.People.Persons(ctx, project, count)
	}
	seen := 0
	err = s.visitSample(ctx, scope, total, func(p *Person) {
		if !l.out.Partial {
			seen++
			count(p)
		}
	})
	l.out.Total, l.out.Exact, l.out.Sample = total, false, &seen
	return err
}

// newWhoPerson is a person by the best name that is stored.
func newWhoPerson(p *Person) whoPerson {
	out := whoPerson{UUID: p.UUID}
	if len(p.DistinctIDs) > 0 {
		out.DistinctID = p.DistinctIDs[0]
	}
	out.Name = out.DistinctID
	for _, name := range []string{"email", "name", "username"} {
		if text, ok := p.Properties[name].(string); ok && text != "" {
			out.Name = text
			break
		}
	}
	return out
}

// count decides for one of them; false ends the looking.
func (l *whoSearch) count(person whoPerson, ids []string, subject func(*preview) flags.Subject) bool {
	before, _ := l.before.valueFor(subject)
	after, reason := l.after.valueFor(subject)
	l.out.Total++
	l.out.Counts[before]++
	l.out.After[after]++
	if before != after {
		l.out.Changed++
	}
	l.transitions[[2]string{before, after}]++
	if l.matches(person, ids, before, after) {
		l.matched++
		if row := (whoRow{Person: person, Before: before, After: after, Reason: reason.Code}); l.matched > l.skip && len(l.out.Results) < l.limit {
			if reason.Condition != flags.NoCondition {
				row.Condition = &reason.Condition
			}
			l.out.Results = append(l.out.Results, row)
		}
	}
	if l.out.Total%1024 == 0 && time.Now().After(l.deadline) {
		l.out.Partial, l.out.Exact = true, false
	}
	return !l.out.Partial
}

func (l *whoSearch) matches(person whoPerson, ids []string, before, after string) bool {
	contains := func(text string) bool { return strings.Contains(strings.ToLower(text), l.search) }
	return (!l.changed || before != after) && (l.value == "" || l.value == after) &&
		(l.search == "" || contains(person.Name) || slices.ContainsFunc(ids, contains))
}

// valueFor is the value of the flag for somebody, false for one that is off.
func (p *preview) valueFor(subject func(*preview) flags.Subject) (string, flags.Reason) {
	if p == nil {
		return "false", flags.Reason{Condition: flags.NoCondition, Code: flags.FlagDisabled}
	}
	sub := subject(p)
	d, ok := p.set.EvaluateFlag(p.key, &sub, p.core.Env.Now(), &p.answers)
	switch {
	case !ok || !d.Enabled:
		return "false", d.Reason
	case d.Variant != "":
		return d.Variant, d.Reason
	}
	return "true", d.Reason
}

// finish fills what is known when all were looked at.
func (l *whoSearch) finish() {
	for fromTo, count := range l.transitions {
		l.out.Transitions = append(l.out.Transitions, whoTransition{fromTo[0], fromTo[1], count})
	}
	slices.SortFunc(l.out.Transitions, func(a, b whoTransition) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	if l.out.Sample != nil { // as many of all as of the sample
		share := float64(l.out.Total) / float64(max(*l.out.Sample, 1))
		l.out.Changed = int(share*float64(l.out.Changed) + 0.5)
	} else if returned := l.skip + len(l.out.Results); l.matched > returned {
		next := strconv.Itoa(returned)
		l.out.Next = &next
	}
}
