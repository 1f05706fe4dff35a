package dashboards_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestDashboards_More(t *testing.T) {
	runTables(t, map[string][]ruletest.Row{
		"changed tiles": tileFieldRows, "order of tiles": tileOrderRows, "copied tiles": tileCopyRows, "moved tiles": moreMoveRows, "copies": deepCopyRows,
		"templates": templateFieldRows, "tiles of templates": templateTileRows, "variables of templates": templateVariableRows, "ready templates": readyRows,
		"collaborators": moreCollaboratorRows, "sharing": moreSharingRows, "tokens": tokenRows, "what strangers see": strangerRows,
	})
}

// tiles returns the body of a change of tiles.
func tiles(entries string) string { return `{"tiles":[` + entries + `]}` }

var tileFieldRows = rows(
	[]ruletest.Row{
		aDashboard,
		{"§4.1.4", "bob", "change 1", tiles(`{"text":{"body":"hello"}}`), `{"tiles":[{"id":1,"layouts":{},"color":null,"filters_overrides":{},"text":{"id":1,"body":"hello","last_modified_at":"2026-01-02T12:00:02Z"}}]}`},
	},
	each("§4.1.4 one entry", "bob", "change 1",
		[2]string{tiles(`{"id":1,"color":"blue"}`), `{"tiles":[{"color":"blue","text":{"body":"hello"}}]}`},
		[2]string{tiles(`{"id":"1","color":"green"}`), `{"tiles":[{"color":"green"}]}`},
		[2]string{tiles(`{"id":1,"color":` + text(400) + `}`), `{"tiles":[{"color":` + text(400) + `}]}`},
		[2]string{tiles(`{"id":1,"color":` + text(401) + `}`), `400 max_length tiles__0__color Ensure this field has no more than 400 characters.`},
		[2]string{tiles(`{"id":1,"color":[]}`), `400 invalid_input tiles__0__color Not a valid string.`},
		[2]string{tiles(`{"id":1,"layouts":{"sm":{"x":1,"y":2,"w":3,"h":4},"xs":{"x":0}}}`), `{"tiles":[{"layouts":{"sm":{"x":1,"y":2,"w":3,"h":4},"xs":{"x":0}}}]}`},
		[2]string{tiles(`{"id":1,"layouts":{"sm":{"x":9}}}`), `{"tiles":[{"layouts":{"sm":{"x":9,"y":"(absent)"},"xs":"(absent)"}}]}`},
		[2]string{tiles(`{"id":1,"layouts":[]}`), `400 not_a_dict tiles__0__layouts Expected a dictionary of items but got type "list".`},
		[2]string{tiles(`{"id":1,"layouts":{}}`), `{"tiles":[{"layouts":{}}]}`},
		[2]string{tiles(`{"id":1,"filters_overrides":{"date_from":"-7d"}}`), `{"tiles":[{"filters_overrides":{"date_from":"-7d"}}]}`},
		[2]string{tiles(`{"id":1,"filters_overrides":null}`), `{"tiles":[{"filters_overrides":{}}]}`},
		[2]string{tiles(`{"id":1,"deleted":"perhaps"}`), `400 invalid_input tiles__0__deleted Must be a valid boolean.`},
		[2]string{tiles(`{"id":1,"text":{"body":"bye"},"color":"red"}`), `{"tiles":[{"color":"red","text":{"body":"bye"}}]}`},
		[2]string{tiles(`{"id":1,"text":{"body":""}}`), `{"tiles":[{"text":{"body":""}}]}`},
		[2]string{tiles(`{"id":1,"text":{"body":[]}}`), `400 invalid_input tiles__0__text__body Not a valid string.`},
		[2]string{tiles(`{"id":1,"text":"hello"}`), `400 not_a_dict tiles__0__text Expected a dictionary of items but got type "str".`},
		[2]string{tiles(`{"id":1}`), `{"tiles":[{"id":1}]}`},
		[2]string{tiles(`{"id":"one"}`), `400 invalid_input tiles__0__id A valid integer is required.`},
		[2]string{tiles(`{"color":"red"}`), `400 required tiles__0__id This field is required.`},
		[2]string{tiles(`{}`), `400 required tiles__0__id This field is required.`},
		[2]string{tiles(`{"id":99,"color":"red"}`), `400 does_not_exist tiles__0__id Invalid pk "99" - object does not exist.`},
		[2]string{tiles(`7`), `400 not_a_dict tiles__0 Expected a dictionary of items but got type "int".`},
		[2]string{`{"tiles":"all"}`, `400 not_a_list tiles Expected a list of items but got type "str".`},
		[2]string{`{"tiles":[]}`, `{"tiles":[{"id":1}]}`},
		[2]string{`{"tiles":null}`, `{"tiles":[{"id":1}]}`},
	),
	[]ruletest.Row{
		{"clients.md §4 a text with an id that no tile has is a new one", "bob", "change 1", tiles(`{"id":77,"text":{"body":"new"}}`), `{"tiles":[{"id":1},{"text":{"body":"new"}}]}`},
		{"clients.md §4 tiles that are not in the list stay", "bob", "change 1", tiles(`{"text":{"body":"third"}}`), `{"tiles":[{"id":1},{"text":{"body":"new"}},{"text":{"body":"third"}}]}`},
		{"§4.1.2 who wrote and who changed it", "cyd", "change 1", tiles(`{"id":1,"text":{"body":"hers"}}`), `{"tiles":[{"text":{"body":"hers","created_by":{"first_name":"bob"},"last_modified_by":{"first_name":"cyd"},"team":1}},{"text":{"body":"new"}},{"text":{"body":"third"}}]}`},
		{"§4.1.4 removed", "bob", "change 1", tiles(`{"id":1,"deleted":true}`), `{"tiles":[{"text":{"body":"new"}},{"text":{"body":"third"}}]}`},
		{"§4.1.4 and back", "bob", "change 1", tiles(`{"id":1,"deleted":false}`), `{"tiles":[{"text":{"body":"hers"}},{"text":{"body":"new"}},{"text":{"body":"third"}}]}`},
	},
)

