package dashboards_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestActions_More(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{"names": actionNameRows, "steps": moreActionStepRows, "the log": actionLogRows} {
		t.Run(name, func(t *testing.T) {
			w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
			w.Run(t, actionCalls(t, w), rows)
		})
	}
	t.Run("references", func(t *testing.T) {
		w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
		w.Run(t, accessCalls(t, w), referenceRows)
	})
}

const duplicateName = `400 unique name This project already has an action with this name, ID 1`

var actionNameRows = []ruletest.Row{
	anAction,
	{"clients.md §5.1 taken", "cyd", "make", `{"name":"A"}`, duplicateName},
	{"clients.md §5.1 blanks around it do not count", "bob", "make", `{"name":"  A "}`, duplicateName},
	{"clients.md §5.1 blank", "bob", "make", `{"name":"  "}`, `400 blank name This field may not be blank.`},
	{"clients.md §5.1 of another project", "dan", "make", `{"name":"A"}`, `{"id":2,"name":"A"}`},
	{"clients.md §5.1 its own name", "bob", "change 1", `{"name":"A","description":"x"}`, `{"name":"A","description":"x"}`},
	{"clients.md §5.1", "bob", "make", `{"name":"B"}`, `{"id":3}`},
	{"clients.md §5.1 a change to one that is taken", "bob", "change 3", `{"name":"A"}`, duplicateName},
	{"clients.md §5.1 which changes nothing", "bob", "get 3", ``, `{"name":"B"}`},
	{"clients.md §5.1 renamed, it is free", "bob", "change 1", `{"name":"C"}`, `{"name":"C"}`},
	{"clients.md §5.1 renamed, it is free", "bob", "change 3", `{"name":"A"}`, `{"name":"A"}`},
	{"clients.md §5.1 without a name, it is free", "bob", "change 3", `{"name":null}`, `{"name":null}`},
	{"clients.md §5.1 without a name, it is free", "bob", "change 1", `{"name":"A"}`, `{"name":"A"}`},
	{"clients.md §5.1 a deleted one keeps its name", "bob", "change 1", `{"deleted":true}`, `{"name":"A","deleted":true}`},
	{"clients.md §5.1 taken meanwhile", "bob", "make", `{"name":"A"}`, `{"id":4}`},
	{"clients.md §5.1 so it does not come back", "bob", "change 1", `{"deleted":false}`, `400 unique name This project already has an action with this name, ID 4`},
	{"clients.md §5.1 so it does not come back", "bob", "get 1", ``, `{"deleted":true}`},
	{"clients.md §5.1 unless it is renamed", "bob", "change 1", `{"deleted":false,"name":"A2"}`, `{"deleted":false,"name":"A2"}`},
	{"clients.md §5.1 made deleted, it takes no name", "bob", "make", `{"name":"A2","deleted":true}`, `{"id":5,"deleted":true}`},
	{"clients.md §5.1 newest first", "bob", "list", ``, `{"count":3,"results":[{"id":4},{"id":3},{"id":1}]}`},
	{"§1.5 another project's", "dan", "get 1", ``, `404 not_found - Not found.`},
	{"§1.5 another project's", "dan", "change 1", `{"name":"x"}`, `404 not_found - Not found.`},
	{"§1.5 another project's", "dan", "list", ``, `{"count":1,"results":[{"id":2}]}`},
}

// moreActionStepRows check the place of an error and the bounds of each string of a step.
var moreActionStepRows = rows(
	[]ruletest.Row{anAction},
	each("clients.md §5.2", "bob", "change 1",
		[2]string{`{"steps":[{},{"event":7}]}`, `400 invalid_input steps__1__event Not a valid string.`},
		[2]string{`{"steps":[{"selector":{}}]}`, `400 invalid_input steps__0__selector Not a valid string.`},
		[2]string{`{"steps":[{"tag_name":true}]}`, `400 invalid_input steps__0__tag_name Not a valid string.`},
		[2]string{`{"steps":[{"url":` + text(2000) + `}]}`, `{"steps":[{"url":` + text(2000) + `}]}`},
		[2]string{`{"steps":[{"url":` + text(2001) + `}]}`, `400 max_length steps__0__url Ensure this field has no more than 2000 characters.`},
		[2]string{`{"steps":[{},{},{"selector":` + text(2001) + `}]}`, `400 max_length steps__2__selector`},
		[2]string{`{"steps":[{"url_matching":"exact","text_matching":"contains","href_matching":"regex"}]}`, `{"steps":[{"url_matching":"exact","text_matching":"contains","href_matching":"regex"}]}`},
		[2]string{`{"steps":[{"url_matching":"Exact"}]}`, `400 invalid_input steps__0__url_matching "Exact" is not a valid choice.`},
		[2]string{`{"steps":[{"text_matching":""}]}`, `400 invalid_input steps__0__text_matching`},
		[2]string{`{"steps":[{"url_matching":7}]}`, `400 invalid_input steps__0__url_matching Not a valid string.`},
		[2]string{`{"steps":[{"url_matching":null,"url":null,"properties":null}]}`, `{"steps":[{"url_matching":null,"url":null,"properties":null}]}`},
		[2]string{`{"steps":[{"properties":{}}]}`, `400 invalid_input steps__0__properties`},
		[2]string{`{"steps":[{"properties":[{"key":"plan","type":"person","value":["pro"],"operator":"exact"}],"selector_regex":"x"}]}`, `{"steps":[{"properties":[{"key":"plan","type":"person","value":["pro"],"operator":"exact"}]}]}`},
		[2]string{`{"steps":[null]}`, `400 invalid_input steps__0`},
		[2]string{`{"steps":` + list(100, numbered(`{"event":"%d"}`)) + `}`, `{"name":"A"}`},
		[2]string{`{"steps":` + list(101, numbered(`{"event":"%d"}`)) + `}`, `400 * steps`},
	),
	[]ruletest.Row{{"clients.md §5.1 a refusal changes nothing: the last of a hundred", "bob", "get 1", ``, `{"steps":` + list(100, numbered(`{"event":"%d"}`)) + `}`}},
)

