package serving_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// A larger revision is compiled within a second. An unchanged one is not compiled, and is not
// read within that second.
func TestDecider_RevisionGrows(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newFakeSource(t, oneFlag)
	s.project.Revision = 1
	d := s.decider(t, nil)
	for range 10 {
		checkDecisions(t, d, serving.Request{}, onOne)
	}
	if s.lookups != 1 || s.downloads != 1 {
		t.Errorf("%d look-ups, %d downloads", s.lookups, s.downloads)
	}
	s.definitions = parse(t, otherFlag)
	s.advance(2 * time.Second)
	checkDecisions(t, d, serving.Request{}, onOne) // the revision is the same
	s.project.Revision++
	s.advance(999 * time.Millisecond)
	checkDecisions(t, d, serving.Request{}, onOne)
	s.advance(time.Millisecond)
	if answer := checkDecisions(t, d, serving.Request{}, onTwo); answer.Project.Revision != 2 {
		t.Errorf("revision %d", answer.Project.Revision)
	}
	if s.downloads != 2 || d.Stats().Compilations != 2 {
		t.Errorf("%d downloads, %+v", s.downloads, d.Stats())
	}
	// Other data of a project is renewed without a compilation.
	s.project.QuotaLimited = []string{"feature_flags"}
	s.advance(time.Second)
	if _, answer := decideAll(t, d, serving.Request{}); !answer.QuotaLimited {
		t.Error("not paused")
	}
	s.project.Browser = `{"autocapture_opt_out":true}`
	s.advance(time.Second)
	if _, answer := decideAll(t, d, serving.Request{}); answer.Project.Browser != s.project.Browser {
		t.Errorf("browsers are told %q", answer.Project.Browser)
	}
	if s.downloads != 2 {
		t.Errorf("%d downloads", s.downloads)
	}
}

// Revision zero means unknown: the source's definitions are compared with the previous ones,
// whether they are new values or were modified in place, and compiled if they differ.
func TestDecider_RevisionZero(t *testing.T) {
	s := newFakeSource(t, oneFlag)
	d := s.decider(t, nil)
	checkDecisions(t, d, serving.Request{}, onOne)
	for range 3 { // read with the same content
		s.definitions = parse(t, oneFlag)
		s.advance(time.Second)
		checkDecisions(t, d, serving.Request{}, onOne)
	}
	if st := d.Stats(); st.Compilations != 1 || s.downloads != 4 {
		t.Errorf("%d downloads, %+v", s.downloads, st)
	}
	s.definitions = parse(t, otherFlag)
	s.advance(999 * time.Millisecond)
	checkDecisions(t, d, serving.Request{}, onOne)
	s.advance(time.Millisecond)
	checkDecisions(t, d, serving.Request{}, onTwo)
	s.definitions.Flags[0].Active = false // in the definitions that were returned before
	s.advance(time.Second)
	if _, answer := decideAll(t, d, serving.Request{}); answer.Decisions.Find("two") != nil {
		t.Error("switched off, and still answered")
	}
	ten := 10.0
	s.definitions.Flags[0].Active = true
	s.definitions.Flags[0].Conditions[0].Rollout = &ten
	s.advance(time.Second)
	before := d.Stats().Compilations
	_, _ = decideAll(t, d, serving.Request{})
	ten = 20 // through a pointer
	s.advance(time.Second)
	_, _ = decideAll(t, d, serving.Request{})
	if got := d.Stats().Compilations; got != before+2 {
		t.Errorf("%d compilations, before %d", got, before)
	}
}

func decideErr(d *serving.Decider, key string) error {
	return d.Decide(context.Background(), &serving.Request{APIKey: key, Subject: flags.Subject{DistinctID: "u"}}, new(serving.Answer))
}

// An unknown key is cached for a second and may be added later. A key that exceeds the limit
// of length is not looked up.
func TestDecider_UnknownKey(t *testing.T) {
	s := newFakeSource(t, oneFlag)
	s.project.APIKey = "phc_later"
	d := s.decider(t, nil)
	for range 5 {
		if err := decideErr(d, "phc_shop"); !errors.Is(err, flags.ErrUnknownKey) {
			t.Error(err)
		}
	}
	if s.lookups != 1 {
		t.Errorf("%d look-ups", s.lookups)
	}
	s.project.APIKey = "phc_shop"
	s.advance(time.Second)
	checkDecisions(t, d, serving.Request{}, onOne)
	s.project.APIKey = "phc_gone" // the project is deleted
	s.advance(time.Second)
	if err := decideErr(d, "phc_shop"); !errors.Is(err, flags.ErrUnknownKey) {
		t.Error(err)
	}
	before := s.lookups
	if err := decideErr(d, strings.Repeat("x", 1<<20)); !errors.Is(err, flags.ErrUnknownKey) || s.lookups != before {
		t.Errorf("%v, %d look-ups", err, s.lookups-before)
	}
	if _, _, err := d.Project(context.Background(), "phc_x"); !errors.Is(err, flags.ErrUnknownKey) {
		t.Error(err)
	}
	if _, _, err := d.Payload(context.Background(), "phc_x"); !errors.Is(err, flags.ErrUnknownKey) {
		t.Error(err)
	}
	if _, _, err := d.RemoteConfig(context.Background(), "phc_x", "one"); !errors.Is(err, flags.ErrUnknownKey) {
		t.Error(err)
	}
	if _, err := d.Explain(context.Background(), &serving.Request{APIKey: "phc_x"}, "one"); !errors.Is(err, flags.ErrUnknownKey) {
		t.Error(err)
	}
}

