package management_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Decision 44: days that a month lacks are its last day.
func TestAddMonths(t *testing.T) {
	oslo, err := time.LoadLocation("Europe/Oslo")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from string
		n    int
		want string
	}{
		{"2026-01-15 09:30", 1, "2026-02-15 09:30"},
		{"2026-01-31 09:30", 1, "2026-02-28 09:30"},
		{"2024-01-31 09:30", 1, "2024-02-29 09:30"}, // a leap year
		{"2026-10-31 00:00", 1, "2026-11-30 00:00"},
		{"2026-01-31 09:30", 2, "2026-03-31 09:30"}, // counted from the first, not from February
		{"2026-12-31 23:59", 1, "2027-01-31 23:59"},
		{"2026-12-31 23:59", 14, "2028-02-29 23:59"},
		{"2026-03-31 09:30", -1, "2026-02-28 09:30"},
		{"2026-01-31 09:30", -1, "2025-12-31 09:30"},
		{"2026-01-31 09:30", 0, "2026-01-31 09:30"},
		{"2026-02-28 12:00", 12, "2027-02-28 12:00"},
		// Summer time begins in Oslo on 29 March 2026: the time of day stays.
		{"2026-02-28 09:30", 2, "2026-04-28 09:30"},
	} {
		from, err := time.ParseInLocation("2006-01-02 15:04", c.from, oslo)
		if err != nil {
			t.Fatal(err)
		}
		if got := management.AddMonths(from, c.n); got.Format("2006-01-02 15:04") != c.want || got.Location() != oslo {
			t.Errorf("%s and %d months is %v, want %s", c.from, c.n, got, c.want)
		}
	}
}

// The zone of a project is that of its setting; anything that is no zone counts as UTC.
func TestProjectRecord_Zone(t *testing.T) {
	for setting, want := range map[string]string{
		`"Europe/Oslo"`: "Europe/Oslo", `"UTC"`: "UTC", ``: "UTC", `null`: "UTC", `"Mars/Olympus"`: "UTC", `"Local"`: "UTC", `7`: "UTC", `""`: "UTC",
	} {
		p := management.ProjectRecord{Settings: map[string]json.RawMessage{"timezone": json.RawMessage(setting)}}
		if got := p.Zone().String(); got != want {
			t.Errorf("%s is %s, want %s", setting, got, want)
		}
	}
	// Decision 6: property_matching_version is a setting of the project.
	p := management.ProjectRecord{Settings: map[string]json.RawMessage{"timezone": []byte(`"Asia/Tokyo"`), "property_matching_version": []byte(`2`)}}
	if s := p.FilterSettings(); s.PropertyMatchingVersion != 2 || s.Zone.String() != "Asia/Tokyo" {
		t.Errorf("%+v", s)
	}
	if s := (&management.ProjectRecord{}).FilterSettings(); s.PropertyMatchingVersion != 0 || s.Zone != time.UTC {
		t.Errorf("without settings: %+v", s)
	}
}

