package errortracking_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// The expected values of the tables follow from spec/management.md, in the section that a row has.
// "clients" is spec/clients.md, "decision" design/decisions.md.
func TestErrorTracking_Rules(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"records": recordRows, "filters": filterRows, "what cannot be evaluated": rejectedRows, "assignees": assigneeRows,
		"order": orderRows, "places": placeRows, "log": logRows,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Run(t, w.calls(t), rows)
		})
	}
}

const (
	nowhere  = "0191f0a2-5b1c-7d3e-8f40-99999999ffff"
	notFound = `404 not_found - Not found.`
	always   = `{"type":"AND","values":[]}`
	error1   = `{"type":"event","key":"level","value":"error","operator":"exact"}`
	payload  = `400 invalid_input filters Invalid filters payload.`
)

// filters returns the body of a rule.
func filters(text string) string { return `{"filters":` + text + `}` }

var recordRows = []ruletest.Row{
	{"§6 row 37", "bob", "create => it", filters(when(error1)), `{"id":"(like) ^[0-9a-f-]{36}$","filters":` + when(error1) + `,"assignee":null,"order_key":0,"disabled_data":null}`},
	{"§4.2 GET", "cyd", "get <it>", ``, `{"id":"<it>","filters":` + when(error1) + `,"assignee":null,"order_key":0,"disabled_data":null}`},
	{"§4.2 order_key is always 0 at creation", "bob", "create", `{"filters":` + always + `,"order_key":7,"disabled_data":{"message":"x"},"id":"` + nowhere + `"}`, `{"order_key":0,"disabled_data":null,"id":"(like) [^f]$"}`},
	{"§4.2 PATCH is 204", "bob", "change <it>", `{"filters":` + always + `}`, `null`},
	{"§4.2 PATCH", "bob", "get <it>", ``, `{"filters":` + always + `}`},
	{"§4.2 PATCH, order_key and disabled_data are ignored", "bob", "change <it>", `{"order_key":5,"disabled_data":{"message":"x"}}`, `null`},
	{"§4.2 PATCH, order_key and disabled_data are ignored", "bob", "get <it>", ``, `{"filters":` + always + `,"order_key":0,"disabled_data":null}`},
	{"§4.2 PATCH of nothing", "bob", "change <it>", `{}`, `null`},
	{"§2.5 PUT", "bob", "put <it>", `{"assignee":null}`, `400 required filters This field is required.`},
	{"§4.2 PUT", "bob", "put <it>", filters(when(error1)), `null`},
	{"§4.2 DELETE", "bob", "delete <it>", ``, `null`},
	{"§4.2 DELETE", "bob", "get <it>", ``, notFound},
	{"§4.2 DELETE", "bob", "delete <it>", ``, notFound},
	{"§4.2 DELETE", "bob", "change <it>", `{}`, notFound},
	{"§4.2 no UUID", "bob", "get 1", ``, notFound},
	{"§4.2 unknown", "bob", "put " + nowhere, filters(always), notFound},
}

