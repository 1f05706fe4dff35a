package capture

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// planStep is a step of a history: an event, the end of a commit, or an override that the
// evaluation of a flag stores for the person of an id.
type planStep struct {
	event    *Event
	override [3]string // distinct id, flag, hash
}

// The alphabets of histories are small, so that steps affect the same objects.
var (
	lawIDs    = []string{"a", "b", "c", "d", "e", "f", "u", "anonymous", `"null"`}
	lawKeys   = []string{"x", "y", "n", "$browser", "$geoip_latitude", "$geoip_city_name"}
	lawValues = []string{"1", "2", "null", `"t"`}
	lawTypes  = []string{"company", "team", "c", "d", "e", "f", "g"}
	lawNames  = []string{"e", "e", "e", "$identify", "$identify", "$create_alias", "$merge_dangerously", "$set", "$exception", "$groupidentify"}
)

// planHistory decodes arbitrary bytes to a history of at most 200 steps.
func planHistory(data []byte) (steps []planStep) {
	next := func(n int) int {
		if len(data) == 0 {
			return 0
		}
		b := int(data[0])
		data = data[1:]
		return b % n
	}
	object := func() Object {
		var o []Member
		for range next(4) {
			o = append(o, Member{lawKeys[next(len(lawKeys))], lawValues[next(len(lawValues))]})
		}
		return NewObject(o)
	}
	start := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	for n := 1; len(data) > 0 && n <= 200; n++ {
		switch next(12) {
		case 0, 1:
			steps = append(steps, planStep{})
			continue
		case 2:
			steps = append(steps, planStep{override: [3]string{lawIDs[next(len(lawIDs))], lawTypes[next(2)], fmt.Sprint(n)}})
			continue
		case 3: // the same event a second time
			if len(steps) > 0 {
				steps = append(steps, planStep{event: steps[next(len(steps))].event})
			}
			continue
		}
		e := &Event{
			UUID: planUUID(n), Name: lawNames[next(len(lawNames))], DistinctID: lawIDs[next(len(lawIDs))], Properties: "{}",
			Timestamp: start.Add(time.Duration(next(8)-2) * 30 * time.Second), ReceivedAt: start,
		}
		e.Kind = planKinds[e.Name]
		e.Personless = next(4) == 0 && e.Kind != identifyEvent && e.Kind != aliasEvent && e.Kind != mergeDangerouslyEvent
		if next(5) > 0 {
			e.Other, e.HasOther = lawIDs[next(len(lawIDs))], true
		}
		if !e.Personless {
			e.Set, e.SetOnce = object(), object()
			for range next(3) {
				e.Unset = append(e.Unset, lawKeys[next(len(lawKeys))])
			}
			if next(4) == 0 {
				e.Groups = []GroupKey{{lawTypes[next(len(lawTypes))], `"k"`}}
			}
		}
		if e.Kind == groupIdentifyEvent {
			e.Group = &GroupUpdate{lawTypes[next(len(lawTypes))], lawIDs[next(2)], object()}
		}
		steps = append(steps, planStep{event: e})
	}
	return steps
}

// play commits a history: at its own ends of commits or, if size is not 0, after every size
// events. An override ends a commit, because overrides are written between commits.
func play(s *planStore, steps []planStep, size int) {
	var waiting []Event
	flush := func() { s.commit(waiting); waiting = nil }
	for _, step := range steps {
		switch {
		case step.event != nil:
			waiting = append(waiting, *step.event)
			if size > 0 && len(waiting) == size {
				flush()
			}
		case step.override[0] != "":
			flush()
			if owner := s.ids[step.override[0]]; !owner.IsZero() {
				s.override(owner, step.override[1], step.override[2])
			}
		case size == 0:
			flush()
		}
	}
	flush()
}

