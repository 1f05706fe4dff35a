package serving_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// Renew makes a change visible to the next request, within the second for which a project is
// otherwise served without a check.
func TestDecider_Renew(t *testing.T) {
	now := time.Unix(1767225600, 0)
	source := &changingSource{project: flags.Project{ID: 7, APIKey: "phc_x", Revision: 1}}
	d, err := serving.NewDecider(serving.Config{Source: source, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	revision := func() int64 {
		t.Helper()
		p, _, err := d.Project(t.Context(), "phc_x")
		if err != nil {
			t.Fatal(err)
		}
		return p.Revision
	}
	revision()
	source.project.Revision = 2
	if got := revision(); got != 1 {
		t.Fatalf("revision %d before Renew: the source was asked too soon", got)
	}
	d.Renew(8)
	if got := revision(); got != 1 {
		t.Errorf("revision %d after Renew of another project, want 1", got)
	}
	d.Renew(7)
	if got := revision(); got != 2 {
		t.Errorf("revision %d after Renew, want 2", got)
	}
}

// changingSource has one project, which the test modifies.
type changingSource struct{ project flags.Project }

func (s *changingSource) ProjectByKey(context.Context, string) (flags.Project, error) {
	return s.project, nil
}

func (s *changingSource) Definitions(context.Context, flags.Project) (flags.Definitions, error) {
	return flags.Definitions{}, nil
}

// blockingSource returns its results when it is released. It has an empty project for every
// other key.
type blockingSource struct {
	*fakeSource
	gate      atomic.Pointer[chan struct{}] // nil if calls are not blocked
	downloads bool                          // block downloads instead of lookups
}

func (s *blockingSource) ProjectByKey(ctx context.Context, apiKey string) (flags.Project, error) {
	if strings.HasPrefix(apiKey, "phc_other") {
		return flags.Project{ID: 2, APIKey: apiKey, Revision: 1}, nil
	}
	p, err := s.fakeSource.ProjectByKey(ctx, apiKey)
	if s.downloads {
		return p, err
	}
	return p, errors.Join(err, s.wait(ctx))
}

func (s *blockingSource) wait(ctx context.Context) error {
	if gate := s.gate.Load(); gate != nil {
		select {
		case <-*gate:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

func (s *blockingSource) Definitions(ctx context.Context, p flags.Project) (flags.Definitions, error) {
	if p.ID == 2 {
		return flags.Definitions{}, nil
	}
	d, err := s.fakeSource.Definitions(ctx, p)
	if s.downloads {
		return d, errors.Join(err, s.wait(ctx))
	}
	return d, err
}

// block blocks the calls that start before stopBlocking is called, until release is called.
func (s *blockingSource) block() (stopBlocking, release func()) {
	gate := make(chan struct{})
	s.gate.Store(&gate)
	return func() { s.gate.Store(nil) }, func() { close(gate) }
}

// edit changes the flags of the shop.
func (s *blockingSource) edit(t testing.TB) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.project.Revision++
	s.definitions = parse(t, otherFlag)
}

// checkNewPayload reads the payload after a change was announced, as a stream does, and
// requires the new version. Other callers block the source until release.
func checkNewPayload(t *testing.T, payload func(context.Context, string) ([]byte, string, error), release func()) {
	t.Helper()
	got := make(chan string, 1)
	go func() {
		text, _, err := payload(context.Background(), "phc_shop")
		got <- fmt.Sprint(string(text), err)
	}()
	synctest.Wait()
	release()
	if text := <-got; !strings.Contains(text, `"key":"two"`) {
		t.Errorf("after the change: %s", text)
	}
}

// An announced change is in the next payload, even if another caller is reading the
// definitions at that time. Decisions do not wait for it.
func TestDecider_RenewIsNotLost(t *testing.T) {
	for name, c := range map[string]struct{ cold, before, driven bool }{
		"a read that began before the change":    {before: true},
		"a read that began after the change":     {},
		"the first read, that began before it":   {cold: true, before: true},
		"a read of what is driven out meanwhile": {cold: true, before: true, driven: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &blockingSource{fakeSource: newFakeSource(t, oneFlag), downloads: c.cold}
				s.project.Revision = 1
				d := s.decider(t, func(c *serving.Config) { c.Source = s })
				if !c.cold {
					checkDecisions(t, d, serving.Request{}, onOne)
					s.advance(time.Second)
				}
				if !c.before {
					s.edit(t)
					d.Renew(1)
				}
				stopBlocking, release := s.block()
				go func() { _, _, _ = d.Project(context.Background(), "phc_shop") }()
				synctest.Wait()
				stopBlocking()
				for i := range 64 * 1024 {
					if c.driven && decideErr(d, fmt.Sprintf("phc_other_%d", i)) != nil {
						t.Fatal("another project")
					}
				}
				if c.before {
					s.edit(t)
					d.Renew(1)
				}
				if !c.cold {
					checkDecisions(t, d, serving.Request{}, onOne)
				}
				if c.driven {
					release()
					synctest.Wait()
					release = func() {}
				}
				checkNewPayload(t, d.Payload, release)
				checkDecisions(t, d, serving.Request{}, onTwo)
			})
		})
	}
}

// A cancelled caller does not hide the change from other callers and does not cause errors
// for them.
func TestDecider_RenewWithCanceledCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &blockingSource{fakeSource: newFakeSource(t, oneFlag)}
		s.project.Revision = 1
		d := s.decider(t, func(c *serving.Config) { c.Source = s })
		checkDecisions(t, d, serving.Request{}, onOne)
		s.edit(t)
		d.Renew(1)
		stopBlocking, _ := s.block()
		ctx, cancel := context.WithCancel(context.Background())
		go func() { _, _, _ = d.Project(ctx, "phc_shop") }()
		synctest.Wait()
		stopBlocking()
		checkNewPayload(t, d.Payload, cancel)
		checkDecisions(t, d, serving.Request{}, onTwo)
	})
}

// blockingMembers is a Members that blocks its callers.
type blockingMembers struct {
	fakeMembers
	hold chan struct{}
}

func (l *blockingMembers) StaticMembers(ctx context.Context, project int64, cohorts []int64, limit flags.MembersLimit) (map[int64][]string, error) {
	<-l.hold
	return l.fakeMembers.StaticMembers(ctx, project, cohorts, limit)
}

// An announced change is in the next payload, even if another caller is reading the members
// of static cohorts for the old definitions.
func TestDecider_Decision5_RenewIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &blockingSource{fakeSource: newFakeSource(t, staticFlags)}
		s.project.Revision = 1
		l := &blockingMembers{hold: make(chan struct{}, 1)}
		d := s.decider(t, func(c *serving.Config) { c.Source, c.Members = s, l })
		l.hold <- struct{}{}
		membersPayload(t, d)
		s.advance(time.Second)
		go func() { _, _, _ = d.MembersPayload(context.Background(), "phc_shop") }()
		synctest.Wait()
		s.edit(t)
		d.Renew(1)
		checkNewPayload(t, d.MembersPayload, func() { close(l.hold) })
	})
}