var filterRows = []ruletest.Row{
	{"§6 row 35", "bob", "create", `{}`, `400 required filters This field is required.`},
	{"§6 row 36", "bob", "create", filters(`[]`), `400 * filters`},
	{"§4.2 filters", "bob", "create", filters(`7`), `400 * filters`},
	{"§4.2 filters", "bob", "create", filters(`"all"`), `400 * filters`},
	{"§4.2 filters", "bob", "create", filters(`null`), `400 null filters This field may not be null.`},
	{"§4.2 filters", "bob", "create", filters(`{}`), payload},
	{"§4.2 no property group", "bob", "create", filters(`{"values":[]}`), payload},
	{"§4.2 no property group", "bob", "create", filters(`{"type":"AND"}`), payload},
	{"§4.2 no property group", "bob", "create", filters(`{"type":"XOR","values":[]}`), payload},
	{"§4.2 no property group", "bob", "create", filters(`{"type":"and","values":[]}`), payload},
	{"§4.2 no property group", "bob", "create", filters(`{"type":"AND","values":{}}`), payload},
	{"§4.2 no property group", "bob", "create", filters(`{"type":1,"values":[]}`), payload},
	{"§4.2 no value of a group", "bob", "create", filters(when(`"x"`)), payload},
	{"§4.2 no value of a group", "bob", "create", filters(when(`{}`)), payload},
	{"§4.2 no value of a group", "bob", "create", filters(when(`{"type":"event","value":1,"operator":"exact"}`)), payload},
	{"§4.2 no value of a group", "bob", "create", filters(when(`{"key":"a","value":1,"operator":"exact"}`)), payload},
	{"§4.2 no value of a group", "bob", "create", filters(when(`{"type":"event","key":7,"value":1}`)), payload},
	{"§4.2 no value of a group", "bob", "create", filters(when(`{"type":"event","key":"a","operator":7}`)), payload},
	{"§4.2 a group in a group", "bob", "create", filters(when(`{"type":"OR","values":[{"type":"AND"}]}`)), payload},
	{"§4.2 two levels", "bob", "create", filters(`{"type":"OR","values":[` + when(error1) + `,` + when(error1) + `]}`), `{"filters":{"type":"OR","values":[{"type":"AND"},{"type":"AND"}]}}`},
	{"§4.2 both types", "bob", "create", filters(`{"type":"OR","values":[` + error1 + `]}`), `{"filters":{"type":"OR"}}`},
	{"§4.2 as they were sent", "bob", "create", filters(`{"type":"AND","values":[{"type":"event","key":"a","value":["1",2],"operator":"exact","label":"mine"}],"colour":1}`),
		`{"filters":{"type":"AND","values":[{"type":"event","key":"a","value":["1",2],"operator":"exact","label":"mine"}],"colour":1}}`},
}

// Decision 24: a filter of a type that cannot be evaluated is rejected with 400 when it is written.
var rejectedRows = []ruletest.Row{
	{"decision 24 event", "bob", "create", filters(when(error1)), `{"assignee":null}`},
	{"decision 24 person", "bob", "create", filters(when(`{"type":"person","key":"plan","value":"pro","operator":"exact"}`)), `{"assignee":null}`},
	{"decision 24 feature", "bob", "create", filters(when(`{"type":"feature","key":"$feature/x","value":"test","operator":"exact"}`)), `{"assignee":null}`},
	{"decision 24 issue", "bob", "create", filters(when(`{"type":"error_tracking_issue","key":"name","value":"x","operator":"icontains"}`)), `{"assignee":null}`},
	{"§4.2 an issue has status, name and description", "bob", "create", filters(when(`{"type":"error_tracking_issue","key":"colour","value":"x"}`)), `400 invalid_input filters`},
	{"decision 24 element", "bob", "create", filters(when(`{"type":"element","key":"tag_name","value":"a"}`)), `400 invalid_input filters`},
	{"decision 24 session", "bob", "create", filters(when(`{"type":"session","key":"$session_duration","value":1,"operator":"gt"}`)), `400 invalid_input filters`},
	{"decision 24 cohort", "bob", "create", filters(when(`{"type":"cohort","key":"id","value":1}`)), `400 invalid_input filters`},
	{"decision 24 group", "bob", "create", filters(when(`{"type":"group","key":"name","value":"x","group_type_index":0}`)), `400 invalid_input filters`},
	{"decision 24 hogql", "bob", "create", filters(when(`{"type":"hogql","key":"sleep(3)"}`)), `400 invalid_input filters`},
	{"§4.2 operator", "bob", "create", filters(when(`{"type":"event","key":"a","value":"x","operator":"resembles"}`)), `400 invalid_input filters`},
	{"§4.2 a pattern that is none", "bob", "create", filters(when(`{"type":"event","key":"a","value":"(","operator":"regex"}`)), `400 invalid_input filters`},
	{"§4.2 between wants two", "bob", "create", filters(when(`{"type":"event","key":"a","value":[1],"operator":"between"}`)), `400 invalid_input filters`},
	{"§4.2 a date that is none", "bob", "create", filters(when(`{"type":"event","key":"a","value":"soon","operator":"is_date_after"}`)), `400 invalid_input filters`},
	{"decision 24 a change too", "bob", "create => it", filters(always), `{"assignee":null}`},
	{"decision 24 a change too", "bob", "change <it>", filters(when(`{"type":"hogql","key":"1"}`)), `400 invalid_input filters`},
	{"decision 24 which leaves it as it was", "bob", "get <it>", ``, `{"filters":` + always + `}`},
}