// checkHistory checks all laws against one history.
func checkHistory(t testing.TB, data []byte) {
	steps := planHistory(data)
	m := &modelLedger{byID: map[string]*modelPerson{}, personless: map[string]bool{}, groups: map[GroupID]*modelGroup{}}
	m.play(t, steps)
	want := m.snapshot()
	for _, size := range []int{0, 1, 3, 1000} {
		for _, s := range []*planStore{newPlanStore(t), newPlanStore(t).withCache()} {
			play(s, steps, size)
			same(t, fmt.Sprintf("commits of %d: state", size), want, s.snapshot())
			same(t, fmt.Sprintf("commits of %d: records", size), m.records, modelRecords(s.saved.Events))
			warnings := map[WarningType]int64{}
			for _, w := range s.saved.Warnings {
				if w.Type != warnGroupTypes { // one for each commit
					warnings[w.Type] += w.Count
				}
			}
			same(t, fmt.Sprintf("commits of %d: warnings", size), m.warnings, warnings)
			// The same events are all duplicates when they are repeated, and change no state.
			again := slices.DeleteFunc(slices.Clone(steps), func(s planStep) bool { return s.event == nil })
			events := len(s.saved.Events)
			play(s, again, size)
			same(t, fmt.Sprintf("commits of %d: delivered twice", size), want, s.snapshot())
			same(t, "events delivered twice", events, len(s.saved.Events))
		}
	}
}

func lawHistory(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	data := make([]byte, 0, n+8)
	for len(data) < n {
		data = binary.LittleEndian.AppendUint64(data, r.Uint64())
	}
	return data[:n]
}

// TestPlan_Laws compares the plan with the model over random histories.
func TestPlan_Laws(t *testing.T) {
	for seed := range uint64(150) {
		checkHistory(t, lawHistory(seed, 40+int(seed%5)*250))
	}
}

// TestPlan_LawsSeeMerges proves that the random histories contain the cases that they are
// meant to test.
func TestPlan_LawsSeeMerges(t *testing.T) {
	reached := map[string]int{}
	for seed := range uint64(200) {
		s := newPlanStore(t)
		play(s, planHistory(lawHistory(seed, 1000)), 3)
		reached["merges"] += len(s.saved.Merges)
		for _, w := range s.saved.Warnings {
			reached[string(w.Type)]++
		}
		for _, e := range s.saved.Events {
			reached[e.PersonMode.String()]++
		}
		for _, o := range s.overrides {
			reached["overrides"] += len(o)
		}
	}
	for _, what := range []string{"merges", "overrides", "full", "propertyless", "force_upgrade", string(warnAlreadyIdentified), string(warnIllegalDistinctID), string(warnGroupTypes)} {
		if reached[what] < 20 {
			t.Errorf("%s: reached %d times", what, reached[what])
		}
	}
}

// TestPlan_RejectedMerges proves that a rejected merge changes neither the properties nor the
// ids of the two persons.
func TestPlan_RejectedMerges(t *testing.T) {
	rejected, tried := 0, 1000
	for seed := range uint64(200) {
		s := newPlanStore(t)
		play(s, planHistory(lawHistory(seed, 600)), 0)
		for _, into := range lawIDs {
			for _, other := range lawIDs {
				before, ids := s.byID(), fmt.Sprint(s.ids)
				kind, name := identifyEvent, "$identify"
				if (len(into)+len(other))%2 == 0 {
					kind, name = aliasEvent, "$create_alias"
				}
				had := len(s.saved.Warnings)
				if s.ids[into].IsZero() || s.ids[other].IsZero() || !before[other].Identified && isLegalID(into) && isLegalID(other) {
					continue // would merge
				}
				tried++
				s.commit([]Event{{UUID: planUUID(tried), Name: name, Kind: kind, DistinctID: into, Other: other, HasOther: true, Properties: "{}"}})
				if s.ids[into] == s.ids[other] {
					continue
				}
				if len(s.saved.Warnings) != had+1 {
					t.Fatalf("%s of %s and %s: no warning", name, into, other)
				}
				rejected++
				after := s.byID()
				if fmt.Sprint(s.ids) != ids {
					t.Fatalf("ids changed: %v, before %v", s.ids, ids)
				}
				for id, w := range before {
					if now := after[id]; now.Properties.String() != w.Properties.String() || !now.CreatedAt.Equal(w.CreatedAt) {
						t.Fatalf("%s of %s into %s changed the person of %s", name, other, into, id)
					}
					if s.ids[id] != s.ids[into] && after[id].Version != w.Version {
						t.Fatalf("%s changed the other person", name)
					}
				}
				legal := isLegalID(into) && isLegalID(other)
				if after[into].Identified != (legal || before[into].Identified) {
					t.Fatalf("%s of %s into %s: identified %v", name, other, into, after[into].Identified)
				}
			}
		}
	}
	if rejected < 100 {
		t.Errorf("only %d refused merges", rejected)
	}
}
