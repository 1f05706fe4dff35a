package management

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Activity is one line of the log of changes (§5.11).
type Activity struct {
	ID       string         `json:"id"`
	User     activityUser   `json:"user"`
	Activity string         `json:"activity"` // created, updated, deleted, ...
	Scope    string         `json:"scope"`    // kind of object, such as FeatureFlag
	ItemID   string         `json:"item_id"`
	Detail   ActivityDetail `json:"detail"`
	Created  Stamp          `json:"created_at"`
}

// activityUser is the author of a change, or the server itself.
type activityUser struct {
	FirstName string  `json:"first_name"`
	Email     *string `json:"email"`
	System    bool    `json:"is_system,omitempty"`
}

// ActivityDetail describes a change.
type ActivityDetail struct {
	ID      string   `json:"id,omitempty"`
	Changes []Change `json:"changes"`
	// Trigger names the job that changed the object; it is null for changes by people.
	Trigger json.RawMessage `json:"trigger"`
	Name    string          `json:"name"`
	ShortID *string         `json:"short_id"`
	Type    *string         `json:"type"`
	// Note is the author's reason for the change; empty if there is no reason.
	Note string `json:"change_note,omitempty"`
	// ApprovedBy are the e-mail addresses of the users who approved the change of a flag, and
	// ChangeRequest is the number of the approved request, or 0 (spec/console.md N12).
	ApprovedBy    []string `json:"approved_by,omitempty"`
	ChangeRequest int64    `json:"change_request,omitempty"`
	// Version is the object's version after the change, 0 for objects without versions.
	Version int64 `json:"-"`
	// System reports whether the server changed the object in the name of the user.
	System bool `json:"-"`
}

