//go:build linux

package faulttest

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"
)

// generator creates events of every kind that changes persons and groups. It must be used by one
// goroutine only.
type generator struct {
	rand *rand.Rand
	name string // prefix of its ids
	// age grows, so that there are always new persons.
	age  int
	made int
	// batchSize is the maximum number of events of a batch, 12 if zero; padding is the number of
	// bytes that are added to an event.
	batchSize, padding int
}

// random returns a generator with a random seed. The order of concurrent requests differs in each
// run, so a fixed seed would not reproduce a failure.
func random() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }

// generators counts the generators, so that no two create the same ids.
var generators atomic.Uint64

func newGenerator() *generator {
	return &generator{rand: random(), name: fmt.Sprint("g", generators.Add(1)), padding: 600}
}

type object = map[string]any

// kinds are the events that the generator creates, with their relative frequency.
var kinds = []struct {
	weight int
	make   func(g *generator, e, props object)
}{
	{30, func(g *generator, e, props object) { // an ordinary event
		e["event"] = g.one("purchase", "$pageview", "opened")
		g.updates(props)
		g.copied(props)
		g.groups(props)
	}},
	{8, func(g *generator, e, props object) { // as servers send it
		e["event"] = "$identify"
		g.updates(props)
	}},
	{14, func(g *generator, e, props object) { // as browsers send it
		e["event"] = "$identify"
		props["$anon_distinct_id"] = g.other()
		g.updates(props)
	}},
	{8, func(g *generator, e, props object) {
		e["event"] = "$create_alias"
		props["alias"] = g.other()
	}},
	{2, func(g *generator, e, props object) {
		e["event"] = "$merge_dangerously"
		props["alias"] = g.other()
	}},
	{8, func(g *generator, e, props object) {
		e["event"] = "$set"
		g.updates(props)
	}},
	{8, func(g *generator, e, props object) {
		e["event"] = g.one("$groupidentify", "$groupidentify", "$group_identify")
		props["$group_type"], props["$group_key"] = g.groupType(), g.groupKey()
		props["$group_set"] = g.values()
	}},
	{12, func(g *generator, e, props object) { // without a person
		e["event"] = "viewed"
		e["distinct_id"] = g.other()
		props["$process_person_profile"] = false
		g.updates(props)
		g.groups(props)
	}},
	{4, func(g *generator, e, props object) {
		e["event"] = "$exception"
		g.updates(props)
	}},
	{6, func(g *generator, e, props object) {
		e["event"] = "$feature_flag_called"
		props["$feature_flag"] = g.one("faster-search", "checkout-layout")
		props["$feature_flag_response"] = g.one("control", "steps")
	}},
}

// batch creates a request of new events.
func (g *generator) batch() *batch {
	b := &batch{}
	var items []object
	for range 1 + g.rand.IntN(max(1, orDefault(g.batchSize, 12))) {
		e := g.event()
		items = append(items, e)
		id := e["uuid"].(string)
		if g.rand.IntN(50) == 0 { // events that differ only in the name are different events
			twin := object{"uuid": id, "event": "twin", "distinct_id": e["distinct_id"], "properties": object{"n": g.made}}
			items = append(items, twin)
		}
	}
	for _, e := range items {
		uuid, _ := hex.DecodeString(strings.ReplaceAll(e["uuid"].(string), "-", ""))
		b.events = append(b.events, eventKey{[16]byte(uuid), e["event"].(string), e["distinct_id"].(string)})
	}
	body, err := json.Marshal(object{"api_key": apiKey, "batch": items})
	if err != nil {
		panic(err) // maps of plain values can always be encoded
	}
	b.body = body
	return b
}

