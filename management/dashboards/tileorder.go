package dashboards

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// reorderFields are the fields of ReorderTiles (spec/clients.md §4).
var reorderFields = management.Fields{{Name: "tile_order", Type: management.IntList, Required: true, Help: "ids of tiles in their new order; tiles that are not listed follow"}}

// The size of a tile whose layout does not have one, in columns and rows of the grid.
const tileWidth, tileHeight = 6, 5

// ReorderTiles places the tiles of a dashboard below each other, in the order of the ids in the
// body. The order is logged.
func (s Dashboards) ReorderTiles(ctx context.Context, scope *management.Scope, id string, b management.Body) (*Dashboard, error) {
	v, err := reorderFields.Create(b)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Env, func(tx management.Tx) (*Dashboard, error) {
		txView := &view{Tx: tx, Scope: scope}
		d, err := s.dashboards.LoadWritable(txView, id)
		if err != nil {
			return nil, err
		}
		tiles, err := tilesOf(tx, d.ID, false)
		if err != nil {
			return nil, err
		}
		ordered, err := orderTiles(tiles, v.Ints("tile_order"))
		if err != nil {
			return nil, err
		}
		type order struct {
			Tiles []int64 `json:"tiles,omitempty"`
		}
		var before, after order
		for i := range tiles {
			before.Tiles = append(before.Tiles, tiles[i].ID)
		}
		stack(ordered)
		for i := range ordered {
			after.Tiles = append(after.Tiles, ordered[i].ID)
			if err := putTile(tx, d.ID, &ordered[i]); err != nil {
				return nil, err
			}
		}
		if err := s.logDashboard(tx, scope, d, before, after); err != nil {
			return nil, err
		}
		return d.showFull(txView)
	})
}

// orderTiles returns the tiles in the order of ids, followed by the remaining tiles in their
// present order. An unknown or repeated id is an error.
func orderTiles(tiles []tileRecord, ids []int64) ([]tileRecord, error) {
	// Tiles that ids does not contain keep the order of their places.
	sortTiles(tiles)
	out := make([]tileRecord, 0, len(tiles))
	for _, id := range ids {
		index := slices.IndexFunc(tiles, func(t tileRecord) bool { return t.ID == id })
		if index < 0 {
			return nil, management.ErrNoObject("tile_order", id)
		}
		if slices.ContainsFunc(out, func(t tileRecord) bool { return t.ID == id }) {
			return nil, management.Fault("tile_order", "The tile %d is listed twice.", id)
		}
		out = append(out, tiles[index])
	}
	for i := range tiles {
		if !slices.Contains(ids, tiles[i].ID) {
			out = append(out, tiles[i])
		}
	}
	return out, nil
}

// stack places tiles below each other on all screens, and leaves their sizes unchanged.
func stack(tiles []tileRecord) {
	bottom := map[string]float64{}
	for i := range tiles {
		layouts := map[string]map[string]any{}
		_ = json.Unmarshal(tiles[i].Layouts, &layouts) // layouts that cannot be read are replaced
		for _, screen := range []string{"sm", "xs"} {
			layout := layouts[screen]
			if layout == nil {
				// A narrow screen without a layout derives it from the wide one.
				if screen != "sm" {
					continue
				}
				layout = map[string]any{}
				layouts[screen] = layout
			}
			height, ok := layout["h"].(float64)
			if !ok {
				height = tileHeight
			}
			if _, ok := layout["w"].(float64); !ok {
				layout["w"] = tileWidth
			}
			layout["h"], layout["x"], layout["y"] = height, 0, bottom[screen]
			bottom[screen] += height
		}
		tiles[i].Layouts = storage.Encode(layouts)
	}
}
