package featureflags_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestFlags_Filters(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"shapes": shapeRows, "rollouts": rolloutRows, "variants": variantRows, "overrides": overrideRows, "types of properties": propertyTypeRows,
		"about groups": groupFlagRows, "operators": operatorRows, "dates": dateRows, "texts": textValueRows, "numbers and versions": orderedValueRows,
		"lists of values": listValueRows, "payloads": morePayloadRows, "cohorts": flagCohortRows, "kept": normalizedRows, "holdouts": holdoutRows, "size": sizeRows,
	})
}

var shapeRows = flagtest.Rows(
	[]ruletest.Row{
		flagtest.AFlag,
		{"§5.1.1 omitted", "bob", "get 1", ``, `{"filters":{"groups":[{"properties":[],"rollout_percentage":null}]},"is_simple_flag":true,"rollout_percentage":null}`},
		{"§5.1.2 POST without groups", "bob", "create", `{"key":"b","filters":{}}`, `400 required filters`},
		{"§5.1.2 POST without groups", "bob", "create", `{"key":"b","filters":{"payloads":{}}}`, `400 required filters`},
		{"decision 39 on create at least one condition set", "bob", "create", `{"key":"b","filters":{"groups":[]}}`, `400 invalid_input filters Feature flags must have at least one condition set (group).`},
		{"§5.1.2 nothing of it stays", "bob", "keys", `{}`, `["a"]`},
		{"flags.md §1.5 a PATCH may clear them", "bob", "change 1", `{"filters":{"groups":[]}}`, `{"filters":{"groups":[]},"is_simple_flag":false,"rollout_percentage":null}`},
		{"§5.1.2 PATCH without groups keeps what is stored", "bob", "change 1", `{"filters":{"payloads":{"true":"1"}}}`, `{"filters":{"groups":[],"payloads":"(absent)"}}`},
		{"flags.md §1.3 properties of null", "bob", "change 1", flagtest.Groups(`{"properties":null,"rollout_percentage":10}`), `{"is_simple_flag":true,"rollout_percentage":10}`},
		{"flags.md §1.3 no properties at all", "bob", "change 1", flagtest.Groups(`{}`), `{"is_simple_flag":true,"rollout_percentage":null}`},
	},
	flagtest.Each("§5.1.2 forms that nothing reads", "bob", "change 1",
		[2]string{`{"filters":{"groups":{}}}`, `400 * filters`},
		[2]string{`{"filters":{"groups":"all"}}`, `400 * filters`},
		[2]string{flagtest.Groups(`7`), `400 invalid_input filters`},
		[2]string{flagtest.Groups(`[]`), `400 invalid_input filters`},
		[2]string{flagtest.Groups(`{"properties":{}}`), `400 invalid_input filters`},
		[2]string{flagtest.Groups(`{"properties":"email"}`), `400 invalid_input filters`},
		[2]string{flagtest.Groups(`{"properties":["email"]}`), `400 invalid_input filters`},
		[2]string{flagtest.Groups(`{"properties":[{}]}`), `400 invalid_input filters Filters are not valid (can only use person, cohort, and flag properties)`},
	),
	flagtest.Each("§5.1.1 what is simple: one group, no properties, not about groups", "bob", "change 1",
		[2]string{flagtest.Groups(`{"properties":[]}`), `{"is_simple_flag":true,"rollout_percentage":null}`},
		[2]string{flagtest.Groups(`{"properties":[],"rollout_percentage":0}`), `{"is_simple_flag":true,"rollout_percentage":0}`},
		[2]string{flagtest.Groups(`{"properties":[],"rollout_percentage":33.3}`), `{"is_simple_flag":true,"rollout_percentage":33.3}`},
		[2]string{flagtest.Groups(`{"properties":[]}`, `{"properties":[]}`), `{"is_simple_flag":false,"rollout_percentage":null}`},
		[2]string{flagtest.Property(`{"key":"a","type":"person","operator":"is_set"}`), `{"is_simple_flag":false,"rollout_percentage":null}`},
		[2]string{flagtest.Groups(`{"properties":[],"rollout_percentage":5,"aggregation_group_type_index":0}`), `{"is_simple_flag":false,"rollout_percentage":null}`},
		[2]string{flagtest.Groups(`{"properties":[],"rollout_percentage":5,"aggregation_group_type_index":null}`), `{"is_simple_flag":true,"rollout_percentage":5}`},
	),
)

var rolloutRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	flagtest.Each("§5.1.2 from 0 to 100", "bob", "change 1",
		[2]string{flagtest.Groups(`{"rollout_percentage":0}`), `{"rollout_percentage":0}`},
		[2]string{flagtest.Groups(`{"rollout_percentage":100}`), `{"rollout_percentage":100}`},
		[2]string{flagtest.Groups(`{"rollout_percentage":0.01}`), `{"rollout_percentage":0.01}`},
		[2]string{flagtest.Groups(`{"rollout_percentage":1e2}`), `{"is_simple_flag":true}`},
		[2]string{flagtest.Groups(`{"rollout_percentage":null}`), `{"rollout_percentage":null}`},
		[2]string{flagtest.Groups(`{"rollout_percentage":100.01}`), `400 invalid_input filters`},
		[2]string{flagtest.Groups(`{"rollout_percentage":-0.01}`), `400 invalid_input filters`},
		[2]string{flagtest.Groups(`{"rollout_percentage":1e3}`), `400 invalid_input filters`},
		[2]string{flagtest.Groups(`{"rollout_percentage":1e999}`), `400 invalid_input filters`},
		[2]string{flagtest.Groups(`{"rollout_percentage":"50"}`), `400 invalid_input filters`},
		[2]string{flagtest.Groups(`{"rollout_percentage":true}`), `400 invalid_input filters`},
		[2]string{flagtest.Groups(`{"rollout_percentage":[50]}`), `400 invalid_input filters`},
		[2]string{flagtest.Groups(`{"rollout_percentage":50}`, `{"rollout_percentage":101}`), `400 invalid_input filters`},
	),
)

var variantRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	flagtest.Each("§5.1.2 together 100", "bob", "change 1",
		[2]string{flagtest.Variants(`[{"key":"a","rollout_percentage":100}]`), `{"filters":{"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}}}`},
		[2]string{flagtest.Variants(`[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]`), `{"version":3}`},
		[2]string{flagtest.Variants(`[{"key":"a","rollout_percentage":33.33},{"key":"b","rollout_percentage":33.33},{"key":"c","rollout_percentage":33.34}]`), `{"version":4}`},
		[2]string{flagtest.Variants(`[{"key":"a","rollout_percentage":0},{"key":"b","rollout_percentage":100}]`), `{"version":5}`},
		[2]string{flagtest.Variants(`[{"key":"a","rollout_percentage":50}]`), flagtest.Sum},
		[2]string{flagtest.Variants(`[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":51}]`), flagtest.Sum},
		[2]string{flagtest.Variants(`[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":49.5}]`), flagtest.Sum},
		[2]string{flagtest.Variants(`[{"key":"a","rollout_percentage":0}]`), flagtest.Sum},
		[2]string{flagtest.Variants(`[]`), `{"filters":{"multivariate":{"variants":[]}}}`},
		[2]string{`{"filters":{"groups":[{"properties":[]}],"multivariate":null}}`, `{"filters":{"multivariate":null}}`},
	),
	flagtest.Each("flags.md §1.5 shares and keys of variants", "bob", "change 1",
		[2]string{flagtest.Variants(`[{"key":"a","rollout_percentage":101},{"key":"b","rollout_percentage":-1}]`), `400 invalid_input filters`},
		[2]string{flagtest.Variants(`[{"key":"a"}]`), `400 invalid_input filters`},
		[2]string{flagtest.Variants(`[{"key":"a","rollout_percentage":"100"}]`), `400 invalid_input filters`},
		[2]string{flagtest.Variants(`[{"key":"a","rollout_percentage":null}]`), `400 invalid_input filters`},
		[2]string{flagtest.Variants(`[{"rollout_percentage":100}]`), `400 invalid_input filters`},
		[2]string{flagtest.Variants(`[{"key":7,"rollout_percentage":100}]`), `400 invalid_input filters`},
		[2]string{flagtest.Variants(`[{"key":"","rollout_percentage":100}]`), `400 invalid_input filters`},
		[2]string{flagtest.Variants(`[{"key":"a b","rollout_percentage":100}]`), `400 invalid_input filters`},
		[2]string{flagtest.Variants(`[{"key":"ä","rollout_percentage":100}]`), `400 invalid_input filters`},
		[2]string{flagtest.Variants(`[{"key":"a","rollout_percentage":50},{"key":"a","rollout_percentage":50}]`), `400 invalid_input filters`},
		[2]string{flagtest.Variants(`["a"]`), `400 invalid_input filters`},
		[2]string{flagtest.Variants(`{"a":100}`), `400 invalid_input filters`},
		[2]string{flagtest.Variants(`"a"`), `400 invalid_input filters`},
		[2]string{`{"filters":{"groups":[{"properties":[]}],"multivariate":[]}}`, `400 invalid_input filters`},
		[2]string{flagtest.Variants(`[{"key":"v1.2/x_y-Z","rollout_percentage":100}]`), `{"filters":{"multivariate":{"variants":[{"key":"v1.2/x_y-Z"}]}}}`},
		[2]string{flagtest.Variants(`[{"key":"a","rollout_percentage":50},{"key":"A","rollout_percentage":50}]`), `{"filters":{"multivariate":{"variants":[{"key":"a"},{"key":"A"}]}}}`},
		[2]string{flagtest.Variants(`[{"key":` + flagtest.Text(400) + `,"rollout_percentage":100}]`), `{"filters":{"multivariate":{"variants":[{"key":` + flagtest.Text(400) + `}]}}}`},
		[2]string{flagtest.Variants(`[{"key":` + flagtest.Text(401) + `,"rollout_percentage":100}]`), `400 invalid_input filters`},
		[2]string{flagtest.Variants(`[{"key":"a","name":"What it is","rollout_percentage":100},{"key":"b","name":null,"rollout_percentage":0}]`),
			`{"filters":{"multivariate":{"variants":[{"key":"a","name":"What it is"},{"key":"b","name":null}]}}}`},
	),
)

var overrideRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	flagtest.Each("§5.1.2 the variant of a group is one of the flag's", "bob", "change 1",
		[2]string{`{"filters":{"groups":[{"variant":"a"}],` + flagtest.AB + `}}`, `{"filters":{"groups":[{"variant":"a"}]}}`},
		[2]string{`{"filters":{"groups":[{"variant":"b"},{"variant":null}],` + flagtest.AB + `}}`, `{"filters":{"groups":[{"variant":"b"},{"variant":null}]}}`},
		[2]string{`{"filters":{"groups":[{"variant":"c"}],` + flagtest.AB + `}}`, `400 invalid_input filters Filters are not valid (variant override does not exist)`},
		[2]string{`{"filters":{"groups":[{"variant":"a"},{"variant":"A"}],` + flagtest.AB + `}}`, `400 invalid_input filters Filters are not valid (variant override does not exist)`},
		[2]string{`{"filters":{"groups":[{"variant":7}],` + flagtest.AB + `}}`, `400 invalid_input filters Filters are not valid (variant override does not exist)`},
		[2]string{flagtest.Groups(`{"variant":"a"}`), `400 invalid_input filters Filters are not valid (variant override does not exist)`},
		[2]string{flagtest.Groups(`{"variant":null}`), `{"filters":{"groups":[{"variant":null}]}}`},
	),
	[]ruletest.Row{
		{"§5.1.2", "bob", "change 1", `{"filters":{"groups":[{"variant":"b"}],` + flagtest.AB + `}}`, `{"filters":{"groups":[{"variant":"b"}]}}`},
		{"§5.1.2 a variant that is named does not go", "bob", "change 1", `{"filters":{"groups":[{"variant":"b"}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}}}`,
			`400 invalid_input filters Filters are not valid (variant override does not exist)`},
	},
)

var propertyTypeRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	flagtest.Each("§5.1.2 of a flag about persons", "bob", "change 1",
		[2]string{flagtest.Property(`{"key":"plan","type":"person","operator":"exact","value":"pro"}`), `{"filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]}]}}`},
		[2]string{flagtest.Property(`{"key":"plan","operator":"exact","value":"pro"}`), flagtest.OnlyPersons},
		[2]string{flagtest.Property(`{"key":"plan","type":null,"operator":"exact","value":"pro"}`), flagtest.OnlyPersons},
		[2]string{flagtest.Property(`{"key":"plan","type":"event","operator":"exact","value":"pro"}`), flagtest.OnlyPersons},
		[2]string{flagtest.Property(`{"key":"plan","type":"group","group_type_index":0,"operator":"exact","value":"pro"}`), flagtest.OnlyPersons},
		[2]string{flagtest.Property(`{"key":"plan","type":"behavioral","operator":"exact","value":"pro"}`), flagtest.OnlyPersons},
		[2]string{flagtest.Property(`{"key":"plan","type":"session","operator":"exact","value":"pro"}`), flagtest.OnlyPersons},
		[2]string{flagtest.Property(`{"key":"plan","type":"Person","operator":"exact","value":"pro"}`), flagtest.OnlyPersons},
		[2]string{flagtest.Property(`{"key":"plan","type":"person","operator":"exact","value":"pro"},{"key":"x","type":"element","value":"y"}`), flagtest.OnlyPersons},
		[2]string{flagtest.Groups(`{"properties":[]}`, `{"properties":[{"key":"x","type":"hogql","value":"y"}]}`), flagtest.OnlyPersons},
	),
	flagtest.Each("flags.md §1.4 keys: a number becomes its text", "bob", "change 1",
		[2]string{flagtest.Property(`{"key":7,"type":"person","operator":"exact","value":"x"}`), `{"version":3}`},
		[2]string{flagtest.Property(`{"key":"","type":"person","operator":"exact","value":"x"}`), `{"version":4}`},
		[2]string{flagtest.Property(`{"key":["a"],"type":"person","operator":"exact","value":"x"}`), `400 * *`},
		[2]string{flagtest.Property(`{"key":null,"type":"person","operator":"exact","value":"x"}`), `400 * *`},
		[2]string{flagtest.Property(`{"type":"person","operator":"exact","value":"x"}`), `400 * *`},
	),
)

// groupFlagBody returns the body of a flag about group type 0 with one property.
func groupFlagBody(p string) string {
	return `{"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[` + p + `]}]}}`
}

var groupFlagRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	flagtest.Each("§5.1.2 of a flag about groups: only group, of the same type", "bob", "change 1",
		[2]string{groupFlagBody(`{"key":"size","type":"group","group_type_index":0,"operator":"gt","value":"5"}`), `{"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[{"type":"group","group_type_index":0}]}]}}`},
		[2]string{groupFlagBody(`{"key":"size","type":"group","operator":"gt","value":"5"}`), `{"version":3}`},
		[2]string{groupFlagBody(`{"key":"size","type":"group","group_type_index":1,"operator":"gt","value":"5"}`), flagtest.OnlyGroups},
		[2]string{groupFlagBody(`{"key":"plan","type":"person","operator":"exact","value":"pro"}`), flagtest.OnlyGroups},
		[2]string{groupFlagBody(`{"key":"plan","operator":"exact","value":"pro"}`), flagtest.OnlyGroups},
		[2]string{groupFlagBody(`{"key":"id","type":"cohort","value":1}`), flagtest.OnlyGroups},
		[2]string{groupFlagBody(`{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true}`), flagtest.OnlyGroups},
		[2]string{groupFlagBody(``), `{"filters":{"aggregation_group_type_index":0}}`},
	),
	flagtest.Each("flags.md §1.3 a condition's own type goes before the flag's", "bob", "change 1",
		[2]string{`{"filters":{"aggregation_group_type_index":0,"groups":[{"aggregation_group_type_index":1,"properties":[{"key":"x","type":"group","group_type_index":1,"operator":"is_set"}]}]}}`, `{"version":5}`},
		[2]string{`{"filters":{"aggregation_group_type_index":0,"groups":[{"aggregation_group_type_index":1,"properties":[{"key":"x","type":"group","group_type_index":0,"operator":"is_set"}]}]}}`, flagtest.OnlyGroups},
		[2]string{`{"filters":{"aggregation_group_type_index":0,"groups":[{"aggregation_group_type_index":null,"properties":[{"key":"x","type":"person","operator":"is_set"}]}]}}`,
			`{"filters":{"groups":[{"aggregation_group_type_index":null}]}}`},
		[2]string{`{"filters":{"aggregation_group_type_index":0,"groups":[{"aggregation_group_type_index":null,"properties":[{"key":"x","type":"group","operator":"is_set"}]}]}}`, flagtest.OnlyPersons},
		[2]string{flagtest.Groups(`{"aggregation_group_type_index":0,"properties":[{"key":"x","type":"group","operator":"is_set"}]}`, `{"properties":[{"key":"x","type":"person","operator":"is_set"}]}`), `{"version":7}`},
		[2]string{flagtest.Groups(`{"aggregation_group_type_index":0,"properties":[{"key":"x","type":"person","operator":"is_set"}]}`), flagtest.OnlyGroups},
	),
)

var operatorRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	flagtest.Each("flags.md §1.4 absent and null are exact", "bob", "change 1",
		[2]string{flagtest.Property(`{"key":"a","type":"person","value":"x"}`), `{"version":2}`},
		[2]string{flagtest.Property(`{"key":"a","type":"person","operator":null,"value":"x"}`), `{"version":3}`},
	),
	flagtest.Each("flags.md §1.4 older words are written as those of today", "bob", "change 1",
		[2]string{flagtest.Property(`{"key":"a","type":"person","operator":"min","value":"5"}`), `{"filters":{"groups":[{"properties":[{"operator":"gte","value":"5"}]}]}}`},
		[2]string{flagtest.Property(`{"key":"a","type":"person","operator":"max","value":"5"}`), `{"filters":{"groups":[{"properties":[{"operator":"lte","value":"5"}]}]}}`},
	),
	flagtest.Each("flags.md §1.5 words that are none", "bob", "change 1",
		[2]string{flagtest.Property(`{"key":"a","type":"person","operator":"equals","value":"x"}`), `400 invalid_input - Can't evaluate flag - please check release conditions: filters.groups[0].properties[0].operator (property a, operator equals):`},
		[2]string{flagtest.Property(`{"key":"a","type":"person","operator":"EXACT","value":"x"}`), `400 invalid_input - Can't evaluate flag - please check release conditions: filters.groups[0].properties[0].operator (property a, operator EXACT):`},
		[2]string{flagtest.Property(`{"key":"a","type":"person","operator":7,"value":"x"}`), `400 invalid_input - Can't evaluate flag - please check release conditions: filters.groups[0].properties[0].operator (property a, operator 7):`},
		[2]string{flagtest.Groups(`{"properties":[]}`, `{"properties":[{"key":"a","type":"person","operator":"is_set"},{"key":"b","type":"person","operator":"like","value":"x"}]}`),
			`400 invalid_input - Can't evaluate flag - please check release conditions: filters.groups[1].properties[1].operator (property b, operator like):`},
	),
	flagtest.Each("flags.md §1.5 each kind of property has operators of its own", "bob", "change 1",
		[2]string{flagtest.Property(`{"key":"a","type":"person","operator":"flag_evaluates_to","value":true}`), `400 invalid_input filters`},
		[2]string{flagtest.Property(`{"key":"a","type":"person","operator":"in","value":[1]}`), `400 invalid_operator filters The 'in' operator is only valid for cohort properties, not 'person' properties.`},
		[2]string{flagtest.Property(`{"key":"a","type":"person","operator":"not_in","value":[1]}`), `400 invalid_operator filters The 'not_in' operator is only valid for cohort properties, not 'person' properties.`},
		[2]string{groupFlagBody(`{"key":"a","type":"group","operator":"in","value":[1]}`), `400 invalid_operator filters The 'in' operator is only valid for cohort properties, not 'group' properties.`},
		[2]string{flagtest.Property(`{"key":"id","type":"cohort","operator":"exact","value":1}`), `400 invalid_input filters`},
		[2]string{flagtest.Property(`{"key":"id","type":"cohort","operator":"icontains","value":1}`), `400 invalid_input filters`},
	),
	flagtest.Each("clients.md §7.1 the value may be the operator's name", "bob", "change 1",
		[2]string{flagtest.Property(`{"key":"a","type":"person","operator":"is_set","value":"is_set"}`), `{"filters":{"groups":[{"properties":[{"value":"is_set"}]}]}}`},
		[2]string{flagtest.Property(`{"key":"a","type":"person","operator":"is_not_set","value":"is_not_set"}`), `{"filters":{"groups":[{"properties":[{"value":"is_not_set"}]}]}}`},
		[2]string{flagtest.Property(`{"key":"a","type":"person","operator":"is_set"}`), `{"filters":{"groups":[{"properties":[{"value":"(absent)"}]}]}}`},
	),
)