// tileAt returns an entry for a text with a layout.
func tileAt(body, layout string) string {
	return `{"text":{"body":"` + body + `"},"layouts":` + layout + `}`
}

var tileOrderRows = []ruletest.Row{
	aDashboard,
	{"§4.1.2 by y, then x; what is missing is 100", "bob", "change 1",
		tiles(tileAt("c", `{"sm":{"x":5,"y":5}}`) + `,` + tileAt("a", `{"sm":{"x":9,"y":1}}`) + `,` + tileAt("b", `{"sm":{"x":0,"y":5}}`) + `,` + tileAt("none", `{}`) + `,` + tileAt("no y", `{"sm":{"x":0}}`) + `,` + tileAt("101", `{"sm":{"x":0,"y":101}}`) + `,` + tileAt("no x", `{"sm":{"y":5}}`)),
		`{"tiles":[{"order":0,"text":{"body":"a"}},{"order":1,"text":{"body":"b"}},{"order":2,"text":{"body":"c"}},{"order":3,"text":{"body":"no x"}},{"order":4,"text":{"body":"no y"}},{"order":5,"text":{"body":"none"}},{"order":6,"text":{"body":"101"}}]}`},
	{"§4.1.2 what is no number is missing", "bob", "change 1", tiles(`{"id":2,"layouts":{"sm":{"x":0,"y":"first"}}}`), `{"tiles":[{"text":{"body":"b"}},{"text":{"body":"c"}},{"text":{"body":"no x"}},{"text":{"body":"a"}},{"text":{"body":"no y"}},{"text":{"body":"none"}},{"text":{"body":"101"}}]}`},
	{"§4.1.2 xs says nothing", "bob", "change 1", tiles(`{"id":2,"layouts":{"xs":{"x":0,"y":0}}}`), `{"tiles":[{"order":0,"text":{"body":"b"}},{"text":{"body":"c"}},{"text":{"body":"no x"}},{"text":{"body":"no y"}},{"text":{"body":"a"}},{"text":{"body":"none"}},{"text":{"body":"101"}}]}`},
}

var tileCopyRows = rows(
	[]ruletest.Row{
		aDashboard,
		{"§4.1.4", "bob", "change 1", tiles(`{"text":{"body":"hello"},"color":"blue","layouts":{"sm":{"x":0,"y":0}}}`), `{"tiles":[{"id":1}]}`},
		{"§4.1.4", "bob", "insight", `{"name":"I","query":{"kind":"TrendsQuery"},"dashboards":[1]}`, `{"name":"I"}`},
		{"§4.1.4 deep copies with an empty layout", "cyd", "change 1", `{"duplicate_tiles":[{"id":1},{"id":2}]}`, `{"tiles":[{"id":1},{"id":2,"insight":{"id":<I>}},
			{"color":"blue","layouts":{},"text":{"body":"hello","created_by":{"first_name":"cyd"}}},{"layouts":{},"insight":{"name":"I (Copy)","query":{"kind":"TrendsQuery"},"created_by":{"first_name":"cyd"}}}]}`},
	},
	each("§4.1.4 tiles that are none", "bob", "change 1",
		[2]string{`{"duplicate_tiles":[{}]}`, `400 required duplicate_tiles__0__id This field is required.`},
		[2]string{`{"duplicate_tiles":[{"id":1},{"id":99}]}`, `400 does_not_exist duplicate_tiles__1__id`},
		[2]string{`{"duplicate_tiles":{"id":1}}`, `400 not_a_list duplicate_tiles Expected a list of items but got type "dict".`},
		[2]string{`{"duplicate_tiles":[1]}`, `400 not_a_dict duplicate_tiles__0 Expected a dictionary of items but got type "int".`},
		[2]string{`{"duplicate_tiles":[]}`, `{"tiles":[{"order":0},{"order":1},{"order":2},{"order":3}]}`},
	),
	[]ruletest.Row{
		{"§4.1.4 a deleted one", "bob", "change 1", tiles(`{"id":1,"deleted":true}`), `{"tiles":[{"order":0},{"order":1},{"order":2}]}`},
		{"§4.1.4 a deleted one", "bob", "change 1", `{"duplicate_tiles":[{"id":1}]}`, `400 does_not_exist duplicate_tiles__0__id`},
		{"§4.1.4 of another dashboard", "bob", "create", `{}`, `{"id":2}`},
		{"§4.1.4 of another dashboard", "bob", "change 2", `{"duplicate_tiles":[{"id":2}]}`, `400 does_not_exist duplicate_tiles__0__id`},
	},
)

