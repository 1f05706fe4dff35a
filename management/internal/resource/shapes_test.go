package resource_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// testShape is the shape of a box: it has a lid, a list of parts, and named labels that all have the
// same shape.
var testShape = &resource.Shape{
	Name: "a box", Members: "name colour lid parts labels", ReadOnly: "identity", Idle: "weight",
	Inside: map[string]*resource.Shape{
		"lid":    {Name: "a lid", Members: "width height"},
		"parts":  {Name: "a part", Members: "serial", Inside: map[string]*resource.Shape{"screws": {Name: "a screw", Members: "length"}}, ReadOnly: "screws"},
		"labels": {Each: &resource.Shape{Name: "a label", Members: "text"}},
	},
}

// Decision 30: a key within two edits of an absent member is a fault, with the place and a
// suggestion. Any other unknown key is a warning.
func TestShape_Check(t *testing.T) {
	for _, c := range []struct {
		what, value, place string
		want               *management.Error
		warnings           []string
	}{
		{"all members", `{"name":"x","colour":"red","lid":{"width":1},"parts":[{"serial":1}],"identity":7}`, "", nil, nil},
		{"one edit", `{"nme":"x"}`, "", management.CodedFault("unknown_key", "nme", `nme is not a member of a box, "name" is most likely meant`), nil},
		{"two edits", `{"color_":"x"}`, "", management.CodedFault("unknown_key", "color_", `color_ is not a member of a box, "colour" is most likely meant`), nil},
		{"three edits", `{"clrs":"x"}`, "", nil, []string{"clrs is not a member of a box and does nothing"}},
		{"a known one that is present", `{"name":"x","nme":"y"}`, "", nil, []string{"nme is not a member of a box and does nothing"}},
		{"without effect", `{"weight":7}`, "", nil, []string{"weight of a box has no effect"}},
		{"read-only members are not suggested", `{"identitx":7}`, "", nil, []string{"identitx is not a member of a box and does nothing"}},
		{"by name", `{"zzzzzz":1,"aaaaaa":2}`, "", nil, []string{"aaaaaa is not a member of a box and does nothing", "zzzzzz is not a member of a box and does nothing"}},
		{"inside of an object", `{"lid":{"widht":1}}`, "", management.CodedFault("unknown_key", "lid__widht", `lid.widht is not a member of a lid, "width" is most likely meant`), nil},
		{"inside of a list", `{"parts":[{"serial":1},{"seriall":2}]}`, "", management.CodedFault("unknown_key", "parts__1__seriall", `parts[1].seriall is not a member of a part, "serial" is most likely meant`), nil},
		{"inside of an object for a list", `{"parts":{"seriall":2}}`, "", management.CodedFault("unknown_key", "parts__seriall", `parts.seriall is not a member of a part, "serial" is most likely meant`), nil},
		{"deeper", `{"parts":[{"screws":[{"lenght":1}]}]}`, "", management.CodedFault("unknown_key", "parts__0__screws__0__lenght", `parts[0].screws[0].lenght is not a member of a screw, "length" is most likely meant`), nil},
		{"any name", `{"labels":{"front":{"text":"x"},"back":{"txt":"y"}}}`, "", management.CodedFault("unknown_key", "labels__back__txt", `labels.back.txt is not a member of a label, "text" is most likely meant`), nil},
		{"at a place", `[{"nme":"x"}]`, "boxes", management.CodedFault("unknown_key", "boxes__0__nme", `boxes[0].nme is not a member of a box, "name" is most likely meant`), nil},
		{"a warning at a place", `{"lid":{"extra1":1}}`, "box", nil, []string{"box.lid.extra1 is not a member of a lid and does nothing"}},
		{"its own members come first", `{"lid":{"widht":1},"nme":"x"}`, "", management.CodedFault("unknown_key", "nme", `nme is not a member of a box, "name" is most likely meant`), nil},
		{"no object", `"x"`, "", nil, nil},
		{"a list of no objects", `["x",7,null,{"name":"x"}]`, "", nil, nil},
		{"nothing", ``, "", nil, nil},
	} {
		var warnings []string
		err := testShape.Check(c.place, json.RawMessage(c.value), func(text string) { warnings = append(warnings, text) })
		var got *management.Error
		_ = errors.As(err, &got) // nil without an error
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
		if diff := cmp.Diff(c.warnings, warnings); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", c.what, diff)
		}
		if err := testShape.Check(c.place, json.RawMessage(c.value), nil); (err == nil) != (c.want == nil) {
			t.Errorf("%s without warnings: %v", c.what, err)
		}
	}
	if err := (*resource.Shape)(nil).Check("x", json.RawMessage(`{"a":1}`), nil); err != nil {
		t.Errorf("no shape: %v", err)
	}
	body := ruletest.Body(t, `{"nme":"x"}`)
	if err := testShape.Body(&body); err == nil {
		t.Error("a body is not checked")
	}
}
