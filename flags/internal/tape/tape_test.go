package tape_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags/internal/tape"
)

var tapeNames = tape.NewNames("a", "key", "filters", "rollout_percentage", "evaluation_contexts")

var tapeTexts = []string{
	``, ` `, `{}`, `[]`, `[[]]`, `{"a":{}}`, ` [ ] `, `null`, `true`, `false`, `"x"`, `0`, `-0`, `01`, `-`, `1.`, `1.5e+3`, `1e`, `.5`, `+1`, `NaN`,
	`{"a":1,"a":2}`, `{"a":{"b":1},"a":[{"c":2}]}`, `{"\u0061":1}`, `{"key": "k\u00e9", "x": "\ud83d\ude00", "half": "\ud83d", "low": "\ude00"}`,
	`[1,]`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `[1 2]`, `[1}`, `{"a":1]`, `[`, `{`, `{"a"`, `{"a":`, `{"a":1`, `[1,`, `"`, `"\`, `"\u12"`, `"\x"`,
	`"\/"`, `"\u0041"`, `"\\u0041 \\/ \" \\"`, `{"b":[1,"<&>\u2028\u007f"],"a":{"d":1.50,"c":[],"d":"\b\f\n\u0001"},"\u2029":{}}`, "\"\u2028 \u2029 \u2030 \\n\"",
	"\"a\tb\"", "\"\xff\xe2\x82\"", "{\"\xff\":1}", `{} {}`, `nul`, `truex`, `[tru]`, "{\"a\" :\n1 ,\r\t\"key\":2}", `"12345678"`, `"1234567\n"`, `"12345678é"`,
	`{"filters":{"rollout_percentage":12.50},"evaluation_contexts":[]}`,
	strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
}

// sameAsStandard compares Scan with encoding/json: which texts are valid, and their values.
func sameAsStandard(t *testing.T, text string) {
	t.Helper()
	tape, ok := tape.Scan(text, tapeNames)
	if valid := json.Valid([]byte(text)); ok != valid {
		t.Fatalf("%q: taken %v, encoding/json %v", text, ok, valid)
	}
	if !ok {
		return
	}
	var want any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if got := tape.Tree(0); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q:\ngot  %#v\nwant %#v", text, got, want)
	}
	var encoded bytes.Buffer
	enc := json.NewEncoder(&encoded)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(want); err != nil {
		t.Fatal(err)
	}
	if got := tape.AppendJSON(nil, 0); string(got)+"\n" != encoded.String() {
		t.Fatalf("%q:\ngot  %s\nwant %s", text, got, &encoded)
	}
	for i := range tape.Cells {
		if v := &tape.Cells[i]; v.Name != 0 && tapeNames.Number(tape.NameOf(int32(i))) != v.Name {
			t.Fatalf("%q: value %d is named %q, number %d", text, i, tape.NameOf(int32(i)), v.Name)
		}
		if raw := tape.Raw(int32(i)); !json.Valid([]byte(raw)) || len(bytes.TrimSpace([]byte(raw))) != len(raw) {
			t.Fatalf("%q: the text of value %d is %q", text, i, raw)
		}
	}
}

func TestScan_AsEncodingJSON(t *testing.T) {
	for _, text := range tapeTexts {
		sameAsStandard(t, text)
	}
}

func FuzzScan(f *testing.F) {
	for _, text := range tapeTexts {
		if len(text) < 1000 {
			f.Add(text)
		}
	}
	f.Fuzz(sameAsStandard)
}

// The name of a member has its number in each of its JSON forms.
func TestNames(t *testing.T) {
	tape, ok := tape.Scan(`{"rollout_percentage":1,"k\u0065y":2,"other":3,"":4}`, tapeNames)
	if !ok {
		t.Fatal("not taken")
	}
	var got []uint8
	for _, v := range tape.Cells[1:] {
		got = append(got, v.Name)
	}
	if want := []uint8{4, 2, 0, 0}; !reflect.DeepEqual(got, want) {
		t.Errorf("numbers %v, want %v", got, want)
	}
	if tape.NameOf(3) != "other" || tape.NameOf(4) != "" {
		t.Errorf("names %q and %q", tape.NameOf(3), tape.NameOf(4))
	}
}
