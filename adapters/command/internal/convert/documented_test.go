package convert

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

// documented is a flag f of another system, with the values that its documentation or its public
// test suite states for users. A nil value is the caller's default.
type documented struct {
	name, page string
	flag       string // as in a document of the format
	users      []userCase
	omitted    string // the flag is left out, with this text in the reason
}

type userCase struct {
	attributes map[string]any // id is the user's key
	want       any
}

type m = map[string]any

// checkDocumented inserts each flag into a document of its format, at %s.
func checkDocumented(t *testing.T, format, document string, rows []documented) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := convertOne(t, format, []byte(strings.Replace(document, "%s", row.flag, 1)), Options{})
			reason, isOmitted := omittedReasons(r)["f"]
			if isOmitted != (row.omitted != "") || !strings.Contains(reason, row.omitted) {
				t.Fatalf("left out for %q, want a reason with %q", reason, row.omitted)
			}
			if isOmitted {
				return
			}
			set := flags.Compile(r.File.Projects[0].Definitions)
			for _, u := range row.users {
				id, _ := u.attributes["id"].(string)
				if id == "" {
					id = "somebody"
				}
				var out flags.Decisions
				set.Select(&flags.Subject{DistinctID: id, Person: u.attributes}, time.Unix(1_750_000_000, 0), &flags.Selection{Runtime: "all"}, &out)
				if diff := cmp.Diff(u.want, answerOf(t, format, out.Find("f"))); diff != "" {
					t.Errorf("%s: for %v (-want +got):\n%s", row.page, u.attributes, diff)
				}
			}
		})
	}
}

// colours returns a flag with three variants and the given targeting.
func colours(targeting string) string {
	return `"f": {"state": "ENABLED", "variants": {"red": "#F00", "green": "#0F0", "blue": "#00F"}, "defaultVariant": "blue", "targeting": ` + targeting + `}`
}

