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
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// whoFields are the fields of the request that lists the values of persons, and their values after
// a change that is not saved (console.md N6).
var whoFields = management.Fields{
	{Name: "filters", Type: management.Object, Null: true, Help: "filters of the flag after the change; by default those of the flag"},
	{Name: "active", Type: management.Bool, Null: true, Help: "whether the flag is enabled after the change; by default as before, or true for a new flag"},
	{Name: "bucketing_hash", Type: management.Choice, Null: true, Choices: []string{"sha1", "murmur3"}, Help: "hash of the flag after the change, null for that of the project; by default as before"},
	{Name: "bucketing_identifier", Type: management.Choice, Null: true, Choices: []string{"distinct_id", "device_id"}, Help: "what is hashed after the change; by default as before"},
	{Name: "key", Type: management.Text, Null: true, Blank: true, MaxLength: 400, Help: "key of a flag that is not saved yet"},
	{Name: "value", Type: management.Text, Null: true, Help: "only persons who have this value after the change: true, false or the key of a variant"},
	{Name: "changed", Type: management.Bool, Help: "true: only persons whose value changes"},
	{Name: "search", Type: management.Text, Null: true, Blank: true, MaxLength: 200, Help: "text that the name or a distinct id contains"},
	{Name: "limit", Type: management.Int, Null: true, Help: "persons per page, 1 to 200, 50 by default"},
	{Name: "cursor", Type: management.Text, Null: true, Blank: true, Help: "value of next from the previous page"},
}

// Who is the distribution of the values of a flag, with a page of persons or groups.
type Who struct {
	// Counts are the numbers of persons or groups by current value, After the numbers by value
	// after the change.
	Counts map[string]int `json:"counts"`
	After  map[string]int `json:"after"`
	// Transitions has all pairs of values before and after, the most frequent first.
	Transitions []whoTransition `json:"transitions"`
	// Changed is the number of persons or groups with a different value, extrapolated from a
	// sample.
	Changed int `json:"changed"`
	// Total is the number of persons or groups.
	Total int `json:"of"`
	// Exact is false for a sample and for a partial result.
	Exact   bool `json:"exact"`
	Sample  *int `json:"sample"`  // number of evaluated persons if they are a sample, else null
	Partial bool `json:"partial"` // true if the time limit was reached before all were evaluated
	// Results is one page of the persons or groups that match the request.
	Results []whoRow `json:"results"`
	// Next is the cursor of the next page; null on the last page and for a sample.
	Next *string `json:"next"`
}

// whoTransition is the number of persons or groups whose value changes from From to To.
type whoTransition struct {
	// From and To are values: true, false or the key of a variant.
	From  string `json:"from"`
	To    string `json:"to"`
	Count int    `json:"count"`
}

// whoRow is the value of one person or group before and after the change. Reason and Condition
// explain the value after the change.
type whoRow struct {
	Person whoPerson        `json:"person"`
	Before string           `json:"before"`
	After  string           `json:"after"`
	Reason flags.ReasonCode `json:"reason"`
	// Condition is the index of the condition that determined the value, or null.
	Condition *int `json:"condition_index"`
}

// whoPerson is a person, or a group with its key as the name.
type whoPerson struct {
	// UUID and DistinctID are empty for groups.
	UUID       string `json:"uuid,omitempty"`
	Name       string `json:"name"`
	DistinctID string `json:"distinct_id,omitempty"`
}

// Limits of one response: persons on a page by default and at most, and the time for the
// evaluation.
const (
	defaultWho = 50
	maxWho     = 200
	whoTimeout = 5 * time.Second
)

// whoSearch is the state of one call of Who.
type whoSearch struct {
	before, after *preview // nil if the flag is off or does not exist
	index         *int     // index of the group type; nil for persons
	// value and search are the filters of the request; empty means all.
	value, search string
	// changed selects only persons whose value changes.
	changed     bool
	limit, skip int
	// transitions are numbers by value before and value after.
	transitions map[[2]string]int
	matched     int // persons so far that match the filters
	// deadline ends the evaluation; see whoTimeout.
	deadline time.Time
	out      Who
}

// Who evaluates a flag for the stored persons or groups, before and after a change, and returns the
// values. If id is 0, the flag is not saved yet. It evaluates all persons if there are at most
// 100,000, and a random sample otherwise. After whoTimeout it returns a partial result.
func (s Flags) Who(ctx context.Context, scope *management.Scope, id int64, b management.Body) (*Who, error) {
	v, err := whoFields.Change(b)
	if err != nil {
		return nil, err
	}
	l := &whoSearch{transitions: map[[2]string]int{}, changed: v.Bool("changed"), value: v.Text("value"), search: strings.ToLower(v.Text("search"))}
	l.out = Who{Counts: map[string]int{}, After: map[string]int{}, Transitions: []whoTransition{}, Results: []whoRow{}, Exact: true}
	if err := l.readPage(v); err != nil {
		return nil, err
	}
	if err := s.Env.Store.Read(ctx, func(tx storeTx) error { return s.prepareWho(tx, scope, id, v, l) }); err != nil {
		return nil, err
	}
	if s.People != nil {
		// Use the wall clock instead of Env.Now: the deadline limits the work and does not affect
		// the result.
		l.deadline = time.Now().Add(whoTimeout)
		err = s.scanWho(ctx, scope, l)
	}
	l.finish()
	return &l.out, cmp.Or(err, ctx.Err())
}

