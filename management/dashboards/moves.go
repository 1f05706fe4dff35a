package dashboards

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// MoveTileFields are the fields of a move beside those of a dashboard (§4.1.6).
var MoveTileFields = append(management.Fields{
	{Name: "tile", Type: management.Object, Help: "with the id of the tile"},
	{Name: "toDashboard", Type: management.Int},
}, Fields...)

// MoveTile puts a tile on another dashboard and returns the one it comes from. A
// body that speaks of no tile changes the dashboard like Update.
func (s Dashboards) MoveTile(ctx context.Context, st *management.Standing, id string, b management.Body) (*Dashboard, error) {
	_, tile := b.Members["tile"]
	_, target := b.Members["toDashboard"]
	if !tile && !target {
		return s.Update(ctx, st, id, b)
	}
	return management.Write(ctx, &s.Desk, func(tx management.Tx) (*Dashboard, error) {
		d, err := s.dashboards.Writable(&view{Tx: tx, Standing: st}, id)
		if err != nil {
			return nil, err
		}
		return s.moveTile(tx, st, d, b)
	})
}

func (s Dashboards) moveTile(tx management.Tx, st *management.Standing, d *dashboardRecord, b management.Body) (*Dashboard, error) {
	move := management.Fields{{Name: "tile", Type: management.Object, Required: true}, {Name: "toDashboard", Type: management.Int, Required: true}}
	v, err := move.Create(b)
	if err != nil {
		return nil, err
	}
	var named management.Body
	if err := json.Unmarshal(v.Raw("tile"), &named.Members); err != nil {
		return nil, fmt.Errorf("an object cannot be read: %w", err)
	}
	inner, err := management.Fields{{Name: "id", Type: management.Int, Required: true}}.Create(named)
	if err != nil {
		return nil, belowPlace("tile", err)
	}
	t, err := tileOf(tx, d.ID, inner.Int("id"))
	if err == nil && (t == nil || t.Deleted) {
		err = management.ErrNotFound()
	}
	if err != nil {
		return nil, err
	}
	to, err := dashboardOf(tx, st.Project.ID, v.Int("toDashboard"))
	if err == nil && to == nil {
		err = management.Fault("toDashboard", "Dashboard not found.")
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
	return d.showFull(&view{Tx: tx, Standing: st})
}

// relocate takes a tile from one dashboard to another. An insight stands once on
// a dashboard.
func (s Dashboards) relocate(tx management.Tx, st *management.Standing, t *tileRecord, from, to *dashboardRecord) error {
	if t.Insight != "" {
		there, err := tileOfInsightOn(tx, to.ID, t.Insight)
		if err != nil {
			return err
		}
		if there != nil && !there.Deleted {
			return management.Fault("tile", "The insight stands on that dashboard already.")
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