// flagd.dev/reference/custom-operations, and the features of github.com/open-feature/flagd-testbed (evaluator/gherkin).
func TestDocumented_Flagd(t *testing.T) {
	order := `{"if": [{"sem_ver": [{"var": "version"}, "=", "2.0.0"]}, "green", {"sem_ver": [{"var": "version"}, ">", "2.0.0"]}, "red", {"sem_ver": [{"var": "version"}, "<", "2.0.0"]}, "blue", null]}`
	checkDocumented(t, "flagd", `{"flags": {%s}, "$evaluators": {"staff": {"ends_with": [{"var": "email"}, "@faas.com"]}}}`, []documented{
		{"sem_ver", "semver-operation", colours(`{"if": [{"sem_ver": [{"var": "version"}, ">=", "1.0.0"]}, "red", "green"]}`),
			[]userCase{{m{"version": "1.0.1"}, "#F00"}, {m{"version": "1.0.0"}, "#F00"}, {m{"version": "0.1.0"}, "#0F0"}, {m{}, "#0F0"}}, ""},
		{"sem_ver in order", "semver.feature, numeric comparison", colours(order),
			[]userCase{{m{"version": "2.0.0"}, "#0F0"}, {m{"version": "2.1.0"}, "#F00"}, {m{"version": "1.9.0"}, "#00F"}, {m{"version": "2.0.0-alpha"}, "#00F"}, {m{"version": "2.0.0.0"}, "#00F"}}, ""},
		{"sem_ver of ranges", "semver.feature, minor/major range", colours(`{"if": [{"sem_ver": [{"var": "version"}, "~", "3.0.0"]}, "red", {"sem_ver": [{"var": "version"}, "^", "3.0.0"]}, "green", "blue"]}`),
			[]userCase{{m{"version": "3.0.1"}, "#F00"}, {m{"version": "3.1.0"}, "#0F0"}, {m{"version": "4.0.0"}, "#00F"}}, ""},
		{"sem_ver with a v", "semver.feature, v-prefix", colours(`{"if": [{"sem_ver": [{"var": "version"}, "=", "1.0.0"]}, "red", "green"]}`),
			[]userCase{{m{"version": "1.0.0"}, "#F00"}, {m{"version": "v1.0.0"}, "#F00"}, {m{"version": "V1.0.0"}, "#F00"}, {m{"version": "2.0.0"}, "#0F0"}}, ""},
		{"sem_ver of short versions", "semver.feature, partial version", colours(`{"if": [{"sem_ver": [{"var": "version"}, "^", "1.0.0"]}, "red", "green"]}`),
			[]userCase{{m{"version": "1.5.0"}, "#F00"}, {m{"version": "1.0"}, "#F00"}, {m{"version": "1"}, "#F00"}, {m{"version": "2.0.0"}, "#0F0"}}, ""},
		{"starts_with", "string-comparison-operation", colours(`{"if": [{"starts_with": [{"var": "email"}, "user@faas"]}, "red", "green"]}`),
			[]userCase{{m{"email": "user@faas.com"}, "#F00"}, {m{"email": "foo@bar.com"}, "#0F0"}}, ""},
		{"ends_with", "string-comparison-operation", colours(`{"if": [{"ends_with": [{"var": "email"}, "faas.com"]}, "red", "green"]}`),
			[]userCase{{m{"email": "user@faas.com"}, "#F00"}, {m{"email": "foo@bar.com"}, "#0F0"}}, ""},
		{"shared evaluators", "evaluator-refs.feature", colours(`{"if": [{"$ref": "staff"}, "red", null]}`),
			[]userCase{{m{"email": "a@faas.com"}, "#F00"}, {m{"email": "a@b.c"}, "#00F"}}, ""},
		{"the targeting key", "targeting.feature", colours(`{"if": [{"==": [{"var": "targetingKey"}, "5c3d"]}, "red", null]}`),
			[]userCase{{m{"id": "5c3d"}, "#F00"}, {m{"id": "f20b"}, "#00F"}}, ""},
		{"zero values", "zero-values.feature", `"f": {"state": "ENABLED", "variants": {"zero": 0, "ten": 10}, "defaultVariant": "ten", "targeting": {"if": [{"==": [{"var": "email"}, "b@m.com"]}, "zero"]}}`,
			[]userCase{{m{"email": "b@m.com"}, float64(0)}, {m{"email": "b@none.com"}, float64(10)}}, ""},
		{"disabled", "disabled.feature", `"f": {"state": "DISABLED", "variants": {"on": true, "off": false}, "defaultVariant": "on"}`, []userCase{{m{}, nil}}, ""},
		{"no default variant", "no-default-variant.feature", `"f": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": null}`, []userCase{{m{}, nil}}, ""},
		{"a default for some", "no-default-variant.feature", `"f": {"state": "ENABLED", "variants": {"ceo": "CEO"}, "targeting": {"if": [{"==": [{"var": "email"}, "j@o.com"]}, "ceo", null]}}`, nil, "caller's default"},
		{"lower", "string-casing-operation", colours(`{"if": [{"==": [{"lower": [{"var": "email"}]}, "user@example.com"]}, "red", "green"]}`), nil, "uses lower where only an attribute"},
		{"a reference to nothing", "evaluator-refs.feature", colours(`{"if": [{"$ref": "nobody"}, "red", null]}`), nil, `uses the evaluator "nobody"`},
	})
}

