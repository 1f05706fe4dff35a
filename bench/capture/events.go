package main

import (
	"math/rand/v2"
	"strconv"
	"time"
)

// The mix of workloads: the shares of events, in per cent.
const (
	existingPersons = 5_000
	companies       = 200

	shareNew      = 10 // have a distinct id that was not used before
	shareSet      = 10 // change a property of their person
	shareIdentify = 2  // are $identify and merge an anonymous id
	shareGroups   = 5  // belong to a group
	shareBrowser  = 5  // look like those of posthog-js, with some 40 properties
)

// usualTick is the advance of a generator's clock with each event.
const usualTick = 20 * time.Microsecond

// generator writes events as SDKs send them. Equal seeds write equal events.
type generator struct {
	rng     *rand.Rand
	version int // of uuids, 4 or 7
	clock   time.Time
	tick    time.Duration // advance of the clock with each event
	seed    string
	nextID  int
	// anonymous are new ids that no $identify has named yet.
	anonymous []string
	// small events have about 200 bytes of properties and no mix.
	small bool
	// random: every event has a new distinct id.
	random bool
	// visitor: one of about 100,000 events is of visitorID.
	visitor bool
	// Of the batches, every second-th belongs to the second project; none if it is 0.
	second, batches int
}

// batchKey returns the project key of the next batch.
func (g *generator) batchKey() string {
	if g.batches++; g.second > 0 && g.batches%g.second == 0 {
		return plainKey
	}
	return projectKey
}

func newGenerator(seed uint64, version int) *generator {
	return &generator{
		rng: rand.New(rand.NewPCG(seed, 0)), version: version, tick: usualTick, clock: time.Now().Add(-time.Hour).UTC(),
		seed: strconv.FormatUint(seed, 36),
	}
}

// visitorID is the distinct id of a person with few events, in most segments of a large store.
const visitorID = "visitor@example.com"

func personID(n int) string { return "person-" + strconv.Itoa(n) + "@example.com" }

// newID returns an unused distinct id.
func (g *generator) newID() string {
	g.nextID++
	id := "0190c0de-" + g.seed + "-" + strconv.Itoa(g.nextID)
	if len(g.anonymous) < 1_000 {
		g.anonymous = append(g.anonymous, id)
	}
	return id
}

// setPerson writes the event that creates a known person.
func (g *generator) setPerson(to []byte, n int) []byte {
	to = g.head(to, "$set", personID(n))
	to = append(to, `"$lib":"posthog-node","$set":{"email":"`...)
	to = append(to, personID(n)...)
	to = append(to, `","plan":"pro","country":"FR","seats":`...)
	to = strconv.AppendInt(to, int64(n%100), 10)
	return append(to, `,"beta":true}}}`...)
}

var names = []string{"order placed", "item viewed", "search performed", "page rendered", "invoice sent", "job finished"}

// event writes one event of the mix.
func (g *generator) event(to []byte) []byte {
	id := ""
	if g.random || g.rng.IntN(100) < shareNew {
		id = g.newID()
	} else {
		id = personID(g.rng.IntN(existingPersons))
	}
	if g.visitor && g.rng.IntN(100_000) == 0 {
		id = visitorID
	}
	if g.small {
		return g.smallEvent(to, id)
	}
	kind := g.rng.IntN(100)
	if kind < shareIdentify && len(g.anonymous) > 0 {
		return g.identify(to)
	}
	if kind >= 100-shareBrowser {
		to = g.browser(g.head(to, "$pageview", id))
	} else {
		to = g.server(g.head(to, names[g.rng.IntN(len(names))], id))
	}
	if g.rng.IntN(100) < shareSet {
		to = append(to, `,"$set":{"last_order":`...)
		to = strconv.AppendUint(to, g.rng.Uint64N(1_000_000), 10)
		to = append(to, `,"plan":"pro"}`...)
	}
	if g.rng.IntN(100) < shareGroups {
		to = append(to, `,"$groups":{"company":"company-`...)
		to = strconv.AppendInt(to, int64(g.rng.IntN(companies)), 10)
		to = append(to, `"}`...)
	}
	return append(to, `}}`...)
}

// head writes the beginning of an event, up to its properties.
func (g *generator) head(to []byte, name, id string) []byte {
	g.clock = g.clock.Add(g.tick)
	to = append(to, `{"event":"`...)
	to = append(to, name...)
	to = append(to, `","distinct_id":"`...)
	to = append(to, id...)
	to = append(to, `","uuid":"`...)
	to = g.uuid(to)
	to = append(to, `","timestamp":"`...)
	to = g.clock.AppendFormat(to, "2006-01-02T15:04:05.000Z")
	return append(to, `","type":"capture","library":"posthog-node","library_version":"5.70.0","properties":{`...)
}

// identify merges an anonymous id, which usually has a person, into a known person.
func (g *generator) identify(to []byte) []byte {
	n := g.rng.IntN(len(g.anonymous))
	id := g.anonymous[n]
	last := len(g.anonymous) - 1
	g.anonymous[n], g.anonymous = g.anonymous[last], g.anonymous[:last]
	to = g.server(g.head(to, "$identify", personID(g.rng.IntN(existingPersons))))
	to = append(to, `,"$anon_distinct_id":"`...)
	to = append(to, id...)
	return append(to, `","$set":{"plan":"pro"}}}`...)
}

