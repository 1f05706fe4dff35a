package featureflags_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestFlags_Lists(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"filters": listFilterRows, "search": searchRows, "order": orderRows, "types": listTypeRows, "survey flags": hiddenRows,
		"blast radius": radiusRows, "questions": questionRows, "what is needed of it": listedRows,
	})
}

// listFlags are the flags of the tables about lists, oldest first: red, blue-sky, deep_sea.
var listFlags = []ruletest.Row{
	{"§5.1.3", "bob", "create", `{"key":"red","name":"Warm colour","tags":["paint","hot"],"evaluation_runtime":"client","evaluation_tags":["hot"]}`, `{"id":1}`},
	{"§5.1.3", "cyd", "create", `{"key":"blue-sky","name":"Cold","tags":["paint"],"active":false,"evaluation_runtime":"server"}`, `{"id":2}`},
	{"§5.1.3", "ann", "create", `{"key":"deep_sea","name":"under water","filters":{"groups":[{"properties":[]}],"multivariate":{"variants":[{"key":"control","rollout_percentage":50},{"key":"b","rollout_percentage":50}]}}}`, `{"id":3}`},
	{"§5.1.3", "dan", "create", `{"key":"theirs","tags":["paint"]}`, `{"id":4}`},
}

var listFilterRows = flagtest.Rows(listFlags,
	flagtest.Each("§5.1.3 active", "bob", "keys",
		[2]string{`{"Active":"true"}`, `["deep_sea","red"]`},
		[2]string{`{"Active":"false"}`, `["blue-sky"]`},
		[2]string{`{"Active":"STALE"}`, `[]`},
		[2]string{`{"Active":"sometimes"}`, `["deep_sea","blue-sky","red"]`}, // clients.md §2.1: as if absent
	),
	flagtest.Each("§5.1.3 created_by_id, clients.md §2.2 also several", "bob", "keys",
		[2]string{`{"Creators":[2]}`, `["red"]`},
		[2]string{`{"Creators":[2,1]}`, `["deep_sea","red"]`},
		[2]string{`{"Creators":[99]}`, `[]`},
	),
	flagtest.Each("§5.1.3 evaluation_runtime", "bob", "keys",
		[2]string{`{"Runtime":"client"}`, `["red"]`},
		[2]string{`{"Runtime":"server"}`, `["blue-sky"]`},
		[2]string{`{"Runtime":"all"}`, `["deep_sea"]`},
	),
	flagtest.Each("§5.1.3 tags: any of them", "bob", "keys",
		[2]string{`{"Tags":["paint"]}`, `["blue-sky","red"]`},
		[2]string{`{"Tags":["hot"]}`, `["red"]`},
		[2]string{`{"Tags":["hot","paint"]}`, `["blue-sky","red"]`},
		[2]string{`{"Tags":[" HOT "]}`, `["red"]`},
		[2]string{`{"Tags":["cold"]}`, `[]`},
	),
	flagtest.Each("clients.md §2.2 excluded_tags: none of them", "bob", "keys",
		[2]string{`{"ExcludedTags":["hot"]}`, `["deep_sea","blue-sky"]`},
		[2]string{`{"ExcludedTags":["hot","paint"]}`, `["deep_sea"]`},
		[2]string{`{"ExcludedTags":["cold"]}`, `["deep_sea","blue-sky","red"]`},
		[2]string{`{"Tags":["paint"],"ExcludedTags":["hot"]}`, `["blue-sky"]`},
	),
	flagtest.Each("§5.1.3 excluded_properties: keys", "bob", "keys",
		[2]string{`{"Excluded":["red"]}`, `["deep_sea","blue-sky"]`},
		[2]string{`{"Excluded":["red","deep_sea","nothing"]}`, `["blue-sky"]`},
		[2]string{`{"Excluded":["RED"]}`, `["deep_sea","blue-sky","red"]`},
	),
	flagtest.Each("clients.md §2.2 has_evaluation_contexts", "bob", "keys",
		[2]string{`{"Contexts":true}`, `["red"]`},
		[2]string{`{"Contexts":false}`, `["deep_sea","blue-sky"]`},
	),
	flagtest.Each("clients.md §2.2 eligible_for_experiment: §13 two variants or more, control the first", "bob", "keys",
		[2]string{`{"Experimental":true}`, `["deep_sea"]`},
		[2]string{`{"Experimental":false}`, `["blue-sky","red"]`},
	),
	flagtest.Each("clients.md §2.2 key: exact, ignoring case", "bob", "keys",
		[2]string{`{"Key":"red"}`, `["red"]`},
		[2]string{`{"Key":"RED"}`, `["red"]`},
		[2]string{`{"Key":"re"}`, `[]`},
	),
	flagtest.Each("§5.1.3 all of what is asked", "bob", "keys",
		[2]string{`{"Active":"true","Tags":["paint"],"Creators":[2],"Runtime":"client","Search":"warm"}`, `["red"]`},
		[2]string{`{"Active":"false","Tags":["hot"]}`, `[]`},
	),
	flagtest.Each("§3 pages: the count is that of all", "bob", "list",
		[2]string{`{"Limit":2}`, `{"count":3,"results":[{"key":"deep_sea"},{"key":"blue-sky"}]}`},
		[2]string{`{"Limit":2,"Offset":2}`, `{"count":3,"results":[{"key":"red"}]}`},
		[2]string{`{"Limit":2,"Offset":3}`, `{"count":3,"results":[]}`},
		[2]string{`{"Tags":["paint"],"Limit":1}`, `{"count":2,"results":[{"key":"blue-sky"}]}`},
	),
)

