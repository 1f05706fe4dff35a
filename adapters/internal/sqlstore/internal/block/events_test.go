package block

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bunting-flags/bunting/capture"
)

// madeEvent is an event of a test with its long columns.
type madeEvent struct {
	Event
	elements, properties, person string
}

// maker makes events as clients send them: one half are page views with about 50 properties, the
// rest are events of servers with about 20. 3,000 persons send most of them.
type maker struct {
	random *rand.Rand
	id     int64
	time   int64
	states map[int]string
}

func newMaker(seed uint64) *maker {
	return &maker{random: rand.New(rand.NewPCG(seed, 1)), time: 1_780_000_000e6, states: map[int]string{}}
}

// uuid returns a UUID of version 7 for half of the events, and a random one for the rest.
func (m *maker) uuid(v7 bool) (u capture.UUID) {
	binary.BigEndian.PutUint64(u[:], m.random.Uint64())
	binary.BigEndian.PutUint64(u[8:], m.random.Uint64())
	if v7 {
		binary.BigEndian.PutUint64(u[:], uint64(m.time/1000)<<16|7<<12|m.random.Uint64()&0xfff)
	}
	return u
}

var (
	agents = []string{
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0",
	}
	cities = []string{"Paris", "Lyon", "Berlin", "Madrid", "Boston", "Osaka", "Porto", "Leeds"}
	served = []string{"order placed", "item viewed", "search performed", "invoice sent", "job finished", "$identify"}
)

// event makes the next event.
func (m *maker) event() madeEvent {
	r := m.random
	m.id += 1 + int64(r.IntN(20))/19
	m.time += r.Int64N(20_000)
	n := r.IntN(3000)
	e := madeEvent{Event: Event{ID: m.id, Time: m.time - r.Int64N(3e6)/1000*1000, Arrived: m.time / 100_000 * 100_000, DistinctID: fmt.Sprintf("person-%d@example.com", n), PersonCreated: 1_760_000_000e6 + int64(n)*7_654_321}}
	e.Person = capture.PersonID(1, e.DistinctID)
	if _, ok := m.states[n]; !ok || r.IntN(20) == 0 {
		m.states[n] = fmt.Sprintf(`{"email":"person-%d@example.com","plan":"pro","country":"FR","seats":%d,"beta":true,"last_order":"%06d","$initial_referrer":"$direct","$geoip_city_name":%q}`, n, n%100, r.IntN(1e6), cities[n%8])
	}
	e.person = m.states[n]
	if r.IntN(2) == 0 {
		m.pageView(&e)
		return e
	}
	e.Name, e.UUID = served[r.IntN(len(served))], m.uuid(false)
	e.properties = fmt.Sprintf(`{"$lib":"posthog-node","$lib_version":"5.70.0","$geoip_disable":true,"$is_server":true,"order_id":"ord_%016x","amount":%d.%02d,"currency":"EUR","items":[{"sku":"A-%d","quantity":2,"price":19.9},{"sku":"B-%d","quantity":1,"price":5}],"payment":"card","plan":"pro","region":"eu-west-1","service":"checkout","version":"2026.11.3","host":"app-%d","request_id":"%016x%016x","path":"/api/checkout/confirm","method":"POST","status":200,"duration_ms":%d,"$feature/checkout-layout":"one-page","$feature/new-onboarding":true}`,
		r.Uint64(), r.IntN(1000), r.IntN(100), r.IntN(10_000), r.IntN(10_000), r.IntN(40), r.Uint64(), r.Uint64(), r.IntN(900))
	return e
}

