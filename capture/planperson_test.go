package capture

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags/wire"
)

func object(t testing.TB, text string) Object {
	t.Helper()
	o, err := ParseObject(text)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestCapture_9_4_Update checks the rules of §9.4 and §9.3 individually. includeNoisy is only
// set where it matters.
func TestCapture_9_4_Update(t *testing.T) {
	for _, c := range []struct {
		name, stored, once, set string
		unset                   []string
		noisyToo                bool
		want                    string // empty if there is no change
	}{
		{name: "nothing", stored: `{"a":1}`},
		{name: "set_once fills a gap", stored: `{"b":1}`, once: `{"a":1,"b":2,"c":3}`, want: `{"a":1,"b":1,"c":3}`},
		{name: "set_once over null, D14", stored: `{"a":null}`, once: `{"a":1}`, want: `{"a":1}`},
		{name: "set_once null over null", stored: `{"a":null}`, once: `{"a":null}`},
		{name: "set_once null into a gap", stored: `{}`, once: `{"a":null}`, want: `{"a":null}`},
		{name: "set overwrites, with null too", stored: `{"a":1,"b":1}`, set: `{"a":2,"b":null}`, want: `{"a":2,"b":null}`},
		{name: "set wins over set_once", stored: `{}`, once: `{"a":1}`, set: `{"a":2}`, want: `{"a":2}`},
		{name: "set null over null wins over set_once", stored: `{"a":null}`, once: `{"a":1}`, set: `{"a":null}`},
		{name: "equal values", stored: `{"a":{"x":[1]},"b":"t"}`, set: `{"a":{"x":[1]},"b":"t"}`, once: `{"a":5}`},
		{name: "unset", stored: `{"a":1,"b":2,"c":3}`, unset: []string{"c", "a", "z"}, want: `{"b":2}`},
		{name: "unset wins", stored: `{}`, once: `{"a":1,"c":1}`, set: `{"b":1}`, unset: []string{"b", "a"}, want: `{"c":1}`},
		{name: "unset wins and nothing is left", stored: `{"x":1}`, once: `{"a":1}`, set: `{"b":1}`, unset: []string{"b", "a"}},
		{name: "many unset", stored: `{"x":1}`, set: `{"e":1}`, unset: strings.Split("abcdefghijklm", "")},
		{name: "the last of many unset", stored: `{"m":1}`, unset: strings.Split("mabcdefghijkl", ""), want: `{}`},
		{name: "noisy alone", stored: `{"$os":"a","$pathname":"/"}`, set: `{"$os":"b","$pathname":"/2"}`},
		{name: "noisy alone, but all count", stored: `{"$os":"a"}`, set: `{"$os":"b"}`, noisyToo: true, want: `{"$os":"b"}`},
		{name: "noisy null by set_once", stored: `{"$os":null}`, once: `{"$os":"b"}`},
		{name: "noisy that is new", stored: `{}`, set: `{"$os":"b"}`, want: `{"$os":"b"}`},
		{name: "noisy that goes", stored: `{"$os":"b"}`, unset: []string{"$os"}, want: `{}`},
		{name: "noisy beside another", stored: `{"$os":"a","x":1}`, set: `{"$os":"b","x":2}`, want: `{"$os":"b","x":2}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			parse := func(s string) Object {
				if s == "" {
					return nil
				}
				return object(t, s)
			}
			stored := parse(c.stored)
			got, changed := applyUpdate(stored, parse(c.once), parse(c.set), c.unset, c.noisyToo)
			want := c.want
			if want == "" {
				want = c.stored
			}
			if changed != (c.want != "") || got.String() != want {
				t.Errorf("changed %v: %s, want %s", changed, got, want)
			}
			if stored.String() != c.stored {
				t.Errorf("the stored object was changed: %s", stored)
			}
		})
	}
}

// TestCapture_9_3_Noisy checks the list of noisy properties in §9.3.
func TestCapture_9_3_Noisy(t *testing.T) {
	for key, want := range map[string]bool{
		"$current_url": true, "$pathname": true, "$referrer": true, "$referring_domain": true, "$screen_width": true,
		"$viewport_height": true, "$browser": true, "$browser_version": true, "$os": true, "$os_version": true,
		"$raw_user_agent": true, "$geoip_latitude": true, "$geoip_postal_code": true, "$geoip_subdivision_1_name": true,
		"$geoip_country_name": false, "$geoip_country_code": false, "$geoip_city_name": false,
		"$initial_os": false, "$initial_geoip_latitude": false, "utm_source": false, "$app_version": false, "email": false, "": false,
	} {
		if isNoisy(key) != want {
			t.Errorf("%s: noisy %v, want %v", key, !want, want)
		}
	}
}

// TestPlan_UpdateAsMaps compares applyUpdate with an implementation on maps, for objects that
// are long enough for all steps of seek.
func TestPlan_UpdateAsMaps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	some := func(n int) Object {
		var o []Member
		for range r.IntN(n + 1) {
			o = append(o, Member{fmt.Sprintf("k%02d", r.IntN(60)), []string{"1", "2", "null"}[r.IntN(3)]})
		}
		return NewObject(o)
	}
	for range 3000 {
		stored, once, set := some(60), some(1<<r.IntN(6)), some(1<<r.IntN(6))
		var unset []string
		for range r.IntN(12) {
			unset = append(unset, fmt.Sprintf("k%02d", r.IntN(60)))
		}
		want := map[string]string{}
		for _, m := range stored {
			want[m.Key] = m.Value
		}
		for _, m := range once {
			if v, ok := want[m.Key]; !ok || v == "null" {
				want[m.Key] = m.Value
			}
		}
		for _, m := range set {
			want[m.Key] = m.Value
		}
		for _, key := range unset {
			delete(want, key)
		}
		got, changed := applyUpdate(stored, once, set, unset, true)
		if got.String() != mapText(want) || changed != (stored.String() != mapText(want)) {
			t.Fatalf("%s\n once %s\n set %s\n unset %v\n got %s (%v)\nwant %s", stored, once, set, unset, got, changed, mapText(want))
		}
	}
}

// TestCapture_4_6_Fits proves that the limit applies to the JSON text, to the byte.
func TestCapture_4_6_Fits(t *testing.T) {
	for _, c := range []struct {
		key  string
		rest int // the length of {"<key>":""}
	}{{"a", 8}, {"\x01", 13}, {`"`, 9}} {
		o := func(n int) Object { return Object{{c.key, `"` + strings.Repeat("x", n-c.rest) + `"`}} }
		if !fits(o(655_360)) || fits(o(655_361)) {
			t.Errorf("key %q: fits(655360) %v, fits(655361) %v", c.key, fits(o(655_360)), fits(o(655_361)))
		}
	}
}

// TestPlan_UnchangedAllocatesNothing proves that applyUpdate does not allocate if there is no
// change.
func TestPlan_UnchangedAllocatesNothing(t *testing.T) {
	stored, update := browserProperties("1"), browserProperties("2")
	if n := testing.AllocsPerRun(100, func() { applyUpdate(stored, stored, update, nil, false) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// browserProperties returns the properties of a browser's event. Its noisy values end in v.
func browserProperties(v string) Object {
	var o []Member
	for key := range noisyKeys {
		o = append(o, Member{key, wire.Quote("some value " + v)})
	}
	for i := range 12 {
		o = append(o, Member{fmt.Sprintf("utm_%02d", i), "null"}, Member{fmt.Sprintf("$initial_utm_%02d", i), "null"})
	}
	return NewObject(o)
}

var benchTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// benchPlan applies events to an existing person, 800 for each plan, like a commit.
func benchPlan(b *testing.B, stored Object, next func(i int) Event) {
	b.ReportAllocs()
	person := &Person{UUID: planUUID(1), CreatedAt: benchTime, Properties: stored}
	events := make([]Event, 800)
	for i := range events {
		events[i] = next(i)
	}
	var p *plan
	n := len(events)
	for b.Loop() {
		if n == len(events) {
			b.StopTimer()
			p = newPlan(1, nil)
			for _, i := range p.ids(events) {
				if stored != nil {
					p.loadPerson(i, Identity{Person: person})
				}
			}
			n = 0
			b.StartTimer()
		}
		p.apply(&events[n])
		n++
	}
}

func BenchmarkPlan_Stored(b *testing.B) {
	benchPlan(b, browserProperties("1"), func(i int) Event {
		return Event{UUID: planUUID(i), Name: "e", DistinctID: "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f", Properties: "{}", Timestamp: benchTime}
	})
}

func BenchmarkPlan_StoredPageview(b *testing.B) {
	set := browserProperties("2")
	benchPlan(b, browserProperties("1"), func(i int) Event {
		return Event{UUID: planUUID(i), Name: "$pageview", DistinctID: "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f", Properties: "{}", Timestamp: benchTime, Set: set}
	})
}

func BenchmarkPlan_StoredChanged(b *testing.B) {
	benchPlan(b, browserProperties("1"), func(i int) Event {
		return Event{UUID: planUUID(i), Name: "e", DistinctID: "u", Properties: "{}", Timestamp: benchTime, Set: Object{{"n", fmt.Sprint(i)}}}
	})
}

func BenchmarkPlan_New(b *testing.B) {
	set := browserProperties("2")
	benchPlan(b, nil, func(i int) Event {
		return Event{UUID: planUUID(i), Name: "e", DistinctID: fmt.Sprintf("0191f0a2-5b1c-7d3e-8f40-%012d", i), Properties: "{}", Timestamp: benchTime, Set: set}
	})
}

// BenchmarkPlan_Commit measures a commit of 800 events of 200 existing persons. The result is
// the time of the whole commit.
func BenchmarkPlan_Commit(b *testing.B) {
	b.ReportAllocs()
	events := make([]Event, 800)
	people := make([]*Person, 200)
	for i := range events {
		events[i] = Event{UUID: planUUID(i), Name: "e", DistinctID: fmt.Sprintf("user-%d", i%200), Properties: "{}", Timestamp: benchTime}
	}
	for i := range people {
		people[i] = &Person{UUID: planUUID(i), CreatedAt: benchTime, Properties: browserProperties("1")}
	}
	var c Changes
	for b.Loop() {
		p := newPlan(1, nil)
		for i, id := range p.ids(events) {
			p.loadPerson(id, Identity{Person: people[i]})
		}
		for i := range events {
			p.apply(&events[i])
		}
		c = Changes{Events: c.Events[:0]}
		p.finish(&c)
	}
}

// TestCapture_9_2_SamePersonID proves that the UUID of an id's person is the same for a
// personless event and for a person (§9.2).
func TestCapture_9_2_SamePersonID(t *testing.T) {
	s := newPlanStore(t)
	s.commit([]Event{{UUID: planUUID(1), Name: "e", DistinctID: "test", Properties: "{}", Personless: true, Timestamp: benchTime}})
	s.commit([]Event{{UUID: planUUID(2), Name: "e", DistinctID: "test", Properties: "{}", Timestamp: benchTime}})
	got := []string{s.saved.Events[0].PersonID.String(), s.saved.Events[1].PersonID.String()}
	const want = "246f7a43-5507-564f-b687-793ee3c2dd79" // §17.2
	if diff := gocmp.Diff([]string{want, want}, got); diff != "" {
		t.Error(diff)
	}
}

// §8.3 with bounds (decision 14): the size of a body with many small changes of a large
// person does not grow to the number of events times the size of the person.
func TestCapture_8_3_CopiesAreBounded(t *testing.T) {
	text := func(n int) string { return wire.Quote(strings.Repeat("x", n)) }
	run := func(size, events int) (bytes int, p *plan) {
		p = newPlan(1, nil)
		person := &Person{UUID: PersonID(1, "u"), Properties: Object{{"text", text(size)}}}
		var list []Event
		for i := range events {
			e := someEvent("e", "u")
			e.Kind, e.Set = setPropertiesEvent, Object{{"n", strconv.Itoa(i)}}
			list = append(list, e)
		}
		for _, i := range p.ids(list) {
			p.loadPerson(i, Identity{Person: person})
		}
		for i := range list {
			p.apply(&list[i])
		}
		for _, e := range p.events {
			bytes += len(e.PersonProperties)
		}
		return bytes, p
	}
	if got, p := run(maxPersonCopy, 3); got != 3*len("{}") {
		t.Errorf("three events of a person above the limit hold %d bytes of it: %.80s", got, p.events[0].PersonProperties)
	}
	if got, _ := run(1000, 3); got < 3000 {
		t.Errorf("three events of a small person hold %d bytes of it", got)
	}
	if got, _ := run(maxPersonCopy/2, 5000); got > maxPersonCopies+2*maxPersonCopy+5000*len("{}") {
		t.Errorf("5,000 events of a person of 32 KiB hold %d bytes of it", got)
	}
}
