package dashboards

import (
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// Links manages how dashboards or insights are shared with visitors who have only an address
// (management.md §4.1.8, clients.md §3.2). Its methods take the id of a dashboard or of an insight,
// depending on which resource has returned the Links.
type Links struct {
	*core
	// find returns the object that a path names, or an error if the caller may not view it.
	find func(v *view, ref string) (*linkTarget, error)
}

// Links returns the links of dashboards.
func (s Dashboards) Links() Links {
	return Links{s.core, func(v *view, ref string) (*linkTarget, error) {
		d, err := parentDashboard(v.Tx, v.Scope, ref)
		if err != nil {
			return nil, err
		}
		return &linkTarget{project: v.Project.ID, dashboard: d}, nil
	}}
}

// Links returns the links of insights.
func (s Insights) Links() Links {
	return Links{s.core, func(v *view, ref string) (*linkTarget, error) {
		i, err := s.viewable(v, ref)
		if err != nil {
			return nil, err
		}
		return &linkTarget{project: v.Project.ID, insight: i}, nil
	}}
}

// linkTarget is the object that a link shows. Either dashboard or insight is nil.
type linkTarget struct {
	project   int64
	dashboard *dashboardRecord
	insight   *insightRecord
}

// targetOfToken returns the object that a token shows. It returns ErrNotFound if the object was
// deleted.
func targetOfToken(tx management.Tx, t *shareToken) (x *linkTarget, err error) {
	x = &linkTarget{project: t.Project}
	if t.Insight == 0 {
		x.dashboard, err = dashboardOf(tx, t.Project, t.Dashboard)
	} else if x.insight, err = insightOf(tx, t.Project, strconv.FormatInt(t.Insight, 10)); x.insight != nil && x.insight.Deleted {
		x.insight = nil
	}
	if err == nil && x.dashboard == nil && x.insight == nil {
		err = management.ErrNotFound()
	}
	return x, err
}

// dashboardID returns the number of the dashboard, or 0 if the link shows an insight.
func (x *linkTarget) dashboardID() int64 {
	if x.dashboard == nil {
		return 0
	}
	return x.dashboard.ID
}

// insightID returns the number of the insight, or 0 if the link shows a dashboard.
func (x *linkTarget) insightID() int64 {
	if x.insight == nil {
		return 0
	}
	return x.insight.ID
}

// parent returns the Record.Parent of the sharing configuration and of the tokens.
func (x *linkTarget) parent() string {
	if x.insight != nil {
		return "insight:" + x.insight.id()
	}
	return dashboardParent(x.dashboard.ID)
}

// logNames returns the scope, the id and the title of the object in the log.
func (x *linkTarget) logNames() (activityScope, item, title string) {
	if x.insight != nil {
		return "Insight", x.insight.id(), x.insight.title()
	}
	return dashboardScope, strconv.FormatInt(x.dashboard.ID, 10), x.dashboard.title()
}

// checkEdit returns an error if the caller may not edit the object.
func (x *linkTarget) checkEdit(v *view) error {
	if x.insight != nil {
		return v.RequireAccess(management.Editor, x.insight.accessObject())
	}
	return x.dashboard.checkEdit(v.Tx, v.Scope)
}

// dashboardView returns the object in the form of a dashboard. An insight becomes the only tile of
// a dashboard with the insight's name, so that clients and pages need only one form.
func (x *linkTarget) dashboardView(v *view) (*Dashboard, error) {
	if x.insight == nil {
		rendered, err := x.dashboard.show(v)
		if err != nil {
			return nil, err
		}
		rendered.Tiles, err = x.dashboard.showTiles(v, x.project)
		return rendered, err
	}
	rendered, err := x.insight.show(v)
	if err != nil {
		return nil, err
	}
	name := x.insight.title()
	out := &Dashboard{}
	out.Name, out.Tiles = &name, []tile{{Insight: rendered}}
	return out, nil
}
