package management

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// KindActivity is a change that somebody made: Parent is the project or the
// organization, Other the thing in it, Sort a number that grows.
const KindActivity = "activity"

// Activity is one line of the log of changes (§5.11).
type Activity struct {
	ID       string         `json:"id"`
	User     ActivityUser   `json:"user"`
	Activity string         `json:"activity"` // created, updated, deleted, ...
	Scope    string         `json:"scope"`    // such as FeatureFlag
	ItemID   string         `json:"item_id"`
	Detail   ActivityDetail `json:"detail"`
	Created  Stamp          `json:"created_at"`
}

// ActivityUser is who made a change.
type ActivityUser struct {
	FirstName string  `json:"first_name"`
	Email     *string `json:"email"`
	System    bool    `json:"is_system,omitempty"`
}

// ActivityDetail is what was changed.
type ActivityDetail struct {
	ID      string   `json:"id,omitempty"`
	Changes []Change `json:"changes"`
	// Trigger says which job made the change, null for people.
	Trigger json.RawMessage `json:"trigger"`
	Name    string          `json:"name"`
	ShortID *string         `json:"short_id"`
	Type    *string         `json:"type"`
	// Note is why it was changed, as its author has put it; empty for none.
	Note string `json:"change_note,omitempty"`
	// ApprovedBy are the addresses of who has approved the change of a flag, ChangeRequest
	// is the request that they approved, 0 for none (spec/console.md N12).
	ApprovedBy    []string `json:"approved_by,omitempty"`
	ChangeRequest int64    `json:"change_request,omitempty"`
	// Version is that of the thing after the change, 0 where it has none.
	Version int64 `json:"-"`
	// System: the server made the change, in the name of somebody.
	System bool `json:"-"`
}

// Change is a field that has another value now.
type Change struct {
	Type   string          `json:"type"`
	Action string          `json:"action"` // created, changed, deleted
	Field  string          `json:"field"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// unlogged are fields that change with every change, behind a dot those of one kind of
// thing: the status of a flag follows from its other fields.
var unlogged = map[string]bool{
	"version": true, "updated_at": true, "last_modified_by": true, "last_called_at": true, "FeatureFlag.status": true,
	"created_at": true, "created_by": true, "id": true, "user_access_level": true,
}

// Changes compares two things as they are shown; nil is one that is not there.
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

// EmptyJSON reports whether a JSON text says nothing: null, "", [], {} or no text.
func EmptyJSON(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "[]", "{}":
		return true
	}
	return false
}

// JSONMembers are the members of a value as JSON, nil for nil.
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

// LogActivity writes a line of the log in the transaction of the change. by is nil for
// the server itself; before is nil for what was made, after for what is gone. A
// change that changes nothing is not noted.
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

// LogActivityAs is note for what has a word of its own.
func (d *Env[T]) LogActivityAs(tx Tx, caller *Caller, parent, activity, activityScope, item string, detail ActivityDetail) error {
	n, err := tx.Next(KindActivity)
	if err != nil {
		return err
	}
	a := storedActivity{Activity: Activity{
		ID: d.NewID(), Activity: activity, Scope: activityScope, ItemID: item, Created: NewStamp(d.Now()), Detail: detail,
		User: ActivityUser{FirstName: "System", System: true},
	}, Version: detail.Version}
	if caller != nil {
		email := caller.User.Email
		a.UserID, a.User = caller.User.ID, ActivityUser{FirstName: caller.User.FirstName, Email: &email, System: detail.System}
	}
	return tx.Put(&Record{
		Kind: KindActivity, Parent: parent, ID: a.ID, Other: activityKey(parent, activityScope, item), Sort: SortNumber(n), Data: Encode(a),
	})
}

func activityKey(parent, activityScope, item string) string {
	return parent + "/" + activityScope + "/" + item
}

// activityPage is a page of the log, newest first. Pages are numbered from 1.
type activityPage struct {
	Results []Activity
	Total   int
}

// ActivityQuery narrows the log down. Empty members do not. Limit and Page are at
// least 1.
type ActivityQuery struct {
	Scopes []string // kinds of things
	Item   string
	User   string // number or uuid of who made the change
	// AccessChecked: whether the reader may see the Item has been looked at.
	AccessChecked bool
	Limit, Page   int
}

// storedActivity is a line of the log as it is kept. By is the number of who made
// the change, 0 for the server itself and in lines of before it was kept.
type storedActivity struct {
	Activity
	UserID  int64 `json:"by,omitempty"`
	Version int64 `json:"version,omitempty"` // as in the detail
}

// isBy reports whether somebody made a change; lines that name nobody by number do so
// by address.
func (a *storedActivity) isBy(u *User) bool {
	if a.UserID == 0 {
		return a.Activity.User.Email != nil && *a.Activity.User.Email == u.Email
	}
	return a.UserID == u.ID
}

// findUser finds a user by number or uuid, nil for none.
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

// ActivityLog reads the log of the standing's project, or outside of projects that
// of its organization.
func (s *Service) ActivityLog(ctx context.Context, scope *Scope, q ActivityQuery) (*activityPage, error) {
	return Read(ctx, &s.Env, func(tx Tx) (*activityPage, error) {
		out := &activityPage{Results: []Activity{}}
		var user *User
		if q.User != "" {
			var err error
			if user, err = findUser(tx, q.User); err != nil || user == nil { // nobody has changed nothing
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

// query asks the store for a page of the log; user is nil for everybody, seen for all
// lines.
func (q *ActivityQuery) query(parent string, user *User, isVisible func(*storedActivity) bool) Query {
	out := Query{Kind: KindActivity, Parent: parent, Descending: true, Offset: (q.Page - 1) * q.Limit, Limit: q.Limit}
	scopes := q.Scopes
	if len(scopes) == 1 && q.Item != "" {
		out.Other, scopes = activityKey(parent, scopes[0], q.Item), nil
	}
	if len(scopes) > 0 || q.Item != "" && out.Other == "" || user != nil || isVisible != nil {
		out.Match = func(r *Record) bool {
			a, err := Decode[storedActivity](r)
			return err == nil && MatchesValue(scopes, a.Scope) && (q.Item == "" || a.ItemID == q.Item) && (user == nil || a.isBy(user)) && (isVisible == nil || isVisible(a))
		}
	}
	return out
}
