package dashboards

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// tileFields are the fields of a tile in the body of a dashboard (§4.1.4). Other members are
// ignored.
var tileFields = management.Fields{
	{Name: "id", Type: management.Int},
	{Name: "text", Type: management.Object, Null: true},
	{Name: "deleted", Type: management.Bool},
	{Name: "color", Type: management.Text, Null: true, Blank: true, MaxLength: maxTileColor},
	{Name: "show_description", Type: management.Bool, Null: true},
	{Name: "layouts", Type: management.Object, Null: true},
	{Name: "filters_overrides", Type: management.Object, Null: true},
}

// bodyShape describes the tiles in the body of a dashboard. Members of responses may be sent back
// unchanged.
var bodyShape = &resource.Shape{Inside: map[string]*resource.Shape{"tiles": {
	Name: "a tile", Members: "id text deleted color show_description layouts filters_overrides",
	ReadOnly: "insight order last_refresh is_cached error refreshing refresh_attempt dashboard dashboard_id insight_id",
	Idle:     "button_tile transparent_background widget",
	Inside: map[string]*resource.Shape{
		"text":    {Name: "a text", Members: "body", ReadOnly: "id created_by last_modified_by last_modified_at team dashboard_tiles"},
		"layouts": {Name: "layouts", Members: "sm xs", ReadOnly: "xxs md lg xl", Inside: map[string]*resource.Shape{"sm": placeShape, "xs": placeShape}},
	},
}}}

// placeShape describes the place of a tile on a screen of one width.
var placeShape = &resource.Shape{Name: "a layout", Members: "x y w h", ReadOnly: "i minW minH maxW maxH moved static isDraggable isResizable isBounded resizeHandles"}

// tileTextFields are the fields of the text of a tile.
var tileTextFields = management.Fields{{Name: "body", Type: management.Text, Null: true, Blank: true}}

// prefixField prepends a path to the Field of an error for the client, such as tiles__0. It returns
// other errors unchanged.
func prefixField(field string, err error) error {
	var apiErr *management.Error
	if !errors.As(err, &apiErr) {
		return err
	}
	out := *apiErr
	if out.Field != "" {
		field += "__" + out.Field
	}
	out.Field = field
	return &out
}

// tileObjects splits a JSON array of objects, which may have at most limit elements. An empty value
// is an empty array.
func tileObjects(name string, raw json.RawMessage, limit int) ([]management.Body, error) {
	if !isTruthy(raw) {
		return nil, nil
	}
	list, err := (&management.Field{Name: name, Type: management.ObjectList}).Read(raw)
	if err != nil {
		return nil, err
	}
	entries := list.([]json.RawMessage)
	if len(entries) > limit {
		return nil, management.CodedFault(management.CodeMaxLength, name, "Ensure this field has no more than %d elements.", limit)
	}
	out := make([]management.Body, len(entries))
	for i, entry := range entries {
		if err := json.Unmarshal(entry, &out[i].Members); err != nil {
			return nil, fmt.Errorf("cannot read an object: %w", err)
		}
	}
	return out, nil
}

