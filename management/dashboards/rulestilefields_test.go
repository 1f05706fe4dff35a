package dashboards_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestTiles_Fields(t *testing.T) {
	runTables(t, map[string][]ruletest.Row{
		"show_description": describedRows, "bounds": tileBoundRows, "texts": tileTextRows, "all or nothing": tileAtomicRows, "the log": tileLogRows, "tags of templates": templateTagRows,
	})
}

var describedRows = rows(
	[]ruletest.Row{
		aDashboard,
		{"clients.md §4", "bob", "insight => it", `{"name":"I","dashboards":[1]}`, `{"name":"I"}`},
		{"clients.md §4 until it is set: null", "bob", "get 1", ``, `{"tiles":[{"id":1,"show_description":null,"color":null,"layouts":{}}]}`},
	},
	each("clients.md §4 show_description", "bob", "change 1",
		[2]string{tiles(`{"id":1,"show_description":true}`), `{"tiles":[{"show_description":true}]}`},
		[2]string{tiles(`{"id":1,"color":"red"}`), `{"tiles":[{"show_description":true,"color":"red"}]}`},
		[2]string{tiles(`{"id":1,"show_description":false}`), `{"tiles":[{"show_description":false}]}`},
		[2]string{tiles(`{"id":1,"show_description":"perhaps"}`), `400 invalid_input tiles__0__show_description Must be a valid boolean.`},
		[2]string{tiles(`{"id":1,"show_description":null}`), `{"tiles":[{"show_description":null}]}`},
		[2]string{tiles(`{"id":1,"color":""}`), `{"tiles":[{"color":null}]}`}, // Terraform sends it for no color
		[2]string{tiles(`{"id":1,"show_description":true,"color":"blue","filters_overrides":{"a":1},"layouts":{"sm":{"x":1}}}`), `{"tiles":[{"id":1}]}`},
	),
	[]ruletest.Row{
		{"§4.1.3 copies have it", "bob", "create", `{"use_dashboard":1}`, `{"tiles":[{"show_description":true,"color":"blue","filters_overrides":{"a":1},"layouts":{"sm":{"x":1}}}]}`},
		{"§4.1.4 deep copies have it, without a place", "bob", "change 1", `{"duplicate_tiles":[{"id":1}]}`, `{"tiles":[{"id":1},{"show_description":true,"color":"blue","filters_overrides":{"a":1},"layouts":{}}]}`},
		{"§4.1.6 a moved tile has it", "bob", "create", `{"name":"two"}`, `{"id":3}`},
		{"§4.1.6 a moved tile has it", "bob", "move 1", `{"tile":{"id":1},"toDashboard":3}`, `{"tiles":[{"insight":{"name":"I (Copy)"}}]}`},
		{"§4.1.6 a moved tile has it", "bob", "get 3", ``, `{"tiles":[{"id":1,"show_description":true,"color":"blue","filters_overrides":{"a":1},"layouts":{"sm":{"x":1}}}]}`},
	},
)

// The limits are in bytes of the JSON value: {"ab":""} has 9 of them, and {"something":""} 16.
var tileBoundRows = rows(
	[]ruletest.Row{
		aDashboard,
		{"§4.1.4", "bob", "change 1", tiles(`{"text":{"body":"x"}}`), `{"tiles":[{"id":1}]}`},
	},
	each("16 KiB of a layout and of overrides", "bob", "change 1",
		[2]string{tiles(`{"id":1,"filters_overrides":{"ab":` + text(16<<10-9) + `}}`), `{"tiles":[{"id":1}]}`},
		[2]string{tiles(`{"id":1,"filters_overrides":{"ab":` + text(16<<10-8) + `}}`), `400 max_length tiles__0__filters_overrides Ensure this field has no more than 16384 bytes.`},
		[2]string{tiles(`{"id":1,"layouts":{"something":` + text(16<<10-16) + `}}`), `{"tiles":[{"id":1}]}`},
		[2]string{tiles(`{"id":1,"layouts":{"something":` + text(16<<10-15) + `}}`), `400 max_length tiles__0__layouts Ensure this field has no more than 16384 bytes.`},
	),
	each("64 KiB of a dashboard's JSON, each", "bob", "change 1",
		[2]string{`{"filters":{"ab":` + text(64<<10-9) + `},"variables":{"ab":` + text(64<<10-9) + `},"breakdown_colors":{"ab":` + text(64<<10-9) + `}}`, `{"id":1}`},
		[2]string{`{"filters":{"ab":` + text(64<<10-8) + `}}`, `400 max_length filters Ensure this field has no more than 65536 bytes.`},
		[2]string{`{"variables":{"ab":` + text(64<<10-8) + `}}`, `400 max_length variables Ensure this field has no more than 65536 bytes.`},
		[2]string{`{"breakdown_colors":{"ab":` + text(64<<10-8) + `}}`, `400 max_length breakdown_colors Ensure this field has no more than 65536 bytes.`},
		[2]string{`{"description":` + text(10_000) + `}`, `{"id":1}`},
		[2]string{`{"description":` + text(10_001) + `}`, `400 max_length description Ensure this field has no more than 10000 characters.`},
	),
	each("256 KiB of an insight's JSON, each", "bob", "insight",
		[2]string{`{"query":{"ab":` + text(256<<10-9) + `},"filters":{"ab":` + text(256<<10-9) + `}}`, `{"tags":[]}`},
		[2]string{`{"query":{"ab":` + text(256<<10-8) + `}}`, `400 max_length query Ensure this field has no more than 262144 bytes.`},
		[2]string{`{"filters":{"ab":` + text(256<<10-8) + `}}`, `400 max_length filters Ensure this field has no more than 262144 bytes.`},
		[2]string{`{"tags":` + list(100, numbered(`"t%d"`)) + `}`, `{"name":null}`},
		[2]string{`{"tags":` + list(101, numbered(`"t%d"`)) + `}`, `400 max_length tags Ensure this field has no more than 100 elements.`},
		[2]string{`{"dashboards":` + list(1000, func(int) string { return "99" }) + `}`, `400 invalid_input dashboards Dashboard not found`},
		[2]string{`{"dashboards":` + list(1001, func(int) string { return "99" }) + `}`, `400 max_length dashboards Ensure this field has no more than 1000 elements.`},
		[2]string{`{"derived_name":` + text(400) + `}`, `{"derived_name":` + text(400) + `}`},
		[2]string{`{"derived_name":` + text(401) + `}`, `400 max_length derived_name Ensure this field has no more than 400 characters.`},
	),
)

