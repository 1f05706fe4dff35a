package management_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// each and rows are short names for the tables below.
var each, rows = ruletest.Each, slices.Concat[[]ruletest.Row]

type callScope = *management.Scope

// runTables runs the rows of each table in a World of its own.
func runTables(t *testing.T, calls func(*testing.T, *ruletest.World) ruletest.Calls, tables map[string][]ruletest.Row) {
	t.Helper()
	for name, rows := range tables {
		t.Run(name, func(t *testing.T) {
			w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
			w.Run(t, calls(t, w), rows)
		})
	}
}

// text returns a JSON string of n characters.
func text(n int) string { return `"` + strings.Repeat("x", n) + `"` }

// fieldOf are the fields that the tables read, by the names of their calls.
var fieldOf = map[string]management.Field{
	"text": {Type: management.Text}, "blank": {Type: management.Text, Blank: true}, "short": {Type: management.Text, MaxLength: 5}, "nullable": {Type: management.Text, Null: true},
	"email": {Type: management.Email}, "url": {Type: management.URL}, "noURL": {Type: management.URL, Blank: true}, "uuid": {Type: management.UUID},
	"choice": {Type: management.Choice, Choices: []string{"a", "b", "7"}}, "noChoice": {Type: management.Choice, Choices: []string{"a"}, Blank: true},
	"int": {Type: management.Int}, "percent": {Type: management.Int, MinValue: 1, MaxValue: 100}, "level": {Type: management.IntChoice, Numbers: []int64{1, 8, 15}},
	"bool": {Type: management.Bool}, "time": {Type: management.Time}, "object": {Type: management.Object}, "array": {Type: management.Array},
	"texts": {Type: management.TextList, MaxLength: 3}, "blanks": {Type: management.TextList, Blank: true}, "ints": {Type: management.IntList},
	"objects": {Type: management.ObjectList}, "three": {Type: management.ObjectList, MaxItems: 3}, "any": {Type: management.Any},
}

// fieldCalls returns calls that read a body with a value for one field, which is named f.
func fieldCalls(_ *testing.T, _ *ruletest.World) ruletest.Calls {
	out := ruletest.Calls{}
	for name, field := range fieldOf {
		field.Name = "f"
		out[name] = func(_ callScope, _, body string) (any, error) {
			v, err := management.Fields{field}.Change(management.Body{Members: map[string]json.RawMessage{"f": []byte(body)}})
			return v["f"], err
		}
	}
	return out
}

func TestFields_Types(t *testing.T) {
	runTables(t, fieldCalls, map[string][]ruletest.Row{
		"texts": textRows, "addresses": emailRows, "URLs": urlRows, "UUIDs": uuidRows, "choices": choiceRows, "numbers": intRows, "truths": boolRows,
		"times": timeRows, "objects and arrays": objectRows, "lists": listRows,
	})
}

const noText, blankText, nullText = `400 invalid_input f Not a valid string.`, `400 blank f This field may not be blank.`, `400 null f This field may not be null.`

var textRows = rows(
	each("§2.2 texts", "bob", "text",
		[2]string{`"x"`, `"x"`},
		[2]string{`"  wide \n"`, `"wide"`},
		[2]string{`"a\u00e9\ud83d\ude00"`, `"aé😀"`},
		[2]string{`7`, `"7"`},
		[2]string{`-1.50`, `"-1.50"`},
		[2]string{`""`, blankText},
		[2]string{`" \t"`, blankText},
		[2]string{`null`, nullText},
		[2]string{`true`, noText},
		[2]string{`[]`, noText},
		[2]string{`{"a":"x"}`, noText},
		[2]string{`"a\u0000b"`, `400 null_characters_not_allowed f`},
	),
	each("§2.2 texts that may be blank", "bob", "blank",
		[2]string{`""`, `""`},
		[2]string{`"  "`, `""`},
		[2]string{`null`, nullText},
	),
	each("§2.2 texts that may be null", "bob", "nullable",
		[2]string{`null`, `null`},
		[2]string{`"x"`, `"x"`},
		[2]string{`""`, blankText},
	),
	each("§2.2 at most 5 characters", "bob", "short",
		[2]string{`"12345"`, `"12345"`},
		[2]string{`"  12345  "`, `"12345"`},
		[2]string{`"ääääé"`, `"ääääé"`},
		[2]string{`"123456"`, `400 max_length f Ensure this field has no more than 5 characters.`},
		[2]string{`123456`, `400 max_length f Ensure this field has no more than 5 characters.`},
	),
)