// readPage reads the size of the page and the cursor, which is the number of persons to skip.
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
			return management.Fault("cursor", "Invalid cursor: use the value of next from the previous page.")
		}
		l.skip = skip
	}
	return nil
}

// prepareWho compiles the flag before and after the change.
func (s Flags) prepareWho(tx storeTx, scope *management.Scope, id int64, v management.Values, l *whoSearch) error {
	current := &storedflags.Flag{Project: scope.Project.ID, Key: cmp.Or(v.Text("key"), storedflags.PreviewKey), Filters: []byte(`{"groups":[]}`)}
	if id != 0 {
		f, err := s.stored.Load(tx, scope, id)
		if err == nil {
			err = scope.RequireAccess(management.Viewer, f.AccessObject())
		}
		if err == nil && f.Deleted {
			err = management.ErrNotFound()
		}
		if err != nil {
			return err
		}
		current = f
	}
	// A flag that is not saved yet counts as active.
	changed := *current
	changed.Active = current.Active || id == 0
	if v.Has("active") && !v.IsNull("active") {
		changed.Active = v.Bool("active")
	}
	// Filters that were not sent stay as they are.
	if raw := v.Raw("filters"); !management.EmptyJSON(raw) {
		changed.Filters = raw
	}
	if v.Has("bucketing_hash") {
		changed.Hash = v.Text("bucketing_hash")
	}
	if v.Has("bucketing_identifier") {
		changed.Bucketing = v.Text("bucketing_identifier")
	}
	if err := changed.CheckFilters(); err != nil {
		return err
	}
	l.index = changed.Shape().Aggregation
	var err error
	if l.before, err = s.newPreview(tx, scope, current); err == nil {
		l.after, err = s.newPreview(tx, scope, &changed)
	}
	return err
}

// newPreview returns a preview that evaluates a flag, or nil if the flag is off.
func (s Flags) newPreview(tx storeTx, scope *management.Scope, f *storedflags.Flag) (*preview, error) {
	if !f.Active {
		return nil, nil
	}
	p := &preview{key: f.Key, people: s.People, core: s.core}
	var err error
	if p.set, err = s.stored.Compile(tx, scope, f); err != nil {
		return nil, err
	}
	if index := f.Shape().Aggregation; index != nil {
		types, err := tx.GroupTypes(scope.Project.ID)
		if err != nil {
			return nil, err
		}
		p.groupType = types[*index]
	}
	return p, p.readMembers(tx, scope.Project.ID)
}

// scanWho evaluates the flag for the persons, or for the groups if the flag is about groups.
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
	count := func(person *management.Person) bool {
		return l.count(newWhoPerson(person), person.DistinctIDs, func(p *preview) flags.Subject { return p.subject(person) })
	}
	if total <= maxPlanned {
		return s.People.Persons(ctx, project, count)
	}
	// The sample cannot be interrupted, so count is called only until the time limit is reached.
	seen := 0
	err = s.visitSample(ctx, scope, total, func(p *management.Person) {
		if !l.out.Partial {
			seen++
			count(p)
		}
	})
	l.out.Total, l.out.Exact, l.out.Sample = total, false, &seen
	return err
}

// newWhoPerson returns a person. Without a Name it is called by the first of the properties email,
// name and username that is set, or else by the first distinct id.
func newWhoPerson(p *management.Person) whoPerson {
	out := whoPerson{UUID: p.UUID}
	if len(p.DistinctIDs) > 0 {
		out.DistinctID = p.DistinctIDs[0]
	}
	if out.Name = p.Name; out.Name != "" {
		return out
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

// count evaluates the flag for one person or group. It returns false if the time limit was reached.
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
	// To save time, the clock is read only for every 1024th subject.
	if l.out.Total%1024 == 0 && time.Now().After(l.deadline) {
		l.out.Partial, l.out.Exact = true, false
	}
	return !l.out.Partial
}

// matches reports whether a person matches the filters of the request.
func (l *whoSearch) matches(person whoPerson, ids []string, before, after string) bool {
	contains := func(text string) bool { return strings.Contains(strings.ToLower(text), l.search) }
	return (!l.changed || before != after) && (l.value == "" || l.value == after) &&
		(l.search == "" || contains(person.Name) || slices.ContainsFunc(ids, contains))
}

// valueFor returns the value of the flag for a subject, with the reason. The value is "false" if
// the flag is off.
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

// finish sets the fields that depend on all persons: transitions, the extrapolated number of
// changes, and the cursor of the next page.
func (l *whoSearch) finish() {
	for fromTo, count := range l.transitions {
		l.out.Transitions = append(l.out.Transitions, whoTransition{fromTo[0], fromTo[1], count})
	}
	slices.SortFunc(l.out.Transitions, func(a, b whoTransition) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	if l.out.Sample != nil { // extrapolate from the sample to all persons
		share := float64(l.out.Total) / float64(max(*l.out.Sample, 1))
		l.out.Changed = int(share*float64(l.out.Changed) + 0.5)
	} else if returned := l.skip + len(l.out.Results); l.matched > returned {
		next := strconv.Itoa(returned)
		l.out.Next = &next
	}
}