func (g *generator) event() object {
	g.made++
	if g.made%40 == 0 {
		g.age++
	}
	props := object{"n": g.made, "padding": strings.Repeat("x", g.rand.IntN(2*g.padding+1))}
	e := object{
		"distinct_id": g.user(), "uuid": g.uuid(), "properties": props,
		// On both sides of the minute that matters in §9.1.
		"timestamp": time.Now().Add(time.Duration(g.rand.IntN(300)-300) * time.Second).UTC().Format(time.RFC3339Nano),
	}
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	index := g.rand.IntN(total)
	for _, k := range kinds {
		if index -= k.weight; index < 0 {
			k.make(g, e, props)
			break
		}
	}
	return e
}

// uuid returns a UUID of version 7 or 4, as SDKs send them.
func (g *generator) uuid() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], g.rand.Uint64())
	binary.BigEndian.PutUint64(b[8:], g.rand.Uint64())
	version := byte(0x40)
	if g.rand.IntN(2) == 0 {
		ms := time.Now().UnixMilli()
		for i := range 6 {
			b[i] = byte(ms >> (40 - 8*i))
		}
		version = 0x70
	}
	b[6], b[8] = b[6]&0x0f|version, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// user returns a distinct id: of the newest few persons, of all persons, or one that all
// connections share.
func (g *generator) user() string {
	switch g.rand.IntN(10) {
	case 0:
		return fmt.Sprintf("all-%d", g.rand.IntN(20))
	case 1:
		return fmt.Sprintf("%s-%d-%d", g.name, g.rand.IntN(g.age+1), g.rand.IntN(8))
	case 2:
		return fmt.Sprintf("%s-ü %d", g.name, g.age)
	}
	return fmt.Sprintf("%s-%d-%d", g.name, g.age, g.rand.IntN(8))
}

// other returns an id to be merged: mostly an anonymous one, one of a user, or one that must not be
// merged (§10.4).
func (g *generator) other() string {
	switch g.rand.IntN(20) {
	case 0:
		return g.one("undefined", "Anonymous", "0")
	case 1, 2, 3:
		return g.user()
	}
	return fmt.Sprintf("%s-anon-%d-%d", g.name, g.age, g.rand.IntN(12))
}

func (g *generator) updates(props object) {
	if g.rand.IntN(2) == 0 {
		props["$set"] = g.values()
	}
	if g.rand.IntN(3) == 0 {
		props["$set_once"] = g.values()
	}
	switch g.rand.IntN(6) {
	case 0:
		props["$unset"] = []string{g.key(), g.key()}
	case 1:
		props["$unset"] = object{g.key(): true}
	}
}

// copied adds properties that are copied from the event to the person (§9.5), except noisy ones
// (§9.3).
func (g *generator) copied(props object) {
	if g.rand.IntN(4) == 0 {
		props["utm_source"], props["$app_version"] = g.value(), fmt.Sprint(g.rand.IntN(5))
	}
}

func (g *generator) groups(props object) {
	if g.rand.IntN(4) == 0 {
		props["$groups"] = object{g.groupType(): g.groupKey(), "company": g.groupKey()}
	}
}

// groupType returns one of seven types, two more than a project may have (§11.1).
func (g *generator) groupType() string {
	return g.one("company", "team", "project", "country", "shop", "house", "street")
}

func (g *generator) groupKey() string { return fmt.Sprintf("%s-group-%d", g.name, g.rand.IntN(10)) }

func (g *generator) values() object {
	o := object{}
	for range 1 + g.rand.IntN(3) {
		o[g.key()] = g.value()
	}
	return o
}

func (g *generator) key() string { return g.one("plan", "email", "count", "naïve", "city", "nested") }

func (g *generator) value() any {
	switch g.rand.IntN(6) {
	case 0:
		return nil
	case 1:
		return g.rand.IntN(3) == 0
	case 2:
		return object{"list": []any{g.rand.IntN(9), "q\"\\ü"}}
	case 3:
		return 0.5 + float64(g.rand.IntN(10))
	}
	return fmt.Sprint("v", g.rand.IntN(1000))
}

func (g *generator) one(choices ...string) string { return choices[g.rand.IntN(len(choices))] }

func orDefault(n, fallback int) int {
	if n == 0 {
		return fallback
	}
	return n
}