const noEmail = `400 invalid_input f Enter a valid email address.`

var emailRows = each("§4.5 addresses: the domain in lower case", "bob", "email",
	[2]string{`"ann@example.com"`, `"ann@example.com"`},
	[2]string{`"A.B@EXAMPLE.com"`, `"A.B@example.com"`},
	[2]string{`" ann@example.com "`, `"ann@example.com"`},
	[2]string{`"ann+tag@sub.example.co.uk"`, `"ann+tag@sub.example.co.uk"`},
	[2]string{`"owner@localhost"`, `"owner@localhost"`},
	[2]string{`""`, blankText},
	[2]string{`null`, nullText},
	[2]string{`"ann"`, noEmail},
	[2]string{`"@example.com"`, noEmail},
	[2]string{`"ann@"`, noEmail},
	[2]string{`"ann@example"`, noEmail},
	[2]string{`"ann@@example.com"`, noEmail},
	[2]string{`"ann@.example.com"`, noEmail},
	[2]string{`"ann@example.com."`, noEmail},
	[2]string{`"ann@-example.com"`, noEmail},
	[2]string{`"ann example@example.com"`, noEmail},
	[2]string{`"Ann <ann@example.com>"`, noEmail},
	[2]string{`"a,b@example.com"`, noEmail},
	[2]string{`"` + strings.Repeat("a", 65) + `@example.com"`, noEmail},
	[2]string{`"ann@` + strings.Repeat("a", 246) + `.com"`, `"ann@` + strings.Repeat("a", 246) + `.com"`}, // 254 characters
	[2]string{`"ann@` + strings.Repeat("a", 247) + `.com"`, `400 max_length f Ensure this field has no more than 254 characters.`},
	[2]string{`7`, noEmail},
	[2]string{`["ann@example.com"]`, noText},
)

const badURL = `400 invalid_input f Enter a valid URL.`

var urlRows = rows(
	each("§2.2 URLs", "bob", "url",
		[2]string{`"https://example.com"`, `"https://example.com"`},
		[2]string{`"http://localhost:8000/a?b=c#d"`, `"http://localhost:8000/a?b=c#d"`},
		[2]string{`"ftp://example.com"`, badURL},
		[2]string{`"javascript:alert(1)"`, badURL},
		[2]string{`"example.com"`, badURL},
		[2]string{`"//example.com"`, badURL},
		[2]string{`"https://"`, badURL},
		[2]string{`"https://exa mple.com"`, badURL},
		[2]string{`""`, blankText},
		[2]string{`[]`, noText},
	),
	each("§2.2 URLs that may be blank", "bob", "noURL",
		[2]string{`""`, `""`},
		[2]string{`"x"`, badURL},
	),
)

const noUUID = `400 invalid_input f Must be a valid UUID.`

var uuidRows = each("§2.2 UUIDs: kept with dashes, in lower case", "bob", "uuid",
	[2]string{`"0191f0a2-5b1c-7d3e-8f40-0000000000aa"`, `"0191f0a2-5b1c-7d3e-8f40-0000000000aa"`},
	[2]string{`"0191F0A2-5B1C-7D3E-8F40-0000000000AA"`, `"0191f0a2-5b1c-7d3e-8f40-0000000000aa"`},
	[2]string{`"0191f0a25b1c7d3e8f400000000000aa"`, `"0191f0a2-5b1c-7d3e-8f40-0000000000aa"`},
	[2]string{`"{0191f0a2-5b1c-7d3e-8f40-0000000000aa}"`, `"0191f0a2-5b1c-7d3e-8f40-0000000000aa"`},
	[2]string{`"urn:uuid:0191f0a2-5b1c-7d3e-8f40-0000000000aa"`, `"0191f0a2-5b1c-7d3e-8f40-0000000000aa"`},
	[2]string{`"00000000-0000-0000-0000-000000000000"`, `"00000000-0000-0000-0000-000000000000"`},
	[2]string{`"0191f0a2-5b1c-7d3e-8f40-0000000000a"`, noUUID},
	[2]string{`"0191f0a2-5b1c-7d3e-8f40-0000000000aag"`, noUUID},
	[2]string{`"0191f0a2_5b1c_7d3e_8f40_0000000000aa"`, noUUID},
	[2]string{`"@me"`, noUUID},
	[2]string{`""`, noUUID},
	[2]string{`7`, noUUID},
	[2]string{`{}`, noUUID},
	[2]string{`null`, nullText},
)