var tileTextRows = rows(
	[]ruletest.Row{
		aDashboard,
		{"clients.md §4 a text tile, in second 2", "bob", "change 1", tiles(`{"text":{"body":"one"}}`), `{"tiles":[{"id":1,"text":{"body":"one","last_modified_at":"2026-01-02T12:00:02Z"}}]}`},
		{"clients.md §4 the same text is no change", "cyd", "change 1", tiles(`{"id":1,"text":{"body":"one"},"color":"red"}`), `{"tiles":[{"color":"red","text":{"last_modified_at":"2026-01-02T12:00:02Z","last_modified_by":{"first_name":"bob"}}}]}`},
		{"clients.md §4 a tile without text keeps it", "cyd", "change 1", tiles(`{"id":1,"text":null,"layouts":{"sm":{"x":1}}}`), `{"tiles":[{"text":{"body":"one","last_modified_by":{"first_name":"bob"}}}]}`},
		{"clients.md §4 another text, in second 5", "cyd", "change 1", tiles(`{"id":1,"text":{"body":"two","id":77,"created_by":null}}`), `{"tiles":[{"id":1,"text":{"id":1,"body":"two","created_by":{"first_name":"bob"},"last_modified_by":{"first_name":"cyd"},"last_modified_at":"2026-01-02T12:00:05Z"}}]}`},
		{"clients.md §4 a body of null is empty", "cyd", "change 1", tiles(`{"id":1,"text":{"body":null}}`), `{"tiles":[{"text":{"body":""}}]}`},
		{"clients.md §4 no body is empty", "cyd", "change 1", tiles(`{"text":{}}`), `{"tiles":[{"id":1},{"id":2,"text":{"body":""}}]}`},
		{"clients.md §4 made deleted", "cyd", "change 1", tiles(`{"text":{"body":"hidden"},"deleted":true}`), `{"tiles":[{"id":1},{"id":2}]}`},
		{"clients.md §4 and back", "cyd", "change 1", tiles(`{"id":3,"deleted":false}`), `{"tiles":[{"id":1},{"id":2},{"id":3,"text":{"body":"hidden"}}]}`},
		{"clients.md §4 texts of several users", "bob", "get 1", ``, `{"tiles":[{"text":{"created_by":{"first_name":"bob"}}},{"text":{"created_by":{"first_name":"cyd"},"team":1}},{"id":3}]}`},
	},
)