func ruleAssigning(to string) string { return `{"filters":` + always + `,"assignee":` + to + `}` }

const (
	wantsID  = `400 invalid_input assignee__id Expected an integer user ID or UUID role ID.`
	wantsInt = `400 invalid_input assignee__id User assignee IDs must be integers.`
)

var assigneeRows = []ruletest.Row{
	{"§4.2", "gus", "role", `{"name":"support"}`, `{"name":"support"}`},
	{"§4.2", "dan", "role", `{"name":"theirs"}`, `{"name":"theirs"}`},
	{"A7 a user", "bob", "create => it", ruleAssigning(`{"type":"user","id":` + number("cyd") + `}`), `{"assignee":"user:` + number("cyd") + `"}`},
	{"A7 a role", "bob", "create", ruleAssigning(`{"type":"role","id":"<support>"}`), `{"assignee":"role:<support>"}`},
	{"A8 nobody", "bob", "create", ruleAssigning(`null`), `{"assignee":null}`},
	{"A7 digits are an integer", "bob", "create", ruleAssigning(`{"type":"user","id":"` + number("cyd") + `"}`), `{"assignee":"user:` + number("cyd") + `"}`},
	{"A7 the form of the answers", "bob", "create", ruleAssigning(`"user:` + number("ann") + `"`), `{"assignee":"user:` + number("ann") + `"}`},
	{"A7 the form of the answers", "bob", "create", ruleAssigning(`"role:<support>"`), `{"assignee":"role:<support>"}`},
	{"§4.2 type", "bob", "create", ruleAssigning(`{"type":"group","id":1}`), `400 invalid_choice assignee__type "group" is not a valid choice.`},
	{"§4.2 type", "bob", "create", ruleAssigning(`"group:1"`), `400 invalid_choice assignee__type "group" is not a valid choice.`},
	{"§2.2 type", "bob", "create", ruleAssigning(`{"id":1}`), `400 required assignee__type This field is required.`},
	{"§2.2 id", "bob", "create", ruleAssigning(`{"type":"user"}`), `400 required assignee__id This field is required.`},
	{"§4.2 id", "bob", "create", ruleAssigning(`{"type":"user","id":true}`), wantsID},
	{"§4.2 id", "bob", "create", ruleAssigning(`{"type":"user","id":1.5}`), wantsID},
	{"§4.2 id", "bob", "create", ruleAssigning(`{"type":"user","id":"bob"}`), wantsID},
	{"§4.2 id", "bob", "create", ruleAssigning(`{"type":"role","id":"support"}`), wantsID},
	{"§4.2 id", "bob", "create", ruleAssigning(`{"type":"user","id":null}`), wantsID},
	{"§4.2 id", "bob", "create", ruleAssigning(`{"type":"user","id":[1]}`), wantsID},
	{"§4.2 a user with a UUID", "bob", "create", ruleAssigning(`{"type":"user","id":"` + nowhere + `"}`), wantsInt},
	{"§4.2 a role with an integer", "bob", "create", ruleAssigning(`{"type":"role","id":1}`), `400 invalid_input assignee__id Role assignee IDs must be UUIDs.`},
	{"§4.2 a role with an integer", "bob", "create", ruleAssigning(`{"type":"role","id":"1"}`), `400 invalid_input assignee__id Role assignee IDs must be UUIDs.`},
	{"§2.2 nobody has the id", "bob", "create", ruleAssigning(`{"type":"user","id":999}`), `400 does_not_exist assignee__id Invalid pk "999" - object does not exist.`},
	{"§2.2 of another organization", "bob", "create", ruleAssigning(`{"type":"user","id":` + number("dan") + `}`), `400 does_not_exist assignee__id`},
	{"§2.2 of another organization", "bob", "create", ruleAssigning(`{"type":"role","id":"<theirs>"}`), `400 does_not_exist assignee__id Invalid pk "<theirs>" - object does not exist.`},
	{"§2.2 no dictionary", "bob", "create", ruleAssigning(`7`), `400 invalid_input assignee Invalid data. Expected a dictionary, but got int.`},
	{"§2.2 no dictionary", "bob", "create", ruleAssigning(`"bob"`), `400 invalid_input assignee Invalid data. Expected a dictionary, but got str.`},
	{"§4.2 it is writable", "bob", "change <it>", `{"assignee":{"type":"role","id":"<support>"}}`, `null`},
	{"§4.2 it is writable", "bob", "get <it>", ``, `{"assignee":"role:<support>","filters":` + always + `}`},
	{"§4.2 it stays", "bob", "change <it>", filters(when(error1)), `null`},
	{"§4.2 it stays", "bob", "get <it>", ``, `{"assignee":"role:<support>"}`},
	{"§4.2 it may be taken away", "bob", "change <it>", `{"assignee":null}`, `null`},
	{"§4.2 it may be taken away", "bob", "get <it>", ``, `{"assignee":null}`},
}