// changeTiles applies the member tiles of a body to a dashboard, and returns the numbers of the
// tiles that it created or changed. All entries are validated before the first one is applied.
func (s Dashboards) changeTiles(tx management.Tx, scope *management.Scope, d *dashboardRecord, raw json.RawMessage) ([]int64, error) {
	entries, err := tileObjects("tiles", raw, maxTiles)
	if err != nil {
		return nil, err
	}
	changes := make([]management.Values, len(entries))
	newCount := 0
	for i, entry := range entries {
		if changes[i], err = readTileChange(entry); err != nil {
			return nil, prefixField(fmt.Sprintf("tiles__%d", i), err)
		}
		if !changes[i].Has("id") {
			newCount++
		}
	}
	if err := reserveTiles(tx, d.ID, newCount); err != nil {
		return nil, err
	}
	var ids []int64
	for i, v := range changes {
		id, err := s.changeTile(tx, scope, d, v)
		if err != nil {
			return nil, prefixField(fmt.Sprintf("tiles__%d", i), err)
		}
		if id != 0 {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// readTileChange reads an entry of tiles. An entry without an id creates a tile, which must have a
// text.
func readTileChange(b management.Body) (management.Values, error) {
	v, err := tileFields.Change(b)
	if err != nil {
		return nil, err
	}
	text := v.Raw("text")
	if !v.Has("id") && text == nil {
		return nil, management.CodedFault(management.CodeRequired, "id", "This field is required.")
	}
	for _, name := range []string{"layouts", "filters_overrides"} {
		if len(v.Raw(name)) > maxTileJSON {
			return nil, overBytes(name, maxTileJSON)
		}
	}
	// The object is replaced by the string that changeTile applies.
	delete(v, "text")
	if text != nil {
		var inner management.Body
		if err := json.Unmarshal(text, &inner.Members); err != nil {
			return nil, fmt.Errorf("cannot read an object: %w", err)
		}
		textValues, err := tileTextFields.Change(inner)
		if err != nil {
			return nil, prefixField("text", err)
		}
		if err := checkTileText("text__body", textValues.Text("body")); err != nil {
			return nil, err
		}
		v["text"] = textValues.Text("body")
	}
	return v, nil
}

// changeTile changes or creates a tile and returns its number, or 0 if nothing has changed.
func (s Dashboards) changeTile(tx management.Tx, scope *management.Scope, d *dashboardRecord, v management.Values) (int64, error) {
	t, err := findOrNewTile(tx, d, v)
	if err != nil {
		return 0, err
	}
	// The encoded forms are compared in order to log only tiles that have changed.
	before := storage.Encode(t)
	if v.Has("text") && (t.Text == nil || t.Text.Body != v.Text("text")) {
		if t.Insight != "" {
			return 0, management.Fault("text", "The tile shows an insight and has no text.")
		}
		s.writeText(scope, t, v.Text("text"))
	}
	management.Set(v, "deleted", &t.Deleted)
	management.SetNull(v, "color", &t.Color)
	if t.Color != nil && *t.Color == "" { // an empty string removes the color
		t.Color = nil
	}
	management.SetNull(v, "show_description", &t.Described)
	for name, dst := range map[string]*json.RawMessage{"layouts": &t.Layouts, "filters_overrides": &t.Overrides} {
		if v.IsNull(name) {
			*dst = json.RawMessage("{}")
		}
		management.Set(v, name, dst)
	}
	if v.Has("id") && v.Int("id") == t.ID && bytes.Equal(before, storage.Encode(t)) {
		return 0, nil
	}
	return t.ID, putTile(tx, d.ID, t)
}

// findOrNewTile returns the tile that a change refers to, or a new one.
func findOrNewTile(tx management.Tx, d *dashboardRecord, v management.Values) (*tileRecord, error) {
	// A text without an id is a new tile.
	if !v.Has("id") {
		return newTile(tx)
	}
	t, err := tileOf(tx, d.ID, v.Int("id"))
	if err != nil || t != nil {
		return t, err
	}
	if !v.Has("text") {
		return nil, management.ErrNoObject("id", v.Int("id"))
	}
	// A text with an id that no tile has creates a tile (spec/clients.md §4). changeTiles has not
	// counted it.
	if err := reserveTiles(tx, d.ID, 1); err != nil {
		return nil, err
	}
	return newTile(tx)
}

// duplicateTiles adds copies of tiles to their own dashboard and returns their numbers. It also
// copies the insights. The copies have no layouts, so that clients place them.
func (s Dashboards) duplicateTiles(tx management.Tx, scope *management.Scope, d *dashboardRecord, raw json.RawMessage) ([]int64, error) {
	entries, err := tileObjects("duplicate_tiles", raw, maxTiles)
	if err != nil {
		return nil, err
	}
	if err := reserveTiles(tx, d.ID, len(entries)); err != nil {
		return nil, err
	}
	var ids []int64
	for i, entry := range entries {
		field := fmt.Sprintf("duplicate_tiles__%d", i)
		v, err := management.Fields{{Name: "id", Type: management.Int, Required: true}}.Create(entry)
		if err != nil {
			return nil, prefixField(field, err)
		}
		t, err := tileOf(tx, d.ID, v.Int("id"))
		if err == nil && (t == nil || t.Deleted) {
			err = management.ErrNoObject("id", v.Int("id"))
		}
		if err != nil {
			return nil, prefixField(field, err)
		}
		t.Layouts = json.RawMessage("{}")
		id, err := s.copyTile(tx, scope, d, *t, true)
		if err != nil {
			return nil, err
		}
		if id != 0 {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