var moreMoveRows = rows(
	[]ruletest.Row{
		{"§4.1.6", "bob", "create", `{"name":"from"}`, `{"id":1}`},
		{"§4.1.6", "bob", "create", `{"name":"to"}`, `{"id":2}`},
		{"§4.1.6", "bob", "change 1", tiles(`{"text":{"body":"hello"},"color":"blue","layouts":{"sm":{"x":3,"y":4}}}`), `{"tiles":[{"id":1}]}`},
		{"§4.1.6", "bob", "insight", `{"name":"I","dashboards":[1]}`, `{"name":"I"}`},
		{"§4.1.6", "bob", "insight", `{"name":"Both","dashboards":[1,2]}`, `{"name":"Both"}`},
	},
	each("§4.1.6 the body", "bob", "move 1",
		[2]string{`{"tile":1,"toDashboard":2}`, `400 not_a_dict tile Expected a dictionary of items but got type "int".`},
		[2]string{`{"tile":{"id":"one"},"toDashboard":2}`, `400 invalid_input tile__id A valid integer is required.`},
		[2]string{`{"tile":{"id":1},"toDashboard":"two"}`, `400 invalid_input toDashboard A valid integer is required.`},
		[2]string{`{"tile":{"id":1},"toDashboard":null}`, `400 null toDashboard This field may not be null.`},
		[2]string{`{"tile":null,"toDashboard":2}`, `400 null tile This field may not be null.`},
		[2]string{`{"tile":{"id":99},"toDashboard":2}`, `404 not_found -`},
		[2]string{`{"tile":{"id":1},"toDashboard":1}`, `{"id":1,"tiles":[{"id":1,"layouts":{"sm":{"x":3,"y":4}}},{"id":2},{"id":3}]}`},
	),
	[]ruletest.Row{
		{"§4.1.6 from one that is not there", "bob", "move 9", `{"tile":{"id":1},"toDashboard":2}`, `404 not_found - Not found.`},
		{"§4.1.6 a text", "bob", "move 1", `{"tile":{"id":1},"toDashboard":"2"}`, `{"id":1,"tiles":[{"id":2},{"id":3}]}`},
		{"§4.1.6 as it was", "bob", "get 2", ``, `{"tiles":[{"id":1,"color":"blue","layouts":{"sm":{"x":3,"y":4}},"text":{"body":"hello","created_by":{"first_name":"bob"}}},{"insight":{"name":"Both"}}]}`},
		{"§4.1.6 an insight", "bob", "move 1", `{"tile":{"id":2},"toDashboard":2}`, `{"tiles":[{"id":3}]}`},
		{"§4.1.6 an insight", "bob", "getinsight <I>", ``, `{"dashboards":[2]}`},
		{"§4.1.6 one that stands there already", "bob", "move 1", `{"tile":{"id":3},"toDashboard":2}`, `400 invalid_input tile`},
		{"§4.1.6 one that stood there", "bob", "changeinsight <Both>", `{"dashboards":[1]}`, `{"dashboards":[1]}`},
		{"§4.1.6 one that stood there", "bob", "move 1", `{"tile":{"id":3},"toDashboard":2}`, `{"tiles":[]}`},
		{"§4.1.6 one that stood there", "bob", "getinsight <Both>", ``, `{"dashboards":[2]}`},
		{"§4.1.6 a deleted tile", "bob", "change 2", tiles(`{"id":1,"deleted":true}`), `{"id":2}`},
		{"§4.1.6 a deleted tile", "bob", "move 2", `{"tile":{"id":1},"toDashboard":1}`, `404 not_found -`},
		{"§4.1.6 to a deleted one", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
		{"§4.1.6 to a deleted one", "bob", "move 2", `{"tile":{"id":2},"toDashboard":1}`, `400 invalid_input toDashboard Dashboard not found.`},
		{"§5.11 both are noted", "bob", "log Dashboard 2", ``, `{"detail":{"changes":[{"field":"tiles"}]}}`},
	},
)

var deepCopyRows = []ruletest.Row{
	{"§4.1.3", "bob", "create", `{"name":"one","description":"about","tags":["x"],"filters":{"a":1},"pinned":true}`, `{"id":1}`},
	{"§4.1.3", "bob", "change 1", tiles(`{"text":{"body":"hello"},"color":"blue","layouts":{"sm":{"x":1,"y":1}}}`), `{"tiles":[{"id":1}]}`},
	{"§4.1.3", "bob", "insight", `{"name":"I","dashboards":[1]}`, `{"name":"I"}`},
	{"§4.1.3", "bob", "insight", `{"name":"Gone","dashboards":[1]}`, `{"name":"Gone"}`},
	{"§4.1.3", "bob", "changeinsight <Gone>", `{"deleted":true}`, `{"deleted":true}`},
	{"§4.1.3 tiles are copied, with colour and place; the fields are the new one's", "cyd", "create", `{"name":"two","use_dashboard":1}`, `{"id":2,"name":"two","description":"","tags":[],"filters":{},"pinned":false,"creation_mode":"duplicate",
		"tiles":[{"color":"blue","layouts":{"sm":{"x":1,"y":1}},"text":{"body":"hello","created_by":{"first_name":"cyd"}}},{"insight":{"id":<I>}}]}`},
	{"§4.1.3 texts are its own", "cyd", "change 2", tiles(`{"id":4,"text":{"body":"other"}}`), `{"tiles":[{"text":{"body":"other"}},{"insight":{"name":"I"}}]}`},
	{"§4.1.3 texts are its own", "bob", "get 1", ``, `{"tiles":[{"text":{"body":"hello"}},{"insight":{"name":"I"}}]}`},
	{"§4.1.3 insights are the same", "bob", "changeinsight <I>", `{"name":"I2"}`, `{"dashboards":[1,2]}`},
	{"§4.1.3 duplicate_tiles", "cyd", "create", `{"use_dashboard":2,"duplicate_tiles":true}`, `{"tiles":[{"text":{"body":"other"}},{"insight":{"name":"I2 (Copy)"}}]}`},
	{"§4.1.3 false is not", "cyd", "create", `{"use_dashboard":2,"duplicate_tiles":false}`, `{"tiles":[{"text":{"body":"other"}},{"insight":{"name":"I2"}}]}`},
	{"§4.1.3 the empty template is none", "cyd", "create", `{"use_dashboard":2,"use_template":""}`, `{"creation_mode":"duplicate"}`},
}

// templated returns a body with a template that has members in addition to the usual members,
// or in place of them.
func templated(members string) string {
	return `{"template":{"template_name":"T","dashboard_description":"","dashboard_filters":{},"tiles":[{"type":"TEXT","body":"x"}],` + members + `}}`
}

var templateFieldRows = rows(
	each("§4.1.6 what a template has", "bob", "template",
		[2]string{`{"template":{}}`, `400 invalid_input -`},
		[2]string{`{"template":null}`, `400 * *`},
		[2]string{`{"template":"T"}`, `400 * *`},
		[2]string{`{"template":[]}`, `400 * *`},
		[2]string{templated(`"template_name":"T"`), `{"name":"T","creation_mode":"default","tags":[]}`},
		[2]string{templated(`"template_name":7`), `400 invalid_input -`},
		[2]string{templated(`"template_name":null`), `400 invalid_input -`},
		[2]string{templated(`"dashboard_description":7`), `400 invalid_input -`},
		[2]string{templated(`"dashboard_filters":[]`), `400 invalid_input -`},
		[2]string{templated(`"dashboard_filters":{"date_from":"-7d"}`), `{"filters":{"date_from":"-7d"}}`},
		[2]string{templated(`"tiles":{}`), `400 invalid_input -`},
		[2]string{templated(`"tiles":["TEXT"]`), `400 invalid_input -`},
		[2]string{templated(`"tags":["B","b "]`), `{"tags":["b"]}`},
		[2]string{templated(`"tags":"x"`), `400 invalid_input -`},
		[2]string{templated(`"id":"x","created_at":"2020-01-01","team_id":5,"image_url":"https://example.com/a.png"`), `{"name":"T","created_at":"(like) ^2026-01-02"}`},
		[2]string{templated(`"team_id":null,"image_url":null`), `{"name":"T"}`},
		[2]string{templated(`"team_id":"five"`), `400 invalid_input -`},
		[2]string{templated(`"image_url":7`), `400 invalid_input -`},
	),
	[]ruletest.Row{
		{"§4.1.6 beside it", "bob", "template", `{"template":{"template_name":"T","dashboard_description":"","dashboard_filters":{},"tiles":[{"type":"TEXT","body":"x"}]},"creation_context":"wizard","_create_in_folder":"a/b"}`, `{"name":"T"}`},
		{"§4.1.6 without template", "bob", "template", `{"creation_context":"wizard"}`, `400 required template This field is required.`},
		{"§4.1.6 without template", "bob", "template", `{"_create_in_folder":"a/b"}`, `400 required template This field is required.`},
		{"§4.1.6 the document's form", "bob", "template", `{"name":"plain","description":"about","pinned":true,"tags":["X"]}`, `{"name":"plain","description":"about","pinned":true,"tags":["x"],"tiles":[],"creation_mode":"default"}`},
		{"§4.1.6 the document's form", "bob", "template", `{"name":[]}`, `400 invalid_input name Not a valid string.`},
		{"§4.1.6 nothing of refusals stays", "bob", "list", ``, `{"count":7}`},
	},
)

// oneTile returns a body with a template of one tile.
func oneTile(tile string) string { return templated(`"tiles":[` + tile + `]`) }

var templateTileRows = rows(
	each("§4.1.6 tiles of templates", "bob", "template",
		[2]string{oneTile(`{"type":"TEXT","body":"hello","layouts":{"sm":{"x":1,"y":1}},"color":"blue"}`), `{"tiles":[{"text":{"body":"hello","created_by":{"first_name":"bob"}},"insight":null,"layouts":{"sm":{"x":1,"y":1}},"color":"blue"}]}`},
		[2]string{oneTile(`{"type":"INSIGHT","name":"n","description":"d","query":{"kind":"TrendsQuery"},"layouts":{},"color":"red"}`), `{"tiles":[{"insight":{"name":"n","description":"d","query":{"kind":"TrendsQuery"}},"text":null,"color":"red"}]}`},
		[2]string{oneTile(`{"type":"INSIGHT","name":"n","filters":{"insight":"TRENDS"}}`), `{"tiles":[{"insight":{"filters":{"insight":"TRENDS"},"query":null}}]}`},
		[2]string{oneTile(`{"type":"INSIGHT"}`), `{"tiles":[{"insight":{"name":""}}]}`},
		[2]string{oneTile(`{}`), `400 invalid_input -`},
		[2]string{oneTile(`{"type":"text"}`), `400 invalid_input -`},
		[2]string{oneTile(`{"type":7}`), `400 invalid_input -`},
		[2]string{oneTile(`{"type":"TEXT","body":` + text(4000) + `}`), `{"name":"T"}`},
		[2]string{oneTile(`{"type":"TEXT","body":` + text(4001) + `}`), `400 invalid_input - template.tiles[0].body: Text body cannot exceed 4000 characters`},
		[2]string{oneTile(`{"type":"TEXT","body":7}`), `400 invalid_input -`},
		[2]string{oneTile(`{"type":"TEXT","color":` + text(401) + `}`), `400 invalid_input -`},
		[2]string{oneTile(`{"type":"TEXT","layouts":[]}`), `400 invalid_input -`},
		[2]string{oneTile(`{"type":"INSIGHT","query":"SELECT 1"}`), `400 invalid_input -`},
		[2]string{oneTile(`{"type":"INSIGHT","name":` + text(401) + `}`), `400 invalid_input -`},
		[2]string{oneTile(`{"type":"TEXT","body":"good"},{"type":"VIDEO"}`), `400 invalid_input -`},
	),
	[]ruletest.Row{{"§4.1.6 any failure removes the half-made one: five were made, three insights", "bob", "insights", ``, `{"count":3}`}},
)

// oneVariable returns a body with a template of one variable.
func oneVariable(v string) string { return templated(`"variables":[` + v + `]`) }

var templateVariableRows = rows(
	each("§4.1.6 all six required", "bob", "template",
		[2]string{templated(`"variables":null`), `{"name":"T"}`},
		[2]string{templated(`"variables":[]`), `{"name":"T"}`},
		[2]string{templated(`"variables":{}`), `400 invalid_input -`},
		[2]string{oneVariable(`{"id":"V","name":"N","type":"event","default":{},"description":"","required":true}`), `{"name":"T"}`},
		[2]string{oneVariable(`{"name":"N","type":"event","default":{},"description":"","required":true}`), `400 invalid_input -`},
		[2]string{oneVariable(`{"id":"V","type":"event","default":{},"description":"","required":true}`), `400 invalid_input -`},
		[2]string{oneVariable(`{"id":"V","name":"N","default":{},"description":"","required":true}`), `400 invalid_input -`},
		[2]string{oneVariable(`{"id":"V","name":"N","type":"event","description":"","required":true}`), `400 invalid_input -`},
		[2]string{oneVariable(`{"id":"V","name":"N","type":"event","default":{},"required":true}`), `400 invalid_input -`},
		[2]string{oneVariable(`{"id":"V","name":"N","type":"event","default":{},"description":""}`), `400 invalid_input -`},
		[2]string{oneVariable(`{"id":"V","name":"N","type":"person","default":{},"description":"","required":true}`), `400 invalid_input -`},
		[2]string{oneVariable(`{"id":"V","name":"N","type":"event","default":[],"description":"","required":true}`), `400 invalid_input -`},
	),
)

var readyRows = []ruletest.Row{
	{"§4.1.3 DEFAULT_APP", "bob", "create", `{"name":"App","use_template":"DEFAULT_APP","tags":["x"]}`, `{"name":"App","creation_mode":"template","tags":["x"],"tiles":[{"order":0,"insight":null,"text":{"body":"(like) ."}},{"insight":{"query":{"kind":"InsightVizNode"}}},{"order":2},{"order":3},{"order":4}]}`},
	{"§4.1.3 its insights", "bob", "insights", ``, `{"count":4}`},
	{"§4.1.3 WEBSITE_TRAFFIC", "bob", "create", `{"use_template":"WEBSITE_TRAFFIC"}`, `{"creation_mode":"template","name":null}`},
	{"§4.1.3 unknown", "bob", "create", `{"use_template":"default_app"}`, `400 invalid_input use_template Invalid template provided: default_app`},
	{"§4.1.3 nothing of it stays", "bob", "list", ``, `{"count":2}`},
}

var moreCollaboratorRows = rows(
	[]ruletest.Row{{"§4.1.7", "bob", "create", `{"name":"one","restriction_level":37}`, `{"id":1}`}},
	each("§4.1.7 the body", "bob", "add 1",
		[2]string{`{}`, `400 required user_uuid This field is required.`},
		[2]string{`{"user_uuid":"` + cyd + `"}`, `400 required level This field is required.`},
		[2]string{`{"user_uuid":null,"level":37}`, `400 null user_uuid This field may not be null.`},
		[2]string{`{"user_uuid":"` + cyd + `","level":15}`, `400 invalid_choice level "15" is not a valid choice.`},
		[2]string{`{"user_uuid":"` + cyd + `","level":"high"}`, `400 invalid_choice level "high" is not a valid choice.`},
		[2]string{`{"user_uuid":"` + ruletest.UUID("fay") + `","level":37}`, `400 invalid_input - User does not exist.`},
		[2]string{`{"user_uuid":"` + ruletest.UUID("gus") + `","level":37}`, `400 invalid_input - Cannot add collaborators that already have inherent access (the dashboard owner or a project admins).`},
	),
	[]ruletest.Row{
		{"§4.1.7", "bob", "add 1", `{"user_uuid":"` + cyd + `","level":"37"}`, `{"id":"(like) ^[0-9a-f-]{36}$","dashboard_id":1,"level":37,"user":{"id":3,"uuid":"` + cyd + `"},"added_at":"2026-01-02T12:00:09Z","updated_at":"2026-01-02T12:00:09Z"}`},
		{"§4.1.7 who is one may add and remove", "cyd", "remove 1 " + eve, ``, `404 not_found - Not found.`},
		{"§4.1.7 no uuid", "bob", "remove 1 cyd", ``, `404 not_found - Not found.`},
		{"§4.1.7 oneself", "cyd", "remove 1 " + cyd, ``, `null`},
		{"§4.1.7 oneself", "cyd", "change 1", `{"name":"x"}`, noEdit},
		{"§4.1.7 again", "bob", "add 1", `{"user_uuid":"` + cyd + `","level":37}`, `{"added_at":"2026-01-02T12:00:14Z"}`},
		{"§4.1.7 the dashboard goes and comes", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
		{"§4.1.7 the dashboard goes and comes", "bob", "change 1", `{"deleted":false}`, `{"deleted":false}`},
		{"§4.1.7 the dashboard goes and comes", "cyd", "change 1", `{"name":"ours"}`, `{"name":"ours"}`},
	},
)

var moreSharingRows = rows(
	[]ruletest.Row{
		aDashboard,
		{"§4.1.8 never shared: stored at the first read", "cyd", "sharing 1", ``, `{"enabled":false,"created_at":"2026-01-02T12:00:02Z","access_token":"(like) ^[A-Za-z0-9_-]{30}$","settings":null,"password_required":false,"share_passwords":[]}`},
		{"§4.1.8 the token is stable", "bob", "keep first 1", ``, `{"enabled":false}`},
		{"§4.1.8 the token is stable", "cyd", "same first 1", ``, `true`},
	},
	each("§4.1.8 fields", "bob", "share 1",
		[2]string{`{}`, `{"enabled":false}`},
		[2]string{`{"enabled":"maybe"}`, `400 invalid_input enabled Must be a valid boolean.`},
		[2]string{`{"enabled":null}`, `400 null enabled This field may not be null.`},
		[2]string{`{"password_required":"maybe"}`, `400 invalid_input password_required Must be a valid boolean.`},
		[2]string{`{"enabled":true}`, `{"enabled":true}`},
		[2]string{`{"access_token":"mine","created_at":null}`, `{"enabled":true,"created_at":"2026-01-02T12:00:02Z","access_token":"(like) ^.{30}$"}`},
	),
	each("§4.1.8 settings", "bob", "share 1",
		[2]string{`{"settings":{"whitelabel":true,"noHeader":true,"showInspector":true,"legend":true,"detailed":true,"hideExtraDetails":true}}`,
			`{"settings":{"whitelabel":true,"noHeader":true,"showInspector":true,"legend":true,"detailed":true,"hideExtraDetails":true}}`},
		[2]string{`{"settings":{"legend":false,"unknown":"x"}}`, `{"settings":{"legend":false,"unknown":"(absent)","whitelabel":"(absent)"}}`},
		[2]string{`{"settings":{"legend":1}}`, `400 invalid_input settings Invalid settings format`},
		[2]string{`{"settings":{"legend":"true"}}`, `400 invalid_input settings Invalid settings format`},
		[2]string{`{"settings":"legend"}`, `400 invalid_input settings Invalid settings format`},
		[2]string{`{"settings":[true]}`, `400 invalid_input settings Invalid settings format`},
		[2]string{`{"settings":{}}`, `{"settings":{}}`},
		[2]string{`{"settings":null}`, `{"settings":null}`},
	),
	[]ruletest.Row{{"§4.1.8 a refusal changes nothing", "bob", "sharing 1", ``, `{"enabled":true,"settings":null}`}},
	each("§4.1.8 passwords", "bob", "password 1",
		[2]string{`{"raw_password":"12345678"}`, `400 invalid_input -`},
		[2]string{`{"raw_password":"1234567"}`, `400 min_length raw_password`},
		[2]string{`{"raw_password":[]}`, `400 invalid_input raw_password Not a valid string.`},
		[2]string{`{"raw_password":` + text(129) + `}`, `400 max_length raw_password`},
		[2]string{`{"raw_password":"12345678","note":` + text(101) + `}`, `400 max_length note`},
	),
	[]ruletest.Row{
		{"§4.1.8 of no dashboard", "bob", "password 9", `{"raw_password":"12345678"}`, `404 not_found - Dashboard not found.`},
		{"§4.1.8 of no password", "bob", "droppassword 1 " + cyd, ``, `404 not_found - Not found.`},
		{"§4.1.8 of no password", "bob", "droppassword 1 x", ``, `404 not_found - Not found.`},
		{"§4.1.8 a new token of no dashboard", "bob", "refresh 9", ``, `404 not_found - Dashboard not found.`},
	},
)

var tokenRows = []ruletest.Row{
	aDashboard,
	{"§4.1.8", "bob", "share 1", `{"enabled":true}`, `{"enabled":true}`},
	{"§4.1.8", "bob", "keep first 1", ``, `{"enabled":true}`},
	{"§4.1.8", "bob", "open first", ``, `{"dashboard":{"name":"one"}}`},
	{"§4.1.8 refresh", "bob", "refresh 1", ``, `{"enabled":true,"created_at":"2026-01-02T12:00:02Z"}`},
	{"§4.1.8 refresh", "bob", "same first 1", ``, `false`},
	{"§4.1.8 the old one dies after a short grace period", "bob", "open first", ``, `{"dashboard":{"name":"one"}}`},
	{"§4.1.8 the new one", "bob", "keep second 1", ``, `{"enabled":true}`},
	{"§4.1.8 the new one", "bob", "open second", ``, `{"dashboard":{"name":"one"}}`},
	{"§4.1.8 another: the first dies at once", "bob", "refresh 1", ``, `{"enabled":true}`},
	{"§4.1.8 another: the first dies at once", "bob", "open first", ``, `404 not_found - Not found.`},
	{"§4.1.8 another: the first dies at once", "bob", "open second", ``, `{"dashboard":{"name":"one"}}`},
	{"§4.1.8 the grace period is over", "bob", "wait 5m", ``, `null`},
	{"§4.1.8 the grace period is over", "bob", "open second", ``, `404 not_found - Not found.`},
	{"§4.1.8 disabled", "bob", "keep third 1", ``, `{"enabled":true}`},
	{"§4.1.8 disabled", "bob", "share 1", `{"enabled":false}`, `{"enabled":false}`},
	{"§4.1.8 disabled", "bob", "open third", ``, `404 not_found - Not found.`},
	{"§4.1.8 enabled again: the same", "bob", "share 1", `{"enabled":true}`, `{"enabled":true}`},
	{"§4.1.8 enabled again: the same", "bob", "open third", ``, `{"dashboard":{"name":"one"}}`},
	{"§4.1.8 unknown", "bob", "open nothing", ``, `404 not_found - Not found.`},
}

var strangerRows = []ruletest.Row{
	{"§4.1.8", "bob", "create", `{"name":"one","description":"about","restriction_level":21}`, `{"id":1}`},
	{"§4.1.8", "bob", "change 1", tiles(`{"text":{"body":"hello"},"layouts":{"sm":{"x":0,"y":0}}}`), `{"id":1}`},
	{"§4.1.8", "bob", "insight", `{"name":"I","description":"details","query":{"kind":"TrendsQuery"},"filters":{"a":1},"dashboards":[1]}`, `{"name":"I"}`},
	{"§4.1.8", "bob", "change 1", tiles(`{"id":2,"filters_overrides":{"b":2}}`), `{"id":1}`},
	{"§4.1.8", "bob", "share 1", `{"enabled":true}`, `{"enabled":true}`},
	{"§4.1.8", "bob", "keep link 1", ``, `{"enabled":true}`},
	{"§4.1.1 through a share link", "bob", "open link", ``, `{"settings":null,"dashboard":{"name":"one","description":"about","created_by":null,"effective_restriction_level":37,"effective_privilege_level":21,"user_access_level":"viewer",
		"tiles":[{"text":{"body":"hello","created_by":null,"last_modified_by":null}},{"filters_overrides":null,"insight":{"name":"I","description":"details","query":null,"filters":null,"created_by":null,"last_modified_by":null}}]}}`},
	{"§4.1.8 showInspector", "bob", "share 1", `{"settings":{"showInspector":true}}`, `{"enabled":true}`},
	{"§4.1.8 showInspector", "bob", "open link", ``, `{"settings":{"showInspector":true},"dashboard":{"tiles":[{"text":{"body":"hello"}},{"filters_overrides":{"b":2},"insight":{"query":{"kind":"TrendsQuery"},"filters":{"a":1},"created_by":null}}]}}`},
	{"§4.1.8 hideExtraDetails, noHeader", "bob", "share 1", `{"settings":{"hideExtraDetails":true,"noHeader":true}}`, `{"enabled":true}`},
	{"§4.1.8 hideExtraDetails, noHeader", "bob", "open link", ``, `{"dashboard":{"description":"","tiles":[{"text":{"body":"hello"}},{"insight":{"name":"I","description":"","query":null}}]}}`},
	{"§4.1.5 what is deleted", "bob", "changeinsight <I>", `{"deleted":true}`, `{"deleted":true}`},
	{"§4.1.5 what is deleted", "bob", "open link", ``, `{"dashboard":{"tiles":[{"text":{"body":"hello"}}]}}`},
	{"§4.1.8 without a password", "bob", "share 1", `{"password_required":true}`, `{"password_required":true}`},
	{"§4.1.8 without a password", "bob", "open link", ``, `401 password_required -`},
	{"§4.1.8 none is right where there is none", "bob", "open link open-sesame", ``, `401 authentication_failed -`},
}

// allow is called before the derivation for a password, and not for a password that was correct
// before. Each derivation costs a tenth of a second, so the test makes few.
func TestDashboards_Passwords(t *testing.T) {
	w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
	w.Run(t, dashboardCalls(t, w), []ruletest.Row{aDashboard, {"§4.1.8", "bob", "share 1", `{"enabled":true,"password_required":true}`, `{"enabled":true}`}})
	ctx, d, bob := t.Context(), w.Dashboards, w.Scope(t, "bob")
	created, err := d.Links().AddSharePassword(ctx, bob, "1", ruletest.Body(t, `{"note":"press"}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(created.Password) < 20 || created.Note != "press" || created.CreatedByEmail != "bob@example.com" {
		t.Errorf("one that is made up: %+v", created)
	}
	sharing, err := d.Links().Sharing(ctx, bob, "1")
	if err != nil || len(sharing.Passwords) != 1 || sharing.Passwords[0].Password != "" {
		t.Fatalf("it is shown again: %+v, %v", sharing, err)
	}
	checks := 0
	allow := func() error { checks++; return nil }
	deny := func() error { return management.Denied("too many") }
	guess := func(what, password string, allow func() error, wantCode string, wantChecks int) {
		t.Helper()
		_, err := d.Shared(ctx, sharing.AccessToken, password, allow)
		var apiErr *management.Error
		if code := ""; errors.As(err, &apiErr) {
			code = apiErr.Code
			if code != wantCode || checks != wantChecks {
				t.Errorf("%s: %q after %d questions, want %q after %d", what, code, checks, wantCode, wantChecks)
			}
		} else if err != nil || wantCode != "" || checks != wantChecks {
			t.Errorf("%s: opens after %d questions, %v, want %q after %d", what, checks, err, wantCode, wantChecks)
		}
	}
	guess("no password costs nothing", "", deny, "password_required", 0)
	guess("one that is too long costs nothing", strings.Repeat("x", 200), deny, dashboards.CodePasswordWrong, 0)
	guess("who may not guess", created.Password, deny, "permission_denied", 0)
	guess("a wrong one", created.Password+"x", allow, dashboards.CodePasswordWrong, 1)
	guess("the right one", created.Password, allow, "", 2)
	guess("the right one again", "  "+created.Password+"  ", deny, "", 2)
	if err := d.Links().DeleteSharePassword(ctx, bob, "1", strings.ToUpper(created.ID)); err != nil {
		t.Fatal(err)
	}
	guess("one that is gone", created.Password, deny, dashboards.CodePasswordWrong, 2)
}