var tileAtomicRows = []ruletest.Row{
	aDashboard,
	{"§4.1.4", "bob", "change 1", tiles(`{"text":{"body":"one"}}`), `{"tiles":[{"id":1}]}`},
	{"§4.1.4 the second entry is bad: neither is made", "bob", "change 1", tiles(`{"text":{"body":"two"}},{"text":{"body":7.5e3}},{"text":{"body":[]}}`), `400 invalid_input tiles__2__text__body Not a valid string.`},
	{"§4.1.4 the tiles are bad: the name stays", "bob", "change 1", `{"name":"x","tiles":[{"id":1,"color":"red"},{"color":"red"}]}`, `400 required tiles__1__id This field is required.`},
	{"§4.1.4 the copies are bad: the tiles stay", "bob", "change 1", `{"tiles":[{"id":1,"color":"red"},{"text":{"body":"two"}}],"duplicate_tiles":[{"id":9}]}`, `400 does_not_exist duplicate_tiles__0__id Invalid pk "9" - object does not exist.`},
	{"§4.1.4 nothing of it stays", "bob", "get 1", ``, `{"name":"one","tiles":[{"id":1,"color":null,"text":{"body":"one"}}]}`},
	{"§4.1.4 tiles first, then copies", "bob", "change 1", `{"tiles":[{"id":1,"color":"red"},{"text":{"body":"two"}}],"duplicate_tiles":[{"id":1}]}`, `{"tiles":[{"id":1,"color":"red"},{"id":2,"text":{"body":"two"}},{"id":3,"color":"red","text":{"body":"one"}}]}`},
	{"§4.1.4 one tile twice: the last entry counts", "bob", "change 1", tiles(`{"id":1,"color":"a"},{"id":1,"color":"b"}`), `{"tiles":[{"color":"b"},{"id":2},{"id":3}]}`},
	{"§4.1.5 deleted with its tiles, which are changed first", "bob", "change 1", `{"deleted":true,"tiles":[{"id":1,"color":"last"}]}`, `{"deleted":true,"tiles":[]}`},
	{"§4.1.5", "bob", "change 1", `{"deleted":false}`, `{"tiles":[{"id":1,"color":"last"},{"id":2},{"id":3}]}`},
}

// The log has the numbers of the tiles that were changed.
var tileLogRows = []ruletest.Row{
	aDashboard,
	{"§5.11", "bob", "change 1", tiles(`{"text":{"body":"one"}},{"text":{"body":"two"}}`), `{"tiles":[{"id":1},{"id":2}]}`},
	{"§5.11 new tiles", "bob", "log Dashboard 1", ``, `{"detail":{"changes":[{"field":"tiles","after":[1,2]}]}}`},
	{"§5.11 a tile that is sent back as it is", "cyd", "change 1", tiles(`{"id":1,"color":null,"text":{"body":"one"}},{"id":2,"color":"red"}`), `{"tiles":[{"id":1},{"id":2}]}`},
	{"§5.11 is no change", "bob", "log Dashboard 1", ``, `{"user":{"first_name":"cyd"},"detail":{"changes":[{"field":"tiles","after":[2]}]}}`},
	{"§5.11 nothing at all", "gus", "change 1", tiles(`{"id":1},{"id":2,"color":"red"}`), `{"tiles":[{"id":1},{"id":2}]}`},
	{"§5.11 nothing at all", "bob", "log Dashboard 1", ``, `{"user":{"first_name":"cyd"}}`},
	{"§5.11 copies", "gus", "change 1", `{"duplicate_tiles":[{"id":2}]}`, `{"tiles":[{"id":1},{"id":2},{"id":3}]}`},
	{"§5.11 copies", "bob", "log Dashboard 1", ``, `{"user":{"first_name":"gus"},"detail":{"changes":[{"field":"tiles","after":[3]}]}}`},
	{"§5.11 a move: gone from here", "bob", "create", `{"name":"two"}`, `{"id":2}`},
	{"§5.11 a move: gone from here", "cyd", "move 1", `{"tile":{"id":1},"toDashboard":2}`, `{"tiles":[{"id":2},{"id":3}]}`},
	{"§5.11 a move: gone from here", "bob", "log Dashboard 1", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"name":"one","changes":[{"field":"tiles","action":"deleted","before":[1]}]}}`},
	{"§5.11 a move: come to there", "bob", "log Dashboard 2", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"name":"two","changes":[{"field":"tiles","action":"created","after":[1]}]}}`},
	{"§5.11 to the same dashboard: no change", "gus", "move 2", `{"tile":{"id":1},"toDashboard":2}`, `{"tiles":[{"id":1}]}`},
	{"§5.11 to the same dashboard: no change", "bob", "log Dashboard 2", ``, `{"user":{"first_name":"cyd"}}`},
}

// Empty tags are dropped on every object with tags (clients.md §3.3).
var templateTagRows = rows(
	each("clients.md §3.3", "bob", "template", [2]string{templated(`"tags":["", "B"," b ",""]`), `{"tags":["b"]}`}, [2]string{templated(`"tags":[" "]`), `{"tags":[]}`}),
	each("clients.md §3.3", "bob", "create", [2]string{`{"tags":["","A"]}`, `{"tags":["a"]}`}, [2]string{`{"tags":[""]}`, `{"tags":[]}`}),
	each("clients.md §3.3", "bob", "insight", [2]string{`{"tags":["","A"," a"]}`, `{"tags":["a"]}`}),
	[]ruletest.Row{{"clients.md §2.2 tags", "bob", "list", `{"Tags":[""]}`, `{"count":4}`}},
)