// pageView completes an event of a browser.
func (m *maker) pageView(e *madeEvent) {
	r := m.random
	e.Name, e.UUID = "$pageview", m.uuid(true)
	if r.IntN(3) == 0 {
		e.Name = "$autocapture"
		e.elements = fmt.Sprintf(`button.btn.btn-primary:nth-child="%d"nth-of-type="1"text="Add to cart"attr__class="btn btn-primary";div.card:nth-child="%d"nth-of-type="2"attr__class="card";body:nth-child="2"nth-of-type="1"`, r.IntN(9), r.IntN(40))
	}
	if r.IntN(10) == 0 { // a visitor without a person
		e.DistinctID, e.PersonCreated, e.Mode, e.person = m.uuid(true).String(), 5e6, capture.Propertyless, "{}"
		e.Person = capture.PersonID(1, e.DistinctID)
	}
	city := cities[r.IntN(8)]
	e.properties = fmt.Sprintf(`{"$os":"Mac OS X","$os_version":"10.15.7","$browser":"Chrome","$browser_version":142,"$browser_language":"en-GB","$browser_language_prefix":"en","$device_type":"Desktop","$timezone":"Europe/Paris","$timezone_offset":-60,"$screen_height":%d,"$screen_width":1728,"$viewport_height":%d,"$viewport_width":1512,"$raw_user_agent":%q,"$current_url":"https://shop.example.com/products/%d?utm_source=newsletter&utm_campaign=autumn","$host":"shop.example.com","$pathname":"/products/%d","$referrer":"https://www.example.org/","$referring_domain":"www.example.org","utm_source":"newsletter","utm_campaign":"autumn","title":"Products","$lib":"web","$lib_version":"1.449.2","$insert_id":"%016x","$time":%d.%03d,"$device_id":%q,"$session_id":%q,"$window_id":%q,"$pageview_id":"p1","$active_feature_flags":["checkout-layout","new-onboarding"],"$feature/checkout-layout":"one-page","$feature/new-onboarding":true,"$recording_status":"disabled","$sdk_debug_retry_queue_size":0,"$is_identified":false,"$process_person_profile":true,"$ip":"203.0.%d.%d","$geoip_city_name":%q,"$geoip_country_name":"France","$geoip_country_code":"FR","$geoip_continent_name":"Europe","$geoip_continent_code":"EU","$geoip_latitude":48.%04d,"$geoip_longitude":2.%04d,"$geoip_time_zone":"Europe/Paris"}`,
		800+r.IntN(400), 700+r.IntN(300), agents[r.IntN(3)], r.IntN(10_000), r.IntN(10_000), r.Uint64(), e.Time/1e6, e.Time/1000%1000, m.uuid(true), m.uuid(true), m.uuid(true),
		r.IntN(256), r.IntN(256), city, r.IntN(10_000), r.IntN(10_000))
}

// events makes n events.
func (m *maker) events(n int) []madeEvent {
	out := make([]madeEvent, n)
	for i := range out {
		out[i] = m.event()
	}
	return out
}

// encoded are the strings of some events.
type encoded struct {
	names, people, origins, hashes, filter, short []byte
	chunks                                        [][]byte
}

// size returns the length of all strings.
func (e *encoded) size() int {
	n := len(e.names) + len(e.people) + len(e.origins) + len(e.hashes) + len(e.filter)
	for _, t := range e.chunks {
		n += len(t)
	}
	return n
}

// testEncoder encodes events as a store does.
type testEncoder struct {
	short Writer
	long  ChunkWriter
}

func (t *testEncoder) encode(events []madeEvent) (out encoded) {
	t.short.Reset()
	t.long.Reset()
	for i := range events {
		e := &events[i]
		t.short.Add(&e.Event)
		if !t.long.HasRoom(len(e.elements) + len(e.properties) + len(e.person)) {
			out.chunks = append(out.chunks, t.long.Encode(nil))
			t.long.Reset()
		}
		t.long.Add(e.ID, e.elements, e.properties, e.person)
	}
	if t.long.Len() > 0 {
		out.chunks = append(out.chunks, t.long.Encode(nil))
	}
	out.names = t.short.Names()
	out.people, out.origins, out.hashes, out.filter = t.short.People(out.names), t.short.Origins(out.names), t.short.Hashes(out.names), t.short.Filter()
	out.short = t.short.Short(nil)
	return out
}

// report reports the rate of a benchmark in events.
func report(b *testing.B, events int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}

// Encoding and decoding, for commits and for full blocks of events as clients send them.
func BenchmarkBlock(b *testing.B) {
	for _, n := range []int{1, 100, 1000, MaxEvents} {
		events := newMaker(1).events(n)
		raw := 0
		for i := range events {
			raw += len(events[i].properties)
		}
		var t testEncoder
		data := t.encode(events)
		b.Run(fmt.Sprint("Encode/", n), func(b *testing.B) {
			for b.Loop() {
				data = t.encode(events)
			}
			report(b, n)
			b.ReportMetric(float64(data.size())/float64(n), "B/event")
			for name, text := range map[string][]byte{"names": data.names, "people": data.people, "origins": data.origins, "hashes": data.hashes, "filter": data.filter} {
				b.ReportMetric(float64(len(text))/float64(n), name+"-B/event")
			}
			b.ReportMetric(float64(raw)/float64(n), "properties-B/event")
		})
		var c Columns
		for name, decode := range map[string]func() error{
			"names":   func() error { return c.DecodeNames(data.names) },
			"people":  func() error { return c.DecodePeople(data.people) },
			"origins": func() error { return c.DecodeOrigins(data.origins) },
			"hashes":  func() error { _, err := c.FindHashes(data.hashes, []Value{1}); return err },
			"chunks": func() (err error) {
				var t Chunk
				for i := range data.chunks {
					if err = t.Decode(data.chunks[i]); err != nil {
						break
					}
				}
				return err
			},
		} {
			if err := c.DecodeNames(data.names); err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprint("Decode/", n, "/", name), func(b *testing.B) {
				for b.Loop() {
					if err := decode(); err != nil {
						b.Fatal(err)
					}
				}
				report(b, n)
			})
		}
	}
}