// If the source fails, the last valid flags remain in use (decision 29). If there are no
// earlier flags, the error is ErrUnavailable with the cause.
func TestDecider_SourceFails(t *testing.T) {
	s := newFakeSource(t, oneFlag)
	d := s.decider(t, nil)
	cause := errors.New("database is down")
	s.failure = cause
	if err := decideErr(d, "phc_shop"); !errors.Is(err, flags.ErrUnavailable) || !errors.Is(err, cause) {
		t.Error(err)
	}
	s.failure = nil
	checkDecisions(t, d, serving.Request{}, onOne) // at once: failures are not cached
	s.failure = cause
	s.project.Revision, s.definitions = 1, parse(t, otherFlag)
	for range 3 {
		s.advance(time.Second)
		checkDecisions(t, d, serving.Request{}, onOne)
	}
	s.failure, s.defsFailure = nil, cause // the project can be read, but not its flags
	s.advance(time.Second)
	checkDecisions(t, d, serving.Request{}, onOne)
	s.defsFailure = nil
	s.advance(time.Second)
	checkDecisions(t, d, serving.Request{}, onTwo)
	if got := d.Stats().SourceErrors; got != 5 {
		t.Errorf("%d source errors", got)
	}
}

// Concurrent requests with a new key cause a single read.
func TestDecider_ColdKeyIsReadOnce(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newFakeSource(t, oneFlag)
	d := s.decider(t, nil)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if err := decideErr(d, "phc_shop"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if s.lookups != 1 || s.downloads != 1 || d.Stats().Compilations != 1 {
		t.Errorf("%d look-ups, %d downloads, %+v", s.lookups, s.downloads, d.Stats())
	}
}

// The registry evicts keys beyond its limit, 16 times 1,024, the least recently used first.
func TestDecider_RegistryIsBounded(t *testing.T) {
	s := newFakeSource(t, oneFlag)
	d := s.decider(t, nil)
	ask := func(from, to int) (lookups int) {
		before := s.lookups
		for i := from; i < to; i++ {
			if err := decideErr(d, fmt.Sprintf("phc_%d", i)); !errors.Is(err, flags.ErrUnknownKey) {
				t.Fatal(err)
			}
		}
		return s.lookups - before
	}
	checkDecisions(t, d, serving.Request{}, onOne)
	const bound = 16 * 1024
	ask(0, bound/2)
	if got := ask(0, bound/2); got != 0 {
		t.Errorf("%d of half as many keys as fit were forgotten", got)
	}
	ask(0, 4*bound)
	checkDecisions(t, d, serving.Request{}, onOne)
	if s.downloads != 1 {
		t.Errorf("%d downloads: unknown keys drive projects out", s.downloads)
	}
	if got := ask(0, bound); got < bound*9/10 {
		t.Errorf("of the oldest %d keys %d were still known", bound, bound-got)
	}
}

// anyKeySource is a Source that has a project without flags for every key.
type anyKeySource struct{ lookups int }

func (s *anyKeySource) ProjectByKey(_ context.Context, apiKey string) (flags.Project, error) {
	s.lookups++
	if !strings.HasPrefix(apiKey, "phc_") {
		return flags.Project{}, flags.ErrUnknownKey
	}
	return flags.Project{ID: 1, APIKey: apiKey}, nil
}

func (s *anyKeySource) Definitions(context.Context, flags.Project) (flags.Definitions, error) {
	return flags.Definitions{}, nil
}

// Invalid keys do not evict projects from a full registry.
func TestDecider_FullRegistryBearsUnknownKeys(t *testing.T) {
	s, now := &anyKeySource{}, time.Date(2026, 7, 15, 12, 0, 0, 0, time.UTC)
	d, err := serving.NewDecider(serving.Config{Source: s, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	const bound = 16 * 1024
	for i := range 2 * bound { // fills every shard
		if err := decideErr(d, fmt.Sprintf("phc_%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 * bound {
		if err := decideErr(d, fmt.Sprintf("made-up-%d", i)); !errors.Is(err, flags.ErrUnknownKey) {
			t.Fatal(err)
		}
	}
	before := s.lookups
	for i := 2*bound - bound/2; i < 2*bound; i++ { // used last, so not evicted
		if err := decideErr(d, fmt.Sprintf("phc_%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.lookups - before; got != 0 {
		t.Errorf("%d of %d projects were driven out", got, bound/2)
	}
}