// Change is the change of one field. Before is nil for new values, After for deleted ones.
type Change struct {
	Type   string          `json:"type"`
	Action string          `json:"action"` // created, changed, deleted
	Field  string          `json:"field"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// unlogged are fields that the log does not compare, since they change with every change or follow
// from other fields. A name with a dot applies to one kind of object.
var unlogged = map[string]bool{
	"version": true, "updated_at": true, "last_modified_by": true, "last_called_at": true, "FeatureFlag.status": true,
	"created_at": true, "created_by": true, "id": true, "user_access_level": true,
}

// Changes compares two objects in their JSON form and returns the changed fields, sorted by name.
// nil stands for an object that does not exist.
func Changes(activityScope string, before, after any) ([]Change, error) {
	oldMembers, err := JSONMembers(before)
	if err != nil {
		return nil, err
	}
	newMembers, err := JSONMembers(after)
	if err != nil {
		return nil, err
	}
	names := maps.Clone(newMembers)
	if names == nil {
		names = map[string]json.RawMessage{}
	}
	maps.Copy(names, oldMembers)
	out := []Change{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, b := oldMembers[name], newMembers[name]
		if unlogged[name] || unlogged[activityScope+"."+name] || bytes.Equal(a, b) || EmptyJSON(a) && EmptyJSON(b) {
			continue
		}
		c := Change{Type: activityScope, Action: "changed", Field: name, Before: a, After: b}
		if EmptyJSON(a) {
			c.Action, c.Before = "created", nil
		} else if EmptyJSON(b) {
			c.Action, c.After = "deleted", nil
		}
		out = append(out, c)
	}
	return out, nil
}

// JSONMembers returns the members of the JSON form of a value, or nil if v is nil.
func JSONMembers(v any) (map[string]json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out map[string]json.RawMessage
	return out, json.Unmarshal(text, &out)
}

// LogActivity writes a line to the log in the transaction of the change. caller is nil for changes
// by the server itself, before is nil for created objects, and after for deleted ones. If no field
// differs no line is written.
func (d *Env[T]) LogActivity(tx Tx, caller *Caller, parent, activityScope, item, name string, before, after any) error {
	list, err := Changes(activityScope, before, after)
	if err != nil {
		return err
	}
	activity := "updated"
	switch {
	case before == nil:
		activity = "created"
	case after == nil:
		activity = "deleted"
	case len(list) == 0:
		return nil
	}
	return d.LogActivityAs(tx, caller, parent, activity, activityScope, item, ActivityDetail{Name: name, Changes: list})
}

// LogActivityAs is like LogActivity for activities other than created, updated and deleted, and for
// changes that the caller has compared itself: it writes detail as it is.
func (d *Env[T]) LogActivityAs(tx Tx, caller *Caller, parent, activity, activityScope, item string, detail ActivityDetail) error {
	n, err := tx.Next(storage.KindActivity)
	if err != nil {
		return err
	}
	a := storedActivity{Activity: Activity{
		ID: d.NewID(), Activity: activity, Scope: activityScope, ItemID: item, Created: NewStamp(d.Now()), Detail: detail,
		User: activityUser{FirstName: "System", System: true},
	}, Version: detail.Version}
	if caller != nil {
		email := caller.User.Email
		a.UserID, a.User = caller.User.ID, activityUser{FirstName: caller.User.FirstName, Email: &email, System: detail.System}
	}
	return tx.Put(&Record{
		Kind: storage.KindActivity, Parent: parent, ID: a.ID, Other: activityKey(parent, activityScope, item), Sort: storage.SortNumber(n), Data: storage.Encode(a),
	})
}

// activityKey returns the Record.Other of the lines about one object.
func activityKey(parent, activityScope, item string) string {
	return parent + "/" + activityScope + "/" + item
}

// activityPage is a page of the log, newest lines first. Total counts the lines of all pages.
type activityPage struct {
	Results []Activity
	Total   int
}

// ActivityQuery selects lines of the log and a page of them. Empty fields select all lines. Limit
// and Page must be at least 1; pages are numbered from 1.
type ActivityQuery struct {
	Scopes []string // kinds of objects, such as FeatureFlag
	Item   string
	User   string // number or uuid of the author
	// AccessChecked reports whether the reader's access to Item has already been checked.
	AccessChecked bool
	Limit, Page   int
}

// storedActivity is a line of the log as it is stored. UserID is the author's number, 0 for the
// server itself and in old lines without one.
type storedActivity struct {
	Activity
	UserID  int64 `json:"by,omitempty"`
	Version int64 `json:"version,omitempty"` // ActivityDetail.Version
}

// isBy reports whether a user is the author of the line. Lines without a number are compared by
// e-mail address.
func (a *storedActivity) isBy(u *User) bool {
	if a.UserID == 0 {
		return a.Activity.User.Email != nil && *a.Activity.User.Email == u.Email
	}
	return a.UserID == u.ID
}

// findUser returns a user by number or uuid, or nil.
func findUser(tx Tx, ref string) (*User, error) {
	if uuid, ok := NormalizeUUID(ref); ok {
		return UserByUUID(tx, uuid)
	}
	id, err := strconv.ParseInt(ref, 10, 64)
	if err != nil || id <= 0 {
		return nil, nil
	}
	return UserByNumber(tx, id)
}

// ActivityLog returns a page of the log of the scope's project, or outside of projects of its
// organization. It leaves out lines and fields about objects that rules hide from the caller.
func (s *Service) ActivityLog(ctx context.Context, scope *Scope, q ActivityQuery) (*activityPage, error) {
	return Read(ctx, &s.Env, func(tx Tx) (*activityPage, error) {
		out := &activityPage{Results: []Activity{}}
		var user *User
		if q.User != "" {
			var err error
			if user, err = findUser(tx, q.User); err != nil || user == nil { // an unknown user has no lines
				return out, err
			}
		}
		isVisible, err := q.lineFilter(tx, scope)
		if err != nil {
			return nil, err
		}
		list, count, err := tx.List(q.query(scope.Parent(), user, isVisible))
		if err != nil {
			return nil, err
		}
		out.Total = count
		for i := range list {
			a, err := Decode[Activity](&list[i])
			if err != nil {
				return nil, fmt.Errorf("the log: %w", err)
			}
			scope.trim(a)
			out.Results = append(out.Results, *a)
		}
		return out, nil
	})
}

// query returns the store's query for a page. If user or isVisible is nil, it selects lines of all
// users or all lines. Filters that no index covers run as Match.
func (q *ActivityQuery) query(parent string, user *User, isVisible func(*storedActivity) bool) Query {
	out := Query{Kind: storage.KindActivity, Parent: parent, Descending: true, Offset: (q.Page - 1) * q.Limit, Limit: q.Limit}
	scopes := q.Scopes
	if len(scopes) == 1 && q.Item != "" {
		out.Other, scopes = activityKey(parent, scopes[0], q.Item), nil
	}
	if len(scopes) > 0 || q.Item != "" && out.Other == "" || user != nil || isVisible != nil {
		out.Match = func(r *Record) bool {
			a, err := Decode[storedActivity](r)
			return err == nil && (len(scopes) == 0 || slices.Contains(scopes, a.Scope)) && (q.Item == "" || a.ItemID == q.Item) && (user == nil || a.isBy(user)) && (isVisible == nil || isVisible(a))
		}
	}
	return out
}

// kindsByScope maps Activity.Scope to the kind in access rules, for kinds that rules can hide.
var kindsByScope = map[string]string{
	"Action": "action", "Cohort": "cohort", "Dashboard": "dashboard", "Experiment": "experiment", "ExperimentHoldout": "experiment", "ExperimentSavedMetric": "experiment", "FeatureFlag": "feature_flag",
	"Insight": "insight", "Survey": "survey",
}

// referenceKinds maps fields that display other objects to the kind of those objects.
var referenceKinds = map[string]string{
	"feature_flag": "feature_flag", "feature_flag_key": "feature_flag", "feature_flag_keys": "feature_flag",
	"linked_flag": "feature_flag", "targeting_flag": "feature_flag", "internal_targeting_flag": "feature_flag",
	"insight": "insight", "insight_name": "insight", "insight_short_id": "insight", "insight_derived_name": "insight",
	"dashboard_name": "dashboard", "surveys": "survey", "links": "survey",
}

// hasHidden reports whether rules hide any objects of a kind from the caller. It does not consider
// that the caller may have created them.
func (scope *Scope) hasHidden(kind string) bool {
	if !scope.IsRestricted() {
		return false
	}
	for target := range scope.rules {
		if level, _ := scope.rules.level(kind, target.id); target.kind == kind && level == NoAccess {
			return true
		}
	}
	return false
}

// lineFilter returns a function that reports whether the reader may see a line, or nil if all lines
// are visible. Lines about objects that rules hide are not visible, except those of objects that
// the reader created, which the log itself shows by their lines "created".
func (q *ActivityQuery) lineFilter(tx Tx, scope *Scope) (func(*storedActivity) bool, error) {
	if q.AccessChecked || scope.Project == nil || !scope.IsRestricted() {
		return nil, nil
	}
	created, err := ListRecords[storedActivity](tx, Query{Kind: storage.KindActivity, Parent: scope.Parent(), Match: func(r *Record) bool {
		a, err := Decode[storedActivity](r)
		return err == nil && a.Activity.Activity == "created" && a.UserID == scope.User.ID && scope.hasHidden(kindsByScope[a.Scope])
	}})
	own := map[string]bool{}
	for i := range created.Results {
		own[activityKey("", created.Results[i].Scope, created.Results[i].ItemID)] = true
	}
	return func(a *storedActivity) bool {
		kind := kindsByScope[a.Scope]
		if kind == "" || own[activityKey("", a.Scope, a.ItemID)] {
			return true
		}
		return scope.CanSee(AccessObject{Kind: kind, ID: a.ItemID})
	}, err
}

// trim removes changes of fields that display objects of a kind of which some are hidden.
func (scope *Scope) trim(a *Activity) {
	a.Detail.Changes = slices.DeleteFunc(a.Detail.Changes, func(c Change) bool { return scope.hasHidden(referenceKinds[c.Field]) })
}

// Erasure is the deletion of a person, or of a person's events.
type Erasure struct {
	// Person is the person's uuid; the log stores no other data about deleted persons.
	Person string
	// Events is the number of deleted events.
	Events int64
	// EventsOnly reports whether the person was kept and only events were deleted.
	EventsOnly bool
}

// LogErasures writes a line for each erasure to the project's log of changes, with the caller, the
// person and the number of events, all in one transaction.
func (s *Service) LogErasures(ctx context.Context, scope *Scope, list []Erasure) error {
	if len(list) == 0 {
		return nil
	}
	return s.Env.Store.Write(ctx, func(tx Tx) error {
		for _, e := range list {
			activity := "deleted"
			if e.EventsOnly {
				activity = "updated"
			}
			err := s.Env.LogActivityAs(tx, scope.Caller, scope.Parent(), activity, "Person", e.Person, ActivityDetail{
				Name: e.Person, Changes: []Change{{Type: "Person", Action: "deleted", Field: "events", Before: storage.Encode(e.Events)}},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
