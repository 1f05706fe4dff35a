package dashboards

import (
	"context"
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// maxCollaborators is the greatest number of collaborators of a dashboard.
const maxCollaborators = 1000

// collaborator is the form of a collaborator in responses (§4.1.7).
type collaborator struct {
	ID        string               `json:"id"`
	Dashboard int64                `json:"dashboard_id"`
	User      *management.UserView `json:"user"`
	// Level is always canEdit.
	Level   int64            `json:"level"`
	Added   management.Stamp `json:"added_at"`
	Updated management.Stamp `json:"updated_at"`
}

// collaboratorFields are the writable fields of a collaborator.
var collaboratorFields = management.Fields{
	{Name: "user_uuid", Type: management.UUID, Required: true},
	{Name: "level", Type: management.IntChoice, Required: true, Numbers: []int64{canView, canEdit}, Help: "must be 37: may edit"},
}

// collaboratorRecord is the stored form of a collaborator.
type collaboratorRecord struct {
	ID      string           `json:"id"`
	User    string           `json:"user"` // UUID
	Level   int64            `json:"level"`
	Added   management.Stamp `json:"added_at"`
	Updated management.Stamp `json:"updated_at"`
}

// Collaborators returns the collaborators of a dashboard who are active users, in the order in
// which they were added.
func (s Dashboards) Collaborators(ctx context.Context, scope *management.Scope, dashboard string) ([]collaborator, error) {
	return management.Read(ctx, &s.Env, func(tx management.Tx) ([]collaborator, error) {
		d, err := parentDashboard(tx, scope, dashboard)
		if err != nil {
			return nil, err
		}
		list, err := management.ListRecords[collaboratorRecord](tx, management.Query{Kind: kindCollaborator, Parent: dashboardParent(d.ID)})
		if err != nil {
			return nil, err
		}
		out := []collaborator{}
		for i := range list.Results {
			c := &list.Results[i]
			u, err := management.UserByUUID(tx, c.User)
			if err != nil {
				return nil, err
			}
			// Inactive users remain collaborators, but are not listed.
			if u != nil && !u.Inactive {
				out = append(out, c.show(d, u))
			}
		}
		return out, nil
	})
}

// show returns the form of the collaborator in responses. u is the collaborator's user.
func (c *collaboratorRecord) show(d *dashboardRecord, u *management.User) collaborator {
	return collaborator{ID: c.ID, Dashboard: d.ID, User: u.View(), Level: c.Level, Added: c.Added, Updated: c.Updated}
}

// AddCollaborator allows a user to edit a dashboard whose editing is restricted (§4.1.7). The
// caller must be able to edit it.
func (s Dashboards) AddCollaborator(ctx context.Context, scope *management.Scope, dashboard string, b management.Body) (*collaborator, error) {
	return management.Write(ctx, &s.Env, func(tx management.Tx) (*collaborator, error) {
		d, err := parentDashboard(tx, scope, dashboard)
		if err != nil {
			return nil, err
		}
		if err := d.checkEdit(tx, scope); err != nil {
			return nil, err
		}
		v, err := collaboratorFields.Create(b)
		switch {
		case err != nil:
			return nil, err
		// Collaborators have no meaning if everyone may edit the dashboard.
		case d.RestrictionLevel == everyoneEdits:
			return nil, management.Fault("", "Cannot add collaborators to a dashboard on the lowest restriction level.")
		case v.Int("level") != canEdit:
			return nil, management.Fault("", "Only edit access can be explicitly specified currently.")
		}
		u, err := s.newCollaborator(tx, scope, d, v.Text("user_uuid"))
		if err != nil {
			return nil, err
		}
		now := management.NewStamp(s.Env.Now())
		c := collaboratorRecord{ID: s.Env.NewID(), User: u.UUID, Level: canEdit, Added: now, Updated: now}
		err = tx.Put(&management.Record{Kind: kindCollaborator, Parent: dashboardParent(d.ID), ID: u.UUID, Sort: storage.SortTime(now.Time), Data: storage.Encode(c)})
		if err != nil {
			return nil, err
		}
		out := c.show(d, u)
		return &out, s.logCollaborator(tx, scope, d, u, true)
	})
}

// newCollaborator returns the user with a UUID, or an error if the user cannot become a
// collaborator of the dashboard.
func (s Dashboards) newCollaborator(tx management.Tx, scope *management.Scope, d *dashboardRecord, uuid string) (*management.User, error) {
	u, err := management.UserByUUID(tx, uuid)
	if err != nil {
		return nil, err
	}
	if u == nil || u.Inactive {
		return nil, management.Fault("", "User does not exist.")
	}
	c, err := management.CallerFor(tx, u)
	if err != nil {
		return nil, err
	}
	// The user's own access is checked, not that of the caller.
	switch collaboratorScope := (&management.Scope{Caller: c, Project: scope.Project}); {
	case !c.CanReach(scope.Project):
		return nil, management.Fault("", "Cannot add collaborators that have no access to the project.")
	case d.hasInherentAccess(collaboratorScope):
		return nil, management.Fault("", "Cannot add collaborators that already have inherent access (the dashboard owner or a project admins).")
	}
	old, err := tx.Get(kindCollaborator, dashboardParent(d.ID), u.UUID)
	if err != nil {
		return nil, err
	}
	if old != nil {
		return nil, management.Fault("", "User already is a collaborator.")
	}
	_, count, err := tx.List(management.Query{Kind: kindCollaborator, Parent: dashboardParent(d.ID), Limit: 1})
	if err == nil && count >= maxCollaborators {
		err = management.Fault("", "A dashboard has at most %d collaborators.", maxCollaborators)
	}
	return u, err
}

// RemoveCollaborator revokes a collaborator's right to edit a dashboard. user is a UUID. The caller
// must be able to edit the dashboard.
func (s Dashboards) RemoveCollaborator(ctx context.Context, scope *management.Scope, dashboard, user string) error {
	return s.Env.Store.Write(ctx, func(tx management.Tx) error {
		d, err := parentDashboard(tx, scope, dashboard)
		if err != nil {
			return err
		}
		if err := d.checkEdit(tx, scope); err != nil {
			return err
		}
		if d.RestrictionLevel == everyoneEdits {
			return management.Fault("", "Cannot remove collaborators from a dashboard on the lowest restriction level.")
		}
		user, ok := management.NormalizeUUID(user)
		if !ok {
			return management.ErrNotFound()
		}
		if _, err := records.Existing(tx.Get(kindCollaborator, dashboardParent(d.ID), user)); err != nil {
			return err
		}
		if err := tx.Delete(kindCollaborator, dashboardParent(d.ID), user); err != nil {
			return err
		}
		u, err := management.UserByUUID(tx, user)
		if err != nil || u == nil {
			return err
		}
		return s.logCollaborator(tx, scope, d, u, false)
	})
}

// logCollaborator adds to the log that a collaborator was added or removed.
func (s Dashboards) logCollaborator(tx management.Tx, scope *management.Scope, d *dashboardRecord, u *management.User, added bool) error {
	c := management.Change{Type: dashboardScope, Action: "created", Field: "collaborators", After: storage.Encode(u.Email)}
	if !added {
		c.Action, c.Before, c.After = "deleted", c.After, nil
	}
	return s.Env.LogActivityAs(tx, scope.Caller, management.ProjectParent(scope.Project.ID), "updated", dashboardScope, strconv.FormatInt(d.ID, 10),
		management.ActivityDetail{Name: d.title(), Changes: []management.Change{c}})
}