// gofeatureflag.org/docs/configure_flag/target-with-flags (rule_format.md).
func TestDocumented_GoFeatureFlag(t *testing.T) {
	query := func(query string) string {
		return `"f": {"variations": {"yes": "Y", "no": "N"}, "targeting": [{"query": "` + strings.ReplaceAll(query, `"`, `\"`) + `", "variation": "yes"}], "defaultRule": {"variation": "no"}}`
	}
	checkDocumented(t, "gofeatureflag", `{%s}`, []documented{
		{"a specific user", "rule format, examples", query(`key eq "example@example.com"`), []userCase{{m{"id": "example@example.com"}, "Y"}, {m{"id": "other@example.com"}, "N"}}, ""},
		{"all identified users", "rule format, examples", query(`anonymous ne true`), []userCase{{m{"anonymous": true}, "N"}, {m{"anonymous": false}, "Y"}, {m{}, "Y"}}, ""},
		{"a custom property", "rule format, examples", query(`userId eq "12345"`), []userCase{{m{"userId": "12345"}, "Y"}, {m{"userId": "1234"}, "N"}, {m{}, "N"}}, ""},
		{"multiple criteria", "rule format, examples", query(`(key ew "@test.com") and (role eq "backend engineer") and (env eq "pro") and (company eq "go-feature-flag")`),
			[]userCase{{m{"id": "a@test.com", "role": "backend engineer", "env": "pro", "company": "go-feature-flag"}, "Y"}, {m{"id": "a@test.com", "role": "backend engineer", "env": "pre", "company": "go-feature-flag"}, "N"}}, ""},
		{"lists", "rule format, in a list", query(`country in ["SE", "DK"]`), []userCase{{m{"country": "DK"}, "Y"}, {m{"country": "NO"}, "N"}}, ""},
		{"contains", "rule format, co", query(`email co "@x"`), []userCase{{m{"email": "a@x.y"}, "Y"}, {m{"email": "a@y"}, "N"}}, ""},
		{"starts with", "rule format, sw", query(`email sw "a@"`), []userCase{{m{"email": "a@x"}, "Y"}, {m{"email": "b@a@"}, "N"}}, ""},
		{"present", "rule format, pr", query(`email pr`), []userCase{{m{"email": "a"}, "Y"}, {m{}, "N"}}, ""},
		{"not", "rule format, not of a logical expression", query(`not (age ge 18 and age lt 65)`), []userCase{{m{"age": 17}, "Y"}, {m{"age": 18}, "N"}, {m{"age": 64}, "N"}, {m{"age": 65}, "Y"}}, ""},
		{"capital letters", "rule format, all operations", query(`age GT 5 or age EQ 1`), []userCase{{m{"age": 6}, "Y"}, {m{"age": 1}, "Y"}, {m{"age": 3}, "N"}}, ""},
		{"environments", "rule format, environments", `"f": {"variations": {"A": "A", "B": "B", "C": "C"}, "targeting": [{"name": "pre", "query": "env eq \"pre\"", "variation": "A"}, {"name": "pro", "query": "env eq \"pro\"", "variation": "B"}], "defaultRule": {"variation": "C"}}`,
			[]userCase{{m{"env": "pre"}, "A"}, {m{"env": "pro"}, "B"}, {m{"env": "dev"}, "C"}, {m{}, "C"}}, ""},
		{"a disabled rule", "rule format, disable", `"f": {"variations": {"A": "A", "B": "B"}, "targeting": [{"query": "env eq \"pre\"", "variation": "A", "disable": true}], "defaultRule": {"variation": "B"}}`, []userCase{{m{"env": "pre"}, "B"}}, ""},
		{"progressive rollouts", "rule format, progressiveRollout", `"f": {"variations": {"A": "A", "B": "B"}, "defaultRule": {"progressiveRollout": {"initial": {"variation": "A"}, "end": {"variation": "B"}}}}`, nil, "changes with time"},
	})
}