var searchRows = flagtest.Rows(listFlags,
	flagtest.Each("§5.1.3 search: key or name", "bob", "keys",
		[2]string{`{"Search":"red"}`, `["red"]`},
		[2]string{`{"Search":"e"}`, `["deep_sea","blue-sky","red"]`},
		[2]string{`{"Search":"COL"}`, `["blue-sky","red"]`},
		[2]string{`{"Search":"under water"}`, `["deep_sea"]`},
		[2]string{`{"Search":"paint"}`, `[]`},
		[2]string{`{"Search":""}`, `["deep_sea","blue-sky","red"]`},
	),
	flagtest.Each("clients.md §2.2 a blank stands for - and _ too", "bob", "keys",
		[2]string{`{"Search":"blue sky"}`, `["blue-sky"]`},
		[2]string{`{"Search":"deep sea"}`, `["deep_sea"]`},
		[2]string{`{"Search":"blue_sky"}`, `[]`},
		[2]string{`{"Search":"deep-sea"}`, `[]`},
	),
	flagtest.Each("clients.md §2.2 at most 200 characters", "bob", "list",
		[2]string{`{"Search":` + flagtest.Text(200) + `}`, `{"count":0}`},
		[2]string{`{"Search":` + flagtest.Text(201) + `}`, `400 invalid_input search Search term cannot exceed 200 characters`},
	),
)

var orderRows = flagtest.Rows(listFlags,
	[]ruletest.Row{{"§3", "bob", "change 1", `{"name":"a warm one"}`, `{"version":2}`}},
	flagtest.Each("§5.1.3 order", "bob", "keys",
		[2]string{``, `["deep_sea","blue-sky","red"]`}, // §3: -created_at
		[2]string{`{"Order":"created_at"}`, `["red","blue-sky","deep_sea"]`},
		[2]string{`{"Order":"-created_at"}`, `["deep_sea","blue-sky","red"]`},
		[2]string{`{"Order":"updated_at"}`, `["blue-sky","deep_sea","red"]`},
		[2]string{`{"Order":"-updated_at"}`, `["red","deep_sea","blue-sky"]`},
		[2]string{`{"Order":"key"}`, `["blue-sky","deep_sea","red"]`},
		[2]string{`{"Order":"-key"}`, `["red","deep_sea","blue-sky"]`},
		[2]string{`{"Order":"name"}`, `["blue-sky","red","deep_sea"]`},
		[2]string{`{"Order":"version","Limit":2,"Offset":2}`, `["red"]`},
		[2]string{`{"Order":"id"}`, `["red","blue-sky","deep_sea"]`},
		[2]string{`{"Order":"active","Limit":1}`, `["blue-sky"]`},
		[2]string{`{"Order":"password"}`, `["deep_sea","blue-sky","red"]`}, // clients.md §2.1: as if absent
	),
)

