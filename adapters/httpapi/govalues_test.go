package httpapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

type (
	goText   string
	goInt    int16
	goUint   uint64
	goFloat  float64
	goBool   bool
	goPlan   struct{ name string } // MarshalText
	goLevel  int                   // String, which JSON does not use
	goRecord struct {              // tags, embedding, unexported members
		Name    goText   `json:"name"`
		Seats   *goInt   `json:"seats,omitempty"`
		Weight  goFloat  `json:",string"`
		Plans   []goPlan `json:"plans"`
		private chan int //nolint:unused // encoding/json leaves it out
		goBase
	}
	goBase   struct{ Base float32 }
	goBroken struct{} // MarshalJSON fails
	goPanics struct{} // MarshalJSON panics
)

func (p goPlan) MarshalText() ([]byte, error) { return []byte("plan-" + p.name), nil }
func (l goLevel) String() string              { return "level" }
func (goBroken) MarshalJSON() ([]byte, error) { return nil, errors.New("broken") }
func (goPanics) MarshalJSON() ([]byte, error) { panic("never") }

// goMakers return values of Go types, some of which encoding/json cannot encode.
var goMakers = []func(r *rand.Rand) any{
	func(r *rand.Rand) any { return randomText(r) },
	func(r *rand.Rand) any { return goText(randomText(r)) },
	func(r *rand.Rand) any { return r.IntN(40) - 20 },
	func(r *rand.Rand) any { return goInt(r.IntN(40) - 20) },
	func(r *rand.Rand) any { return int8(r.IntN(200)) },
	func(r *rand.Rand) any { return r.Uint64() },
	func(r *rand.Rand) any { return goUint(r.Uint64()) },
	func(r *rand.Rand) any { return float64(r.IntN(40) - 20) },
	func(r *rand.Rand) any { return goFloat(r.IntN(10)) },
	func(r *rand.Rand) any { return r.NormFloat64() * math.Pow(10, float64(r.IntN(60)-30)) },
	func(r *rand.Rand) any { return math.Ldexp(float64(r.IntN(9)-4), r.IntN(90)) },
	func(r *rand.Rand) any { return math.Copysign(0, -1) },
	func(r *rand.Rand) any { return float32(r.IntN(100)) / 4 },
	func(r *rand.Rand) any { return float32(r.NormFloat64()) },
	func(r *rand.Rand) any { return r.IntN(2) == 0 },
	func(r *rand.Rand) any { return goBool(r.IntN(2) == 0) },
	func(r *rand.Rand) any {
		return time.Unix(r.Int64N(4e9), r.Int64N(1e9)).In(time.FixedZone("", r.IntN(24)*3600-12*3600))
	},
	func(r *rand.Rand) any { at := time.Unix(r.Int64N(2e9), 0).UTC(); return &at },
	func(r *rand.Rand) any { return time.Duration(r.Int64N(1e12)) },
	func(r *rand.Rand) any { return goPlan{"pro"} },
	func(r *rand.Rand) any { return []goPlan{{"pro"}, {"free"}} },
	func(r *rand.Rand) any { return goLevel(r.IntN(9)) },
	func(r *rand.Rand) any { return []int{1, r.IntN(9)} },
	func(r *rand.Rand) any { return [2]goText{"a", "b"} },
	func(r *rand.Rand) any { return []string(nil) },
	func(r *rand.Rand) any { return []any{1, 2.0, "x", nil, goText("y"), []float64{1, 1.5}} },
	func(r *rand.Rand) any { return []byte("bytes") },
	func(r *rand.Rand) any { return json.RawMessage(`{"b":5.0,"a":[1e2,"x"]}`) },
	func(r *rand.Rand) any { return json.Number("5.0") },
	func(r *rand.Rand) any { return json.Number("") },
	func(r *rand.Rand) any { return map[int]goText{2: "two", 1: "one"} },
	func(r *rand.Rand) any { return map[goPlan]int{{"pro"}: 1} },
	func(r *rand.Rand) any { return map[string]any{"b": 1.0, "a": goInt(2), "<": "\xff&"} },
	func(r *rand.Rand) any { return map[string]any(nil) },
	func(r *rand.Rand) any {
		n := goInt(r.IntN(9))
		return goRecord{Name: "n", Seats: &n, Weight: 1.5, goBase: goBase{0.1}}
	},
	func(r *rand.Rand) any { return (*goRecord)(nil) },
	func(r *rand.Rand) any { s := randomText(r); p := &s; return &p },
	func(r *rand.Rand) any { return big.NewInt(r.Int64()) },
	func(r *rand.Rand) any { return big.NewFloat(1.5) },
	func(r *rand.Rand) any { return net.IPv4(127, 0, 0, byte(r.IntN(9))) },
	func(r *rand.Rand) any { return netip.MustParseAddr("::1") },
	func(r *rand.Rand) any { u, _ := url.Parse("https://example.com/a?b=c"); return u },
	func(r *rand.Rand) any { return nested(100 + r.IntN(20)) },
	func(r *rand.Rand) any { return math.NaN() },
	func(r *rand.Rand) any { return []any{math.Inf(1)} },
	func(r *rand.Rand) any { return func() {} },
	func(r *rand.Rand) any { return map[string]any{"c": make(chan int)} },
	func(r *rand.Rand) any { return complex(1, 2) },
	func(r *rand.Rand) any { return time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
	func(r *rand.Rand) any { return json.Number("01") },
	func(r *rand.Rand) any { return json.RawMessage("{") },
	func(r *rand.Rand) any { return goBroken{} },
	func(r *rand.Rand) any { return goPanics{} },
	func(r *rand.Rand) any { return ring() },
}

func randomText(r *rand.Rand) string {
	words := []string{"pro", "Pro", "5", "5.0", "1.2.3", "-7d", "2024-05-31", "true", "\xff\xfe", "É", "<&>", "null", ""}
	return words[r.IntN(len(words))] + words[r.IntN(len(words))]
}

func nested(depth int) (v any) {
	for range depth {
		v = []any{v}
	}
	return v
}

// ring returns a list that contains itself, twice.
func ring() any {
	list := []any{nil, nil}
	list[0], list[1] = list, list
	return list
}

// marshalOf is json.Marshal; ok is false if that fails or panics.
func marshalOf(v any) (text []byte, ok bool) {
	defer func() { ok = recover() == nil && ok }()
	text, err := json.Marshal(v)
	return text, err == nil
}

// operatorsOnV returns flags with conditions on the property v: one for each kind of comparison,
// and one for each of the texts that tests equality.
func operatorsOnV(texts []string) []byte {
	var list []string
	flag := func(property string) {
		list = append(list, fmt.Sprintf(`{"id": %d, "key": "f%d", "active": true, "filters": {"groups": [{"properties": [%s]}]}}`, len(list)+1, len(list)+1, property))
	}
	for _, p := range []string{`"operator": "is_set"`, `"operator": "gt", "value": 4.5`, `"operator": "lte", "value": 5`, `"operator": "between", "value": [0, 10]`,
		`"operator": "not_between", "value": [0, 10]`, `"operator": "icontains", "value": "p"`, `"operator": "not_icontains", "value": "pro"`,
		`"operator": "starts_with", "value": "["`, `"operator": "regex", "value": "^\\d+$"`, `"operator": "not_regex", "value": "\\.0"`,
		`"operator": "is_date_before", "value": "2024-05-31"`, `"operator": "is_date_after", "value": "2000-01-01T00:00:00Z"`,
		`"operator": "semver_gt", "value": "1.0.0"`, `"operator": "exact", "value": true`, `"operator": "exact", "value": ["false", "x"]`, `"operator": "is_not", "value": "5"`} {
		flag(`{"key": "v", "type": "person", ` + p + `}`)
	}
	for _, text := range texts {
		flag(`{"key": "v", "type": "person", "operator": "exact", "value": ` + text + `}`)
		quoted, _ := json.Marshal(text)
		flag(`{"key": "v", "type": "person", "operator": "exact", "value": ` + string(quoted) + `}`)
	}
	return fmt.Appendf(nil, `{"projects": [{"id": 1, "api_key": "phc_v", "flags": [%s, {"id": 9999, "key": "other", "active": true, "filters": {"groups": [{}]}}]}]}`, strings.Join(list, ","))
}

// A property of any Go type is evaluated in the process as the server evaluates the json.Marshal of
// the same value (decision 32). If it cannot be encoded, the flags that use it are not decided,
// with an error that contains its name.
func TestGoValues_AsTheServer(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var values []any
	var texts []string
	for range 12 {
		for _, make := range goMakers {
			v := make(r)
			values = append(values, v)
			if text, ok := marshalOf(v); ok && len(text) < 100 && len(texts) < 200 {
				texts = append(texts, string(text))
			}
		}
	}
	file := operatorsOnV(texts)
	w := newWorld(t, file)
	h := w.handler(t, nil, nil)
	set := flags.Compile(w.projects["phc_v"].Definitions)
	rejections, matched := 0, 0
	for _, v := range values {
		var here flags.Decisions
		set.Evaluate(&flags.Subject{DistinctID: "u", Person: flags.Properties{"v": v}}, w.Now(), &here)
		text, ok := marshalOf(v)
		if !ok {
			rejections++
			checkUndecided(t, v, &here)
			continue
		}
		answer := ask(h, "POST", "/flags?v=2", `{"api_key": "phc_v", "distinct_id": "u", "geoip_disable": true, "person_properties": {"v": `+string(text)+`}}`)
		var there struct {
			Flags map[string]struct{ Enabled bool }
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &there); err != nil || answer.Code != 200 || len(there.Flags) != set.Len() {
			t.Fatalf("%T %s: %d %s", v, text, answer.Code, answer.Body)
		}
		for i := range here.List {
			d := &here.List[i]
			if d.Undecided != nil || d.Enabled != there.Flags[d.Key].Enabled {
				t.Errorf("%T %#v (%s), flag %s: here %v (%v), the server says %v", v, v, text, d.Key, d.Enabled, d.Undecided, there.Flags[d.Key].Enabled)
			}
			if d.Enabled {
				matched++
			}
		}
	}
	if rejections < 12*8 || matched < 4*len(values) {
		t.Errorf("of %d values %d have no form in JSON, %d answers are true: the test looks at too little", len(values), rejections, matched)
	}
}

func checkUndecided(t *testing.T, v any, out *flags.Decisions) {
	t.Helper()
	for i := range out.List {
		d := &out.List[i]
		switch {
		case d.Key == "other":
			if !d.Enabled || d.Undecided != nil {
				t.Errorf("%T: the flag that does not ask for it is %+v", v, d)
			}
		case d.Enabled || d.Undecided == nil:
			t.Errorf("%T: flag %s is decided: %+v", v, d.Key, d)
		case !errors.Is(d.Undecided, flags.ErrNoJSONForm) || d.Undecided.Name != "v" || d.Undecided.Fact != "person property" || !strings.Contains(d.Undecided.Error(), `person property "v"`):
			t.Errorf("%T: %v", v, d.Undecided)
		}
	}
}
