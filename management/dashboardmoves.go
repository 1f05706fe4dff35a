package management

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// MoveTileFields are the fields of a move beside those of a dashboard (§4.1.6).
var MoveTileFields = append(Fields{
	{Name: "tile", Type: Object, Help: "with the id of the tile"},
	{Name: "toDashboard", Type: Int},
}, DashboardFields...)

// MoveTile puts a tile on another dashboard and returns the one it comes from. A
// body that speaks of no tile changes the dashboard like Update.
func (s Dashboards) MoveTile(ctx context.Context, st *Standing, id string, b Body) (*Dashboard, error) {
	return write(ctx, &s.desk, func(tx Tx) (*Dashboard, error) {
		_, tile := b.Members["tile"]
		_, target := b.Members["toDashboard"]
		if !tile && !target {
			return s.update(tx, st, id, b)
		}
		d, err := dashboardNamed(tx, st, id)
		if err != nil {
			return nil, err
		}
		if err := d.mayEdit(tx, st); err != nil {
			return nil, err
		}
		return s.moveTile(tx, st, d, b)
	})
}

func (s Dashboards) moveTile(tx Tx, st *Standing, d *dashboardRecord, b Body) (*Dashboard, error) {
	move := Fields{{Name: "tile", Type: Object, Required: true}, {Name: "toDashboard", Type: Int, Required: true}}
	v, err := move.Create(b)
	if err != nil {
		return nil, err
	}
	var named Body
	if err := json.Unmarshal(v.Raw("tile"), &named.Members); err != nil {
		return nil, fmt.Errorf("an object cannot be read: %w", err)
	}
	inner, err := Fields{{Name: "id", Type: Int, Required: true}}.Create(named)
	if err != nil {
		return nil, belowPlace("tile", err)
	}
	t, err := tileOf(tx, d.ID, inner.Int("id"))
	if err == nil && (t == nil || t.Deleted) {
		err = errNotFound()
	}
	if err != nil {
		return nil, err
	}
	to, err := dashboardOf(tx, st.Project.ID, v.Int("toDashboard"))
	if err == nil && to == nil {
		err = Fault("toDashboard", "Dashboard not found.")
	}
	if err != nil {
		return nil, err
	}
	if err := to.mayEdit(tx, st); err != nil {
		return nil, err
	}
	if to.ID != d.ID {
		if err := s.relocate(tx, st, t, d, to); err != nil {
			return nil, err
		}
	}
	return d.showFull(tx, st)
}

// relocate takes a tile from one dashboard to another. An insight stands once on
// a dashboard.
func (s Dashboards) relocate(tx Tx, st *Standing, t *tileRecord, from, to *dashboardRecord) error {
	if t.Insight != "" {
		there, err := tileOfInsightOn(tx, to.ID, t.Insight)
		if err != nil {
			return err
		}
		if there != nil && !there.Deleted {
			return Fault("tile", "The insight stands on that dashboard already.")
		}
		if there != nil {
			if err := tx.Delete(kindTile, dashboardParent(to.ID), strconv.FormatInt(there.ID, 10)); err != nil {
				return err
			}
		}
	}
	if err := makeRoom(tx, to.ID, 1); err != nil {
		return err
	}
	if err := tx.Delete(kindTile, dashboardParent(from.ID), strconv.FormatInt(t.ID, 10)); err != nil {
		return err
	}
	if err := putTile(tx, to.ID, t); err != nil {
		return err
	}
	type tiles struct {
		Tiles []int64 `json:"tiles,omitempty"`
	}
	if err := s.noteDashboard(tx, st, from, tiles{[]int64{t.ID}}, tiles{}); err != nil {
		return err
	}
	return s.noteDashboard(tx, st, to, tiles{}, tiles{[]int64{t.ID}})
}