var actionLogRows = []ruletest.Row{
	anAction,
	{"§5.11 created", "bob", "log Action 1", ``, `{"activity":"created","scope":"Action","item_id":"1","user":{"first_name":"bob"},"detail":{"name":"A"}}`},
	{"§5.11 updated", "cyd", "change 1", `{"steps":[{"event":"a"}],"tags":["x"]}`, `{"tags":["x"]}`},
	{"§5.11 updated", "bob", "log Action 1", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"changes":[{"field":"steps","after":[{"event":"a"}]},{"field":"tags","after":["x"]}]}}`},
	{"§5.11 no change", "gus", "change 1", `{"tags":[" X"]}`, `{"tags":["x"]}`},
	{"§5.11 no change", "bob", "log Action 1", ``, `{"user":{"first_name":"cyd"}}`},
	{"§5.11 deleted", "gus", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.11 deleted", "bob", "log Action 1", ``, `{"user":{"first_name":"gus"},"detail":{"changes":[{"field":"deleted","before":false,"after":true}]}}`},
}

// References are the insights with a node of the action anywhere in their query.
var referenceRows = []ruletest.Row{
	{"clients.md §5.1", "bob", "action", `{"name":"A"}`, `{"id":1}`},
	{"clients.md §5.1", "bob", "action", `{"name":"B"}`, `{"id":2}`},
	{"clients.md §5.1 nothing uses it", "bob", "references 1", ``, `[]`},
	{"a series", "bob", "insight => s", `{"name":"Series","query":{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"a"},{"kind":"ActionsNode","id":1}]}}`, `{"name":"Series"}`},
	{"deep inside", "bob", "insight => d", `{"query":{"kind":"InsightVizNode","source":{"kind":"FunnelsQuery","series":[],"funnelsFilter":{"exclusions":[{"kind":"ActionsNode","id":1,"funnelFromStep":0}]}}}}`, `{"name":null}`},
	{"another action", "bob", "insight => o", `{"name":"Other","query":{"kind":"TrendsQuery","series":[{"kind":"ActionsNode","id":2}]}}`, `{"name":"Other"}`},
	{"no node of an action", "bob", "insight", `{"name":"None","query":{"kind":"TrendsQuery","series":[{"kind":"EventsNode","id":1},{"kind":"ActionsNode","id":11},{"id":1}]}}`, `{"name":"None"}`},
	{"another project", "dan", "insight", `{"name":"Theirs","query":{"kind":"TrendsQuery","series":[{"kind":"ActionsNode","id":1}]}}`, `{"name":"Theirs"}`},
	{"clients.md §5.1 what uses it", "bob", "references 1", ``, `[{"type":"insight","id":<s>,"name":"Series"},{"type":"insight","id":<d>,"name":""}]`},
	{"clients.md §5.1 what uses it", "bob", "references 2", ``, `[{"id":<o>}]`},
	{"a deleted insight", "bob", "changeinsight <s>", `{"deleted":true}`, `{"deleted":true}`},
	{"a deleted insight", "bob", "references 1", ``, `[{"id":<d>}]`},
	{"a deleted action still is used", "bob", "changeaction 1", `{"deleted":true}`, `{"deleted":true}`},
	{"a deleted action still is used", "bob", "references 1", ``, `[{"id":<d>}]`},
	{"clients.md §1.1 unknown", "bob", "references 99", ``, `404 not_found - Not found.`},
	{"§1.5 another project's", "dan", "references 1", ``, `404 not_found - Not found.`},
}