// Decision 26: ids from before the change are still valid.
func TestResolveNumber(t *testing.T) {
	const former, unknown = "0191f0a2-5b1c-7d3e-8f40-0000000000f1", "0191f0a2-5b1c-7d3e-8f40-0000000000f2"
	err := memstore.New(memstore.ExternalData{}).Write(t.Context(), func(tx rooms.Tx) error {
		if err := tx.Put(&management.Record{Kind: "former_insight", Parent: "project:1", ID: former, Sort: "17"}); err != nil {
			return err
		}
		for _, c := range []struct{ kind, parent, ref, want string }{
			{"insight", "project:1", "17", "17"},
			{"insight", "project:1", "99", "99"}, // whether it exists is not checked
			{"insight", "project:1", former, "17"},
			{"insight", "project:1", strings.ToUpper(strings.ReplaceAll(former, "-", "")), "17"},
			{"insight", "project:2", former, ""},
			{"dashboard", "project:1", former, ""},
			{"insight", "project:1", unknown, ""},
			{"insight", "project:1", "0", ""},
			{"insight", "project:1", "-1", ""},
			{"insight", "project:1", "017", ""},
			{"insight", "project:1", "+17", ""},
			{"insight", "project:1", "17.0", ""},
			{"insight", "project:1", "9223372036854775808", ""},
			{"insight", "project:1", "", ""},
			{"insight", "project:1", "abc", ""},
		} {
			if got, err := management.ResolveNumber(tx, c.kind, c.parent, c.ref); got != c.want || err != nil {
				t.Errorf("%s %s of %s is %q, %v, want %q", c.kind, c.ref, c.parent, got, err, c.want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// SortBy sorts by a field of the table, in reverse with a minus, and leaves the order otherwise.
func TestSortBy(t *testing.T) {
	type item struct {
		Name string
		N    int
	}
	fields := map[string]func(a, b item) int{
		"name": func(a, b item) int { return cmp.Compare(a.Name, b.Name) }, "n": func(a, b item) int { return cmp.Compare(a.N, b.N) },
	}
	for by, want := range map[string]string{"name": "a1 b2 b3 c1", "-name": "c1 b3 b2 a1", "n": "c1 a1 b2 b3", "-n": "b3 b2 a1 c1", "": "b2 c1 a1 b3", "size": "b2 c1 a1 b3", "-": "b2 c1 a1 b3", "--name": "b2 c1 a1 b3", "Name": "b2 c1 a1 b3"} {
		list := []item{{"b", 2}, {"c", 1}, {"a", 1}, {"b", 3}}
		management.SortBy(list, fields, by)
		var got []string
		for _, x := range list {
			got = append(got, x.Name+string(rune('0'+x.N)))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("by %q: %s, want %s", by, text, want)
		}
	}
}

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
		want             management.FlagApprovals
	}{
		{`{}`, "", "", management.FlagApprovals{Tags: []string{}, SwitchOffFree: true}},
		{`{"needed":5}`, "", "", management.FlagApprovals{Needed: 5, Tags: []string{}, SwitchOffFree: true}},
		{`{"needed":1,"tags":[" Prod ","prod","b"],"switch_off_free":false}`, "", "", management.FlagApprovals{Needed: 1, Tags: []string{"prod", "b"}}},
		{`{"needed":6}`, "max_value", what + "__needed", management.FlagApprovals{}},
		{`{"needed":-1}`, "min_value", what + "__needed", management.FlagApprovals{}},
		{`{"needed":null}`, "null", what + "__needed", management.FlagApprovals{}},
		{`{"tags":"prod"}`, "not_a_list", what + "__tags", management.FlagApprovals{}},
		{`{"tags":["a",7,""]}`, "blank", what + "__tags__2", management.FlagApprovals{}},
		{`{"tags":["` + strings.Repeat("x", 256) + `"]}`, "max_length", what + "__tags__0", management.FlagApprovals{}},
		{tags(101), "max_length", what + "__tags", management.FlagApprovals{}},
		{`{"switch_off_free":"perhaps"}`, "invalid_input", what + "__switch_off_free", management.FlagApprovals{}},
		{`{"need":1}`, "invalid_input", what, management.FlagApprovals{}},
		{`[]`, "not_a_dict", what, management.FlagApprovals{}},
	} {
		got, err := management.ReadFlagApprovals(json.RawMessage(c.raw))
		var apiErr *management.Error
		if c.code == "" {
			if diff := gocmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", c.raw, err, diff)
			}
		} else if !errors.As(err, &apiErr) || apiErr.Code != c.code || apiErr.Field != c.field {
			t.Errorf("%.100s: %+v, want %s at %s", c.raw, err, c.code, c.field)
		}
	}
	if got, err := management.ReadFlagApprovals(json.RawMessage(tags(100))); err != nil || len(got.Tags) != 100 {
		t.Errorf("100 tags: %v", err)
	}
}

// PrefixField puts the name of a field before the places of faults, and only of faults.
func TestPrefixField(t *testing.T) {
	fault := management.Fault("b", "Wrong.")
	for _, c := range []struct{ err, want error }{
		{fault, management.Fault("a__b", "Wrong.")},
		{management.Fault("", "Wrong."), management.Fault("a", "Wrong.")},
		{management.Denied("No."), management.Denied("No.")},
		{management.ErrNotFound(), management.ErrNotFound()},
		{management.Clash("Changed."), management.Clash("Changed.")},
	} {
		if diff := gocmp.Diff(c.want, management.PrefixField("a", c.err)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.err, diff)
		}
	}
	if fault.Field != "b" {
		t.Error("the error itself was changed")
	}
	if err := management.PrefixField("a", memstore.ErrDisk); !errors.Is(err, memstore.ErrDisk) {
		t.Errorf("a fault of the store: %v", err)
	}
}

// console.md §5.1: a proof of identity is valid for 10 minutes; keys need no proof.
func TestCaller_RequireProof(t *testing.T) {
	proven := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	c := management.Caller{Session: &management.Session{ProvenAt: management.NewStamp(proven)}}
	for after, want := range map[time.Duration]bool{0: true, 10*time.Minute - time.Microsecond: true, 10 * time.Minute: false, time.Hour: false} {
		if err := c.RequireProof(proven.Add(after)); (err == nil) != want {
			t.Errorf("after %v: %v", after, err)
		}
	}
	if err := (&management.Caller{}).RequireProof(proven); err != nil {
		t.Errorf("a key: %v", err)
	}
}

// §1.8: who may administer a project. The default, which all members have, does not count.
func TestScope_CanAdminister(t *testing.T) {
	const user, organization = "u", "o"
	for _, c := range []struct {
		what  string
		level management.Level
		meta  management.ProjectMeta
		want  bool
	}{
		{"a member", management.Member, management.ProjectMeta{}, false},
		{"the default admin", management.Member, management.ProjectMeta{Default: management.AdminAccess}, false},
		{"a rule of the member", management.Member, management.ProjectMeta{Members: map[string]management.AccessLevel{user: management.AdminAccess}}, true},
		{"a lower rule of the member", management.Member, management.ProjectMeta{Default: management.AdminAccess, Members: map[string]management.AccessLevel{user: management.MemberAccess}}, false},
		{"a rule of another member", management.Member, management.ProjectMeta{Members: map[string]management.AccessLevel{"x": management.AdminAccess}}, false},
		{"an administrator", management.Admin, management.ProjectMeta{Members: map[string]management.AccessLevel{user: management.NoAccess}}, true},
		{"nobody", 0, management.ProjectMeta{Members: map[string]management.AccessLevel{user: management.AdminAccess}}, false},
	} {
		caller := &management.Caller{User: &management.User{UUID: user}, Memberships: []management.Membership{{Organization: organization, Level: c.level}}}
		scope := management.Scope{Caller: caller, Level: c.level, Project: &management.ProjectRecord{Organization: organization, Meta: management.Encode(c.meta)}}
		if got := scope.CanAdminister(); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
		scope.Project = nil
		if got := scope.CanAdminister(); got != (c.level >= management.Admin) {
			t.Errorf("%s outside of projects: %v", c.what, got)
		}
	}
}