var choiceRows = rows(
	each("§2.2 choices", "bob", "choice",
		[2]string{`"a"`, `"a"`},
		[2]string{`7`, `"7"`},
		[2]string{`"A"`, `400 invalid_choice f "A" is not a valid choice. Valid choices: a, b, 7.`},
		[2]string{`" a"`, `400 invalid_choice f " a" is not a valid choice.`},
		[2]string{`""`, `400 invalid_choice f "" is not a valid choice.`},
		[2]string{`true`, `400 invalid_choice f "true" is not a valid choice.`},
		[2]string{`["a"]`, `400 invalid_choice f "[\"a\"]" is not a valid choice.`},
		[2]string{`null`, nullText},
		[2]string{text(300), `400 invalid_choice f "` + strings.Repeat("x", 200) + `…" is not a valid choice.`},
	),
	each("§2.2 choices that may be blank", "bob", "noChoice",
		[2]string{`""`, `""`},
		[2]string{`"b"`, `400 invalid_choice f "b" is not a valid choice.`},
	),
)

const noInt = `400 invalid_input f A valid integer is required.`

var intRows = rows(
	each("§2.2 whole numbers, also as texts", "bob", "int",
		[2]string{`7`, `7`},
		[2]string{`-7`, `-7`},
		[2]string{`0`, `0`},
		[2]string{`"7"`, `7`},
		[2]string{`" 7 "`, `7`},
		[2]string{`7.0`, `7`},
		[2]string{`1e3`, `1000`},
		[2]string{`9007199254740991`, `9007199254740991`},
		[2]string{`7.5`, noInt},
		[2]string{`"7.5"`, noInt},
		[2]string{`"seven"`, noInt},
		[2]string{`""`, noInt},
		[2]string{`true`, noInt},
		[2]string{`[7]`, noInt},
		[2]string{`1e400`, noInt},
		[2]string{`9223372036854775808`, noInt},
		[2]string{`"0x10"`, noInt},
		[2]string{`null`, nullText},
	),
	each("§2.2 bounds", "bob", "percent",
		[2]string{`1`, `1`},
		[2]string{`100`, `100`},
		[2]string{`0`, `400 min_value f Ensure this value is greater than or equal to 1.`},
		[2]string{`-5`, `400 min_value f Ensure this value is greater than or equal to 1.`},
		[2]string{`101`, `400 max_value f Ensure this value is less than or equal to 100.`},
		[2]string{`"x"`, noInt},
	),
	each("§4.6 levels", "bob", "level",
		[2]string{`8`, `8`},
		[2]string{`"15"`, `15`},
		[2]string{`5`, `400 invalid_choice f "5" is not a valid choice. Valid choices: 1, 8, 15.`},
		[2]string{`"admin"`, `400 invalid_choice f "admin" is not a valid choice.`},
		[2]string{`null`, nullText},
	),
)

const noBool = `400 invalid_input f Must be a valid boolean.`

var boolRows = each("§2.2 truths", "bob", "bool",
	[2]string{`true`, `true`},
	[2]string{`false`, `false`},
	[2]string{`"true"`, `true`},
	[2]string{`"True"`, `true`},
	[2]string{`"yes"`, `true`},
	[2]string{`"on"`, `true`},
	[2]string{`1`, `true`},
	[2]string{`"1"`, `true`},
	[2]string{`"FALSE"`, `false`},
	[2]string{`"no"`, `false`},
	[2]string{`"off"`, `false`},
	[2]string{`0`, `false`},
	[2]string{`"0"`, `false`},
	[2]string{`2`, noBool},
	[2]string{`"maybe"`, noBool},
	[2]string{`""`, noBool},
	[2]string{`[]`, noBool},
	[2]string{`{}`, noBool},
	[2]string{`null`, nullText},
)

const noTime = `400 invalid_input f Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].`