// docs.getunleash.io/concepts/activation-strategies, and github.com/Unleash/client-specification (specifications).
func TestDocumented_Unleash(t *testing.T) {
	constraint := func(c string) string {
		return `{"name": "f", "enabled": true, "strategies": [{"name": "default", "constraints": [` + c + `]}]}`
	}
	parent := func(variants, needs string) string {
		return `{"name": "parent", "enabled": true, "strategies": [{"name": "default"}]` + variants + `}, {"name": "f", "enabled": true, "strategies": [{"name": "default"}], "dependencies": [{"feature": "parent"` + needs + `}]}`
	}
	blue := `, "variants": [{"name": "blue", "weight": 1000}]`
	checkDocumented(t, "unleash", `{"features": [%s]}`, []documented{
		{"strategies are alternatives", "07-multiple-strategies", `{"name": "f", "enabled": true, "strategies": [{"name": "userWithId", "parameters": {"userIds": "123"}}, {"name": "userWithId", "parameters": {"userIds": "22, 33"}}]}`,
			[]userCase{{m{"id": "123"}, true}, {m{"id": "33"}, true}, {m{"id": "222"}, false}}, ""},
		{"no strategies", "01-simple-examples", `{"name": "f", "enabled": true, "strategies": []}`, []userCase{{m{}, true}}, ""},
		{"IN", "09-strategy-constraints", constraint(`{"contextName": "environment", "operator": "IN", "values": ["prod", "test"]}`), []userCase{{m{"environment": "test"}, true}, {m{"environment": "dev"}, false}, {m{}, false}}, ""},
		{"NOT_IN of what is missing", "11-strategy-constraints-edge-cases", constraint(`{"contextName": "customer", "operator": "NOT_IN", "values": ["bosch"]}`), []userCase{{m{"customer": "bosch"}, false}, {m{"customer": "red-hat"}, true}, {m{}, true}}, ""},
		{"inverted", "13-constraint-operators", constraint(`{"contextName": "email", "operator": "STR_ENDS_WITH", "values": ["@some-email.com"], "inverted": true}`), []userCase{{m{"email": "a@some-email.com"}, false}, {m{"email": "a@another.com"}, true}, {m{}, true}}, ""},
		{"any case", "13-constraint-operators", constraint(`{"contextName": "email", "operator": "STR_STARTS_WITH", "values": ["BOB"], "caseInsensitive": true}`), []userCase{{m{"email": "bob@x"}, true}, {m{"email": "ann@x"}, false}}, ""},
		{"numbers", "13-constraint-operators", constraint(`{"contextName": "age", "operator": "NUM_GTE", "value": "5.6"}`), []userCase{{m{"age": "5.6"}, true}, {m{"age": "5.5"}, false}, {m{"age": "old"}, false}}, ""},
		{"versions", "14-constraint-semver-operators", constraint(`{"contextName": "version", "operator": "SEMVER_GT", "value": "1.2.2"}`), []userCase{{m{"version": "1.2.3"}, true}, {m{"version": "1.2.2"}, false}, {m{"version": "1.2.2-alpha.1"}, false}, {m{"version": "x"}, false}}, ""},
		{"a parent", "17-dependent-features", parent("", ""), []userCase{{m{}, true}}, ""},
		{"a parent that is off", "17-dependent-features", parent("", `, "enabled": false`), []userCase{{m{}, false}}, ""},
		{"a parent's variant", "17-dependent-features", parent(blue, `, "variants": ["blue"]`), []userCase{{m{}, true}}, ""},
		{"another variant of the parent", "17-dependent-features", parent(blue, `, "variants": ["red"]`), []userCase{{m{}, false}}, ""},
		{"a parent without variants", "17-dependent-features, parent.default.variant.child.enabled", parent("", `, "variants": ["disabled"]`), []userCase{{m{}, true}}, ""},
		{"a parent without variants for some", "17-dependent-features", parent(blue, `, "variants": ["disabled"]`), nil, "is on without a variant"},
		{"word boundaries", "21-regex-constraint-operators, R04", constraint(`{"contextName": "s", "operator": "REGEX", "value": "\\bcat\\b"}`), nil, `\b or \B`},
		{"networks", "22-cidr-constraint-operators", constraint(`{"contextName": "ip", "operator": "IN_CIDR", "values": ["10.0.0.0/8"]}`), nil, "IN_CIDR cannot be expressed here"},
	})
}

