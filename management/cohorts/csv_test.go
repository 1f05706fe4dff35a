package cohorts_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/cohorts"
)

// TestReadMembers checks the rules for CSV files with members (spec/management.md §5.2).
func TestReadMembers(t *testing.T) {
	const uuid = "0191f0a2-5b1c-7d3e-8f40-0000000000aa"
	distinctIDs := func(values ...string) *cohorts.MemberList { return &cohorts.MemberList{Kind: 0, Values: values} }
	personIDs := func(values ...string) *cohorts.MemberList { return &cohorts.MemberList{Kind: 1, Values: values} }
	emails := func(values ...string) *cohorts.MemberList { return &cohorts.MemberList{Kind: 2, Values: values} }
	for _, c := range []struct {
		name, file string
		want       *cohorts.MemberList
		fault      string // a part of the message
	}{
		{"one column, no header", "a\nb\n", distinctIDs("a", "b"), ""},
		{"byte order mark, carriage returns, empty lines", "\ufeffa\r\n\r\n b \r\n", distinctIDs("a", "b"), ""},
		{"person_id", "person_id\n" + uuid + "\n" + strings.ToUpper(uuid) + "\nno uuid\n", personIDs(uuid, uuid), ""},
		{"person-id", "person-id\n" + uuid, personIDs(uuid), ""},
		{"Person .id", "Person .id\n" + uuid, personIDs(uuid), ""},
		{"email", "email\na@example.com", emails("a@example.com"), ""},
		{"e-mail", "E-mail\na@example.com", emails("a@example.com"), ""},
		{"header of distinct ids", "distinct_id\na", distinctIDs("a"), ""},
		{"several columns, best first", "email,Distinct-ID,person_id\na@example.com,a," + uuid, personIDs(uuid), ""},
		{"several columns, then distinct ids", "email,Distinct-ID\na@example.com,a", distinctIDs("a"), ""},
		{"several columns, then addresses", "name,e-mail\nAnn,a@example.com\nBob\n", emails("a@example.com"), ""},
		// spec/clients.md §16: empty cells at the end of the header are not columns
		{"a comma at the end of each line", "User ID,\na,\nb,\n", distinctIDs("User ID", "a", "b"), ""},
		{"commas and blanks at the end of the header", "distinct_id, , \na,x,y\n\"b,c\"\r\n", distinctIDs("a", "b,c"), ""},
		{"two columns and a comma", "name,age,\nAnn,3,\n", nil, "Found: name, age"},
		{"nothing but commas", ",,\n,,\n", nil, "no valid ids"},
		{"no column with ids", "name,age\nAnn,3", nil, "Found: name, age"},
		{"empty", "", nil, "empty"},
		{"no valid ids", "person_id\nx\n", nil, "no valid ids"},
		{"not UTF-8", "a\n\xff\n", nil, "not UTF-8"},
		{"malformed", "a\n\"b\n", nil, "malformed"},
		{"too many rows", strings.Repeat("a\n", 100_001), nil, "more than 100000 rows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := cohorts.ReadMembers(strings.NewReader(c.file))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			var refusal *management.Error
			switch {
			case c.fault == "" && err != nil:
				t.Error(err)
			case c.fault != "" && (!errors.As(err, &refusal) || refusal.Field != "csv" || !strings.Contains(refusal.Message, c.fault)):
				t.Errorf("error %v, want one at csv with %q", err, c.fault)
			}
		})
	}
}
