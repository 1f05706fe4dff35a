package serving_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// fakeMembers are Members in memory.
type fakeMembers struct {
	members map[int64][]string
	err     error
	reads   int
	limit   flags.MembersLimit
}

func (l *fakeMembers) StaticMembers(_ context.Context, _ int64, cohorts []int64, limit flags.MembersLimit) (map[int64][]string, error) {
	l.reads, l.limit = l.reads+1, limit
	out := map[int64][]string{}
	for _, id := range cohorts {
		if ids, ok := l.members[id]; ok {
			out[id] = ids
		}
	}
	return out, l.err
}

const staticFlags = `{"flags": [{"id": 1, "key": "a", "active": true, "filters": {"groups": [{"properties": [
	{"key": "id", "type": "cohort", "value": 7}, {"key": "id", "type": "cohort", "value": 8}]}]}}],
	"cohorts": {"7": {"is_static": true}, "8": {"is_static": true}, "9": {"is_static": true}}}`

func membersPayload(t *testing.T, d *serving.Decider) (text, version string) {
	t.Helper()
	body, version, err := d.MembersPayload(context.Background(), "phc_shop")
	if err != nil {
		t.Fatal(err)
	}
	return string(body), version
}

// Decision 5: the payload contains the members of the static cohorts that flags need, in
// addition to static_cohorts, on one line. A cohort that exceeds the limit is left out.
func TestDecider_Decision5_Members(t *testing.T) {
	s := newFakeSource(t, staticFlags)
	l := &fakeMembers{members: map[int64][]string{7: {"a", "é\n\u2028\"<"}, 9: {"not needed"}}}
	d := s.decider(t, func(c *serving.Config) { c.Members = l })
	text, version := membersPayload(t, d)
	var got struct {
		Statics []int64             `json:"static_cohorts"`
		Members map[string][]string `json:"static_cohort_members"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err, text)
	}
	if diff := cmp.Diff(map[string][]string{"7": {"a", "é\n\u2028\"<"}}, got.Members); diff != "" || !slices.Equal(got.Statics, []int64{7, 8}) {
		t.Errorf("static_cohorts %v, members (-want +got):\n%s", got.Statics, diff)
	}
	if strings.ContainsAny(text, "\r\n") {
		t.Error("more than one line")
	}
	if l.limit != (flags.MembersLimit{IDs: 100_000, Bytes: 4 << 20}) {
		t.Errorf("%+v", l.limit)
	}
	plain, plainVersion, err := d.Payload(context.Background(), "phc_shop")
	if err != nil || plainVersion == version || strings.Contains(string(plain), "static_cohort_members") {
		t.Errorf("without members: %s %s %v", plain, plainVersion, err)
	}
	if without, v := membersPayload(t, s.decider(t, nil)); without != string(plain) || v != plainVersion {
		t.Errorf("without a port: %s", without)
	}
}

// Members are read every second by one caller, and at once after a change of the definitions.
// While they cannot be read, the last valid members remain.
func TestDecider_Decision5_MembersAreRenewed(t *testing.T) {
	s := newFakeSource(t, staticFlags)
	l := &fakeMembers{err: errors.New("down")}
	d := s.decider(t, func(c *serving.Config) { c.Members = l })
	if _, _, err := d.MembersPayload(context.Background(), "phc_shop"); !errors.Is(err, flags.ErrUnavailable) {
		t.Error("nothing is known:", err)
	}
	l.err, l.reads = nil, 0
	step := func(name string, wait time.Duration, reads int, members string) string {
		t.Helper()
		s.advance(wait)
		text, version := membersPayload(t, d)
		if _, got, _ := strings.Cut(text, `"static_cohort_members":`); got != members+"}" || l.reads != reads {
			t.Errorf("%s: %s after %d reads, want %s after %d", name, got, l.reads, members, reads)
		}
		return version
	}
	first := step("first", 0, 1, `{}`)
	l.members = map[int64][]string{7: {}}
	if v := step("too soon", 999*time.Millisecond, 1, `{}`); v != first {
		t.Error("another version of the same")
	}
	second := step("a second later", time.Second, 2, `{"7":[]}`)
	if second == first {
		t.Error("one version of different members")
	}
	if v := step("nothing has changed", 2*time.Second, 3, `{"7":[]}`); v != second {
		t.Error("another version of the same")
	}
	l.err = errors.New("down")
	step("last good", 2*time.Second, 4, `{"7":[]}`)
	l.err, l.members = nil, map[int64][]string{7: {"x"}}
	s.project.Revision++
	d.Renew(s.project.ID)
	step("new definitions", 0, 5, `{"7":["x"]}`)
	if n := d.Stats().StoreErrors; n != 2 {
		t.Errorf("%d store errors", n)
	}
}

// totalUsage counts the calls of Usage.
type totalUsage struct{ calls, total atomic.Int64 }

func (u *totalUsage) Spend(_ context.Context, _ string, _ time.Time, n int64) (int64, error) {
	u.calls.Add(1)
	return u.total.Add(n), nil
}

// Reserved downloads need one call of Usage, and are only counted when they are used.
func TestDecider_10_1_ReservedDownloads(t *testing.T) {
	s := newFakeSource(t, oneFlag)
	s.limit(20_005)
	u := &totalUsage{}
	d := s.decider(t, func(c *serving.Config) { c.Usage = u })
	p, _, err := d.Project(context.Background(), "phc_shop")
	if err != nil {
		t.Fatal(err)
	}
	d.ReservePayloads(context.Background(), &p, 1_500)
	for i := range 1_500 {
		if !d.CountPayload(context.Background(), &p) {
			t.Fatal(i)
		}
	}
	if calls, total := u.calls.Load(), u.total.Load(); calls != 1 || total != 15_000 {
		t.Errorf("%d calls, %d counted", calls, total)
	}
	d.ReservePayloads(context.Background(), &p, 1_500) // only 500 remain
	n := 0
	for d.CountPayload(context.Background(), &p) {
		n++
	}
	if n != 500 || u.total.Load() != 20_005 {
		t.Errorf("%d more downloads, %d counted", n, u.total.Load())
	}
	if got := countAnswered(t, d, 10); got != 5 {
		t.Errorf("%d requests fit beside", got)
	}
}

// slowSource delays reads of definitions.
type slowSource struct {
	serving.Source
	reading, goOn chan struct{}
}

func (s *slowSource) Definitions(ctx context.Context, p flags.Project) (flags.Definitions, error) {
	d, err := s.Source.Definitions(ctx, p)
	s.reading <- struct{}{}
	<-s.goOn
	return d, err
}

// A change that occurs while the old definitions are being read is not missed for a second.
func TestDecider_ChangedWhileRead(t *testing.T) {
	s := newFakeSource(t, oneFlag)
	slow := &slowSource{s, make(chan struct{}), make(chan struct{})}
	d := s.decider(t, func(c *serving.Config) { c.Source = slow })
	read := func(change func()) string {
		text := make(chan string)
		go func() {
			body, _, err := d.Payload(context.Background(), "phc_shop")
			text <- string(body)
			if err != nil {
				t.Error(err)
			}
		}()
		<-slow.reading
		change()
		slow.goOn <- struct{}{}
		return <-text
	}
	read(func() {}) // the first read
	s.project.Revision++
	d.Renew(s.project.ID)
	if got := read(func() {
		s.project.Revision++
		s.definitions = parse(t, otherFlag)
		d.Renew(s.project.ID)
	}); strings.Contains(got, `"two"`) {
		t.Error("the change came too early:", got)
	}
	if got := read(func() {}); !strings.Contains(got, `"two"`) {
		t.Error("the change is missed:", got)
	}
}

// Members that take long to read are read less often, so that reading takes at most a tenth
// of the time: after half a second of reading they are valid for five seconds.
func TestDecider_Decision5_LongLists(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	l := &fakeMembers{members: map[int64][]string{7: {"a"}, 8: {}}}
	d := newFakeSource(t, staticFlags).decider(t, func(c *serving.Config) {
		c.Members, c.Now = slowLists{l, func() { now = now.Add(500 * time.Millisecond) }}, func() time.Time { return now }
	})
	for _, step := range []struct {
		after time.Duration
		reads int
	}{{0, 1}, {4 * time.Second, 1}, {2 * time.Second, 2}} {
		now = now.Add(step.after)
		if membersPayload(t, d); l.reads != step.reads {
			t.Errorf("%s later: read %d times, want %d", step.after, l.reads, step.reads)
		}
	}
}

// slowLists advance the test's clock on each read.
type slowLists struct {
	*fakeMembers
	take func()
}

func (s slowLists) StaticMembers(ctx context.Context, projectID int64, cohorts []int64, limit flags.MembersLimit) (map[int64][]string, error) {
	s.take()
	return s.fakeMembers.StaticMembers(ctx, projectID, cohorts, limit)
}