var listTypeRows = flagtest.Rows(listFlags,
	[]ruletest.Row{
		{"§5.1.3", "bob", "create", `{"key":"config","is_remote_configuration":true,"filters":{"groups":[{"properties":[]}],"payloads":{"true":"1"}}}`, `{"id":5}`},
		{"§5.1.3", "bob", "experiment", `{"name":"E","feature_flag_key":"tried"}`, `{"feature_flag":{"id":6}}`},
	},
	flagtest.Each("§5.1.3 type", "bob", "keys",
		[2]string{`{"Type":"boolean"}`, `["blue-sky","red"]`},
		[2]string{`{"Type":"multivariant"}`, `["tried","deep_sea"]`},
		[2]string{`{"Type":"experiment"}`, `["tried"]`},
		[2]string{`{"Type":"remote_config"}`, `["config"]`},
		[2]string{`{"Type":"other"}`, `["tried","config","deep_sea","blue-sky","red"]`}, // clients.md §2.1: as if absent
	),
	[]ruletest.Row{
		{"§5.1.3 a deleted experiment is none", "bob", "changeexperiment <E>", `{"deleted":true}`, `{"deleted":true}`},
		{"§5.1.3 a deleted experiment is none", "bob", "keys", `{"Type":"experiment"}`, `[]`},
	},
)

var hiddenRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.6", "bob", "survey", `{"name":"S","type":"popover","targeting_flag_filters":` + flagtest.Targeting + `}`, `{"name":"S"}`},
	{"§5.6 flags of surveys are hidden", "bob", "keys", `{}`, `["a"]`},
	{"§5.6 flags of surveys are hidden", "bob", "keys", `{"Search":"survey"}`, `[]`},
	{"§5.6 flags of surveys are hidden", "bob", "listed", ``, `[{"Key":"a"}]`},
	{"§5.6 but there", "bob", "get 2", ``, `{"key":"(like) ^survey-targeting-[0-9a-f]{10}$"}`},
	{"§5.6 but there", "bob", "get 3", ``, `{"key":"(like) ^survey-targeting-[0-9a-f]{10}-custom$"}`},
}

