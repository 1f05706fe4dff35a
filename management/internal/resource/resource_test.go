package resource_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

type applied struct {
	inner
	Text   string           `json:"text"`
	Maybe  *string          `json:"maybe"`
	At     management.Stamp `json:"at"`
	Raw    json.RawMessage  `json:"raw"`
	Custom string           `json:"ruled"`
	Number *int64           `json:"number"`
}

type inner struct {
	Deep bool     `json:"deep"`
	List []string `json:"list,omitempty"`
	Text string   `json:"text"` // the outer member counts
}

var appliedFields = management.Fields{
	{Name: "text", Type: management.Text, Null: true, Blank: true}, {Name: "maybe", Type: management.Choice, Choices: []string{"a", "b"}, Null: true}, {Name: "at", Type: management.Time, Null: true},
	{Name: "raw", Type: management.Object, Null: true}, {Name: "ruled", Type: management.Int, Custom: true}, {Name: "number", Type: management.Int, Null: true},
	{Name: "deep", Type: management.Bool}, {Name: "list", Type: management.TextList},
}

// Absent fields stay (§2.5), null sets the zero value, and Custom fields are skipped.
func TestFields_Apply(t *testing.T) {
	b := "b"
	one := int64(1)
	before := applied{Text: "t", Maybe: &b, At: management.NewStamp(time.Unix(0, 0)), Raw: json.RawMessage(`{}`), Custom: "r", Number: &one, inner: inner{Deep: true, List: []string{"l"}}}
	const was = `{"at":"1970-01-01T00:00:00Z","deep":true,"list":["l"],"maybe":"b","number":1,"raw":{},"ruled":"r","text":"t"}`
	for body, want := range map[string]string{
		`{}`:                                 was,
		`{"ruled":7}`:                        was,
		`{"text":null}`:                      strings.Replace(was, `"text":"t"`, `"text":""`, 1),
		`{"text":"new"}`:                     strings.Replace(was, `"text":"t"`, `"text":"new"`, 1),
		`{"maybe":null}`:                     strings.Replace(was, `"maybe":"b"`, `"maybe":null`, 1),
		`{"maybe":"a"}`:                      strings.Replace(was, `"maybe":"b"`, `"maybe":"a"`, 1),
		`{"number":"2"}`:                     strings.Replace(was, `"number":1`, `"number":2`, 1),
		`{"at":null}`:                        strings.Replace(was, `"at":"1970-01-01T00:00:00Z"`, `"at":null`, 1),
		`{"at":"2026-01-02T03:04:05+01:00"}`: strings.Replace(was, "1970-01-01T00:00:00Z", "2026-01-02T02:04:05Z", 1),
		`{"raw":null}`:                       strings.Replace(was, `"raw":{}`, `"raw":null`, 1),
		`{"raw":{"x":1}}`:                    strings.Replace(was, `"raw":{}`, `"raw":{"x":1}`, 1),
		`{"deep":"false"}`:                   strings.Replace(was, `"deep":true`, `"deep":false`, 1),
		`{"list":["m","n"]}`:                 strings.Replace(was, `["l"]`, `["m","n"]`, 1),
	} {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(body), &members); err != nil {
			t.Fatal(err)
		}
		v, err := appliedFields.Change(management.Body{Members: members})
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		x := before
		resource.Apply(appliedFields, v, &x)
		all, err := management.JSONMembers(x)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(storage.Encode(all)); got != want {
			t.Errorf("%s gives %s, want %s", body, got, want)
		}
	}
	if *before.Maybe != "b" || *before.Number != 1 {
		t.Error("what was there before is written over")
	}
}

func TestNewResource_TablesFit(t *testing.T) {
	for want, f := range map[string]management.Fields{
		"has no member for the field other":                               {{Name: "other", Type: management.Text}},
		"the field text is stored as int64 and not as string":             {{Name: "text", Type: management.Int}},
		"the field list is stored as json.RawMessage and not as []string": {{Name: "list", Type: management.Array}},
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.HasPrefix(got, "management: the resource thing: ") || !strings.HasSuffix(got, want) {
					t.Errorf("panics with %q, want %q", got, want)
				}
			}()
			resource.NewResource(&management.Env[management.Tx]{}, resource.Spec[management.Tx, applied, applied]{Kind: "thing", Fields: f})
		}()
	}
	resource.NewResource(&management.Env[management.Tx]{}, resource.Spec[management.Tx, applied, applied]{Kind: "thing", Fields: appliedFields})
}
