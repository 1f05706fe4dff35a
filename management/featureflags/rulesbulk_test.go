package featureflags_test

import (
	"fmt"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// Actions on several flags: clients.md §7.3 (matching_ids, bulk_delete) and console.md N13.
func TestFlags_Bulk(t *testing.T) {
	askFlags(t, map[string][]ruletest.Row{
		"states": bulkDeleteStateRows, "reasons": bulkDeleteReasonRows, "dependents": bulkDeleteDependentRows(), "filters": bulkDeleteFilterRows, "bodies": bulkDeleteBodyRows,
		"matching": matchingRows, "patches": bulkPatchRows, "bounds": bulkBoundRows,
	})
}

var bulkDeleteStateRows = []ruletest.Row{
	{"clients.md §7.3", "bob", "create", `{"key":"full"}`, `{"id":1}`},
	{"clients.md §7.3", "bob", "create", `{"key":"off","active":false}`, `{"id":2}`},
	{"clients.md §7.3", "bob", "create", `{"key":"half","filters":{"groups":[{"rollout_percentage":50}]}}`, `{"id":3}`},
	{"clients.md §7.3", "bob", "create", `{"key":"one","filters":{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":0},{"key":"b","rollout_percentage":100}]}}}`, `{"id":4}`},
	{"clients.md §7.3", "bob", "create", `{"key":"both","filters":{"groups":[{}],` + flagtest.AB + `}}`, `{"id":5}`},
	{"clients.md §7.3", "bob", "create", `{"key":"nobody"}`, `{"id":6}`},
	{"clients.md §7.3", "bob", "change 6", `{"filters":{"groups":[]}}`, `{"version":2}`},
	{"clients.md §7.3 the states before, young flags too", "cyd", "bulkdelete", `{"ids":[1,"2",3,4,5,6]}`, `{"deleted":[
		{"id":1,"key":"full","rollout_state":"fully_rolled_out","active_variant":null},{"id":2,"key":"off","rollout_state":"not_rolled_out","active_variant":null},
		{"id":3,"key":"half","rollout_state":"partial","active_variant":null},{"id":4,"key":"one","rollout_state":"fully_rolled_out","active_variant":"b"},
		{"id":5,"key":"both","rollout_state":"partial","active_variant":null},{"id":6,"key":"nobody","rollout_state":"not_rolled_out","active_variant":null}],"errors":[]}`},
	{"clients.md §7.3 softly", "bob", "get 1", ``, `{"deleted":true,"version":2,"last_modified_by":{"first_name":"cyd"}}`},
	{"clients.md §7.3 the log", "bob", "log FeatureFlag 3", ``, `{"activity":"deleted","user":{"first_name":"cyd"},"detail":{"name":"half"}}`},
}

var bulkDeleteReasonRows = []ruletest.Row{
	{"clients.md §7.3", "bob", "create", `{"key":"base"}`, `{"id":1}`},
	{"clients.md §7.3", "bob", "create", `{"key":"upper"}`, `{"id":2}`},
	{"clients.md §7.3", "bob", "change 2", flagtest.Needs("1"), `{"version":2}`},
	{"clients.md §7.3", "bob", "feature", `{"name":"F","stage":"beta"}`, `{"feature_flag":{"id":3}}`},
	{"clients.md §7.3", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"feature_flag":{"id":4}}`},
	{"clients.md §7.3 each alone, with its reason", "bob", "bulkdelete", `{"ids":[1,3,4,99,"x",1.5,null]}`, `{"deleted":[],"errors":[
		{"id":1,"key":"base","reason":"(like) ^Cannot delete this feature flag because .*: upper \\(ID: 2\\)"},{"id":3,"key":"f","reason":"(like) early access features"},
		{"id":4,"key":"e","reason":"(like) active experiment"},{"id":99,"key":"(absent)","reason":"Flag not found"},{"id":"x","key":"(absent)","reason":"Invalid flag ID format"},
		{"id":1.5,"reason":"Invalid flag ID format"},{"id":null,"reason":"Invalid flag ID format"}]}`},
	{"clients.md §7.3 what is refused stays", "bob", "keys", `{}`, `["e","f","upper","base"]`},
	{"clients.md §7.3 what depends goes first, in any order", "bob", "bulkdelete", `{"ids":[1,2]}`, `{"deleted":[{"id":2,"key":"upper"},{"id":1,"key":"base"}],"errors":[]}`},
	{"clients.md §7.3 a deleted one is not found", "bob", "bulkdelete", `{"ids":[1]}`, `{"deleted":[],"errors":[{"id":1,"key":"(absent)","reason":"Flag not found"}]}`},
	{"§1.5 another project's", "dan", "bulkdelete", `{"ids":[3]}`, `{"deleted":[],"errors":[{"id":3,"key":"(absent)","reason":"Flag not found"}]}`},
}

// bulkDeleteDependentRows prove that a reason names up to three flags, where the error of a single
// deletion names five.
func bulkDeleteDependentRows() []ruletest.Row {
	out := []ruletest.Row{{"clients.md §7.3", "bob", "create", `{"key":"base"}`, `{"id":1}`}}
	for i := 2; i <= 4; i++ {
		out = append(out,
			ruletest.Row{"clients.md §7.3", "bob", "create", fmt.Sprintf(`{"key":"on-%d"}`, i), fmt.Sprintf(`{"id":%d}`, i)},
			ruletest.Row{"clients.md §7.3", "bob", fmt.Sprintf("change %d", i), flagtest.Needs("1"), `{"version":2}`})
	}
	return append(out, []ruletest.Row{
		{"clients.md §7.3 three are named", "bob", "bulkdelete", `{"ids":[1]}`, `{"deleted":[],"errors":[{"id":1,"key":"base",
			"reason":"Cannot delete this feature flag because other flags depend on it: on-2 (ID: 2), on-3 (ID: 3), on-4 (ID: 4). Please update or disable the dependent flags first."}]}`},
		{"clients.md §7.3", "bob", "create", `{"key":"on-5"}`, `{"id":5}`},
		{"clients.md §7.3", "bob", "change 5", flagtest.Needs("1"), `{"version":2}`},
		{"clients.md §7.3 and the number of the rest", "bob", "bulkdelete", `{"ids":[1]}`, `{"deleted":[],"errors":[{"id":1,"key":"base",
			"reason":"Cannot delete this feature flag because other flags depend on it: on-2 (ID: 2), on-3 (ID: 3), on-4 (ID: 4), and 1 more. Please update or disable the dependent flags first."}]}`},
	}...)
}

var bulkDeleteFilterRows = []ruletest.Row{
	{"clients.md §7.3", "bob", "create", `{"key":"red-1","tags":["x"]}`, `{"id":1}`},
	{"clients.md §7.3", "bob", "create", `{"key":"red-2","active":false,"archived":true}`, `{"id":2}`},
	{"clients.md §7.3", "bob", "create", `{"key":"blue"}`, `{"id":3}`},
	{"clients.md §7.3", "dan", "create", `{"key":"red-1"}`, `{"id":4}`},
	{"clients.md §7.3 a fault of the filters", "bob", "bulkdelete", `{"filters":{"Search":` + flagtest.Text(201) + `}}`, `400 invalid_input search`},
	{"clients.md §7.3 those that match: archived ones are hidden from the list", "bob", "bulkdelete", `{"filters":{"Search":"red"}}`, `{"deleted":[{"id":1}],"errors":[]}`},
	{"clients.md §7.3 none matches", "bob", "bulkdelete", `{"filters":{"Search":"green"}}`, `{"deleted":[],"errors":[]}`},
	{"clients.md §7.3 archived ones", "bob", "bulkdelete", `{"filters":{"Archived":true}}`, `{"deleted":[{"id":2,"rollout_state":"not_rolled_out"}]}`},
	{"clients.md §7.3 the rest stays", "bob", "keys", `{}`, `["blue"]`},
	{"clients.md §7.3 the rest stays", "dan", "keys", `{}`, `["red-1"]`},
}

var bulkDeleteBodyRows = flagtest.Each("clients.md §7.3 either ids or filters", "bob", "bulkdelete",
	[2]string{`{}`, `{"error":"Must provide either filters or ids"}`},
	[2]string{`{"ids":null,"filters":null}`, `{"error":"Must provide either filters or ids"}`},
	[2]string{`{"ids":[1],"filters":{}}`, `{"error":"Provide either filters or ids, not both"}`},
	[2]string{`{"ids":[],"filters":{"Search":"x"}}`, `{"error":"Provide either filters or ids, not both"}`},
	[2]string{`{"ids":[]}`, `{"deleted":[],"errors":[]}`},
	[2]string{`{"ids":1}`, `400 not_a_list ids Expected a list of items but got type "int".`},
	[2]string{`{"filters":[]}`, `400 not_a_dict filters`},
	[2]string{`{"ids":` + flagtest.List(1000, "9") + `}`, `{"deleted":[]}`},
	[2]string{`{"ids":` + flagtest.List(1001, "9") + `}`, `400 max_length ids`},
	[2]string{`[1]`, `400 invalid_input - Invalid data.`},
)

// matching_ids has the filters and orders of the list, without its pages.
var matchingRows = flagtest.Rows(listFlags, flagtest.Each("clients.md §7.3 the filters of the list", "bob", "matching",
	[2]string{`{}`, `{"ids":[3,2,1],"total":3}`},
	[2]string{`{"Limit":1,"Offset":1}`, `{"ids":[3,2,1],"total":3}`},
	[2]string{`{"Order":"key"}`, `{"ids":[2,3,1]}`},
	[2]string{`{"Tags":["paint"],"Active":"true"}`, `{"ids":[1],"total":1}`},
	[2]string{`{"Search":"nothing"}`, `{"ids":[],"total":0}`},
	[2]string{`{"Archived":true}`, `{"ids":[],"total":0}`},
	[2]string{`{"Search":` + flagtest.Text(201) + `}`, `400 invalid_input search Search term cannot exceed 200 characters`},
	[2]string{`{"Status":["gone"]}`, `400 invalid_input status`},
))

var bulkPatchRows = []ruletest.Row{
	{"console.md N13", "bob", "create", `{"key":"a","tags":["x"]}`, `{"id":1}`},
	{"console.md N13", "bob", "create", `{"key":"b"}`, `{"id":2}`},
	{"console.md N13", "bob", "change 2", flagtest.Needs("1"), `{"version":2}`},
	{"console.md N13 what others need", "bob", "bulk", `{"ids":[1],"patch":{"archived":true}}`, `{"results":[{"id":1,"ok":false,"error":"(like) ^Cannot disable this feature flag because .*: b \\(ID: 2\\)"}]}`},
	{"console.md N13 a refusal changes nothing", "bob", "get 1", ``, `{"version":1,"active":true,"archived":false}`},
	{"console.md N13 in the order that was sent", "bob", "bulk", `{"ids":[2,1],"patch":{"archived":true}}`, `{"results":[{"id":2,"ok":true},{"id":1,"ok":true}]}`},
	{"console.md N13 out of the archive, not on", "bob", "bulk", `{"ids":["1"],"patch":{"archived":false}}`, `{"results":[{"id":"1","ok":true}]}`},
	{"console.md N13 out of the archive, not on", "bob", "get 1", ``, `{"archived":false,"active":false}`},
	{"console.md N13 deleted", "bob", "bulk", `{"ids":[2],"patch":{"deleted":true}}`, `{"results":[{"id":2,"ok":true}]}`},
	{"console.md N13 no tags for a deleted one", "bob", "bulk", `{"ids":[2],"patch":{"add_tags":["y"]}}`, `{"results":[{"id":2,"ok":false,"error":"Flag not found"}]}`},
	{"console.md N13 restored", "cyd", "bulk", `{"ids":[2],"patch":{"deleted":false}}`, `{"results":[{"id":2,"ok":true}]}`},
	{"console.md N13 restored", "bob", "get 2", ``, `{"deleted":false,"last_modified_by":{"first_name":"cyd"}}`},
	{"console.md N13 tags that are there already make no version", "bob", "get 1 => a", ``, `{"tags":["x"]}`},
	{"console.md N13 tags that are there already make no version", "bob", "bulk", `{"ids":[1],"patch":{"add_tags":["X",""," "]}}`, `{"results":[{"id":1,"ok":true}]}`},
	{"console.md N13 tags that are there already make no version", "bob", "bulk", `{"ids":[1],"patch":{"add_tags":["X"]}}`, `{"results":[{"id":1,"ok":true}]}`},
	{"console.md N13 nor tags that are not there", "bob", "bulk", `{"ids":[1],"patch":{"remove_tags":["y"]}}`, `{"results":[{"id":1,"ok":true}]}`},
	{"clients.md §3.3 empty ones are dropped", "bob", "bulk", `{"ids":[1],"patch":{"remove_tags":["y",""]}}`, `{"results":[{"id":1,"ok":true}]}`},
	{"console.md N13 nor none", "bob", "bulk", `{"ids":[1],"patch":{"add_tags":[]}}`, `{"results":[{"id":1,"ok":true}]}`},
	{"console.md N13 tags that are there already make no version", "bob", "get 1", ``, `{"tags":["x"],"version":<a.version>}`},
	{"console.md N13 no ids", "bob", "bulk", `{"ids":[],"patch":{"active":true}}`, `{"results":[]}`},
}

var bulkBoundRows = flagtest.Rows(
	flagtest.Each("console.md N13 at most 200, one patch", "bob", "bulk",
		[2]string{`{"ids":` + flagtest.List(200, "9") + `,"patch":{"active":true}}`, `{"results":` + flagtest.List(200, `{"id":9,"ok":false,"error":"Not found."}`) + `}`},
		[2]string{`{"ids":` + flagtest.List(201, "9") + `,"patch":{"active":true}}`, `400 max_length ids At most 200 feature flags can be changed at once, not 201.`},
		[2]string{`{"ids":1,"patch":{"active":true}}`, `400 not_a_list ids`},
		[2]string{`{"ids":[9],"patch":[]}`, `400 not_a_dict patch`},
		[2]string{`{"ids":[9],"patch":{"active":null}}`, `400 null patch__active This field may not be null.`},
		[2]string{`{"ids":[9],"patch":{"remove_tags":[` + flagtest.Text(256) + `]}}`, `400 max_length patch__remove_tags__0`},
		[2]string{`{"ids":[9],"patch":{"add_tags":["a"],"remove_tags":["b"]}}`, `400 invalid_input patch Send exactly one of`},
	),
	flagtest.Each("clients.md §7.3 tags of at most 1,000", "bob", "tags",
		[2]string{`{"ids":` + flagtest.List(1000, "9") + `,"action":"set","tags":[]}`, `{"updated":[]}`},
		[2]string{`{"ids":[9],"action":"set","tags":[` + flagtest.Text(255) + `]}`, `{"skipped":[{"reason":"Flag not found"}]}`},
		[2]string{`{"ids":[9],"action":"set","tags":[` + flagtest.Text(256) + `]}`, `400 max_length tags__0`},
		[2]string{`{"ids":"9","action":"set","tags":[]}`, `400 not_a_list ids`},
		[2]string{`{"ids":[null,{},1.5],"action":"set","tags":[]}`, `{"updated":[],"skipped":[{"id":null,"reason":"Invalid flag ID format"},{"id":{},"reason":"Invalid flag ID format"},{"id":1.5,"reason":"Invalid flag ID format"}]}`},
	),
)
