package filter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/plaintest"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// The table of §3.2.3, with the meaning that operators have in flags (decision 40), for properties
// of events: operator, filter value, property, result. An empty property is absent.
func TestOperators(t *testing.T) {
	for _, tt := range []struct {
		operator, value, property string
		want                      bool
	}{
		{"exact", `"Chrome"`, `"Chrome"`, true},
		{"exact", `"chrome"`, `"Chrome"`, false}, // case-sensitive
		{"exact", `["a","b"]`, `"b"`, true},
		{"exact", `[]`, `"b"`, true}, // always true
		{"exact", `[]`, ``, true},
		{"exact", `"10"`, `10`, true},
		{"exact", `"10"`, `10.0`, true},
		{"exact", `10`, `"10.0"`, true}, // v is a JSON number
		{"exact", `"10.0"`, `10`, true}, // x is a number
		{"exact", `"10.0"`, `"10"`, false},
		{"exact", `true`, `"true"`, true},
		{"exact", `"x"`, ``, false},
		{"exact", `"null"`, `null`, true}, // flags.md §4.2: its text
		{"in", `["a"]`, `"a"`, true},
		{"is_not", `"a"`, `"a"`, false},
		{"is_not", `"a"`, ``, true},
		{"not_in", `["a","b"]`, `"c"`, true},
		{"icontains", `"HROM"`, `"Chrome"`, true},
		{"icontains", `"%"`, `"Chrome"`, false}, // Q6: no wildcards
		{"icontains", `"STRASSE"`, `"Musterstrasse 1"`, true},
		{"icontains", `"ÄPFEL"`, `"zwei äpfel"`, false}, // flags.md §4.3: only ASCII letters
		{"icontains", `"K"`, `"\u212A"`, false},
		{"icontains", `["x","ROM"]`, `"Chrome"`, true},
		{"not_icontains", `["x","ROM"]`, `"Chrome"`, false},
		{"not_icontains", `["x","y"]`, `"Chrome"`, true},
		{"not_icontains", `["x","y"]`, ``, true},
		{"icontains_multi", `["x","rom"]`, `"Chrome"`, true},
		{"icontains", `"x"`, ``, false},
		{"not_icontains", `"x"`, ``, true},
		{"not_icontains", `"rom"`, `"Chrome"`, false},
		{"not_icontains_multi", `["x","rom"]`, `"Chrome"`, false},
		{"starts_with", `"CH"`, `"Chrome"`, true},
		{"ends_with", `"OME"`, `"Chrome"`, true},
		{"not_starts_with", `"ch"`, ``, true},
		{"not_ends_with", `"x"`, `"Chrome"`, true},
		{"regex", `"^C.*e$"`, `"Chrome"`, true},
		{"regex", `"^c"`, `"Chrome"`, false},
		{"regex", `"a.b"`, `"a\nb"`, false}, // flags.md §4.5: a dot does not match line breaks
		{"regex", `"(?=C)Ch"`, `"Chrome"`, true},
		{"not_regex", `["x","^C"]`, `"Chrome"`, false},
		{"not_regex", `["x","^c"]`, `"Chrome"`, true},
		{"regex", `["x","^C"]`, `"Chrome"`, true},
		{"not_regex", `"^C"`, ``, true},
		{"not_regex", `"^C"`, `"Chrome"`, false},
		{"gt", `10`, `11`, true},
		{"gt", `"10"`, `"11"`, true},
		{"gt", `[10]`, `11`, true}, // a single element is used as the value
		{"gt", `10`, `true`, false},
		{"gt", `10`, `"abc"`, false},
		{"gt", `10`, ``, false},
		{"gte", `10`, `10`, true},
		{"min", `10`, `9`, false},
		{"lt", `10`, `9.5`, true},
		{"lte", `10`, `10.0`, true},
		{"max", `10`, `11`, false},
		{"gt", `0`, `"0x10"`, false},
		{"gt", `0`, `" 1"`, false},
		{"gt", `0`, `"inf"`, true}, // flags.md §4.5: num()
		{"between", `[1,5]`, `5`, true},
		{"between", `[1,5]`, `6`, false},
		{"between", `[1,5]`, ``, false},
		{"not_between", `[1,5]`, `6`, true},
		{"not_between", `[1,5]`, `3`, false},
		{"not_between", `[1,5]`, ``, true},
		{"not_between", `[1,5]`, `null`, true},
		{"not_between", `[1,5]`, `"x"`, true},
		{"is_set", `null`, `""`, true},   // "" is set
		{"is_set", `null`, `null`, true}, // flags.md §4.5
		{"is_set", `null`, ``, false},
		{"is_not_set", `null`, ``, true},
		{"is_not_set", `null`, `null`, false},
		{"is_not_set", `null`, `0`, false},
		{"is_date_exact", `"2020-01-09"`, `"2020-01-08T23:00:00Z"`, true}, // Berlin
		{"is_date_before", `"2020-01-09"`, `"2020-01-08T22:59:59Z"`, true},
		{"is_date_before", `"2020-01-09"`, `"2020-01-09"`, false}, // strict
		{"is_date_after", `"-1d"`, `"2020-03-12"`, true},          // now is the 12th, 15:30
		{"is_date_after", `"2020-01-09"`, `1578700800`, true},     // seconds: 11 January
		{"is_date_after", `"2020-01-09"`, `"soon"`, false},
		{"semver_gt", `"1.2.0"`, `"1.10.0"`, true},
		{"semver_lt", `"1.2.0"`, `"1.2.0-rc.1"`, true},
		{"semver_caret", `"1.2"`, `"1.9.0"`, true},
		{"semver_tilde", `"1.2.0"`, `"1.3.0"`, false},
		{"semver_neq", `"1.2.0"`, ``, false},
		{"semver_eq", `"1.2.0"`, `"none"`, false},
		{"is_cleaned_path_exact", `"/users/7"`, `"/users/8"`, true},
		{"is_cleaned_path_exact", `"/users/7"`, `"/teams/8"`, false},
	} {
		p := &port.Project{Location: plaintest.Zone(t, "Europe/Berlin"), PathCleaning: json.RawMessage(`[{"regex":"/users/\\d+","alias":"/users/:id"}]`)}
		r := scan.NewRun(t.Context(), nil, p, port.Options{Now: plaintest.Instant(t, "2020-03-12T14:30:45Z")})
		n, fault := document.Decode(json.RawMessage(fmt.Sprintf(`{"key":"x","operator":%q,"value":%s}`, tt.operator, tt.value)), "query")
		c := readComparison(n, p, eventFilterSettings("x"))
		if *fault != nil {
			t.Errorf("%s %s: %v", tt.operator, tt.value, *fault)
			continue
		}
		if got := c.bindTest(r)(tt.property); got != tt.want {
			t.Errorf("%s %s of %s: %t, want %t", tt.operator, tt.value, tt.property, got, tt.want)
		}
	}
}