// una and vic have the plan pro, wes and xia have no plan; the groups of type 0 are acme of size
// 100 and ant of size 1.
var radiusRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.2", "bob", "cohort", FindCohort(`{"type":"person","key":"plan","value":"pro","operator":"exact"}`), `{"id":1}`},
		{"§5.2", "bob", `file {"name":"listed","is_static":true}`, "vic2\nxia\nnobody", `{"id":2}`},
	},
	flagtest.Each("§5.1.3 user_blast_radius", "bob", "radius",
		[2]string{`{"condition":{"properties":[]}}`, `{"users_affected":4,"total_users":4,"exact":true}`},
		[2]string{`{"condition":{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]}}`, `{"users_affected":2,"total_users":4}`},
		[2]string{`{"condition":{"properties":[{"key":"plan","type":"person","operator":"is_not_set"}]}}`, `{"users_affected":2,"total_users":4}`},
		[2]string{`{"condition":{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"},{"key":"age","type":"person","operator":"gt","value":"30"}]}}`, `{"users_affected":1,"total_users":4}`},
		[2]string{`{"condition":{"properties":[{"key":"plan","type":"person","operator":"exact","value":"free"}]}}`, `{"users_affected":0,"total_users":4}`},
		[2]string{`{"condition":{"properties":[{"key":"email","type":"person","operator":"icontains","value":"@example.com"}],"rollout_percentage":0}}`, `{"users_affected":2,"total_users":4}`},
		[2]string{`{"condition":{"properties":[],"variant":"a"}}`, `{"users_affected":4,"total_users":4}`},
		[2]string{`{"condition":{"properties":[{"key":"id","type":"cohort","value":1}]}}`, `{"users_affected":2,"total_users":4}`},
		[2]string{`{"condition":{"properties":[{"key":"id","type":"cohort","value":2}]}}`, `{"users_affected":2,"total_users":4}`},
		[2]string{`{"condition":{"properties":[{"key":"id","type":"cohort","operator":"not_in","value":2}]}}`, `{"users_affected":2,"total_users":4}`},
		[2]string{`{"condition":{"properties":[]},"group_type_index":0}`, `{"users_affected":2,"total_users":2}`},
		[2]string{`{"condition":{"properties":[{"key":"size","type":"group","group_type_index":0,"operator":"gt","value":"10"}]},"group_type_index":0}`, `{"users_affected":1,"total_users":2}`},
		[2]string{`{"condition":{"properties":[]},"group_type_index":1}`, `{"users_affected":0,"total_users":0}`},
		[2]string{`{"condition":{"properties":[]},"group_type_index":4}`, `{"users_affected":0,"total_users":0}`},
	),
	flagtest.Each("§5.1.3 conditions that are none", "bob", "radius",
		[2]string{`{}`, `400 invalid_input - Missing condition for which to get blast radius`},
		[2]string{`{"condition":null}`, `400 invalid_input - Missing condition for which to get blast radius`},
		[2]string{`{"condition":[]}`, `400 not_a_dict condition Expected a dictionary of items but got type "list".`},
		[2]string{`{"condition":{"properties":[{"key":"x","type":"event","value":"y"}]}}`, flagtest.OnlyPersons},
		[2]string{`{"condition":{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]},"group_type_index":0}`, flagtest.OnlyGroups},
		[2]string{`{"condition":{"properties":[{"key":"id","type":"cohort","value":99}]}}`, `400 cohort_does_not_exist filters Cohort with id 99 does not exist`},
		[2]string{`{"condition":{"properties":[{"key":"p","type":"person","operator":"is_date_before","value":"soon"}]}}`, `400 invalid_date filters Invalid date value: soon`},
		[2]string{`{"condition":{"properties":[]},"group_type_index":"one"}`, `400 invalid_input group_type_index A valid integer is required.`},
	),
	[]ruletest.Row{
		{"§5.1.3 dependencies count", "bob", "create", `{"key":"base","filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]}]}}`, `{"id":1}`},
		{"§5.1.3 dependencies count", "bob", "radius", `{"condition":{"properties":[{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true}]}}`, `{"users_affected":2,"total_users":4}`},
		{"§5.1.3 another project has nobody", "dan", "radius", `{"condition":{"properties":[]}}`, `{"users_affected":0,"total_users":0}`},
	},
)

