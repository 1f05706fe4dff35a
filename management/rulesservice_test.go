package management_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/rooms"
)

// §2.4: times are ISO 8601 in UTC with Z, and have microseconds unless they are zero.
func TestStamp(t *testing.T) {
	oslo := time.FixedZone("", 3600)
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{time.Date(2025, 6, 1, 10, 0, 0, 0, time.UTC), `"2025-06-01T10:00:00Z"`},
		{time.Date(2025, 6, 1, 10, 0, 0, 123456000, time.UTC), `"2025-06-01T10:00:00.123456Z"`},
		{time.Date(2025, 6, 1, 10, 0, 0, 100000000, time.UTC), `"2025-06-01T10:00:00.100000Z"`},
		{time.Date(2025, 6, 1, 10, 0, 0, 1000, time.UTC), `"2025-06-01T10:00:00.000001Z"`},
		{time.Date(2025, 6, 1, 10, 0, 0, 999, time.UTC), `"2025-06-01T10:00:00Z"`},
		{time.Date(2025, 6, 1, 10, 0, 0, 0, oslo), `"2025-06-01T09:00:00Z"`},
		{time.Date(2025, 1, 1, 0, 30, 0, 0, oslo), `"2024-12-31T23:30:00Z"`},
		{time.Time{}, `null`},
	} {
		s := management.NewStamp(c.at)
		text := string(storage.Encode(s))
		if text != c.want {
			t.Errorf("%v is %s, want %s", c.at, text, c.want)
		}
		var back management.Stamp
		if err := json.Unmarshal([]byte(text), &back); err != nil || !back.Equal(s.Time) {
			t.Errorf("%s is read as %v, %v, want %v", text, back, err, s)
		}
	}
	if err := json.Unmarshal([]byte(`"soon"`), &management.Stamp{}); err == nil {
		t.Error("soon is read as a time")
	}
}