// Filters that are errors, and their places (§1.7, §3.2).
func TestFilters_Rejected(t *testing.T) {
	deep := strings.Repeat(`{"type":"AND","values":[`, 12) + strings.Repeat(`]}`, 12)
	for filter, want := range map[string][2]string{
		`[{"key":"x","operator":"like","value":1}]`:                                        {document.InvalidChoice, "query__properties__0__operator"},
		`[{"key":"x","operator":"gt","value":[1,2]}]`:                                      {document.InvalidInput, "query__properties__0__value"},
		`[{"key":"x","operator":"exact"}]`:                                                 {document.Required, "query__properties__0__value"},
		`[{"key":"x","operator":"between","value":[5,1]}]`:                                 {document.InvalidInput, "query__properties__0__value"},
		`[{"key":"x","operator":"regex","value":"("}]`:                                     {document.InvalidInput, "query__properties__0__value"},
		`[{"key":"x","operator":"is_date_after","value":"soon"}]`:                          {document.InvalidInput, "query__properties__0__value"},
		`[{"key":"x","operator":"gt","value":"abc"}]`:                                      {document.InvalidInput, "query__properties__0__value"},
		`[{"key":"x","operator":"regex","value":["a","("]}]`:                               {document.InvalidInput, "query__properties__0__value"},
		`[{"key":"x","operator":"flag_evaluates_to","value":true}]`:                        {document.InvalidChoice, "query__properties__0__operator"},
		`[{"operator":"exact","value":1}]`:                                                 {document.Required, "query__properties__0__key"},
		`[{"type":"recording","key":"x","value":1}]`:                                       {document.NotSupported, "query__properties__0__type"},
		`[{"type":"flag","key":"x","value":1}]`:                                            {document.NotSupported, "query__properties__0__type"},
		`[{"type":"group","key":"x","value":1}]`:                                           {document.Required, "query__properties__0__group_type_index"},
		`[{"type":"group","key":"x","value":1,"group_type_index":5}]`:                      {document.InvalidInput, "query__properties__0__group_type_index"},
		`[{"type":"cohort","key":"id","value":9}]`:                                         {document.InvalidInput, "query__properties__0__value"},
		`[{"type":"session","key":"$channel_type","value":1}]`:                             {document.NotSupported, "query__properties__0__key"},
		`[{"type":"element","key":"color","value":1}]`:                                     {document.InvalidChoice, "query__properties__0__key"},
		`[{"type":"element","key":"selector","value":"a:hover"}]`:                          {document.NotSupported, "query__properties__0__value"},
		`[{"type":"event_metadata","key":"color","value":1}]`:                              {document.InvalidInput, "query__properties__0__key"},
		`{"type":"XOR","values":[]}`:                                                       {document.InvalidChoice, "query__properties__type"},
		`7`:                                                                                {document.InvalidInput, "query__properties"},
		deep:                                                                               {document.TooLarge, "query__properties" + strings.Repeat("__values__0", 10) + "__values"},
		"[" + strings.TrimSuffix(strings.Repeat(`{"key":"x","value":1},`, 201), ",") + "]": {document.TooLarge, "query__properties"},
	} {
		n, fault := document.Decode(json.RawMessage(filter), "query__properties")
		Read(n, &port.Project{})
		if *fault == nil || (*fault).Code != want[0] || (*fault).Attr != want[1] {
			t.Errorf("%s: %v, want %s at %s", wire.Shorten(filter, 100), *fault, want[0], want[1])
		}
	}
}