var orderRows = []ruletest.Row{
	{"§4.2", "bob", "create => a", filters(always), `{"order_key":0}`},
	{"§4.2", "bob", "create => b", filters(always), `{"order_key":0}`},
	{"§4.2", "bob", "create => c", filters(always), `{"order_key":0}`},
	{"§4.2 of equal ones the older is first", "bob", "list", ``, `{"count":3,"results":[{"id":"<a>"},{"id":"<b>"},{"id":"<c>"}]}`},
	{"§4.2 reorder", "bob", "reorder", `{"orders":{"<a>":2,"<b>":1}}`, `null`},
	{"§4.2 by order_key", "cyd", "list", ``, `{"count":3,"results":[{"id":"<c>","order_key":0},{"id":"<b>","order_key":1},{"id":"<a>","order_key":2}]}`},
	{"§4.2 negative", "bob", "reorder", `{"orders":{"<a>":-1}}`, `null`},
	{"§4.2 negative", "bob", "list", ``, `{"count":3,"results":[{"id":"<a>","order_key":-1},{"id":"<c>"},{"id":"<b>"}]}`},
	{"§4.2 numbers, not texts", "bob", "reorder", `{"orders":{"<a>":10,"<b>":9,"<c>":2}}`, `null`},
	{"§4.2 numbers, not texts", "bob", "list", ``, `{"results":[{"id":"<c>"},{"id":"<b>"},{"id":"<a>"}]}`},
	{"§4.2 unknown ids are ignored", "bob", "reorder", `{"orders":{"` + nowhere + `":1,"no uuid":2,"<c>":11}}`, `null`},
	{"§4.2 unknown ids are ignored", "bob", "list", ``, `{"count":3,"results":[{"id":"<b>"},{"id":"<a>"},{"id":"<c>","order_key":11}]}`},
	{"§4.2 the filters stay", "bob", "get <c>", ``, `{"filters":` + always + `}`},
	{"§2.2 orders", "bob", "reorder", `{}`, `400 required orders This field is required.`},
	{"§2.2 orders", "bob", "reorder", `{"orders":[]}`, `400 not_a_dict orders Expected a dictionary of items but got type "list".`},
	{"§2.2 orders", "bob", "reorder", `{"orders":{"<a>":"first"}}`, `400 invalid_input orders__<a> A valid integer is required.`},
	{"§2.2 none of them was changed", "bob", "reorder", `{"orders":{"<a>":99,"<b>":null}}`, `400 null orders__<b> This field may not be null.`},
	{"§2.2 none of them was changed", "bob", "get <a>", ``, `{"order_key":10}`},
	{"10,000 orders", "bob", "reorder", `{"orders":` + unknownOrders(10_000) + `}`, `null`},
	{"one more", "bob", "reorder", `{"orders":` + unknownOrders(10_001) + `}`, `400 max_length orders Ensure this field has no more than 10000 elements.`},
	{"§6 row 38 limit", "bob", "list", `{"Limit":1}`, `{"count":3,"results":[{"id":"<b>"}]}`},
	{"§3 offset", "bob", "list", `{"Limit":5,"Offset":2}`, `{"count":3,"results":[{"id":"<c>"}]}`},
	{"§3 beyond the end", "bob", "list", `{"Offset":50}`, `{"count":3,"results":[]}`},
}