// §5.11: each changed field is listed by name, and an empty value counts as absent.
func TestChanges(t *testing.T) {
	type object = map[string]any
	for _, c := range []struct {
		what          string
		before, after any
		want          string
	}{
		{"changed", object{"a": 1, "b": 2}, object{"a": 1, "b": 3}, `[{"type":"X","action":"changed","field":"b","before":2,"after":3}]`},
		{"created", object{}, object{"a": "x"}, `[{"type":"X","action":"created","field":"a","before":null,"after":"x"}]`},
		{"created out of null", object{"a": nil}, object{"a": "x"}, `[{"type":"X","action":"created","field":"a","before":null,"after":"x"}]`},
		{"deleted", object{"a": "x"}, object{}, `[{"type":"X","action":"deleted","field":"a","before":"x","after":null}]`},
		{"deleted into nothing", object{"a": []int{1}}, object{"a": []int{}}, `[{"type":"X","action":"deleted","field":"a","before":[1],"after":null}]`},
		{"all empty alike", object{"a": nil, "b": "", "c": []int{}, "d": object{}}, object{"a": "", "b": nil, "c": object{}, "e": nil}, `[]`},
		{"false and 0 are values", object{"a": false, "b": 0}, object{"a": nil, "b": nil}, `[{"type":"X","action":"deleted","field":"a","before":false,"after":null},{"type":"X","action":"deleted","field":"b","before":0,"after":null}]`},
		{"by name", object{"b": 1, "a": 1, "c": 1}, object{"c": 2, "a": 2, "b": 2},
			`[{"type":"X","action":"changed","field":"a","before":1,"after":2},{"type":"X","action":"changed","field":"b","before":1,"after":2},{"type":"X","action":"changed","field":"c","before":1,"after":2}]`},
		{"inside", object{"a": object{"b": 1}}, object{"a": object{"b": 2}}, `[{"type":"X","action":"changed","field":"a","before":{"b":1},"after":{"b":2}}]`},
		{"what changes with every change", object{"version": 1, "updated_at": "a", "id": 1}, object{"version": 2, "updated_at": "b", "id": 2}, `[]`},
		{"a new one", nil, object{"a": 1}, `[{"type":"X","action":"created","field":"a","before":null,"after":1}]`},
		{"one that is gone", object{"a": 1}, nil, `[{"type":"X","action":"deleted","field":"a","before":1,"after":null}]`},
		{"the same", object{"a": []int{1, 2}}, object{"a": []int{1, 2}}, `[]`},
		{"another order is another list", object{"a": []int{1, 2}}, object{"a": []int{2, 1}}, `[{"type":"X","action":"changed","field":"a","before":[1,2],"after":[2,1]}]`},
	} {
		list, err := management.Changes("X", c.before, c.after)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, string(storage.Encode(list))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
	if _, err := management.Changes("X", []int{1}, nil); err == nil {
		t.Error("an array has no fields")
	}
}

// logCalls returns calls that log changes and read the log.
func logCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx := t.Context()
	logChange := func(caller func(callScope) *management.Caller, parent func(callScope) string) func(callScope, string, string) (any, error) {
		return func(scope callScope, path, body string) (any, error) { // path: the scope, the item and its name; body: before and after
			var change struct{ Before, After map[string]any }
			ruletest.Read(t, body, &change)
			parts := strings.Fields(path)
			var before, after any
			if change.Before != nil {
				before = change.Before
			}
			if change.After != nil {
				after = change.After
			}
			return nil, w.Store.Write(ctx, func(tx rooms.Tx) error {
				return w.Env.LogActivity(tx, caller(scope), parent(scope), parts[0], parts[1], parts[2], before, after)
			})
		}
	}
	self := func(scope callScope) *management.Caller { return scope.Caller }
	project := func(scope callScope) string { return management.ProjectParent(scope.Project.ID) }
	read := func(scope callScope, body string) (any, error) {
		q := management.ActivityQuery{Limit: 10, Page: 1}
		ruletest.Read(t, body, &q)
		page, err := w.ActivityLog(ctx, scope, q)
		if err != nil {
			return nil, err
		}
		items := []string{}
		for _, a := range page.Results {
			items = append(items, fmt.Sprint(a.Activity, " ", a.Scope, " ", a.ItemID, " by ", a.User.FirstName))
		}
		return map[string]any{"total": page.Total, "results": items}, nil
	}
	return ruletest.Calls{
		"note":    logChange(self, project),
		"server":  logChange(func(callScope) *management.Caller { return nil }, project),
		"house":   logChange(self, func(scope callScope) string { return scope.Organization.ID }),
		"changes": func(scope callScope, _, body string) (any, error) { return read(scope, body) },
		"ours": func(scope callScope, _, body string) (any, error) { // the log of the organization
			scope.Project = nil
			return read(scope, body)
		},
	}
}

func TestActivityLog(t *testing.T) {
	runTables(t, logCalls, map[string][]ruletest.Row{"the log": activityRows})
}

