package dashboards_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestDashboards_Reorder(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{"order": reorderRows, "bodies": reorderBodyRows, "who": reorderWhoRows} {
		t.Run(name, func(t *testing.T) {
			w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
			w.Run(t, accessCalls(t, w), rows)
		})
	}
}

// threeTiles creates a dashboard with three tiles, which have the ids 1 to 3 and the bodies a, b and c. b has no
// layout, so it is the last one: §4.1.2.
var threeTiles = []ruletest.Row{
	aDashboard,
	{"§4.1.2", "bob", "change 1", tiles(tileAt("a", `{"sm":{"x":3,"y":0,"w":4,"h":3,"minW":2},"xs":{"x":0,"y":9,"w":1,"h":2}}`) + `,` + tileAt("b", `{}`) + `,` + tileAt("c", `{"sm":{"x":6,"y":0,"w":"wide"},"xs":{"x":0,"y":0,"w":1}}`)),
		`{"tiles":[{"id":1},{"id":3},{"id":2}]}`},
}

// Tiles are stacked in the order of tile_order, each below the tiles before it. A size
// that is missing is 6 by 5, as of the tile in §4.1.2.
var reorderRows = rows(threeTiles, []ruletest.Row{
	{"clients.md §4 stacked in that order: heights 5 and 3", "cyd", "reorder 1", `{"tile_order":[2,1,3]}`, `{"id":1,"name":"one","tiles":[
		{"id":2,"order":0,"layouts":{"sm":{"x":0,"y":0,"w":6,"h":5},"xs":"(absent)"}},
		{"id":1,"order":1,"layouts":{"sm":{"x":0,"y":5,"w":4,"h":3,"minW":2},"xs":{"x":0,"y":0,"w":1,"h":2}}},
		{"id":3,"order":2,"layouts":{"sm":{"x":0,"y":8,"w":6,"h":5},"xs":{"x":0,"y":2,"w":1,"h":5}}}]}`},
	{"clients.md §4 stored", "bob", "get 1", ``, `{"tiles":[{"id":2,"text":{"body":"b"}},{"id":1,"text":{"body":"a"},"layouts":{"sm":{"y":5}}},{"id":3}]}`},
	{"§5.11 before it they stood as a, c, b", "bob", "log Dashboard 1", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"name":"one","changes":[{"field":"tiles","before":[1,3,2],"after":[2,1,3]}]}}`},
	{"clients.md §4 those that are not named follow as they stand", "bob", "reorder 1", `{"tile_order":[3]}`, `{"tiles":[{"id":3,"layouts":{"sm":{"y":0}}},{"id":2,"layouts":{"sm":{"y":5}}},{"id":1,"layouts":{"sm":{"y":10}}}]}`},
	{"clients.md §4 none is named", "bob", "reorder 1", `{"tile_order":[]}`, `{"tiles":[{"id":3},{"id":2},{"id":1}]}`},
	{"§5.11 no change", "bob", "log Dashboard 1", ``, `{"detail":{"changes":[{"before":[2,1,3],"after":[3,2,1]}]}}`},
	{"clients.md §4 a number as a text", "bob", "reorder 1", `{"tile_order":["1","2"]}`, `{"tiles":[{"id":1},{"id":2},{"id":3}]}`},
	{"clients.md §4 color and text stay", "bob", "change 1", tiles(`{"id":2,"color":"red","filters_overrides":{"a":1}}`), `{"id":1}`},
	{"clients.md §4 color and text stay", "bob", "reorder 1", `{"tile_order":[2]}`, `{"tiles":[{"id":2,"color":"red","filters_overrides":{"a":1},"text":{"body":"b"}},{"id":1},{"id":3}]}`},
})

var reorderBodyRows = rows(
	threeTiles,
	[]ruletest.Row{{"§4.1.4", "bob", "change 1", tiles(`{"id":3,"deleted":true}`), `{"tiles":[{"id":1},{"id":2}]}`}},
	each("clients.md §4 tile_order", "bob", "reorder 1",
		[2]string{`{}`, `400 required tile_order This field is required.`},
		[2]string{`{"tile_order":null}`, `400 null tile_order This field may not be null.`},
		[2]string{`{"tile_order":2}`, `400 not_a_list tile_order Expected a list of items but got type "int".`},
		[2]string{`{"tile_order":[1,"two"]}`, `400 invalid_input tile_order__1 A valid integer is required.`},
		[2]string{`{"tile_order":[2,99]}`, `400 does_not_exist tile_order Invalid pk "99" - object does not exist.`},
		[2]string{`{"tile_order":[2,3]}`, `400 does_not_exist tile_order Invalid pk "3" - object does not exist.`}, // it is deleted
		[2]string{`{"tile_order":[2,1,2]}`, `400 invalid_input tile_order`},
		[2]string{`[2,1]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
	),
	[]ruletest.Row{
		{"a refusal changes nothing", "bob", "get 1", ``, `{"tiles":[{"id":1,"layouts":{"sm":{"x":3,"y":0}}},{"id":2,"layouts":{}}]}`},
		{"a refusal changes nothing", "bob", "log Dashboard 1", ``, `{"detail":{"changes":[{"field":"tiles","after":[3]}]}}`},
		{"a tile of another dashboard", "bob", "create", `{"name":"two"}`, `{"id":2}`},
		{"a tile of another dashboard", "bob", "reorder 2", `{"tile_order":[1]}`, `400 does_not_exist tile_order`},
	},
)

var reorderWhoRows = rows(threeTiles, []ruletest.Row{
	{"§4.1.3", "bob", "change 1", `{"restriction_level":37}`, `{"id":1}`},
	{"§4.1.3 privilege 21 on level 37", "cyd", "reorder 1", `{"tile_order":[2]}`, noEdit},
	{"§4.1.7 a collaborator", "bob", "add 1", `{"user_uuid":"` + cyd + `","level":37}`, `{"level":37}`},
	{"§4.1.7 a collaborator", "cyd", "reorder 1", `{"tile_order":[2]}`, `{"tiles":[{"id":2},{"id":1},{"id":3}]}`},
	{"§1.5 of another project: not there", "dan", "reorder 1", `{"tile_order":[2]}`, `404 not_found - Not found.`},
	{"§4.1.3 unknown", "bob", "reorder 9", `{"tile_order":[]}`, `404 not_found - Not found.`},
	{"§4.1.3 no number", "bob", "reorder one", `{"tile_order":[]}`, `404 not_found - Not found.`},
	{"§4.1.5 deleted", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§4.1.5 deleted", "bob", "reorder 1", `{"tile_order":[]}`, `404 not_found - Not found.`},
	{"§4.1.5 and comes back in the order", "bob", "change 1", `{"deleted":false}`, `{"tiles":[{"id":2},{"id":1},{"id":3}]}`},
})