// docs.growthbook.io/lib/build-your-own, and its cases.json (evalCondition, feature).
func TestDocumented_GrowthBook(t *testing.T) {
	when := func(condition string) string {
		return `"f": {"defaultValue": false, "rules": [{"condition": ` + condition + `, "force": true}]}`
	}
	checkDocumented(t, "growthbook", `{"features": {%s}, "savedGroups": {"team": ["ann", "bob"]}}`, []documented{
		{"a condition", "build-your-own, Condition", when(`{"country": "US", "browser": {"$in": ["firefox", "chrome"]}, "email": {"$not": {"$regex": "@gmail.com$"}}}`),
			[]userCase{{m{"country": "US", "browser": "firefox", "email": "a@b.c"}, true}, {m{"country": "US", "browser": "safari", "email": "a@b.c"}, false}, {m{"country": "US", "browser": "chrome", "email": "a@gmail.com"}, false}, {m{"country": "US", "browser": "chrome"}, true}}, ""},
		{"$nor", "cases.json, $nor", when(`{"$nor": [{"name": "john"}, {"age": {"$lt": 30}}]}`), []userCase{{m{"name": "jim", "age": 40}, true}, {m{"name": "jim", "age": 20}, false}, {m{"name": "john", "age": 40}, false}}, ""},
		{"a list that has one", "cases.json, $in - array", when(`{"tags": {"$in": ["a", "b"]}}`), []userCase{{m{"tags": []any{"d", "e", "a"}}, true}, {m{"tags": []any{"d", "e", "f"}}, false}, {m{"tags": []any{}}, false}}, ""},
		{"a saved group", "cases.json, $inGroup", when(`{"name": {"$inGroup": "team"}}`), []userCase{{m{"name": "ann"}, true}, {m{"name": "cem"}, false}}, ""},
		{"a group that is not there", "cases.json, $notInGroup", when(`{"name": {"$notInGroup": "nobody"}}`), []userCase{{m{"name": "ann"}, true}}, ""},
		{"what is missing is null", "cases.json, null condition", when(`{"userId": null}`), []userCase{{m{}, true}, {m{"userId": "123"}, false}, {m{"userId": 0}, false}, {m{"userId": ""}, false}, {m{"userId": false}, false}}, ""},
		{"a missing attribute under $not", "cases.json, compared as null", when(`{"$not": {"name": "hello"}, "age": {"$ne": 10}}`), []userCase{{m{}, true}, {m{"name": "hello"}, false}}, ""},
		{"versions", "cases.json, version 0.99.0 > 0.10.0", when(`{"version": {"$vgt": "0.10.0"}}`), []userCase{{m{"version": "0.99.0"}, true}, {m{"version": "0.10.0"}, false}, {m{"version": "0.10.0-rc.1"}, false}}, ""},
		{"versions with a v", "cases.json, version v0.10.0 > 0.9.0", when(`{"version": {"$vgt": "0.9.0"}}`), []userCase{{m{"version": "v0.10.0"}, true}, {m{"version": "v0.9.0"}, false}}, ""},
		{"builds do not count", "cases.json, version 1.2.3+build == 1.2.3", when(`{"version": {"$veq": "1.2.3"}}`), []userCase{{m{"version": "1.2.3+build"}, true}, {m{"version": "1.2.4"}, false}}, ""},
		{"a full coverage", "cases.json, force rules - coverage 1", `"f": {"defaultValue": 2, "rules": [{"force": 1, "coverage": 1, "hashVersion": 2}]}`, []userCase{{m{"id": "1"}, float64(1)}}, ""},
		{"a bad hash version", "cases.json, force rules - coverage with bad hash version", `"f": {"defaultValue": 2, "rules": [{"force": 1, "coverage": 1, "hashVersion": 99}]}`, nil, "version of the hash"},
		{"$elemMatch", "build-your-own, evalCondition", when(`{"tags": {"$elemMatch": {"$eq": "a"}}}`), nil, `"$elemMatch" is an unknown operator`},
		{"filters", "build-your-own, Filter", `"f": {"defaultValue": true, "rules": [{"filters": [{"seed": "a", "ranges": [[0, 0.5]]}], "force": true}]}`, nil, "depends on the source's hash"},
	})
}

