package dashboards

import (
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/management"
)

// setDashboards adds an insight to the dashboards with the given numbers and removes it from all
// others. The caller must be able to edit each dashboard that changes.
func (s Insights) setDashboards(tx management.Tx, scope *management.Scope, i *insightRecord, ids []int64) error {
	if len(ids) > maxInsightPlaces {
		return management.CodedFault(management.CodeMaxLength, "dashboards", "Ensure this field has no more than %d elements.", maxInsightPlaces)
	}
	current, err := dashboardsOfInsight(tx, i.id())
	if err != nil {
		return err
	}
	// Dashboards that show the insight already need no check, so that a client can send them back.
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

// checkTileAccess returns an error if the caller may not edit a dashboard. action describes the
// operation for the message.
func checkTileAccess(d *dashboardRecord, tx management.Tx, scope *management.Scope, action string) error {
	err := d.checkEdit(tx, scope)
	var apiErr *management.Error
	if errors.As(err, &apiErr) {
		return management.Denied("You don't have permission to %s: %d", action, d.ID)
	}
	return err
}

// addToDashboard adds an insight to a dashboard. If the insight had a tile there before, that tile
// is restored with its layout. It does nothing if the dashboard shows the insight already.
func (s Insights) addToDashboard(tx management.Tx, scope *management.Scope, d *dashboardRecord, i *insightRecord) error {
	if err := checkTileAccess(d, tx, scope, "add insights to dashboard"); err != nil {
		return err
	}
	t, err := tileOfInsightOn(tx, d.ID, i.id())
	if err != nil || t != nil && !t.Deleted {
		return err
	}
	if t == nil {
		if err := reserveTiles(tx, d.ID, 1); err != nil {
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

// removeFromDashboard marks the tile of an insight on a dashboard as deleted.
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

// copyOf creates a copy of an insight, with a mark after its name. The name is shortened if
// necessary.
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

// setDeleted marks an insight as deleted or restores it. It does nothing if the insight does not
// exist or is in that state already.
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
