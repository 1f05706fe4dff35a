package dashboards

import (
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// Links show dashboards, or insights by themselves, to whoever has their address
// (management.md §4.1.8, clients.md §3.2).
type Links struct {
	*core
	find func(v *view, ref string) (*linkTarget, error)
}

// Links are those to dashboards.
func (s Dashboards) Links() Links {
	return Links{s.core, func(v *view, ref string) (*linkTarget, error) {
		d, err := parentDashboard(v.Tx, v.Scope, ref)
		if err != nil {
			return nil, err
		}
		return &linkTarget{project: v.Project.ID, dashboard: d}, nil
	}}
}

// Links are those to insights.
func (s Insights) Links() Links {
	return Links{s.core, func(v *view, ref string) (*linkTarget, error) {
		i, err := s.insights.Load(v, ref)
		if err == nil && !v.CanSee(i.accessObject()) {
			err = management.ErrNotFound()
		}
		if err != nil {
			return nil, err
		}
		return &linkTarget{project: v.Project.ID, insight: i}, nil
	}}
}

// linkTarget is what a link shows: a dashboard or an insight.
type linkTarget struct {
	project   int64
	dashboard *dashboardRecord
	insight   *insightRecord
}

// targetOfToken finds what a token shows.
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

func (x *linkTarget) dashboardID() int64 {
	if x.dashboard == nil {
		return 0
	}
	return x.dashboard.ID
}

func (x *linkTarget) insightID() int64 {
	if x.insight == nil {
		return 0
	}
	return x.insight.ID
}

// parent is Record.Parent of how it is shared.
func (x *linkTarget) parent() string {
	if x.insight != nil {
		return "insight:" + x.insight.id()
	}
	return dashboardParent(x.dashboard.ID)
}

// logNames are what the log calls it.
func (x *linkTarget) logNames() (activityScope, item, title string) {
	if x.insight != nil {
		return "Insight", x.insight.id(), x.insight.title()
	}
	return dashboardScope, strconv.FormatInt(x.dashboard.ID, 10), x.dashboard.title()
}

func (x *linkTarget) checkEdit(v *view) error {
	if x.insight != nil {
		return v.RequireAccess(management.Editor, x.insight.accessObject())
	}
	return x.dashboard.checkEdit(v.Tx, v.Scope)
}

// dashboardView is what is shown: an insight is the only tile of a dashboard of its name.
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

// Insight is what a link to an insight shows, nil for one to a dashboard.
func (d *SharedDashboard) Insight() *Insight {
	if !d.isInsight {
		return nil
	}
	return d.Dashboard.Tiles[0].Insight
}