// docs.flipt.io/concepts: segments, constraints, rules, rollouts.
func TestDocumented_Flipt(t *testing.T) {
	segments := `"segments": [
		{"key": "staff", "match_type": "ALL_MATCH_TYPE", "constraints": [{"type": "STRING_COMPARISON_TYPE", "property": "email", "operator": "suffix", "value": "@x.y"}, {"type": "BOOLEAN_COMPARISON_TYPE", "property": "admin", "operator": "true"}]},
		{"key": "either", "match_type": "ANY_MATCH_TYPE", "constraints": [{"type": "NUMBER_COMPARISON_TYPE", "property": "seats", "operator": "gte", "value": "10"}, {"type": "STRING_COMPARISON_TYPE", "property": "plan", "operator": "isoneof", "value": "[\"pro\", \"team\"]"}]}]`
	rule := func(segment, variant string) string {
		return `{"segment": ` + segment + `, "distributions": [{"variant": "` + variant + `", "rollout": 100}]}`
	}
	variants := `"variants": [{"key": "blue"}, {"key": "green"}, {"key": "red", "default": true}]`
	key := func(v string) any { return m{"variant": v, "attachment": nil} }
	checkDocumented(t, "flipt", `{"version": "1.5", "namespace": {"key": "default", "name": "Default"}, "flags": [%s], `+segments+`}`, []documented{
		{"the first rule that matches wins", "concepts, Rules", `{"key": "f", "type": "VARIANT_FLAG_TYPE", "enabled": true, ` + variants + `, "rules": [` + rule(`"staff"`, "blue") + `, ` + rule(`"either"`, "green") + `]}`,
			[]userCase{{m{"email": "a@x.y", "admin": "true", "plan": "pro"}, key("blue")}, {m{"plan": "pro"}, key("green")}, {m{"email": "a@x.y"}, key("red")}, {m{"seats": "10"}, key("green")}, {m{"seats": "9"}, key("red")}}, ""},
		{"all segments", "concepts, Rules with AND", `{"key": "f", "type": "VARIANT_FLAG_TYPE", "enabled": true, ` + variants + `, "rules": [` + rule(`{"keys": ["staff", "either"], "operator": "AND_SEGMENT_OPERATOR"}`, "blue") + `]}`,
			[]userCase{{m{"email": "a@x.y", "admin": "true", "plan": "pro"}, key("blue")}, {m{"plan": "pro"}, key("red")}}, ""},
		{"a flag that is not enabled", "concepts, Flags", `{"key": "f", "type": "VARIANT_FLAG_TYPE", "enabled": false, ` + variants + `, "rules": [` + rule(`"either"`, "green") + `]}`, []userCase{{m{"plan": "pro"}, key("red")}}, ""},
		{"rollouts of a boolean", "concepts, Rollouts", `{"key": "f", "type": "BOOLEAN_FLAG_TYPE", "enabled": false, "rollouts": [{"segment": {"key": "either", "value": true}}]}`, []userCase{{m{"plan": "team"}, true}, {m{"plan": "free"}, false}}, ""},
		{"a distribution", "concepts, Distributions", `{"key": "f", "type": "VARIANT_FLAG_TYPE", "enabled": true, ` + variants + `, "rules": [{"segment": "either", "distributions": [{"variant": "blue", "rollout": 30}, {"variant": "red", "rollout": 10}, {"variant": "green", "rollout": 60}]}]}`, nil, "depends on the source's hash"},
		{"a segment that is not there", "concepts, Segments", `{"key": "f", "type": "BOOLEAN_FLAG_TYPE", "enabled": true, "rollouts": [{"segment": {"key": "nobody", "value": true}}]}`, nil, `there is no segment "nobody"`},
	})
}