var activityRows = rows(
	[]ruletest.Row{
		{"§5.11", "bob", "note Flag 1 one", `{"after":{"a":1}}`, `null`},
		{"§5.11 one line", "bob", "log Flag 1", ``, `{"id":"(like) ^[0-9a-f-]{36}$","activity":"created","scope":"Flag","item_id":"1","user":{"first_name":"bob","email":"bob@example.com","is_system":"(absent)"},
			"detail":{"name":"one","changes":[{"type":"Flag","action":"created","field":"a","before":null,"after":1}],"trigger":null,"short_id":null,"type":null},"created_at":"2026-01-02T12:00:01Z"}`},
		{"§5.11", "cyd", "note Flag 1 one", `{"before":{"a":1},"after":{"a":2}}`, `null`},
		{"§5.11 nothing was changed", "cyd", "note Flag 1 one", `{"before":{"a":2},"after":{"a":2}}`, `null`},
		{"§5.11", "bob", "note Flag 2 two", `{"after":{"a":1}}`, `null`},
		{"§5.11", "ann", "note Board 1 board", `{"after":{}}`, `null`},
		{"§5.11 the server itself", "bob", "server Board 1 board", `{"before":{"a":1}}`, `null`},
		{"§5.11 the system actor", "bob", "log Board 1", ``, `{"activity":"deleted","user":{"first_name":"System","email":null,"is_system":true}}`},
		{"§5.11", "ann", "house Organization x ours", `{"after":{"a":1}}`, `null`},
		{"§5.11", "dan", "note Flag 1 theirs", `{"after":{"a":1}}`, `null`},
	},
	each("§5.11 newest first; clients.md §2.2 scope, item and user", "bob", "changes",
		[2]string{``, `{"total":5,"results":["deleted Board 1 by System","created Board 1 by ann","created Flag 2 by bob","updated Flag 1 by cyd","created Flag 1 by bob"]}`},
		[2]string{`{"Limit":2}`, `{"total":5,"results":["deleted Board 1 by System","created Board 1 by ann"]}`},
		[2]string{`{"Limit":2,"Page":3}`, `{"total":5,"results":["created Flag 1 by bob"]}`},
		[2]string{`{"Limit":2,"Page":4}`, `{"total":5,"results":[]}`},
		[2]string{`{"Scopes":["Flag"]}`, `{"total":3,"results":["created Flag 2 by bob","updated Flag 1 by cyd","created Flag 1 by bob"]}`},
		[2]string{`{"Scopes":["Flag","Board"]}`, `{"total":5}`},
		[2]string{`{"Scopes":["Other"]}`, `{"total":0,"results":[]}`},
		[2]string{`{"Scopes":["Flag"],"Item":"1"}`, `{"total":2,"results":["updated Flag 1 by cyd","created Flag 1 by bob"]}`},
		[2]string{`{"Item":"1"}`, `{"total":4}`},
		[2]string{`{"Scopes":["Flag","Board"],"Item":"2"}`, `{"total":1,"results":["created Flag 2 by bob"]}`},
		[2]string{`{"User":"2"}`, `{"total":2,"results":["created Flag 2 by bob","created Flag 1 by bob"]}`},
		[2]string{`{"User":"` + ruletest.UUID("cyd") + `"}`, `{"total":1,"results":["updated Flag 1 by cyd"]}`},
		[2]string{`{"User":"2","Scopes":["Flag"],"Item":"2"}`, `{"total":1,"results":["created Flag 2 by bob"]}`},
		[2]string{`{"User":"99"}`, `{"total":0,"results":[]}`},
		[2]string{`{"User":"nobody"}`, `{"total":0,"results":[]}`},
		[2]string{`{"User":"0191f0a2-5b1c-7d3e-8f40-0000000000ff"}`, `{"total":0,"results":[]}`},
	),
	[]ruletest.Row{
		{"§5.11 of the organization", "bob", "ours", ``, `{"total":1,"results":["created Organization x by ann"]}`},
		{"§5.11 a project's own", "dan", "changes", ``, `{"total":1,"results":["created Flag 1 by dan"]}`},
		{"§5.11 an organization's own", "dan", "ours", ``, `{"total":0,"results":[]}`},
	},
)

// Lines from before users were stored by number name their author by e-mail address.
func TestActivityLog_OldLines(t *testing.T) {
	w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		line := []byte(`{"id": "old", "scope": "Flag", "item_id": "1", "user": {"first_name": "bob", "email": "bob@example.com"}}`)
		return tx.Put(&management.Record{Kind: storage.KindActivity, Parent: management.ProjectParent(ruletest.Project), ID: "old", Sort: storage.SortNumber(0), Data: line})
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Run(t, logCalls(t, w), []ruletest.Row{
		{"§5.11 user", "bob", "changes", `{"User":"2"}`, `{"total":1}`},
		{"§5.11 user", "bob", "changes", `{"User":"3"}`, `{"total":0}`},
	})
}

