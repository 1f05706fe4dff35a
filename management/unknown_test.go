package management_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// unknownFields are the fields of a request in TestFields_NameUnknown.
var unknownFields = management.Fields{
	{Name: "name", Type: management.Text}, {Name: "interval", Type: management.Text}, {Name: "legacy", Type: management.Object, Help: "has no effect; kept for older clients"},
}

// Decision 30 for the members of a body.
func TestFields_NameUnknown(t *testing.T) {
	for _, c := range []struct {
		body, want string
		warnings   []string
	}{
		{`{"name":"x","interval":"day"}`, "", nil},
		{`{"nmae":"x"}`, `nmae: nmae is not a member of a thing, "name" is most likely meant`, nil},
		{`{"name":"x","nmae":"y"}`, "", []string{"nmae is not a member of a thing and does nothing"}},
		{`{"legacy":{"a":1}}`, "", []string{"legacy of a thing has no effect"}},
		{`{"legacy":{}}`, "", nil},
		{`{"legacy":null}`, "", nil},
		{`{"personal_api_key":"phx_x"}`, "", nil}, // §1.2: a key may be in any body
		{`{"b":1,"a":2}`, "", []string{"a is not a member of a thing and does nothing", "b is not a member of a thing and does nothing"}},
	} {
		var warnings []string
		body := ruletest.Body(t, c.body)
		body.Warn = func(text string) { warnings = append(warnings, text) }
		got := ""
		if err := unknownFields.NameUnknown(&body, "a thing"); err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(c.warnings, warnings); diff != "" || got != c.want {
			t.Errorf("%s: %q, want %q; warnings (-want +got):\n%s", c.body, got, c.want, diff)
		}
	}
}