// Selectors of §3.2.6.
func TestElements_Selectors(t *testing.T) {
	chain := ParseChain(`a.small:attr__href="/x"attr_id="go"href="/x"nth-child="2"nth-of-type="1"text="Say \"hi\"";div.card.wide:attr__data-x="y";body`)
	if len(chain) != 3 || chain[0].Attributes["text"] != `Say "hi"` || len(chain[1].Classes) != 2 {
		t.Fatalf("the chain is %+v", chain)
	}
	for selector, want := range map[string]bool{
		"a": true, ".small": true, "a.small": true, "#go": true, "div a": true, "div > a": true, "body > a": false, "body a": true,
		"body div > a": true, `[href="/x"]`: true, `[data-x="y"] a`: true, "a:nth-child(2)": true, "a:nth-child(3)": false,
		"a:nth-of-type(1)": true, "*": true, "* > a": true, "span": false, ".card.wide > .small": true, "a div": false,
	} {
		s, ok := parseSelector(selector)
		if !ok || s.matches(chain) != want {
			t.Errorf("%s: %t (read: %t), want %t", selector, s.matches(chain), ok, want)
		}
	}
	for _, selector := range []string{"", "a >", "a:hover", "[x", "a..b", "a:nth-child(x)"} {
		if _, ok := parseSelector(selector); ok {
			t.Errorf("%q is read, want it refused", selector)
		}
	}
}

// A selector of many parts over a chain of many elements must not need exponential time; the test
// would not end.
func TestElements_ManyParts(t *testing.T) {
	chain := ParseChain(strings.Repeat("div;", 2000))
	s, _ := parseSelector(strings.Repeat("div ", 100) + "span")
	if s.matches(chain) {
		t.Error("a span is found where there is none")
	}
}

// clients.md §5.3: contains of a URL "as SQL LIKE '%…%'".
func TestAction_URLContains(t *testing.T) {
	for _, tt := range []struct {
		part, url string
		want      bool
	}{
		{"/buy", "https://x.example/buy/1", true},
		{"/buy", "https://x.example/BUY/1", false},
		{"/b_y", "https://x.example/buy/1", true},
		{"/b_y", "https://x.example/by/1", false},
		{"/a%z", "https://x.example/a/b/c/z", true},
		{"/a%z", "https://x.example/z/a", false},
		{"x.example", "https://xyexample/", false}, // a dot matches only a dot
		{"a+_", "a+b", true},
		{"%", "", true},
	} {
		if got := newLikeMatcher(tt.part)(tt.url); got != tt.want {
			t.Errorf("%q in %q: %t, want %t", tt.part, tt.url, got, tt.want)
		}
	}
}
