package approvals_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/approvals"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// console.md N12: flag_approvals of a project.
func TestReadFlagApprovals(t *testing.T) {
	tags := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = `"t` + strings.Repeat("x", i) + `"`
		}
		return `{"tags":[` + strings.Join(list, ",") + `]}`
	}
	const what = "flag_approvals"
	for _, c := range []struct {
		raw, code, field string // the code is empty if the value is valid
		want             approvals.Settings
	}{
		{`{}`, "", "", approvals.Settings{Tags: []string{}, SwitchOffFree: true}},
		{`{"needed":5}`, "", "", approvals.Settings{Needed: 5, Tags: []string{}, SwitchOffFree: true}},
		{`{"needed":1,"tags":[" Prod ","prod","b"],"switch_off_free":false}`, "", "", approvals.Settings{Needed: 1, Tags: []string{"prod", "b"}}},
		{`{"needed":6}`, "max_value", what + "__needed", approvals.Settings{}},
		{`{"needed":-1}`, "min_value", what + "__needed", approvals.Settings{}},
		{`{"needed":null}`, "null", what + "__needed", approvals.Settings{}},
		{`{"tags":"prod"}`, "not_a_list", what + "__tags", approvals.Settings{}},
		{`{"tags":["a",7,""]}`, "blank", what + "__tags__2", approvals.Settings{}},
		{`{"tags":["` + strings.Repeat("x", 256) + `"]}`, "max_length", what + "__tags__0", approvals.Settings{}},
		{tags(101), "max_length", what + "__tags", approvals.Settings{}},
		{`{"switch_off_free":"perhaps"}`, "invalid_input", what + "__switch_off_free", approvals.Settings{}},
		{`{"need":1}`, "invalid_input", what, approvals.Settings{}},
		{`[]`, "not_a_dict", what, approvals.Settings{}},
	} {
		got, err := approvals.Read(json.RawMessage(c.raw))
		var apiErr *management.Error
		if c.code == "" {
			if diff := gocmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", c.raw, err, diff)
			}
		} else if !errors.As(err, &apiErr) || apiErr.Code != c.code || apiErr.Field != c.field {
			t.Errorf("%.100s: %+v, want %s at %s", c.raw, err, c.code, c.field)
		}
	}
	if got, err := approvals.Read(json.RawMessage(tags(100))); err != nil || len(got.Tags) != 100 {
		t.Errorf("100 tags: %v", err)
	}
}

// resource.PrefixField puts the name of a field before the places of faults, and only of faults.
func TestPrefixField(t *testing.T) {
	fault := management.Fault("b", "Wrong.")
	for _, c := range []struct{ err, want error }{
		{fault, management.Fault("a__b", "Wrong.")},
		{management.Fault("", "Wrong."), management.Fault("a", "Wrong.")},
		{management.Denied("No."), management.Denied("No.")},
		{management.ErrNotFound(), management.ErrNotFound()},
		{management.Clash("Changed."), management.Clash("Changed.")},
	} {
		if diff := gocmp.Diff(c.want, resource.PrefixField("a", c.err)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.err, diff)
		}
	}
	if fault.Field != "b" {
		t.Error("the error itself was changed")
	}
	if err := resource.PrefixField("a", memstore.ErrDisk); !errors.Is(err, memstore.ErrDisk) {
		t.Errorf("a fault of the store: %v", err)
	}
}
