package dashboards

import (
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// Links show dashboards, or insights by themselves, to whoever has their address
// (management.md §4.1.8, clients.md §3.2).
type Links struct {
	*core
	find func(v *view, named string) (*linked, error)
}

// Links are those to dashboards.
func (s Dashboards) Links() Links {
	return Links{s.core, func(v *view, named string) (*linked, error) {
		d, err := parentDashboard(v.Tx, v.Standing, named)
		if err != nil {
			return nil, err
		}
		return &linked{project: v.Project.ID, dashboard: d}, nil
	}}
}

// Links are those to insights.
func (s Insights) Links() Links {
	return Links{s.core, func(v *view, named string) (*linked, error) {
		i, err := s.insights.Load(v, named)
		if err == nil && !v.Sees(i.thing()) {
			err = management.ErrNotFound()
		}
		if err != nil {
			return nil, err
		}
		return &linked{project: v.Project.ID, insight: i}, nil
	}}
}

// linked is what a link shows: a dashboard or an insight.
type linked struct {
	project   int64
	dashboard *dashboardRecord
	insight   *insightRecord
}

// linkedBy finds what a token shows.
func linkedBy(tx management.Tx, t *shareToken) (x *linked, err error) {
	x = &linked{project: t.Project}
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

func (x *linked) dashboardID() int64 {
	if x.dashboard == nil {
		return 0
	}
	return x.dashboard.ID
}

func (x *linked) insightID() int64 {
	if x.insight == nil {
		return 0
	}
	return x.insight.ID
}

// parent is Record.Parent of how it is shared.
func (x *linked) parent() string {
	if x.insight != nil {
		return "insight:" + x.insight.id()
	}
	return dashboardParent(x.dashboard.ID)
}

// names are what the log calls it.
func (x *linked) names() (scope, item, title string) {
	if x.insight != nil {
		return "Insight", x.insight.id(), x.insight.title()
	}
	return dashboardScope, strconv.FormatInt(x.dashboard.ID, 10), x.dashboard.title()
}

func (x *linked) mayEdit(v *view) error {
	if x.insight != nil {
		return v.Needs(management.Editor, x.insight.thing())
	}
	return x.dashboard.mayEdit(v.Tx, v.Standing)
}

// board is what is shown: an insight is the only tile of a dashboard of its name.
func (x *linked) board(v *view) (*Dashboard, error) {
	if x.insight == nil {
		shown, err := x.dashboard.show(v)
		if err != nil {
			return nil, err
		}
		shown.Tiles, err = x.dashboard.showTiles(v, x.project)
		return shown, err
	}
	shown, err := x.insight.show(v)
	if err != nil {
		return nil, err
	}
	name := x.insight.title()
	out := &Dashboard{}
	out.Name, out.Tiles = &name, []tile{{Insight: shown}}
	return out, nil
}

// Insight is what a link to an insight shows, nil for one to a dashboard.
func (d *SharedDashboard) Insight() *Insight {
	if !d.alone {
		return nil
	}
	return d.Dashboard.Tiles[0].Insight
}