// smallEvent writes an event for large files.
func (g *generator) smallEvent(to []byte, id string) []byte {
	to = g.head(to, names[g.rng.IntN(len(names))], id)
	to = append(to, `"$lib":"posthog-node","$lib_version":"5.70.0","path":"/orders/`...)
	to = strconv.AppendUint(to, g.rng.Uint64N(1_000_000), 10)
	to = append(to, `","status":200,"plan":"pro","region":"eu-west-1","duration_ms":`...)
	to = strconv.AppendUint(to, g.rng.Uint64N(5_000), 10)
	to = append(to, `,"request_id":"`...)
	to = g.hex(to, 2)
	return append(to, `","cached":false}}`...)
}

// server writes the properties of an event from a server, some 550 bytes.
func (g *generator) server(to []byte) []byte {
	to = append(to, `"$lib":"posthog-node","$lib_version":"5.70.0","$geoip_disable":true,"$is_server":true,"order_id":"ord_`...)
	to = g.hex(to, 1)
	to = append(to, `","amount":`...)
	to = strconv.AppendFloat(to, float64(g.rng.IntN(100_000))/100, 'f', 2, 64)
	to = append(to, `,"currency":"EUR","items":[{"sku":"A-`...)
	to = strconv.AppendInt(to, int64(g.rng.IntN(10_000)), 10)
	to = append(to, `","quantity":2,"price":19.9},{"sku":"B-`...)
	to = strconv.AppendInt(to, int64(g.rng.IntN(10_000)), 10)
	to = append(to, `","quantity":1,"price":5}],"payment":"card","plan":"pro","region":"eu-west-1","service":"checkout","version":"2026.11.3","host":"app-`...)
	to = strconv.AppendInt(to, int64(g.rng.IntN(40)), 10)
	to = append(to, `","request_id":"`...)
	to = g.hex(to, 2)
	to = append(to, `","path":"/api/checkout/confirm","method":"POST","status":200,"duration_ms":`...)
	to = strconv.AppendInt(to, int64(g.rng.IntN(900)), 10)
	return append(to, `,"experiment":"checkout-layout","$feature/checkout-layout":"one-page","$feature/new-onboarding":true`...)
}

// browser writes the properties of a page view, some 40.
func (g *generator) browser(to []byte) []byte {
	to = append(to, `"$os":"Mac OS X","$os_version":"10.15.7","$browser":"Chrome","$browser_version":142,"$browser_language":"en-GB","$browser_language_prefix":"en","$device_type":"Desktop","$timezone":"Europe/Paris","$timezone_offset":-60,"$screen_height":1117,"$screen_width":1728,"$viewport_height":958,"$viewport_width":1512,`...)
	to = append(to, `"$raw_user_agent":"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36","$current_url":"https://shop.example.com/products/`...)
	to = strconv.AppendInt(to, int64(g.rng.IntN(10_000)), 10)
	to = append(to, `?utm_source=newsletter&utm_campaign=autumn","$host":"shop.example.com","$pathname":"/products","$referrer":"https://www.example.org/","$referring_domain":"www.example.org","utm_source":"newsletter","utm_campaign":"autumn","title":"Products","$lib":"web","$lib_version":"1.449.2","$insert_id":"`...)
	to = g.hex(to, 1)
	to = append(to, `","$time":`...)
	to = strconv.AppendFloat(to, float64(g.clock.UnixMilli())/1000, 'f', 3, 64)
	to = append(to, `,"$device_id":"`...)
	to = g.hex(to, 2)
	to = append(to, `","$session_id":"`...)
	to = g.hex(to, 2)
	to = append(to, `","$window_id":"`...)
	to = g.hex(to, 2)
	return append(to, `","$pageview_id":"p1","$active_feature_flags":["checkout-layout","new-onboarding"],"$feature/checkout-layout":"one-page","$feature/new-onboarding":true,"$feature_flag_payloads":{"checkout-layout":{"columns":1}},"$web_vitals_enabled_server_side":false,"$autocapture_disabled_server_side":false,"$console_log_recording_enabled_server_side":false,"$recording_status":"disabled","$sdk_debug_retry_queue_size":0,"$replay_sample_rate":null,"$session_recording_start_reason":null,"$lib_rate_limit_remaining_tokens":99,"$is_identified":false,"$process_person_profile":true`...)
}

const hexDigits = "0123456789abcdef"

// hex writes words of 16 random hexadecimal digits.
func (g *generator) hex(to []byte, words int) []byte {
	for range words {
		for n, bits := 0, g.rng.Uint64(); n < 16; n++ {
			to = append(to, hexDigits[bits>>(60-4*n)&15])
		}
	}
	return to
}

// uuid writes a UUID: random, or of the clock's time and random bits.
func (g *generator) uuid(to []byte) []byte {
	high, low := g.rng.Uint64(), g.rng.Uint64()
	if g.version == 7 {
		high = uint64(g.clock.UnixMilli())<<16 | high&0xfff
	}
	high = high&^0xf000 | uint64(g.version)<<12
	low = low&^(3<<62) | 2<<62
	for n := range 32 {
		word, at := high, n
		if n >= 16 {
			word, at = low, n-16
		}
		if n == 8 || n == 12 || n == 16 || n == 20 {
			to = append(to, '-')
		}
		to = append(to, hexDigits[word>>(60-4*at)&15])
	}
	return to
}