var questionRows = flagtest.Rows(
	[]ruletest.Row{
		{"clients.md §7.2", "bob", "create", `{"key":"a"}`, `{"id":1}`},
		{"clients.md §7.2", "bob", "create", `{"key":"1","active":false}`, `{"id":2}`},
		{"clients.md §7.2 by key", "bob", "question a", `{"distinct_id":"una"}`, `{"Flag":{"id":1,"key":"a","version":1,"active":true},"PersonID":"","Subject":{"DistinctID":"una"}}`},
		{"clients.md §7.2 by id", "bob", "question 2", `{"distinct_id":"una"}`, `{"Flag":{"id":2,"key":"1","active":false}}`},
		{"clients.md §7.2 a key goes before an id", "bob", "question 1", `{"distinct_id":"una"}`, `{"Flag":{"id":2,"key":"1"}}`},
		{"clients.md §7.2 of no flag", "bob", "question nope", `{"distinct_id":"una"}`, `404 not_found - There is no feature flag "nope".`},
		{"clients.md §7.2 of another project's", "dan", "question a", `{"distinct_id":"una"}`, `404 not_found - There is no feature flag "a".`},
		{"clients.md §7.2 of a deleted one", "bob", "change 2", `{"deleted":true}`, `{"deleted":true}`},
		{"clients.md §7.2 of a deleted one", "bob", "question 2", `{"distinct_id":"una"}`, `404 not_found -`},
	},
	flagtest.Each("clients.md §7.2 both or none of the two ids", "bob", "question a",
		[2]string{`{}`, `400 required distinct_id`},
		[2]string{`{"distinct_id":null}`, `400 required distinct_id`},
		[2]string{`{"distinct_id":"una","person_id":"` + flagtest.Una + `"}`, `400 invalid_input person_id`},
		[2]string{`{"person_id":"` + flagtest.Una + `"}`, `{"PersonID":"` + flagtest.Una + `","Subject":{"DistinctID":""}}`},
		[2]string{`{"person_id":"una"}`, `400 invalid_input person_id Must be a valid UUID.`},
		[2]string{`{"distinct_id":""}`, `{"Subject":{"DistinctID":""}}`}, // decision 31
		[2]string{`{"distinct_id":" una "}`, `{"Subject":{"DistinctID":" una "}}`},
		[2]string{`{"distinct_id":7}`, `{"Subject":{"DistinctID":"7"}}`},
		[2]string{`{"distinct_id":["una"]}`, `400 invalid_input distinct_id Not a valid string.`},
		[2]string{`{"distinct_id":true}`, `400 invalid_input distinct_id Not a valid string.`},
	),
	flagtest.Each("interface.md §4.4 what is laid over", "bob", "question a",
		[2]string{`{"distinct_id":"u","person_properties":{"plan":"pro"}}`, `{"Subject":{"Person":{"plan":"pro"}}}`},
		[2]string{`{"distinct_id":"u","groups":{"company":"acme","team":5}}`, `{"Subject":{"Groups":{"company":"acme","team":"5"}}}`},
		[2]string{`{"distinct_id":"u","group_properties":{"company":{"size":7}}}`, `{"Subject":{"GroupProperties":{"company":{"size":7}}}}`},
		[2]string{`{"distinct_id":"u","ip":"203.0.113.7"}`, `{"IP":"203.0.113.7"}`},
		[2]string{`{"distinct_id":"u","ip":"2001:db8::1"}`, `{"IP":"2001:db8::1"}`},
		[2]string{`{"distinct_id":"u","person_properties":[]}`, `400 not_a_dict person_properties Expected a dictionary of items but got type "list".`},
		[2]string{`{"distinct_id":"u","groups":{"company":["acme"]}}`, `400 invalid_input groups__company Not a valid string.`},
		[2]string{`{"distinct_id":"u","group_properties":{"company":"acme"}}`, `400 not_a_dict group_properties__company`},
		[2]string{`{"distinct_id":"u","ip":"300.1.1.1"}`, `400 invalid_input ip`},
		[2]string{`{"distinct_id":"u","ip":"localhost"}`, `400 invalid_input ip`},
	),
)

var listedRows = flagtest.Rows(listFlags, []ruletest.Row{
	{"§5.1.3 minimal flags", "bob", "listed", ``, `[
		{"Key":"deep_sea","Active":true,"Minimal":{"id":3,"team_id":1,"name":"under water","key":"deep_sea","deleted":false,"active":true,"ensure_experience_continuity":false,"has_encrypted_payloads":false,
			"version":1,"evaluation_runtime":"all","evaluation_tags":[],"created_by":"(absent)","tags":"(absent)"}},
		{"Key":"blue-sky","Active":false,"Minimal":{"id":2,"active":false,"evaluation_runtime":"server"}},
		{"Key":"red","Active":true,"Minimal":{"id":1,"filters":{"groups":[{"properties":[],"rollout_percentage":null}]},"evaluation_tags":["hot"]}}]`},
	{"§5.1.3", "bob", "change 3", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.1.3 no deleted ones", "bob", "listed", ``, `[{"Key":"blue-sky"},{"Key":"red"}]`},
	{"§5.1.3 a project's own", "dan", "listed", ``, `[{"Key":"theirs","Minimal":{"team_id":2}}]`},
})