// operatorBody returns the body of a flag that compares p with an operator.
func operatorBody(operator, value string) string {
	return flagtest.Property(`{"key":"p","type":"person","operator":"` + operator + `","value":` + value + `}`)
}

var dateRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	datesOf("is_date_before"), datesOf("is_date_after"), datesOf("is_date_exact"),
)

// datesOf returns rows with valid values of a date operator (spec/flags.md §4.7), and with invalid
// values.
func datesOf(operator string) []ruletest.Row {
	var cases [][2]string
	for _, good := range []string{"2026-01-02", "2026-01-02T10:00:00Z", "2026-01-02T10:00:00.5+02:00", "2026-01-02 10:00", "2026-01-02T10:00:30", "-7d", "7d", "-1h", "24m", "1y", "-9999w"} {
		cases = append(cases, [2]string{operatorBody(operator, strconv.Quote(good)), `{"filters":{"groups":[{"properties":[{"operator":"` + operator + `","value":"` + good + `"}]}]}}`})
	}
	for _, bad := range []string{"soon", "", "2026-13-01", "2026-02-30", "d", "-d", "10000d", "1.5d", "--1d"} {
		cases = append(cases, [2]string{operatorBody(operator, strconv.Quote(bad)), strings.TrimSpace(`400 invalid_date filters Invalid date value: ` + bad)})
	}
	for _, other := range []string{`20260102`, `true`, `null`, `["2026-01-02"]`, `{"from":"2026-01-02"}`} {
		cases = append(cases, [2]string{operatorBody(operator, other), `400 invalid_date filters Invalid date value: ` + other})
	}
	return flagtest.Each("§5.1.2 dates: flags.md §4.7", "bob", "change 1", cases...)
}

var textValueRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	textsOf("icontains"), textsOf("not_icontains"), textsOf("regex"), textsOf("not_regex"),
	flagtest.Each("flags.md §4.5 patterns", "bob", "change 1",
		[2]string{operatorBody("regex", `"^a+$"`), `{"version":14}`},
		[2]string{operatorBody("regex", `"a(?!b)"`), `{"version":15}`},
		[2]string{operatorBody("regex", `"(a)\\1"`), `{"version":16}`},
		[2]string{operatorBody("regex", `"(?i)a"`), `{"version":17}`},
		[2]string{operatorBody("regex", `"("`), `400 * *`},
		[2]string{operatorBody("regex", `"[a"`), `400 * *`},
		[2]string{operatorBody("not_regex", `"*"`), `400 * *`},
	),
)

// textsOf returns rows with valid values of a string operator (§5.1.2), and with invalid values.
func textsOf(operator string) []ruletest.Row {
	invalid := `400 invalid_value filters Invalid value for operator ` + operator + `:`
	return flagtest.Each("§5.1.2 a text for "+operator, "bob", "change 1",
		[2]string{operatorBody(operator, `"x"`), `{"filters":{"groups":[{"properties":[{"value":"x"}]}]}}`},
		[2]string{operatorBody(operator, `"@Example.com"`), `{"filters":{"groups":[{"properties":[{"value":"@Example.com"}]}]}}`},
		[2]string{operatorBody(operator, `"7"`), `{"filters":{"groups":[{"properties":[{"value":"7"}]}]}}`},
		[2]string{operatorBody(operator, `["x"]`), invalid},
		[2]string{operatorBody(operator, `[]`), invalid},
		[2]string{operatorBody(operator, `{"x":1}`), invalid},
		[2]string{operatorBody(operator, `null`), invalid},
	)
}

var orderedValueRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	ordersOf("gt"), ordersOf("gte"), ordersOf("lt"), ordersOf("lte"),
	flagtest.Each("flags.md §4.8 versions", "bob", "change 1",
		[2]string{operatorBody("semver_eq", `"1.2.3"`), `{"version":10}`},
		[2]string{operatorBody("semver_gt", `"v1.2"`), `{"version":11}`},
		[2]string{operatorBody("semver_lte", `"1"`), `{"version":12}`},
		[2]string{operatorBody("semver_caret", `"0.2.3-beta.1+build"`), `{"version":13}`},
		[2]string{operatorBody("semver_tilde", `"1.2"`), `{"version":14}`},
		[2]string{operatorBody("semver_wildcard", `"1.*"`), `{"version":15}`},
		[2]string{operatorBody("semver_eq", `"one"`), `400 * *`},
		[2]string{operatorBody("semver_gt", `"1.2.3.4"`), `400 * *`},
		[2]string{operatorBody("semver_lt", `""`), `400 * *`},
		[2]string{operatorBody("semver_wildcard", `"1.*.3"`), `400 * *`},
	),
	flagtest.Each("flags.md §4.5 between two numbers", "bob", "change 1",
		[2]string{operatorBody("between", `[1,2]`), `{"version":16}`},
		[2]string{operatorBody("not_between", `[1,1]`), `{"version":17}`},
		[2]string{operatorBody("between", `[2,1]`), `400 * *`},
		[2]string{operatorBody("between", `[1]`), `400 * *`},
		[2]string{operatorBody("between", `[1,2,3]`), `400 * *`},
		[2]string{operatorBody("between", `["a","b"]`), `400 * *`},
		[2]string{operatorBody("not_between", `"1"`), `400 * *`},
	),
)

// ordersOf returns rows with valid values of an operator of order (§5.1.2), and with invalid
// values.
func ordersOf(operator string) []ruletest.Row {
	invalid := `400 invalid_value filters Invalid value for operator ` + operator + `:`
	return flagtest.Each("§5.1.2 a scalar for "+operator, "bob", "change 1",
		[2]string{operatorBody(operator, `"5"`), `{"filters":{"groups":[{"properties":[{"value":"5"}]}]}}`},
		[2]string{operatorBody(operator, `"-1.5e3"`), `{"filters":{"groups":[{"properties":[{"value":"-1.5e3"}]}]}}`},
		[2]string{operatorBody(operator, `["5"]`), invalid},
		[2]string{operatorBody(operator, `{"a":5}`), invalid},
		[2]string{operatorBody(operator, `null`), invalid},
	)
}

var listValueRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	flagtest.Each("§5.1.2 at most 1000 values", "bob", "change 1",
		[2]string{operatorBody("exact", flagtest.List(1000, `"v"`)), `{"version":2}`},
		[2]string{operatorBody("exact", flagtest.List(1001, `"v"`)), `400 invalid_input filters Property group expressions of type p cannot contain more than 1000 values.`},
		[2]string{operatorBody("is_not", flagtest.List(1001, `1`)), `400 invalid_input filters Property group expressions of type p cannot contain more than 1000 values.`},
		[2]string{operatorBody("icontains_multi", flagtest.List(1001, `"v"`)), `400 invalid_input filters Property group expressions of type p cannot contain more than 1000 values.`},
	),
	flagtest.Each("flags.md §4.6 any value for exact and is_not", "bob", "change 1",
		[2]string{operatorBody("exact", `"x"`), `{"version":3}`},
		[2]string{operatorBody("exact", `7`), `{"version":4}`},
		[2]string{operatorBody("exact", `true`), `{"version":5}`},
		[2]string{operatorBody("exact", `null`), `{"version":6}`},
		[2]string{operatorBody("exact", `[]`), `{"version":7}`},
		[2]string{operatorBody("is_not", `["a",7,null,false]`), `{"filters":{"groups":[{"properties":[{"value":["a",7,null,false]}]}]}}`},
		[2]string{operatorBody("is_not", `{"a":1}`), `{"version":9}`},
	),
	flagtest.Each("flags.md §1.5 lists for the operators on several", "bob", "change 1",
		[2]string{operatorBody("icontains_multi", `["a","b"]`), `{"version":10}`},
		[2]string{operatorBody("not_icontains_multi", `["a"]`), `{"version":11}`},
		[2]string{operatorBody("icontains_multi", `"a"`), `400 invalid_value filters Invalid value for operator icontains_multi: a`},
		[2]string{operatorBody("not_icontains_multi", `7`), `400 invalid_value filters Invalid value for operator not_icontains_multi: 7`},
	),
)

// payloads returns the body of a flag with payloads, and with variants if there are any.
func payloads(object, multivariate string) string {
	if multivariate != "" {
		multivariate = "," + multivariate
	}
	return `{"filters":{"groups":[{"properties":[]}],"payloads":` + object + multivariate + `}}`
}

var morePayloadRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	flagtest.Each("§5.1.2 payloads of a flag without variants", "bob", "change 1",
		[2]string{payloads(`{"true":"{\"a\":1}"}`, ``), `{"filters":{"payloads":{"true":"{\"a\":1}"}}}`},
		[2]string{payloads(`{"true":"\"text\""}`, ``), `{"filters":{"payloads":{"true":"\"text\""}}}`},
		[2]string{payloads(`{"true":"null"}`, ``), `{"filters":{"payloads":{"true":"null"}}}`},
		[2]string{payloads(`{}`, ``), `{"filters":{"payloads":{}}}`},
		[2]string{payloads(`null`, ``), `{"filters":{"payloads":null}}`},
		[2]string{payloads(`{"true":"text"}`, ``), `400 invalid_input filters Payload value is not valid JSON`},
		[2]string{payloads(`{"true":""}`, ``), `400 invalid_input filters Payload value is not valid JSON`},
		[2]string{payloads(`{"true":"{\"a\":NaN}"}`, ``), `400 invalid_input filters Payload value is not valid JSON`},
		[2]string{payloads(`{"true":"{'a':1}"}`, ``), `400 invalid_input filters Payload value is not valid JSON`},
		[2]string{payloads(`{"True":"1"}`, ``), `400 invalid_input filters Payload keys must be 'true' for boolean flags`},
		[2]string{payloads(`{"true":"1","false":"0"}`, ``), `400 invalid_input filters Payload keys must be 'true' for boolean flags`},
		[2]string{payloads(`{"a":"1"}`, ``), `400 invalid_input filters Payload keys must be 'true' for boolean flags`},
		[2]string{payloads(`"1"`, ``), `400 invalid_input filters Payloads must be passed as a dictionary`},
		[2]string{payloads(`7`, ``), `400 invalid_input filters Payloads must be passed as a dictionary`},
	),
	flagtest.Each("flags.md §1.5 what is no text becomes its JSON text", "bob", "change 1",
		[2]string{payloads(`{"true":{"a":1}}`, ``), `{"filters":{"payloads":{"true":"{\"a\":1}"}}}`},
		[2]string{payloads(`{"true":[1,2]}`, ``), `{"filters":{"payloads":{"true":"[1,2]"}}}`},
		[2]string{payloads(`{"true":7}`, ``), `{"filters":{"payloads":{"true":"7"}}}`},
		[2]string{payloads(`{"true":false}`, ``), `{"filters":{"payloads":{"true":"false"}}}`},
	),
	flagtest.Each("§5.1.2 payloads of variants", "bob", "change 1",
		[2]string{payloads(`{"a":"1"}`, flagtest.AB), `{"filters":{"payloads":{"a":"1"}}}`},
		[2]string{payloads(`{"a":"1","b":"2"}`, flagtest.AB), `{"filters":{"payloads":{"a":"1","b":"2"}}}`},
		[2]string{payloads(`{"true":"1"}`, flagtest.AB), `400 invalid_input filters Payload keys must match a variant key for multivariate flags`},
		[2]string{payloads(`{"a":"1","c":"2"}`, flagtest.AB), `400 invalid_input filters Payload keys must match a variant key for multivariate flags`},
		[2]string{payloads(`{"A":"1"}`, flagtest.AB), `400 invalid_input filters Payload keys must match a variant key for multivariate flags`},
		[2]string{payloads(`{"a":"{"}`, flagtest.AB), `400 invalid_input filters Payload value is not valid JSON`},
		[2]string{payloads(`{"a":"1","holdout-7":"2"}`, flagtest.AB), `{"filters":{"payloads":{"a":"1","holdout-7":"2"}}}`},
	),
)

var flagCohortRows = flagtest.Rows(
	[]ruletest.Row{
		flagtest.AFlag,
		{"§5.2", "bob", "cohort", FindCohort(`{"type":"person","key":"plan","value":"pro","operator":"exact"}`), `{"id":1,"name":"n"}`},
		{"§5.2", "bob", "cohort", `{"name":"listed","is_static":true}`, `{"id":2}`},
		{"§5.2", "dan", "cohort", `{"name":"theirs","is_static":true}`, `{"id":3}`},
		{"§5.1.2 cohort_name", "bob", "change 1", flagtest.Property(`{"key":"id","type":"cohort","value":1},{"key":"id","type":"cohort","operator":"not_in","value":2}`),
			`{"filters":{"groups":[{"properties":[{"value":1,"cohort_name":"n"},{"operator":"not_in","value":2,"cohort_name":"listed"}]}]}}`},
		{"§5.1.2 the name of now", "bob", "changecohort 2", `{"name":"renamed"}`, `{"name":"renamed"}`},
		{"§5.1.2 the name of now", "bob", "get 1", ``, `{"filters":{"groups":[{"properties":[{"cohort_name":"n"},{"cohort_name":"renamed"}]}]}}`},
		{"§5.1.2 it is never stored", "bob", "change 1", flagtest.Property(`{"key":"id","type":"cohort","value":1,"cohort_name":"another"}`), `{"filters":{"groups":[{"properties":[{"cohort_name":"n"}]}]}}`},
	},
	flagtest.Each("§5.1.2 cohorts that are not there", "bob", "change 1",
		[2]string{flagtest.Property(`{"key":"id","type":"cohort","value":99}`), `400 cohort_does_not_exist filters Cohort with id 99 does not exist`},
		[2]string{flagtest.Property(`{"key":"id","type":"cohort","value":3}`), `400 cohort_does_not_exist filters Cohort with id 3 does not exist`},
		[2]string{flagtest.Property(`{"key":"id","type":"cohort","value":0}`), `400 cohort_does_not_exist filters Cohort with id 0 does not exist`},
		[2]string{flagtest.Property(`{"key":"id","type":"cohort","value":"x"}`), `400 cohort_does_not_exist filters Cohort with id x does not exist`},
		[2]string{flagtest.Property(`{"key":"id","type":"cohort","value":null}`), `400 cohort_does_not_exist filters Cohort with id null does not exist`},
		[2]string{flagtest.Property(`{"key":"id","type":"cohort","value":1.5}`), `400 cohort_does_not_exist filters Cohort with id 1.5 does not exist`},
		[2]string{flagtest.Property(`{"key":"id","type":"cohort","value":"2"}`), `{"filters":{"groups":[{"properties":[{"value":2,"cohort_name":"renamed"}]}]}}`},
	),
	[]ruletest.Row{
		{"§5.1.2 one that is deleted", "bob", "cohort", `{"name":"gone","is_static":true}`, `{"id":4}`},
		{"§5.1.2 one that is deleted", "bob", "changecohort 4", `{"deleted":true}`, `{"deleted":true}`},
		{"§5.1.2 one that is deleted", "bob", "change 1", flagtest.Property(`{"key":"id","type":"cohort","value":4}`), `400 cohort_does_not_exist filters Cohort with id 4 does not exist`},
		{"§5.1.2 behavioural, at the end of a chain", "bob", "cohort", `{"name":"who pays","filters":{"properties":{"type":"OR","values":[` + flagtest.Performed + `]}}}`, `{"id":5}`},
		{"§5.1.2 behavioural, at the end of a chain", "bob", "cohort", FindCohort(`{"type":"cohort","key":"id","value":5}`), `{"id":6}`},
		{"§5.1.2 behavioural, at the end of a chain", "bob", "cohort", FindCohort(`{"type":"AND","values":[{"type":"cohort","key":"id","value":6,"negation":true}]}`), `{"id":7}`},
		{"§5.1.2 behavioural, at the end of a chain", "bob", "change 1", flagtest.Property(`{"key":"id","type":"cohort","value":7}`), `400 behavioral_cohort_found filters Cohort 'who pays' with filters on events cannot be used in feature flags.`},
		{"§5.1.2 also in the second condition", "bob", "change 1", flagtest.Groups(`{"properties":[]}`, `{"properties":[{"key":"id","type":"cohort","value":5}]}`), `400 behavioral_cohort_found filters`},
		{"§5.1.2 also of a flag that is off", "bob", "create", `{"key":"off","active":false,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":5}]}]}}`, `400 behavioral_cohort_found filters`},
	},
)

var normalizedRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	flagtest.Each("flags.md §1.2, §1.3 what is only shown survives", "bob", "change 1",
		[2]string{flagtest.Groups(`{"properties":[],"description":"why","sort_key":"k","exposure_frozen":true,"exposure_frozen_cohort":3}`),
			`{"filters":{"groups":[{"description":"why","sort_key":"k","exposure_frozen":true,"exposure_frozen_cohort":3}]}}`},
		[2]string{`{"filters":{"groups":[{"properties":[]}],"early_exit":true}}`, `{"filters":{"early_exit":true}}`},
		[2]string{`{"filters":{"groups":[{"properties":[]}],"feature_enrollment":true}}`, `{"filters":{"feature_enrollment":true}}`},
		[2]string{`{"filters":{"groups":[{"properties":[]}],"super_groups":null,"holdout_groups":null}}`, `{"filters":{"super_groups":null,"holdout_groups":null}}`},
		[2]string{flagtest.Property(`{"key":"a","type":"person","operator":"exact","value":"x","label":"A","negation":true}`), `{"filters":{"groups":[{"properties":[{"label":"A","negation":true}]}]}}`},
	),
)

var holdoutRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag},
	flagtest.Each("flags.md §1.2 a holdout's share is a percentage", "bob", "change 1",
		[2]string{`{"filters":{"groups":[{"properties":[]}],"holdout":{"id":7,"exclusion_percentage":10}}}`, `{"filters":{"holdout":{"id":7,"exclusion_percentage":10}}}`},
		[2]string{`{"filters":{"groups":[{"properties":[]}],"holdout":{"id":7,"exclusion_percentage":0.5}}}`, `{"filters":{"holdout":{"exclusion_percentage":0.5}}}`},
		[2]string{`{"filters":{"groups":[{"properties":[]}],"holdout":null}}`, `{"filters":{"holdout":null}}`},
		[2]string{`{"filters":{"groups":[{"properties":[]}],"holdout":{"id":7,"exclusion_percentage":101}}}`, `400 invalid_input filters`},
		[2]string{`{"filters":{"groups":[{"properties":[]}],"holdout":{"id":7,"exclusion_percentage":"10"}}}`, `400 invalid_input filters`},
		[2]string{`{"filters":{"groups":[{"properties":[]}],"holdout":{"id":"seven","exclusion_percentage":10}}}`, `400 * *`},
	),
)

// large returns the body of a flag whose filters have exactly n bytes.
func large(n int) string {
	const empty = `{"groups":[{"properties":[],"description":""}]}`
	return `{"filters":` + strings.Replace(empty, `""`, flagtest.Text(n-len(empty)), 1) + `}`
}

var sizeRows = []ruletest.Row{
	flagtest.AFlag,
	{"flags.md §1.5 512 KiB", "bob", "change 1", large(512 << 10), `{"version":2}`},
	{"flags.md §1.5 one byte more", "bob", "change 1", large(512<<10 + 1), `400 max_length filters`},
}
