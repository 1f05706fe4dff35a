package dashboards

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// moveTileFields are the fields of MoveTile: its own and those of a dashboard (§4.1.6).
var moveTileFields = append(management.Fields{
	{Name: "tile", Type: management.Object, Help: "object with the id of the tile"},
	{Name: "toDashboard", Type: management.Int},
}, dashboardFields...)

// MoveTile moves a tile to another dashboard and returns the dashboard from which it was moved. If
// the body has neither tile nor toDashboard, it changes the dashboard like Update.
func (s Dashboards) MoveTile(ctx context.Context, scope *management.Scope, id string, b management.Body) (*Dashboard, error) {
	_, tile := b.Members["tile"]
	_, target := b.Members["toDashboard"]
	if !tile && !target {
		return s.Update(ctx, scope, id, b)
	}
	return management.Write(ctx, &s.Env, func(tx management.Tx) (*Dashboard, error) {
		d, err := s.dashboards.LoadWritable(&view{Tx: tx, Scope: scope}, id)
		if err != nil {
			return nil, err
		}
		return s.moveTile(tx, scope, d, b)
	})
}

// moveTile reads the body of a move, finds the tile and the target, and moves the tile. The caller
// must be able to edit both dashboards. A move to the same dashboard has no effect.
func (s Dashboards) moveTile(tx management.Tx, scope *management.Scope, d *dashboardRecord, b management.Body) (*Dashboard, error) {
	move := management.Fields{{Name: "tile", Type: management.Object, Required: true}, {Name: "toDashboard", Type: management.Int, Required: true}}
	v, err := move.Create(b)
	if err != nil {
		return nil, err
	}
	// Only the tile's id matters; clients send the whole tile.
	var tileBody management.Body
	if err := json.Unmarshal(v.Raw("tile"), &tileBody.Members); err != nil {
		return nil, fmt.Errorf("cannot read an object: %w", err)
	}
	inner, err := management.Fields{{Name: "id", Type: management.Int, Required: true}}.Create(tileBody)
	if err != nil {
		return nil, prefixField("tile", err)
	}
	t, err := tileOf(tx, d.ID, inner.Int("id"))
	if err == nil && (t == nil || t.Deleted) {
		err = management.ErrNotFound()
	}
	if err != nil {
		return nil, err
	}
	target, err := dashboardOf(tx, scope.Project.ID, v.Int("toDashboard"))
	if err == nil && target == nil {
		err = management.Fault("toDashboard", "Dashboard not found.")
	}
	if err != nil {
		return nil, err
	}
	if err := target.checkEdit(tx, scope); err != nil {
		return nil, err
	}
	if target.ID != d.ID {
		if err := s.relocate(tx, scope, t, d, target); err != nil {
			return nil, err
		}
	}
	return d.showFull(&view{Tx: tx, Scope: scope})
}

// relocate moves a tile from one dashboard to another, and logs it for both. An insight can be on a
// dashboard only once: a deleted tile of the target with the insight is removed for good.
func (s Dashboards) relocate(tx management.Tx, scope *management.Scope, t *tileRecord, from, to *dashboardRecord) error {
	if t.Insight != "" {
		existing, err := tileOfInsightOn(tx, to.ID, t.Insight)
		if err != nil {
			return err
		}
		if existing != nil && !existing.Deleted {
			return management.Fault("tile", "The insight is already on that dashboard.")
		}
		// A deleted tile with the insight would otherwise be restored in addition to the moved one.
		if existing != nil {
			if err := tx.Delete(kindTile, dashboardParent(to.ID), strconv.FormatInt(existing.ID, 10)); err != nil {
				return err
			}
		}
	}
	if err := reserveTiles(tx, to.ID, 1); err != nil {
		return err
	}
	// The dashboard is a part of the record's key, so moving is deleting and storing.
	if err := tx.Delete(kindTile, dashboardParent(from.ID), strconv.FormatInt(t.ID, 10)); err != nil {
		return err
	}
	if err := putTile(tx, to.ID, t); err != nil {
		return err
	}
	type tiles struct {
		Tiles []int64 `json:"tiles,omitempty"`
	}
	if err := s.logDashboard(tx, scope, from, tiles{[]int64{t.ID}}, tiles{}); err != nil {
		return err
	}
	return s.logDashboard(tx, scope, to, tiles{}, tiles{[]int64{t.ID}})
}