var timeRows = each("§2.2 times, without a zone in UTC", "bob", "time",
	[2]string{`"2026-01-02T10:00:00Z"`, `"2026-01-02T10:00:00Z"`},
	[2]string{`"2026-01-02T10:00:00+02:00"`, `"2026-01-02T08:00:00Z"`},
	[2]string{`"2026-01-02T10:00:00-05:30"`, `"2026-01-02T15:30:00Z"`},
	[2]string{`"2026-01-02T10:00:00.123456Z"`, `"2026-01-02T10:00:00.123456Z"`},
	[2]string{`"2026-01-02T10:00:00.1234567Z"`, `"2026-01-02T10:00:00.123456Z"`},
	[2]string{`"2026-01-02T10:00"`, `"2026-01-02T10:00:00Z"`},
	[2]string{`"2026-01-02T10:00:30"`, `"2026-01-02T10:00:30Z"`},
	[2]string{`"2026-01-02 10:00:30"`, `"2026-01-02T10:00:30Z"`},
	[2]string{`"2026-01-02 10:00"`, `"2026-01-02T10:00:00Z"`},
	[2]string{`"2026-01-02T10:00+01:00"`, `"2026-01-02T09:00:00Z"`},
	[2]string{`"2024-02-29T00:00:00Z"`, `"2024-02-29T00:00:00Z"`},
	[2]string{`"2026-02-29T00:00:00Z"`, noTime},
	[2]string{`"2026-13-01T00:00:00Z"`, noTime},
	[2]string{`"2026-01-02T25:00:00Z"`, noTime},
	[2]string{`"2026-01-02"`, noTime},
	[2]string{`"10:00"`, noTime},
	[2]string{`"soon"`, noTime},
	[2]string{`""`, noTime},
	[2]string{`1767348000`, noTime},
	[2]string{`true`, noTime},
	[2]string{`null`, nullText},
)

const noDict, noList = `400 not_a_dict f Expected a dictionary of items but got type `, `400 not_a_list f Expected a list of items but got type `

var objectRows = rows(
	each("§2.2 objects, as they stand", "bob", "object",
		[2]string{`{}`, `{}`},
		[2]string{`{"b":1.50,"a":[null]}`, `{"b":1.50,"a":[null]}`},
		[2]string{`[]`, noDict + `"list".`},
		[2]string{`"x"`, noDict + `"str".`},
		[2]string{`7`, noDict + `"int".`},
		[2]string{`7.5`, noDict + `"float".`},
		[2]string{`true`, noDict + `"bool".`},
		[2]string{`null`, nullText},
	),
	each("§2.2 arrays, as they stand", "bob", "array",
		[2]string{`[]`, `[]`},
		[2]string{`[1,{"a":2},"x",null]`, `[1,{"a":2},"x",null]`},
		[2]string{`{}`, noList + `"dict".`},
		[2]string{`"x"`, noList + `"str".`},
		[2]string{`null`, nullText},
	),
	each("§2.2 any value", "bob", "any",
		[2]string{`{"a":1}`, `{"a":1}`},
		[2]string{`[1]`, `[1]`},
		[2]string{`"x"`, `"x"`},
		[2]string{`7`, `7`},
		[2]string{`false`, `false`},
		[2]string{`null`, `null`},
	),
)

