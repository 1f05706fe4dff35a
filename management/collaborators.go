package management

import (
	"context"
	"strconv"
)

// kindCollaborator is somebody who edits a restricted dashboard: Parent is the
// dashboard, ID the user's uuid, Sort the time of adding.
const kindCollaborator = "dashboard_collaborator"

// MaxCollaborators is how many collaborators a dashboard may have.
const MaxCollaborators = 1000

// Collaborator is a collaborator as it is shown (§4.1.7).
type Collaborator struct {
	ID        string    `json:"id"`
	Dashboard int64     `json:"dashboard_id"`
	User      *UserView `json:"user"`
	Level     int64     `json:"level"`
	Added     Stamp     `json:"added_at"`
	Updated   Stamp     `json:"updated_at"`
}

// CollaboratorFields are the writable fields of a collaborator.
var CollaboratorFields = Fields{
	{Name: "user_uuid", Type: UUID, Required: true},
	{Name: "level", Type: IntChoice, Required: true, Numbers: []int64{CanView, CanEdit}, Help: "only 37: may edit"},
}

// collaboratorRecord is a collaborator as it is stored.
type collaboratorRecord struct {
	ID      string `json:"id"`
	User    string `json:"user"` // uuid
	Level   int64  `json:"level"`
	Added   Stamp  `json:"added_at"`
	Updated Stamp  `json:"updated_at"`
}

// Collaborators returns all active collaborators of a dashboard, oldest first.
func (s Dashboards) Collaborators(ctx context.Context, st *Standing, dashboard string) ([]Collaborator, error) {
	return read(ctx, &s.desk, func(tx Tx) ([]Collaborator, error) {
		d, err := parentDashboard(tx, st, dashboard)
		if err != nil {
			return nil, err
		}
		list, err := listOfRecords[collaboratorRecord](tx, Query{Kind: kindCollaborator, Parent: dashboardParent(d.ID)})
		if err != nil {
			return nil, err
		}
		out := []Collaborator{}
		for i := range list.Results {
			c := &list.Results[i]
			u, err := userByUUID(tx, c.User)
			if err != nil {
				return nil, err
			}
			if u != nil && !u.Inactive {
				out = append(out, c.show(d, u))
			}
		}
		return out, nil
	})
}

func (c *collaboratorRecord) show(d *dashboardRecord, u *User) Collaborator {
	return Collaborator{ID: c.ID, Dashboard: d.ID, User: u.view(), Level: c.Level, Added: c.Added, Updated: c.Updated}
}

// AddCollaborator lets somebody edit a restricted dashboard.
func (s Dashboards) AddCollaborator(ctx context.Context, st *Standing, dashboard string, b Body) (*Collaborator, error) {
	return write(ctx, &s.desk, func(tx Tx) (*Collaborator, error) {
		d, err := parentDashboard(tx, st, dashboard)
		if err != nil {
			return nil, err
		}
		if err := d.mayEdit(tx, st); err != nil {
			return nil, err
		}
		v, err := CollaboratorFields.Create(b)
		switch {
		case err != nil:
			return nil, err
		case d.Restriction == EveryoneEdits:
			return nil, Fault("", "Cannot add collaborators to a dashboard on the lowest restriction level.")
		case v.Int("level") != CanEdit:
			return nil, Fault("", "Only edit access can be explicitly specified currently.")
		}
		u, err := s.newCollaborator(tx, st, d, v.Text("user_uuid"))
		if err != nil {
			return nil, err
		}
		now := At(s.desk.now())
		c := collaboratorRecord{ID: s.desk.newID(), User: u.UUID, Level: CanEdit, Added: now, Updated: now}
		err = tx.Put(&Record{Kind: kindCollaborator, Parent: dashboardParent(d.ID), ID: u.UUID, Sort: sortTime(now.Time), Data: encode(c)})
		if err != nil {
			return nil, err
		}
		out := c.show(d, u)
		return &out, s.noteCollaborator(tx, st, d, u, true)
	})
}

// newCollaborator looks whether somebody can become a collaborator.
func (s Dashboards) newCollaborator(tx Tx, st *Standing, d *dashboardRecord, uuid string) (*User, error) {
	u, err := userByUUID(tx, uuid)
	if err != nil {
		return nil, err
	}
	if u == nil || u.Inactive {
		return nil, Fault("", "User does not exist.")
	}
	m, err := membershipOf(tx, st.Project.Organization, u.UUID)
	if err != nil {
		return nil, err
	}
	access := NoAccess
	if m != nil {
		access = st.Project.access(u.UUID, m.Level)
	}
	switch {
	case access == NoAccess:
		return nil, Fault("", "Cannot add collaborators that have no access to the project.")
	case access == AdminAccess || u.ID == d.Author:
		return nil, Fault("", "Cannot add collaborators that already have inherent access (the dashboard owner or a project admins).")
	}
	old, err := tx.Get(kindCollaborator, dashboardParent(d.ID), u.UUID)
	if err != nil {
		return nil, err
	}
	if old != nil {
		return nil, Fault("", "User already is a collaborator.")
	}
	_, count, err := tx.List(Query{Kind: kindCollaborator, Parent: dashboardParent(d.ID), Limit: 1})
	if err == nil && count >= MaxCollaborators {
		err = Fault("", "A dashboard has at most %d collaborators.", MaxCollaborators)
	}
	return u, err
}

// RemoveCollaborator takes the right to edit from somebody.
func (s Dashboards) RemoveCollaborator(ctx context.Context, st *Standing, dashboard, user string) error {
	return s.desk.Store.Write(ctx, func(tx Tx) error {
		d, err := parentDashboard(tx, st, dashboard)
		if err != nil {
			return err
		}
		if err := d.mayEdit(tx, st); err != nil {
			return err
		}
		if d.Restriction == EveryoneEdits {
			return Fault("", "Cannot remove collaborators from a dashboard on the lowest restriction level.")
		}
		user, ok := NormalUUID(user)
		if !ok {
			return errNotFound()
		}
		r, err := tx.Get(kindCollaborator, dashboardParent(d.ID), user)
		if err == nil && r == nil {
			err = errNotFound()
		}
		if err != nil {
			return err
		}
		if err := tx.Delete(kindCollaborator, dashboardParent(d.ID), user); err != nil {
			return err
		}
		u, err := userByUUID(tx, user)
		if err != nil || u == nil {
			return err
		}
		return s.noteCollaborator(tx, st, d, u, false)
	})
}

// noteCollaborator notes that somebody has come or gone.
func (s Dashboards) noteCollaborator(tx Tx, st *Standing, d *dashboardRecord, u *User, added bool) error {
	c := Change{Type: "Dashboard", Action: "created", Field: "collaborators", After: encode(u.Email)}
	if !added {
		c.Action, c.Before, c.After = "deleted", c.After, nil
	}
	return s.desk.noteAs(tx, st.Caller, ProjectParent(st.Project.ID), "updated", "Dashboard", strconv.FormatInt(d.ID, 10),
		ActivityDetail{Name: d.title(), Changes: []Change{c}})
}
