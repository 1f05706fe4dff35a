package dashboards

import (
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/management"
)

// title is the name, empty for none.
func (i *insightRecord) title() string {
	if i.Name == nil {
		return ""
	}
	return *i.Name
}

// setDashboards puts an insight on the dashboards that are named and takes it from all
// others. All of them have to be ones that the caller may edit.
func (s Insights) setDashboards(tx management.Tx, scope *management.Scope, i *insightRecord, ids []int64) error {
	if len(ids) > maxInsightPlaces {
		return management.CodedFault(management.CodeMaxLength, "dashboards", "Ensure this field has no more than %d elements.", maxInsightPlaces)
	}
	current, err := dashboardsOfInsight(tx, i.id())
	if err != nil {
		return err
	}
	for _, id := range ids {
		if slices.Contains(current, id) {
			continue
		}
		d, err := dashboardOf(tx, scope.Project.ID, id)
		if err == nil && d == nil {
			err = management.Fault("dashboards", "Dashboard not found")
		}
		if err != nil {
			return err
		}
		if err := s.addToDashboard(tx, scope, d, i); err != nil {
			return err
		}
	}
	for _, id := range current {
		if slices.Contains(ids, id) {
			continue
		}
		if err := s.removeFromDashboard(tx, scope, id, i); err != nil {
			return err
		}
	}
	return nil
}

// checkTileAccess refuses who may not edit a dashboard, and says what they wanted to do.
func checkTileAccess(d *dashboardRecord, tx management.Tx, scope *management.Scope, action string) error {
	err := d.checkEdit(tx, scope)
	var apiErr *management.Error
	if errors.As(err, &apiErr) {
		return management.Denied("You don't have permission to %s: %d", action, d.ID)
	}
	return err
}

// addToDashboard gives an insight a tile on a dashboard, the one that it had there before
// if there is one.
func (s Insights) addToDashboard(tx management.Tx, scope *management.Scope, d *dashboardRecord, i *insightRecord) error {
	if err := checkTileAccess(d, tx, scope, "add insights to dashboard"); err != nil {
		return err
	}
	t, err := tileOfInsightOn(tx, d.ID, i.id())
	if err != nil || t != nil && !t.Deleted {
		return err
	}
	if t == nil {
		if err := makeRoom(tx, d.ID, 1); err != nil {
			return err
		}
		if t, err = newTile(tx); err != nil {
			return err
		}
		t.Insight = i.id()
	}
	t.Deleted = false
	return putTile(tx, d.ID, t)
}

// removeFromDashboard flags the tile of an insight on a dashboard as deleted.
func (s Insights) removeFromDashboard(tx management.Tx, scope *management.Scope, dashboard int64, i *insightRecord) error {
	d, err := dashboardOf(tx, scope.Project.ID, dashboard)
	if err != nil || d == nil {
		return err
	}
	if err := checkTileAccess(d, tx, scope, "remove insights from dashboards"); err != nil {
		return err
	}
	t, err := tileOfInsightOn(tx, d.ID, i.id())
	if err != nil || t == nil || t.Deleted {
		return err
	}
	t.Deleted = true
	return putTile(tx, d.ID, t)
}

// copyOf makes a copy of an insight and says so in its name.
func (s Insights) copyOf(v *view, i *insightRecord) (*Insight, error) {
	const mark = " (Copy)"
	out, err := s.newInsight(v)
	if err != nil {
		return nil, err
	}
	out.Description, out.Query, out.Filters, out.Tags = i.Description, i.Query, i.Filters, i.Tags
	if name := i.title(); name != "" {
		for utf8.RuneCountInString(name+mark) > maxInsightName {
			_, size := utf8.DecodeLastRuneInString(name)
			name = name[:len(name)-size]
		}
		name += mark
		out.Name = &name
	}
	return s.insights.Add(v, out)
}

// setDeleted flags an insight as deleted or brings it back, if there is one.
func (s Insights) setDeleted(v *view, id string, deleted bool) error {
	i, err := insightOf(v.Tx, v.Project.ID, id)
	if err != nil || i == nil || i.Deleted == deleted {
		return err
	}
	if err := v.RequireAccess(management.Editor, i.accessObject()); err != nil {
		return err
	}
	return s.insights.Modify(v, i, func() { i.Deleted, i.Modified, i.Modifier = deleted, management.NewStamp(s.Env.Now()), v.User.ID })
}
