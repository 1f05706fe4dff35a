package flags_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

// A misspelt member makes its flag fail, and only this flag, with the path and a suggestion
// (decision 30): if it were ignored, the flag might be on for everybody.
func TestMisspeltKeys_FailTheFlag(t *testing.T) {
	tests := []struct{ name, old, new, path, meant string }{
		{"a condition's rollout", `"rollout_percentage":10`, `"rolout_percentage":10`, "filters.groups[0].rolout_percentage", "rollout_percentage"},
		{"a condition's properties", `"properties"`, `"propertys"`, "filters.groups[0].propertys", "properties"},
		{"camel case", `"rollout_percentage":10`, `"rolloutPercentage":10`, "filters.groups[0].rolloutPercentage", "rollout_percentage"},
		{"upper case", `"properties"`, `"PROPERTIES"`, "filters.groups[0].PROPERTIES", "properties"},
		{"two letters changed places", `"properties"`, `"porperties"`, "filters.groups[0].porperties", "properties"},
		{"a property's operator", `"operator"`, `"operater"`, "filters.groups[0].properties[0].operater", "operator"},
		{"a property's value", `"value"`, `"values"`, "filters.groups[0].properties[0].values", "value"},
		{"a short name", `"key":"plan"`, `"kye":"plan"`, "filters.groups[0].properties[0].kye", "key"},
		{"groups", `"groups"`, `"group"`, "filters.group", "groups"},
		{"multivariate", `"multivariate"`, `"multi_variate"`, "filters.multi_variate", "multivariate"},
		{"variants", `"variants"`, `"variant"`, "filters.multivariate.variant", "variants"},
		{"a variant's share", `"rollout_percentage":100`, `"rollout_percent":100,"rollout_percentag":100`, "filters.multivariate.variants[0].rollout_percentag", "rollout_percentage"},
		{"a holdout's share", `"exclusion_percentage"`, `"exclusion_precentage"`, "filters.holdout.exclusion_precentage", "exclusion_percentage"},
		{"payloads", `"payloads"`, `"payload"`, "filters.payload", "payloads"},
		{"filters", `"filters"`, `"filter"`, "filter", "filters"},
		{"active", `"active"`, `"actve"`, "actve", "active"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bad := strings.Replace(allMembers, tt.old, tt.new, 1)
			if bad == allMembers {
				t.Fatal("nothing is misspelt")
			}
			d, err := flags.ParseDefinitions(fmt.Appendf(nil, `{"flags":[{"id":1,"key":"good","active":true,"filters":{"groups":[{}]}},%s]}`, bad))
			if err != nil {
				t.Fatal(err)
			}
			set := flags.Compile(d)
			faults := set.Faults()
			if len(faults) != 1 || faults[0].Path != "flags[1]."+tt.path || faults[0].Suggestion != tt.meant || faults[0].Code != flags.FlagDataParsingError {
				t.Fatalf("faults %v", faults)
			}
			if want := `"` + tt.meant + `" is most likely meant`; !strings.HasSuffix(faults[0].Problem, want) {
				t.Errorf("problem %q, want …%s", faults[0].Problem, want)
			}
			var out flags.Decisions
			user := &flags.Subject{DistinctID: "u", Person: flags.Properties{"plan": "pro"}}
			if good, ok := set.EvaluateFlag("good", user, time.Unix(0, 0), &out); !ok || !good.Enabled {
				t.Errorf("the other flag is %+v", good)
			}
			if tt.name == "active" { // the flag is not on
				return
			}
			if got, ok := set.EvaluateFlag("all", user, time.Unix(0, 0), &out); !ok || got.Enabled || got.Reason.Code != flags.FlagDataParsingError {
				t.Errorf("the flag is %+v", got)
			}
			if named := flags.UnknownKeys(flags.FlagPart, []byte(bad)); len(named) == 0 || named[0].Path != tt.path || named[0].Suggestion != tt.meant || named[0].Flag != "all" {
				t.Errorf("UnknownKeys: %v", named)
			}
		})
	}
}

// allMembers is a flag with all members of spec/flags.md §1.1 to §1.4.
const allMembers = `{"id":2,"key":"all","active":true,"filters":{
	"groups":[{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}],"rollout_percentage":10}],
	"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]},
	"holdout":{"id":1,"exclusion_percentage":0},"payloads":{}}}`