// launchdarkly.com/docs/home/flags/target-rules, prereqs and segments.
func TestDocumented_LaunchDarkly(t *testing.T) {
	flag := func(rules string) string {
		return `"f": {"key": "f", "on": true, "offVariation": 1, "variations": ["A", "B"], "fallthrough": {"variation": 1}, ` + rules + `}`
	}
	clause := func(c string) string { return flag(`"rules": [{"variation": 0, "clauses": [` + c + `]}]`) }
	checkDocumented(t, "launchdarkly", `{"flags": {%s, "other": {"key": "other", "on": true, "offVariation": 1, "variations": [true, false], "fallthrough": {"variation": 1}, "targets": [{"values": ["ann"], "variation": 0}]}},
		"segments": {"beta": {"key": "beta", "included": ["ann"], "excluded": ["bob"], "rules": [{"clauses": [{"attribute": "plan", "op": "in", "values": ["pro"]}]}]}}}`, []documented{
		{"any of several values", "Targeting rules, conditions", clause(`{"attribute": "email", "op": "endsWith", "values": ["@x.y", "@z.y"]}`), []userCase{{m{"email": "a@z.y"}, "A"}, {m{"email": "a@b"}, "B"}, {m{}, "B"}}, ""},
		{"all conditions", "Targeting rules, conditions", clause(`{"attribute": "plan", "op": "in", "values": ["pro"]}, {"attribute": "seats", "op": "greaterThan", "values": [5]}`), []userCase{{m{"plan": "pro", "seats": 6}, "A"}, {m{"plan": "pro", "seats": 5}, "B"}}, ""},
		{"what is missing meets no condition", "Operators, is not one of", clause(`{"attribute": "plan", "op": "in", "values": ["pro"], "negate": true}`), []userCase{{m{"plan": "free"}, "A"}, {m{"plan": "pro"}, "B"}, {m{}, "B"}}, ""},
		{"versions", "Operators, semantic version", clause(`{"attribute": "app", "op": "semVerGreaterThan", "values": ["2.1"]}`), []userCase{{m{"app": "2.1.1"}, "A"}, {m{"app": "2.1"}, "B"}, {m{"app": "2.1.0+build"}, "B"}, {m{"app": "new"}, "B"}}, ""},
		{"individual targets come first", "Individual targeting", flag(`"targets": [{"values": ["ann"], "variation": 1}], "rules": [{"variation": 0, "clauses": [{"attribute": "plan", "op": "in", "values": ["pro"]}]}]`), []userCase{{m{"id": "ann", "plan": "pro"}, "B"}, {m{"id": "bob", "plan": "pro"}, "A"}}, ""},
		{"segments", "Segments: included, excluded, rules", clause(`{"attribute": "", "op": "segmentMatch", "values": ["beta"]}`), []userCase{{m{"id": "ann"}, "A"}, {m{"id": "bob", "plan": "pro"}, "B"}, {m{"id": "cem", "plan": "pro"}, "A"}, {m{"id": "cem"}, "B"}}, ""},
		{"prerequisites", "Flag prerequisites", flag(`"prerequisites": [{"key": "other", "variation": 0}], "rules": [{"variation": 0, "clauses": []}]`), []userCase{{m{"id": "ann"}, "A"}, {m{"id": "bob"}, "B"}}, ""},
		{"targeting off", "Turning flags off", `"f": {"key": "f", "on": false, "offVariation": 1, "variations": ["A", "B"], "fallthrough": {"variation": 0}}`, []userCase{{m{}, "B"}}, ""},
		{"a percentage rollout", "Percentage rollouts", flag(`"rules": [{"rollout": {"variations": [{"variation": 0, "weight": 30000}, {"variation": 1, "weight": 70000}]}, "clauses": []}]`), nil, "depends on the source's hash"},
		{"another kind of context", "Contexts", clause(`{"contextKind": "organization", "attribute": "name", "op": "in", "values": ["x"]}`), nil, "only contexts of the kind user"},
	})
}