// unknownOrders returns an order of n rules that do not exist.
func unknownOrders(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"none %d":0`, i)
	}
	return "{" + strings.Join(list, ",") + "}"
}

var placeRows = []ruletest.Row{
	{"§4.2", "bob", "create => ours", filters(always), `{"order_key":0}`},
	{"§4.2", "dan", "create => theirs", filters(always), `{"order_key":0}`},
	{"§4.2 a list is of its project", "dan", "list", ``, `{"count":1,"results":[{"id":"<theirs>"}]}`},
	{"§1.5 another project's", "dan", "get <ours>", ``, notFound},
	{"§1.5 another project's", "dan", "change <ours>", `{}`, notFound},
	{"§1.5 another project's", "dan", "delete <ours>", ``, notFound},
	{"§4.2 unknown ids are ignored", "dan", "reorder", `{"orders":{"<ours>":5}}`, `null`},
	{"§4.2 unknown ids are ignored", "bob", "get <ours>", ``, `{"order_key":0}`},
}

// §5.11: the log of changes of rules.
var logRows = []ruletest.Row{
	{"§5.11 created", "bob", "create => it", filters(always), `{"order_key":0}`},
	{"§5.11 created", "bob", "log ErrorTrackingAssignmentRule <it>", ``, `{"activity":"created","scope":"ErrorTrackingAssignmentRule","item_id":"<it>","user":{"first_name":"bob","email":"bob@example.com"},"detail":{"name":""}}`},
	{"§5.11 updated", "cyd", "change <it>", `{"assignee":{"type":"user","id":1}}`, `null`},
	{"§5.11 updated", "bob", "log ErrorTrackingAssignmentRule <it>", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"name":"ann@example.com","changes":[{"action":"created","field":"assignee","before":null,"after":"user:1"}]}}`},
	{"§5.11 a change of nothing", "gus", "change <it>", `{"assignee":"user:1"}`, `null`},
	{"§5.11 a change of nothing", "bob", "log ErrorTrackingAssignmentRule <it>", ``, `{"user":{"first_name":"cyd"}}`},
	{"§5.11 reorder", "gus", "reorder", `{"orders":{"<it>":4}}`, `null`},
	{"§5.11 reorder", "bob", "log ErrorTrackingAssignmentRule <it>", ``, `{"user":{"first_name":"gus"},"detail":{"changes":[{"field":"order_key","before":0,"after":4}]}}`},
	{"§5.11 deleted", "bob", "delete <it>", ``, `null`},
	{"§5.11 deleted", "bob", "log ErrorTrackingAssignmentRule <it>", ``, `{"activity":"deleted","user":{"first_name":"bob"},"detail":{"name":"ann@example.com"}}`},
	{"§5.11 a role", "gus", "role", `{"name":"support"}`, `{"name":"support"}`},
	{"§5.11 a role", "bob", "create => it", `{"filters":` + always + `,"assignee":"role:<support>"}`, `{"assignee":"role:<support>"}`},
	{"§5.11 a role", "bob", "log ErrorTrackingAssignmentRule <it>", ``, `{"activity":"created","detail":{"name":"support"}}`},
}

// A project has at most 1000 rules.
func TestErrorTracking_MaxRules(t *testing.T) {
	w := newWorld(t)
	scope := w.Scope(t, "bob")
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		for n := range 999 {
			r := management.Record{Kind: "assignment_rule", Parent: management.ProjectParent(ruletest.Project), ID: fmt.Sprint(n), Data: []byte(`{"filters":` + always + `}`)}
			if err := tx.Put(&r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Run(t, w.calls(t), []ruletest.Row{
		{"the last", "bob", "create", filters(always), `{"order_key":0}`},
		{"one too many", "bob", "create", filters(always), `400 invalid_input - A project can have at most 1000 assignment rules.`},
		{"of another project", "dan", "create", filters(always), `{"order_key":0}`},
	})
	list, err := w.ErrorTracking.Rules(t.Context(), scope, management.Page{Limit: ruletest.DefaultPage, Offset: 950})
	if err != nil || fmt.Sprint(list.Count, len(list.Results)) != "1000 50" {
		t.Error(list.Count, len(list.Results), err)
	}
}