var listRows = rows(
	each("§2.2 lists of texts", "bob", "texts",
		[2]string{`[]`, `[]`},
		[2]string{`["a"," b ",7]`, `["a","b","7"]`},
		[2]string{`["abc","abcd"]`, `400 max_length f__1 Ensure this field has no more than 3 characters.`},
		[2]string{`["a",""]`, `400 blank f__1 This field may not be blank.`},
		[2]string{`["a",null]`, `400 null f__1 This field may not be null.`},
		[2]string{`["a",["b"]]`, `400 invalid_input f__1 Not a valid string.`},
		[2]string{`"a"`, noList + `"str".`},
		[2]string{`{"0":"a"}`, noList + `"dict".`},
		[2]string{`null`, nullText},
		[2]string{`[` + strings.Repeat(`"a",`, 9_999) + `"a"]`, `[` + strings.Repeat(`"a",`, 9_999) + `"a"]`},
		[2]string{`[` + strings.Repeat(`"a",`, 10_000) + `"a"]`, `400 max_length f Ensure this field has no more than 10000 elements.`},
	),
	each("§2.2 lists of texts that may be blank", "bob", "blanks",
		[2]string{`["",""]`, `["",""]`},
	),
	each("§2.2 lists of numbers", "bob", "ints",
		[2]string{`[1,"2",3.0]`, `[1,2,3]`},
		[2]string{`[1,"two"]`, `400 invalid_input f__1 A valid integer is required.`},
		[2]string{`[1.5]`, `400 invalid_input f__0 A valid integer is required.`},
		[2]string{`7`, noList + `"int".`},
	),
	each("§2.2 lists of objects", "bob", "objects",
		[2]string{`[]`, `[]`},
		[2]string{`[{"a":1},{}]`, `[{"a":1},{}]`},
		[2]string{`[{"a":1},[]]`, `400 not_a_dict f__1 Expected a dictionary of items but got type "list".`},
		[2]string{`[null]`, `400 null f__0 This field may not be null.`},
		[2]string{`{}`, noList + `"dict".`},
	),
	each("§2.2 a limit of the field's own", "bob", "three",
		[2]string{`[{},{},{}]`, `[{},{},{}]`},
		[2]string{`[{},{},{},{}]`, `400 max_length f Ensure this field has no more than 3 elements.`},
	),
)

// manyFields are the fields of bodyRows, in their order.
var manyFields = management.Fields{
	{Name: "name", Type: management.Text, Required: true}, {Name: "count", Type: management.Int, Required: true}, {Name: "about", Type: management.Text, Null: true, Blank: true}, {Name: "on", Type: management.Bool},
}

func bodyCalls(t *testing.T, _ *ruletest.World) ruletest.Calls {
	return ruletest.Calls{
		"create": func(_ callScope, _, b string) (any, error) { return manyFields.Create(ruletest.Body(t, b)) },
		"change": func(_ callScope, _, b string) (any, error) { return manyFields.Change(ruletest.Body(t, b)) },
		"patch": func(_ callScope, _, b string) (any, error) {
			return resource.ReadUpdate(manyFields, ruletest.Body(t, b), false)
		},
		"put": func(_ callScope, _, b string) (any, error) {
			return resource.ReadUpdate(manyFields, ruletest.Body(t, b), true)
		},
	}
}

func TestFields_Bodies(t *testing.T) {
	runTables(t, bodyCalls, map[string][]ruletest.Row{"create": bodyRows, "change": changeRows})
}

var bodyRows = rows(
	each("§2.1, §2.4", "bob", "create",
		[2]string{`{"name":"x","count":1}`, `{"name":"x","count":1,"about":"(absent)","on":"(absent)"}`},
		[2]string{`{"name":"x","count":1,"about":null,"on":false,"other":7}`, `{"about":null,"on":false,"other":"(absent)"}`},
		[2]string{``, `400 required name This field is required.`},
		[2]string{`{"count":"x"}`, `400 required name This field is required.`},
		[2]string{`{"on":"x","count":"x","name":"x"}`, `400 invalid_input count A valid integer is required.`},
		[2]string{`{"name":"x","on":"x"}`, `400 required count This field is required.`},
		[2]string{`{"name":null,"count":1}`, `400 null name This field may not be null.`},
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
		[2]string{`[{"name":"x"}]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
		[2]string{`"x"`, `400 invalid_input - Invalid data. Expected a dictionary, but got str.`},
		[2]string{`7`, `400 invalid_input - Invalid data. Expected a dictionary, but got int.`},
		[2]string{`true`, `400 invalid_input - Invalid data. Expected a dictionary, but got bool.`},
		[2]string{`null`, `400 invalid_input - Invalid data. Expected a dictionary, but got NoneType.`},
	),
	each("§2.5 PUT", "bob", "put",
		[2]string{`{"count":1}`, `400 required name This field is required.`},
		[2]string{`{"name":"x","count":1}`, `{"name":"x"}`},
	),
)

var changeRows = rows(
	each("§2.5 PATCH: what is not there stays", "bob", "change",
		[2]string{`{"about":""}`, `{"about":"","name":"(absent)"}`},
		[2]string{`{"name":""}`, `400 blank name This field may not be blank.`},
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
	),
	each("§2.5 PATCH", "bob", "patch",
		[2]string{`{"on":true}`, `{"on":true,"count":"(absent)"}`},
	),
)
