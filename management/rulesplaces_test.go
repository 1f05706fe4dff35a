package management_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/storage"
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
			if got, err := records.ResolveNumber(tx, c.kind, c.parent, c.ref); got != c.want || err != nil {
				t.Errorf("%s %s of %s is %q, %v, want %q", c.kind, c.ref, c.parent, got, err, c.want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
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
		scope := management.Scope{Caller: caller, Level: c.level, Project: &management.ProjectRecord{Organization: organization, Meta: storage.Encode(c.meta)}}
		if got := scope.CanAdminister(); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
		scope.Project = nil
		if got := scope.CanAdminister(); got != (c.level >= management.Admin) {
			t.Errorf("%s outside of projects: %v", c.what, got)
		}
	}
}