// Values distinguish absent fields, null and values.
func TestValues(t *testing.T) {
	at := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	v := management.Values{
		"text": "x", "int": int64(7), "bool": true, "time": at, "raw": json.RawMessage(`{}`), "texts": []string{"a"}, "ints": []int64{1}, "objects": []json.RawMessage{[]byte(`{}`)}, "null": nil,
	}
	for _, c := range []struct {
		name      string
		has, null bool
	}{{"text", true, false}, {"null", true, true}, {"nothing", false, false}} {
		if v.Has(c.name) != c.has || v.IsNull(c.name) != c.null {
			t.Errorf("%s: there %v, null %v, want %v, %v", c.name, v.Has(c.name), v.IsNull(c.name), c.has, c.null)
		}
	}
	values := []any{v.Text("text"), v.Int("int"), v.Bool("bool"), v.Time("time"), v.Raw("raw"), v.Texts("texts"), v.Ints("ints"), v.Objects("objects")}
	if diff := cmp.Diff([]any{"x", int64(7), true, at, json.RawMessage(`{}`), []string{"a"}, []int64{1}, []json.RawMessage{[]byte(`{}`)}}, values); diff != "" {
		t.Errorf("what is there (-want +got):\n%s", diff)
	}
	for _, name := range []string{"null", "nothing", "objects"} { // a value of another type counts as absent
		zero := []any{v.Text(name), v.Int(name), v.Bool(name), v.Time(name), v.Raw(name), v.Texts(name), v.Ints(name)}
		if diff := cmp.Diff([]any{"", int64(0), false, time.Time{}, json.RawMessage(nil), []string(nil), []int64(nil)}, zero); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The kinds of errors have the messages of §2.2.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		err     *management.Error
		kind    management.Kind
		code    string
		field   string
		message string
		text    string
	}{
		{management.Fault("name", "Wrong: %d.", 7), management.Invalid, "invalid_input", "name", "Wrong: 7.", "name: Wrong: 7."},
		{management.Fault("", "Wrong."), management.Invalid, "invalid_input", "", "Wrong.", "Wrong."},
		{management.CodedFault("unique", "key", "Taken."), management.Invalid, "unique", "key", "Taken.", "key: Taken."},
		{management.Denied("No %s.", "way"), management.Forbidden, "permission_denied", "", "No way.", "No way."},
		{management.Missing("Project not found."), management.NotFound, "not_found", "", "Project not found.", "Project not found."},
		{management.ErrNotFound(), management.NotFound, "not_found", "", "Not found.", "Not found."},
		{management.Clash("Changed."), management.Conflict, "conflict", "", "Changed.", "Changed."},
		{management.NotAChoice("x", "c", []string{"a", "b"}), management.Invalid, "invalid_choice", "x", `"c" is not a valid choice. Valid choices: a, b.`, `x: "c" is not a valid choice. Valid choices: a, b.`},
	} {
		want := management.Error{Kind: c.kind, Code: c.code, Field: c.field, Message: c.message}
		if diff := cmp.Diff(want, *c.err); diff != "" || c.err.Error() != c.text {
			t.Errorf("%q (-want +got):\n%s", c.err.Error(), diff)
		}
	}
	var apiErr *management.Error
	if err := management.ErrNoObject("ids", 99); !errors.As(err, &apiErr) || apiErr.Code != "does_not_exist" || apiErr.Field != "ids" || apiErr.Message != `Invalid pk "99" - object does not exist.` {
		t.Errorf("no object: %v", err)
	}
	if got := plain.ShortText(strings.Repeat("ä", 150)); got != strings.Repeat("ä", 100)+"…" {
		t.Errorf("a text of 300 bytes is shown as %q", got)
	}
}

