package dashboards

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// kindTile is the kind of the records of tiles. Parent is the dashboard, Other the insight that the
// tile shows (tileOfInsight), Sort and ID the tile's number. Hidden means that it is deleted.
const kindTile = "dashboard_tile"

// Bounds of tiles.
const (
	// maxTiles is the greatest number of tiles of a dashboard.
	maxTiles     = 1000
	maxTileText  = 4000     // characters
	maxTileColor = 400      // characters
	maxTileJSON  = 16 << 10 // bytes of layouts and filters_overrides, each
)

// tile is the form of a tile in responses (§4.1.2). It shows either an insight or a text.
// LastRefresh and Cached belong to the insight's result, and are set by the caller that runs the
// query.
type tile struct {
	ID int64 `json:"id"`
	// Layouts are the places of the tile by screen width: a JSON object with the members sm and xs.
	Layouts json.RawMessage `json:"layouts"`
	Color   *string         `json:"color"`
	// Described overrides whether the insight's description is visible; nil for the client's
	// default.
	Described *bool `json:"show_description"`
	// Overrides are filters that are added to the query of the insight.
	Overrides json.RawMessage `json:"filters_overrides"`
	Insight   *Insight        `json:"insight"`
	Text      *TileText       `json:"text"`
	// Order is the index of the tile among the visible tiles of the dashboard.
	Order       int              `json:"order"`
	LastRefresh management.Stamp `json:"last_refresh"`
	Cached      bool             `json:"is_cached"`

	stored json.RawMessage // see StoredOverrides
}

// TileText is the form of a tile's text in responses.
type TileText struct {
	ID             int64                `json:"id"`
	Body           string               `json:"body"`
	CreatedBy      *management.UserView `json:"created_by"`
	LastModifiedBy *management.UserView `json:"last_modified_by"`
	LastModified   management.Stamp     `json:"last_modified_at"`
	Team           int64                `json:"team"`
}

// tileRecord is the stored form of a tile.
type tileRecord struct {
	ID        int64           `json:"id"`
	Layouts   json.RawMessage `json:"layouts"`
	Color     *string         `json:"color"`
	Described *bool           `json:"show_description,omitempty"`
	Overrides json.RawMessage `json:"filters_overrides"`
	Insight   string          `json:"insight,omitempty"` // the insight's number; empty for a text
	Text      *tileText       `json:"text,omitempty"`
	Deleted   bool            `json:"deleted,omitempty"`
}

// tileText is the stored form of a tile's text. Author and Modifier are numbers of users.
type tileText struct {
	ID       int64            `json:"id"`
	Body     string           `json:"body"`
	Author   int64            `json:"created_by"`
	Modifier int64            `json:"last_modified_by"`
	Modified management.Stamp `json:"last_modified_at"`
}

// tileOfInsight returns the Record.Other of the tiles that show an insight.
func tileOfInsight(id string) string { return "insight:" + id }

// putTile stores a tile of a dashboard.
func putTile(tx management.Tx, dashboard int64, t *tileRecord) error {
	r := management.Record{
		Kind: kindTile, Parent: dashboardParent(dashboard), ID: strconv.FormatInt(t.ID, 10), Sort: storage.SortNumber(t.ID), Hidden: t.Deleted, Data: storage.Encode(t),
	}
	if t.Insight != "" {
		r.Other = tileOfInsight(t.Insight)
	}
	return tx.Put(&r)
}

// newTile returns an empty tile with a new number. It does not store it.
func newTile(tx management.Tx) (*tileRecord, error) {
	id, err := tx.Next(kindTile)
	return &tileRecord{ID: id, Layouts: json.RawMessage("{}"), Overrides: json.RawMessage("{}")}, err
}

// tilesOf returns the tiles of a dashboard by number: either the visible or the deleted ones.
func tilesOf(tx management.Tx, dashboard int64, deleted bool) ([]tileRecord, error) {
	list, err := management.ListRecords[tileRecord](tx, management.Query{Kind: kindTile, Parent: dashboardParent(dashboard), Hidden: deleted})
	return list.Results, err
}

// tileOf returns a tile of a dashboard, deleted or not, or nil if it does not exist.
func tileOf(tx management.Tx, dashboard, id int64) (*tileRecord, error) {
	return management.Found[tileRecord](tx.Get(kindTile, dashboardParent(dashboard), strconv.FormatInt(id, 10)))
}

