package people

import (
	"fmt"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
)

func newCachedPerson(uuid capture.UUID, plan string) *cachedPerson {
	return &cachedPerson{uuid: uuid, parts: allParts, size: 100, stored: flags.Stored{Person: flags.Properties{"plan": plan}}}
}

var noMinimum time.Time

// Data that was read before a change is not cached after the change, whatever the
// change.
func TestPeopleCache_LateReaders(t *testing.T) {
	ann := capture.UUID{1}
	group := capture.GroupID{Type: 1, Key: "k"}
	for name, tt := range map[string]struct {
		was    capture.UUID // the person that the id belonged to
		forget func(*Cache)
	}{
		"id":      {capture.UUID{}, func(c *Cache) { c.ForgetIDs(1, []string{"ann"}) }},
		"id of":   {capture.UUID{2}, func(c *Cache) { c.ForgetIDs(1, []string{"ann"}) }},
		"person":  {ann, func(c *Cache) { c.ForgetPersons(1, []capture.UUID{ann}) }},
		"project": {ann, func(c *Cache) { c.ForgetProject(1) }},
		"all":     {ann, func(c *Cache) { c.ForgetAll() }},
	} {
		t.Run(name, func(t *testing.T) {
			forget := tt.forget
			c := NewCache(0)
			before := c.clock.Load()
			forget(c)
			c.put(1, "ann", newCachedPerson(tt.was, "old"), before, noMinimum)
			if k := c.get(1, "ann", withProperties, noMinimum); k != nil {
				t.Errorf("a late reader put in %v", k.stored.Person)
			}
			c.put(1, "ann", newCachedPerson(ann, "new"), c.clock.Load(), noMinimum)
			if k := c.get(1, "ann", withProperties, noMinimum); k == nil || k.stored.Person["plan"] != "new" {
				t.Errorf("one who read afterwards did not put it in: %v", k)
			}
			forget(c)
			if k := c.get(1, "ann", withProperties, noMinimum); k != nil {
				t.Errorf("not forgotten: %v", k.stored.Person)
			}
		})
	}
	for name, forget := range map[string]func(*Cache){
		"group":   func(c *Cache) { c.ForgetGroups(1, []capture.GroupID{group}) },
		"project": func(c *Cache) { c.ForgetProject(1) },
	} {
		t.Run("group by "+name, func(t *testing.T) {
			c := NewCache(0)
			before := c.clock.Load()
			forget(c)
			c.putGroup(1, group, &cachedGroup{}, before)
			c.putTypes(1, []string{"company"}, noMinimum, before)
			if _, ok := c.getTypes(1, noMinimum); ok || c.getGroup(1, group, noMinimum) != nil {
				t.Error("a late reader put it in")
			}
			c.putGroup(1, group, &cachedGroup{}, c.clock.Load())
			c.putTypes(1, []string{"company"}, noMinimum, c.clock.Load())
			if _, ok := c.getTypes(1, noMinimum); !ok || c.getGroup(1, group, noMinimum) == nil {
				t.Error("one who read afterwards did not")
			}
			forget(c) // its type is not in the cached list
			if _, ok := c.getTypes(1, noMinimum); ok || c.getGroup(1, group, noMinimum) != nil {
				t.Error("not forgotten")
			}
		})
	}
}

func TestPeopleCache_OthersStay(t *testing.T) {
	c := NewCache(0)
	c.put(1, "ann", newCachedPerson(capture.UUID{1}, "a"), 0, noMinimum)
	c.put(1, "ann2", newCachedPerson(capture.UUID{1}, "a"), 0, noMinimum)
	c.put(2, "ann", newCachedPerson(capture.UUID{1}, "b"), 0, noMinimum)
	c.put(1, "bob", newCachedPerson(capture.UUID{2}, "c"), 0, noMinimum)
	c.put(1, "nobody", &cachedPerson{parts: allParts}, 0, noMinimum)
	c.ForgetPersons(1, []capture.UUID{{1}, {9}})
	for _, tt := range []struct {
		project int64
		id      string
		want    bool
	}{{1, "ann", false}, {1, "ann2", false}, {2, "ann", true}, {1, "bob", true}, {1, "nobody", true}} {
		if got := c.get(tt.project, tt.id, withProperties, noMinimum) != nil; got != tt.want {
			t.Errorf("%d %s: remembered %v", tt.project, tt.id, got)
		}
	}
}

func TestPeopleCache_Bounds(t *testing.T) {
	c := NewCache(1 << 20)
	big := newCachedPerson(capture.UUID{1}, "x")
	big.size = maxEntryBytes + 1
	c.put(1, "big", big, 0, noMinimum)
	if c.get(1, "big", withProperties, noMinimum) != nil {
		t.Error("a person of more than 16 KiB is remembered")
	}
	for n := range 50_000 {
		var uuid capture.UUID
		copy(uuid[:], fmt.Sprintf("%016d", n))
		k := newCachedPerson(uuid, "x")
		k.size = 1000
		c.put(1, fmt.Sprint("id ", n), k, 0, noMinimum)
		c.put(1, fmt.Sprint("nobody ", n), &cachedPerson{parts: allParts}, 0, noMinimum)
		c.putGroup(1, capture.GroupID{Key: fmt.Sprint(n)}, &cachedGroup{size: 500}, 0)
	}
	total := 0
	for i := range c.shards {
		s := &c.shards[i]
		sum := 0
		for _, key := range s.ids.Keys() {
			sum += idCost(key.id)
		}
		for _, h := range s.persons.Values() {
			sum += h.person.Load().cost()
		}
		for _, g := range s.groups.Values() {
			sum += g.cost()
		}
		if sum != s.bytes {
			t.Errorf("shard %d counts %d bytes and holds %d", i, s.bytes, sum)
		}
		total += s.bytes
	}
	if total > 1<<20 || total < 1<<19 {
		t.Errorf("%d bytes are remembered of %d", total, 1<<20)
	}
	c.ForgetAll()
	for i := range c.shards {
		if c.shards[i].bytes != 0 {
			t.Errorf("shard %d holds %d bytes after all is forgotten", i, c.shards[i].bytes)
		}
	}
}

func TestPeopleCache_Age(t *testing.T) {
	c := NewCache(0)
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	k := newCachedPerson(capture.UUID{1}, "x")
	k.readAt = at
	c.put(1, "ann", k, 0, noMinimum)
	if c.get(1, "ann", withProperties, at) == nil || c.get(1, "ann", withProperties, at.Add(1)) != nil {
		t.Error("what is older than asked for is not to be used")
	}
	if c.get(1, "ann", withProperties, noMinimum) == nil {
		t.Error("without others who write nothing grows old")
	}
}