// The same applies to cohorts: trees, records and their older form.
func TestMisspeltKeys_FailTheCohort(t *testing.T) {
	const leaf = `{"key":"plan","type":"person","value":"pro"}`
	tests := []struct{ name, cohort, path, meant string }{
		{"a bare tree", `{"type":"AND","valuse":[` + leaf + `]}`, "valuse", "values"},
		{"a node", `{"type":"AND","values":[{"type":"OR","vales":[` + leaf + `]}]}`, "values[0].vales", "values"},
		{"a leaf", `{"type":"AND","values":[{"key":"plan","type":"person","operatr":"is_not","value":"pro"}]}`, "values[0].operatr", "operator"},
		{"a leaf's negation", `{"type":"AND","values":[{"key":"plan","type":"person","value":"pro","negated":true}]}`, "values[0].negated", ""},
		{"a leaf without its type", `{"type":"AND","values":[{"key":"plan","typ":"person","value":"pro"}]}`, "values[0].typ", "type"},
		{"a record", `{"filter":{"properties":{"type":"AND","values":[` + leaf + `]}}}`, "filter", "filters"},
		{"a record's filters", `{"filters":{"propertys":{"type":"AND","values":[` + leaf + `]}}}`, "filters.propertys", "properties"},
		{"a record's tree", `{"filters":{"properties":{"type":"AND","values":[{"key":"plan","type":"person","vlaue":"pro"}]}}}`, "filters.properties.values[0].vlaue", "value"},
		{"static", `{"is_statc":true,"members":["u"]}`, "is_statc", "is_static"},
		{"the older form", `{"groups":[{"propertys":[` + leaf + `]}]}`, "groups[0].propertys", "properties"},
		{"a leaf of the older form", `{"groups":[{"properties":[{"key":"plan","operater":"is_not","value":"pro"}]}]}`, "groups[0].properties[0].operater", "operator"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			named := flags.UnknownKeys(flags.CohortPart, []byte(tt.cohort))
			if len(named) != 1 || named[0].Path != tt.path || named[0].Suggestion != tt.meant {
				t.Fatalf("UnknownKeys: %v", named)
			}
			d, err := flags.ParseDefinitions(fmt.Appendf(nil, `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[
				{"key":"id","type":"cohort","value":7}]}]}}],"cohorts":{"7":%s}}`, tt.cohort))
			if err != nil {
				t.Fatal(err)
			}
			set := flags.Compile(d)
			if tt.meant == "" { // unknown, and preserved
				if len(set.Faults()) > 0 {
					t.Errorf("faults %v", set.Faults())
				}
				return
			}
			if f := set.Faults()[0]; f.Path != "cohorts.7."+tt.path || f.Suggestion != tt.meant || f.Code != flags.CohortFiltersParsingError {
				t.Errorf("fault %v (%v)", f, f.Code)
			}
			var out flags.Decisions
			if got, _ := set.EvaluateFlag("f", &flags.Subject{DistinctID: "u"}, time.Unix(0, 0), &out); got.Reason.Code != flags.CohortFiltersParsingError {
				t.Errorf("the flag is %+v", got)
			}
		})
	}
}

// Members that are not similar to a valid one, or only to one that is also present, are
// preserved and reported, and have no effect.
func TestUnknownKeys_AreNamed(t *testing.T) {
	tests := []struct {
		name string
		part flags.Part
		text string
		want []string
	}{
		{"a flag's body", flags.FlagPart, `{"key":"k","rollout":50,"enabled":true,"rollout_percentage":50,"filters":{"groups":[{"properties":[],"rollout":5}]}}`, []string{
			`enabled (flag "k"): is not a member of a flag and does nothing`,
			`filters.groups[0].rollout (flag "k"): is not a member of a condition and does nothing`,
			`rollout (flag "k"): is not a member of a flag and does nothing`,
			`rollout_percentage (flag "k"): is not a member of a flag and does nothing`,
		}},
		{"a relic that says nothing", flags.FlagPart, `{"key":"k","rollout_percentage":null}`, nil},
		{"misspelt ones first", flags.FiltersPart, `{"groups":[{"also":1,"propertys":[]}]}`, []string{
			`filters.groups[0].propertys: is not a member of a condition, "properties" is most likely meant`,
			`filters.groups[0].also: is not a member of a condition and does nothing`,
		}},
		{"beside what it resembles", flags.FiltersPart, `{"groups":[{"properties":[],"propertys":[]}]}`, []string{
			`filters.groups[0].propertys: is not a member of a condition and does nothing`,
		}},
		{"three edits", flags.FiltersPart, `{"groups":[{"properies_x":[]}]}`, []string{`filters.groups[0].properies_x: is not a member of a condition and does nothing`}},
		{"a name that is no name", flags.FiltersPart, `{"a\nb\u00e9":1}`, []string{`filters."a\nb\u00e9": is not a member of a flag's filters and does nothing`}},
		{"payloads and values are anybody's", flags.FiltersPart, `{"payloads":{"tru":{"x":1}},"groups":[{"properties":[{"key":"k","value":{"vlue":1}}]}]}`, nil},
		{"leaves about events", flags.CohortPart, `{"type":"AND","values":[{"type":"behavioral","key":"$pageview","event_tpye":"events","value":"performed_event"}]}`, nil},
		{"a file", flags.FilePart, `{"organization":{"id":"o","owner":"x"},"projects":[{"id":1,"api_key":"k","zone":"UTC","cohorts":{"1":{"type":"AND","values":[],"x":1}}}]}`, []string{
			`organization.owner: is not a member of the organization and does nothing`,
			`projects[0].cohorts.1.x: is not a member of a group of a cohort and does nothing`,
			`projects[0].zone: is not a member of a project and does nothing`,
		}},
		{"flags as code", flags.FilePart, `{"cohorts":[{"name":"c","descr":"x"}],"flags":[]}`, []string{`cohorts[0].descr: is not a member of a cohort and does nothing`}},
		{"no JSON", flags.FilePart, `{`, nil},
		{"no object", flags.FiltersPart, `[1]`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, e := range flags.UnknownKeys(tt.part, []byte(tt.text)) {
				got = append(got, e.Error())
				if (e.Suggestion == "") != (e.Code == flags.NoReason) {
					t.Errorf("%v has the code %v and the suggestion %q", e, e.Code, e.Suggestion)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The number of reported members is limited, and so is the cost of hostile documents: long
// names, names similar to many valid ones, deep trees.
func TestUnknownKeys_Bounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"groups":[{`)
	for i := range 50_000 {
		fmt.Fprintf(&b, `"p%dropertie%d":1,"x%d":1,`, i%10, i, i)
	}
	b.WriteString(`"` + strings.Repeat("properties", 10_000) + `":1}]}`)
	if got := len(flags.UnknownKeys(flags.FiltersPart, []byte(b.String()))); got == 0 || got > 2*100 {
		t.Errorf("%d are named", got)
	}
	deep := strings.Repeat(`{"type":"AND","values":[`, 5000) + strings.Repeat(`]}`, 5000)
	if got := flags.UnknownKeys(flags.CohortPart, []byte(deep)); got != nil {
		t.Errorf("deep tree: %v", got)
	}
}