// Users are found by uuid, number and e-mail address in any case; the result is nil for unknown
// users.
func TestUsers(t *testing.T) {
	w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
	bob := ruletest.UUID("bob")
	find := map[string]func(tx rooms.Tx) (*management.User, error){
		"by uuid":              func(tx rooms.Tx) (*management.User, error) { return management.UserByUUID(tx, bob) },
		"by number":            func(tx rooms.Tx) (*management.User, error) { return management.UserByNumber(tx, 2) },
		"by address":           func(tx rooms.Tx) (*management.User, error) { return management.UserByEmail(tx, "BOB@Example.com") },
		"nobody: uuid":         func(tx rooms.Tx) (*management.User, error) { return management.UserByUUID(tx, "x") },
		"nobody: number":       func(tx rooms.Tx) (*management.User, error) { return management.UserByNumber(tx, 99) },
		"nobody: no number":    func(tx rooms.Tx) (*management.User, error) { return management.UserByNumber(tx, 0) },
		"nobody: below 0":      func(tx rooms.Tx) (*management.User, error) { return management.UserByNumber(tx, -2) },
		"nobody: address":      func(tx rooms.Tx) (*management.User, error) { return management.UserByEmail(tx, "bob@example.org") },
		"nobody: part of one":  func(tx rooms.Tx) (*management.User, error) { return management.UserByEmail(tx, "bob") },
		"nobody: no address":   func(tx rooms.Tx) (*management.User, error) { return management.UserByEmail(tx, "") },
		"nobody: empty number": func(tx rooms.Tx) (*management.User, error) { return management.UserByUUID(tx, "") },
	}
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		for what, lookup := range find {
			u, err := lookup(tx)
			if err != nil {
				return err
			}
			if noUser := strings.HasPrefix(what, "nobody"); (u == nil) != noUser || u != nil && u.FirstName != "bob" {
				t.Errorf("%s: %+v", what, u)
			}
		}
		if err := records.PutUser(tx, &management.User{ID: 50, UUID: "u", Email: "BOB@example.com"}); !errors.Is(err, management.ErrDuplicate) {
			t.Errorf("an address that is taken: %v", err)
		}
		m, err := management.MembershipOf(tx, ruletest.Organization, bob)
		if err != nil || m.Level != management.Member {
			t.Errorf("the membership: %+v, %v", m, err)
		}
		missing, err := management.MembershipOf(tx, ruletest.TheirOrganization, bob)
		if err != nil || missing != nil {
			t.Errorf("no membership: %+v, %v", missing, err)
		}
		// Memberships are sorted by time, regardless of the organization.
		older := management.Membership{Organization: ruletest.TheirOrganization, User: bob, Level: management.Admin, Joined: management.NewStamp(ruletest.Start.Add(-time.Hour))}
		if err := records.PutMembership(tx, &older); err != nil {
			return err
		}
		list, err := management.MembershipsOf(tx, bob)
		if err != nil || len(list) != 2 || list[0].Level != management.Admin || list[1].Level != management.Member {
			t.Errorf("the memberships: %+v, %v", list, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// interface.md §2.3: there are nine fields, and those without a value are null.
func TestUser_View(t *testing.T) {
	yes, role := true, "founder"
	for _, c := range []struct {
		user *management.User
		want string
	}{
		{nil, `null`},
		{&management.User{ID: 7, UUID: "u", DistinctID: "d", FirstName: "A", LastName: "B", Email: "a@example.com"},
			`{"id":7,"uuid":"u","distinct_id":"d","first_name":"A","last_name":"B","email":"a@example.com","is_email_verified":null,"hedgehog_config":null,"role_at_organization":null}`},
		{&management.User{EmailVerified: &yes, Role: &role, Settings: map[string]json.RawMessage{"hedgehog_config": []byte(`{"color":"red"}`)}},
			`{"id":0,"uuid":"","distinct_id":"","first_name":"","last_name":"","email":"","is_email_verified":true,"hedgehog_config":{"color":"red"},"role_at_organization":"founder"}`},
	} {
		if diff := cmp.Diff(c.want, string(storage.Encode(c.user.View()))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	no := false
	for verified, want := range map[*bool]bool{nil: false, &no: false, &yes: true} {
		if got := (&management.User{EmailVerified: verified}).IsVerified(); got != want {
			t.Errorf("verified %v: %v", verified, got)
		}
	}
}

// The order of the strings is that of the numbers and times.
func TestSort(t *testing.T) {
	numbers := []int64{0, 1, 9, 10, 11, 99, 100, 1 << 40, 1<<63 - 1}
	for i := 1; i < len(numbers); i++ {
		if a, b := storage.SortNumber(numbers[i-1]), storage.SortNumber(numbers[i]); a >= b {
			t.Errorf("%d comes as %s, %d as %s", numbers[i-1], a, numbers[i], b)
		}
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	for _, later := range []time.Duration{time.Microsecond, time.Second, 100 * 365 * 24 * time.Hour} {
		if a, b := storage.SortTime(now), storage.SortTime(now.Add(later)); a >= b {
			t.Errorf("%v later comes as %s after %s", later, b, a)
		}
	}
}

// §1.1: the random parts of keys all have the same length.
func TestRandomText(t *testing.T) {
	seen := map[string]bool{}
	for n, want := range map[int][2]int{35: {47, 48}, 32: {43, 43}, 16: {22, 22}} {
		for range 100 {
			text := management.RandomText(n)
			if len(text) < want[0] || len(text) > want[1] || strings.Trim(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || seen[text] {
				t.Fatalf("%d bytes are %q, of %d characters", n, text, len(text))
			}
			seen[text] = true
		}
	}
}

// JSON values have the kinds that errors name, and members of objects are found.
func TestJSON(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`: "dict", ` [1]`: "list", `"x"`: "str", "\n true": "bool", `false`: "bool", `null`: "NoneType", ``: "NoneType", ` `: "NoneType",
		`7`: "int", `-7`: "int", `7.0`: "float", `7e1`: "float", `7E1`: "float",
	} {
		if got := management.JSONKind([]byte(raw)); got != want {
			t.Errorf("%q is %s, want %s", raw, got, want)
		}
	}
	for raw, want := range map[string]bool{``: true, `null`: true, `""`: true, `[]`: true, `{}`: true, `0`: false, `false`: false, `[0]`: false, `" "`: false, `{"a":null}`: false} {
		if got := management.EmptyJSON([]byte(raw)); got != want {
			t.Errorf("%q is empty: %v, want %v", raw, got, want)
		}
	}
	for raw, want := range map[string]string{`"x"`: "x", `7`: "", `null`: "", `{`: "", `["x"]`: ""} {
		if got := management.JSONText([]byte(raw)); got != want {
			t.Errorf("the text of %s is %q, want %q", raw, got, want)
		}
	}
	for raw, want := range map[string]int{`{"a":1,"b":2}`: 2, `{}`: 0, `[1]`: 0, `null`: 0, `{"a"`: 0, `"x"`: 0} {
		if got := management.JSONObject([]byte(raw)); len(got) != want {
			t.Errorf("%s has %d members, want %d", raw, len(got), want)
		}
	}
}

// A record with other data is a fault of the store whose message names the record.
func TestDecode(t *testing.T) {
	if got, err := management.Decode[management.User](nil); got != nil || err != nil {
		t.Errorf("of nothing: %v, %v", got, err)
	}
	_, err := management.Decode[management.User](&management.Record{Kind: "user", ID: "7", Data: []byte(`{"id":"seven"}`)})
	if err == nil || !strings.HasPrefix(err.Error(), "the stored user 7 is invalid: ") {
		t.Errorf("of another form: %v", err)
	}
	for what, err := range map[string]error{
		"the stored organization o is invalid": metaOf(management.MetaOfOrganization(&management.OrganizationRecord{ID: "o", Meta: []byte(`[]`)})),
		"the stored project 7 is invalid":      metaOf(management.MetaOfProject(&management.ProjectRecord{ID: 7, Meta: []byte(`[]`)})),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), what) {
			t.Errorf("%v, want %s", err, what)
		}
	}
	if m, err := management.MetaOfOrganization(nil); err != nil || m.NoMemberKeys {
		t.Errorf("the settings of no organization: %+v, %v", m, err)
	}
}

func metaOf[T any](_ T, err error) error { return err }

// A follower continues at its stored position.
func TestFollowerPosition(t *testing.T) {
	store := memstore.New(memstore.ExternalData{})
	err := store.Write(context.Background(), func(tx rooms.Tx) error {
		for _, step := range []struct {
			follower    string
			before, put int64
		}{{"a", 0, 7}, {"a", 7, 9}, {"b", 0, 3}, {"a", 9, 9}} {
			position, err := records.FollowerPosition(tx, step.follower)
			if err != nil || position != step.before {
				t.Errorf("%s is at %d, %v, want %d", step.follower, position, err, step.before)
			}
			if err := records.PutFollowerPosition(tx, step.follower, step.put); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// lists.EveryRecord returns the records that match, and ListRecords a page.
func TestRecords(t *testing.T) {
	type testObject struct{ N int }
	store := memstore.New(memstore.ExternalData{})
	err := store.Write(t.Context(), func(tx rooms.Tx) error {
		for n := range 5 {
			if err := tx.Put(&management.Record{Kind: "thing", ID: fmt.Sprint(n), Sort: storage.SortNumber(int64(n)), Hidden: n == 4, Data: storage.Encode(testObject{n})}); err != nil {
				return err
			}
		}
		even, err := lists.EveryRecord(tx, management.Query{Kind: "thing", Offset: 1, Limit: 1}, func(x *testObject) bool { return x.N%2 == 0 })
		if diff := cmp.Diff([]testObject{{0}, {2}}, even); diff != "" || err != nil {
			t.Errorf("the even ones, %v (-want +got):\n%s", err, diff)
		}
		page, err := management.ListRecords[testObject](tx, management.Query{Kind: "thing", Descending: true, Offset: 1, Limit: 2})
		if diff := cmp.Diff(management.List[testObject]{Count: 4, Results: []testObject{{2}, {1}}}, page); diff != "" || err != nil {
			t.Errorf("a page, %v (-want +got):\n%s", err, diff)
		}
		if err := tx.Put(&management.Record{Kind: "thing", ID: "bad", Data: []byte(`{"N":"x"}`)}); err != nil {
			return err
		}
		if _, err := management.ListRecords[testObject](tx, management.Query{Kind: "thing"}); err == nil {
			t.Error("what cannot be read is left out silently")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// An Env without Clock and IDs uses time.Now and random UUIDs.
func TestEnv(t *testing.T) {
	var d management.Env[management.Tx]
	if now := d.Now(); time.Since(now) > time.Minute || now.Location() != time.UTC || now.Nanosecond()%1000 != 0 {
		t.Errorf("it is %v", now)
	}
	a, okA := management.NormalizeUUID(d.NewID())
	b, okB := management.NormalizeUUID(d.NewID())
	if !okA || !okB || a == b {
		t.Errorf("ids: %s and %s", a, b)
	}
	var reported []management.JobDone
	done := management.JobDone{Job: management.JobMail, ID: "1"}
	report := func(d management.JobDone) { reported = append(reported, d) }
	done.ReportTo(report)
	done.ReportTo(nil)
	(*management.JobDone)(nil).ReportTo(report)
	if diff := cmp.Diff([]management.JobDone{done}, reported); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