// reserveTiles returns an error if n more tiles do not fit on a dashboard. Deleted tiles count too, but
// reserveTiles removes the oldest of them for good if the space is needed.
func reserveTiles(tx management.Tx, dashboard int64, n int) error {
	if n == 0 {
		return nil
	}
	q := management.Query{Kind: kindTile, Parent: dashboardParent(dashboard), Limit: 1}
	_, visible, err := tx.List(q)
	if err != nil {
		return err
	}
	if visible+n > maxTiles {
		return management.CodedFault(management.CodeMaxLength, "tiles", "A dashboard has at most %d tiles.", maxTiles)
	}
	// Deleted tiles are listed by ascending number, so the oldest are first.
	q.Hidden, q.Limit = true, maxTiles
	old, deleted, err := tx.List(q)
	if err != nil {
		return err
	}
	for i := range min(max(visible+deleted+n-maxTiles, 0), len(old)) {
		if err := tx.Delete(kindTile, old[i].Parent, old[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// showTiles returns the tiles in the order of their places. Tiles are omitted if their insight is
// deleted or the caller may not view it. Visitors of a link see all insights.
func (d *dashboardRecord) showTiles(v *view, project int64) ([]tile, error) {
	records, err := tilesOf(v.Tx, d.ID, false)
	if err != nil {
		return nil, err
	}
	sortTiles(records)
	out := []tile{}
	for i := range records {
		t := &records[i]
		tile := tile{ID: t.ID, Layouts: t.Layouts, Color: t.Color, Described: t.Described, Overrides: t.Overrides, stored: t.Overrides, Order: len(out)}
		if t.Text != nil {
			if tile.Text, err = t.Text.show(v, project); err != nil {
				return nil, err
			}
		} else {
			insight, err := insightOf(v.Tx, project, t.Insight)
			if err != nil {
				return nil, err
			}
			if insight == nil || insight.Deleted || v.Scope != nil && !v.CanSee(insight.accessObject()) {
				continue
			}
			if tile.Insight, err = insight.show(v); err != nil {
				return nil, err
			}
			// Clients require a string here.
			if tile.Insight.Name == nil {
				tile.Insight.Name = new(string)
			}
		}
		out = append(out, tile)
	}
	return out, nil
}

// sortTiles sorts tiles by their places, from top to bottom and from left to right. Tiles at the
// same place remain in their order.
func sortTiles(list []tileRecord) {
	slices.SortStableFunc(list, func(a, b tileRecord) int {
		ax, ay := a.position()
		bx, by := b.position()
		return cmp.Or(cmp.Compare(ay, by), cmp.Compare(ax, bx))
	})
}

// noPosition is the coordinate of a tile whose layout has none (§4.1.2).
const noPosition = 100

// position returns the place of the tile on a wide screen.
func (t *tileRecord) position() (x, y float64) {
	var layouts struct {
		SM struct {
			X any `json:"x"`
			Y any `json:"y"`
		} `json:"sm"`
	}
	_ = json.Unmarshal(t.Layouts, &layouts) // layouts that cannot be read have no coordinates
	number := func(v any) float64 {
		if n, ok := v.(float64); ok {
			return n
		}
		return noPosition
	}
	return number(layouts.SM.X), number(layouts.SM.Y)
}

// show returns the form of the text in responses.
func (t *tileText) show(v *view, project int64) (_ *TileText, err error) {
	out := &TileText{ID: t.ID, Body: t.Body, LastModified: t.Modified, Team: project}
	if out.CreatedBy, err = v.Author(t.Author); err != nil {
		return nil, err
	}
	out.LastModifiedBy, err = v.Author(t.Modifier)
	return out, err
}

// writeText sets the text of a tile. The caller of the request becomes its author or its modifier.
func (s Dashboards) writeText(scope *management.Scope, t *tileRecord, body string) {
	if t.Text == nil {
		t.Text = &tileText{ID: t.ID, Author: scope.User.ID}
	}
	t.Text.Body, t.Text.Modifier, t.Text.Modified = body, scope.User.ID, management.NewStamp(s.Env.Now())
}

// checkTileText returns an error if a text is too long. field is the place of the text in the body.
func checkTileText(field, body string) error {
	if utf8.RuneCountInString(body) > maxTileText {
		return management.CodedFault(management.CodeMaxLength, field, "Text body cannot exceed %d characters", maxTileText)
	}
	return nil
}

// copyTiles copies the tiles of one dashboard to another and returns the new numbers. If deep is
// true, it copies the insights too; otherwise both dashboards show the same insights.
func (s Dashboards) copyTiles(tx management.Tx, scope *management.Scope, from, to *dashboardRecord, deep bool) ([]int64, error) {
	tiles, err := tilesOf(tx, from.ID, false)
	if err != nil {
		return nil, err
	}
	if err := reserveTiles(tx, to.ID, len(tiles)); err != nil {
		return nil, err
	}
	var ids []int64
	for i := range tiles {
		id, err := s.copyTile(tx, scope, to, tiles[i], deep)
		if err != nil {
			return nil, err
		}
		if id != 0 {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// copyTile copies a tile to a dashboard and returns the new number. It returns 0 if the insight is
// deleted or the caller may not view it.
func (s Dashboards) copyTile(tx management.Tx, scope *management.Scope, target *dashboardRecord, t tileRecord, deep bool) (int64, error) {
	duplicate, err := newTile(tx)
	if err != nil {
		return 0, err
	}
	// The copy shows the same insight, unless deep is true.
	duplicate.Layouts, duplicate.Color, duplicate.Described, duplicate.Overrides, duplicate.Insight = t.Layouts, t.Color, t.Described, t.Overrides, t.Insight
	if t.Text != nil {
		s.writeText(scope, duplicate, t.Text.Body)
		return duplicate.ID, putTile(tx, target.ID, duplicate)
	}
	// The tile is not copied if the insight is deleted or hidden from the caller.
	insight, err := insightOf(tx, scope.Project.ID, t.Insight)
	if err != nil || insight == nil || insight.Deleted || !scope.CanSee(insight.accessObject()) {
		return 0, err
	}
	if deep {
		copied, err := Insights(s).copyOf(&view{Tx: tx, Scope: scope}, insight)
		if err != nil {
			return 0, err
		}
		duplicate.Insight = strconv.FormatInt(copied.ID, 10)
	}
	return duplicate.ID, putTile(tx, target.ID, duplicate)
}

// hideTiles marks all tiles of a dashboard as deleted. If insights is true, it also deletes the
// insights that are on no other dashboard (§4.1.5).
func (s Dashboards) hideTiles(tx management.Tx, scope *management.Scope, d *dashboardRecord, insights bool) error {
	tiles, err := tilesOf(tx, d.ID, false)
	if err != nil {
		return err
	}
	for i := range tiles {
		t := &tiles[i]
		if insights && t.Insight != "" {
			_, places, err := tx.List(management.Query{Kind: kindTile, Other: tileOfInsight(t.Insight), Limit: 1})
			if err != nil {
				return err
			}
			// The only tile is the one that is deleted here.
			if places == 1 {
				if err := Insights(s).setDeleted(&view{Tx: tx, Scope: scope}, t.Insight, true); err != nil {
					return err
				}
			}
		}
		t.Deleted = true
		if err := putTile(tx, d.ID, t); err != nil {
			return err
		}
	}
	return nil
}

// restoreTiles restores all tiles of a dashboard and their insights (§4.1.5).
func (s Dashboards) restoreTiles(tx management.Tx, scope *management.Scope, d *dashboardRecord) error {
	// The insight of a visible tile may have been deleted too.
	for _, deleted := range []bool{true, false} {
		tiles, err := tilesOf(tx, d.ID, deleted)
		if err != nil {
			return err
		}
		for i := range tiles {
			t := &tiles[i]
			if t.Insight != "" {
				if err := Insights(s).setDeleted(&view{Tx: tx, Scope: scope}, t.Insight, false); err != nil {
					return err
				}
			}
			if t.Deleted {
				t.Deleted = false
				if err := putTile(tx, d.ID, t); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// showFull returns the form of the dashboard in responses, with its tiles.
func (d *dashboardRecord) showFull(v *view) (*Dashboard, error) {
	out, err := d.show(v)
	if err != nil {
		return nil, err
	}
	out.Tiles, err = d.showTiles(v, v.Project.ID)
	return out, err
}
