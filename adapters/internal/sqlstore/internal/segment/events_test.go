package segment

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/capture"
)

// event is an event of a test with its long columns.
type event struct {
	block.Event
	elements, properties, person string
}

// maker returns events as clients send them: page views with about 40 properties, and events of
// servers with about 20. Each of 3,000 persons has properties that change sometimes.
type maker struct {
	*rand.Rand
	id, time int64
	states   map[int]string
}

func newMaker(seed uint64) *maker {
	return &maker{rand.New(rand.NewPCG(seed, 1)), 0, 1_795_000_000e6, map[int]string{}}
}

// uuid returns a UUID of version 7 or a random one.
func (m *maker) uuid(v7 bool) (u capture.UUID) {
	binary.BigEndian.PutUint64(u[:], m.Uint64())
	binary.BigEndian.PutUint64(u[8:], m.Uint64())
	if v7 {
		binary.BigEndian.PutUint64(u[:], uint64(m.time/1000)<<16|7<<12|m.Uint64()&0xfff)
	}
	return u
}

var (
	agents = []string{"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36", "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0"}
	cities = []string{"Paris", "Lyon", "Berlin", "Madrid", "Boston", "Osaka", "Porto", "Leeds"}
	served = []string{"order placed", "item viewed", "search performed", "invoice sent", "job finished", "$identify"}
)

// next returns the next event.
func (m *maker) next() event {
	m.id += 1 + m.Int64N(20)/19
	m.time += m.Int64N(20_000)
	n := m.IntN(3000)
	e := event{Event: block.Event{ID: m.id, Time: m.time - m.Int64N(3e6)/1000*1000, Arrived: m.time / 100_000 * 100_000, DistinctID: fmt.Sprintf("person-%d@example.com", n), PersonCreated: 1_760_000_000e6 + int64(n)*7_654_321}}
	if m.states[n] == "" || m.IntN(20) == 0 {
		m.states[n] = fmt.Sprintf(`{"email":"person-%d@example.com","plan":"pro","country":"FR","seats":%d,"beta":true,"last_order":"%06d","$initial_referrer":"$direct","$geoip_city_name":%q}`, n, n%100, m.IntN(1e6), cities[n%8])
	}
	e.person = m.states[n]
	if m.IntN(2) == 0 {
		m.view(&e)
	} else {
		e.Name, e.UUID = served[m.IntN(len(served))], m.uuid(false)
		e.properties = fmt.Sprintf(`{"$lib":"posthog-node","$lib_version":"5.70.0","$geoip_disable":true,"$is_server":true,"order_id":"ord_%016x","amount":%d.%02d,"currency":"EUR","items":[{"sku":"A-%d","quantity":2,"price":19.9},{"sku":"B-%d","quantity":1,"price":5}],"payment":"card","plan":"pro","region":"eu-west-1","service":"checkout","version":"2026.11.3","host":"app-%d","request_id":"%016x","path":"/api/checkout/confirm","method":"POST","status":200,"duration_ms":%d,"$feature/checkout-layout":"one-page","$feature/new-onboarding":true}`,
			m.Uint64(), m.IntN(1000), m.IntN(100), m.IntN(10_000), m.IntN(10_000), m.IntN(40), m.Uint64(), m.IntN(900))
	}
	e.Person = capture.PersonID(1, e.DistinctID)
	return e
}

// view completes an event of a browser.
func (m *maker) view(e *event) {
	e.Name, e.UUID = "$pageview", m.uuid(true)
	if m.IntN(3) == 0 {
		e.Name = "$autocapture"
		e.elements = fmt.Sprintf(`button.btn.btn-primary:nth-child="%d"nth-of-type="1"text="Add to cart"attr__class="btn btn-primary";div.card:nth-child="%d"nth-of-type="2"attr__class="card";body:nth-child="2"nth-of-type="1"`, m.IntN(9), m.IntN(40))
	}
	if m.IntN(10) == 0 { // a visitor without a person
		e.DistinctID, e.PersonCreated, e.Mode, e.person = m.uuid(true).String(), 5e6, capture.Propertyless, "{}"
	}
	page := m.IntN(10_000)
	e.properties = fmt.Sprintf(`{"$os":"Mac OS X","$os_version":"10.15.7","$browser":"Chrome","$browser_version":142,"$browser_language":"en-GB","$device_type":"Desktop","$timezone":"Europe/Paris","$timezone_offset":-60,"$screen_height":%d,"$screen_width":1728,"$viewport_height":%d,"$viewport_width":1512,"$raw_user_agent":%q,"$current_url":"https://shop.example.com/products/%d?utm_source=newsletter&utm_campaign=autumn","$host":"shop.example.com","$pathname":"/products/%d","$referrer":"https://www.example.org/","$referring_domain":"www.example.org","utm_source":"newsletter","utm_campaign":"autumn","title":"Products","$lib":"web","$lib_version":"1.449.2","$insert_id":"%016x","$time":%d.%03d,"$device_id":%q,"$session_id":%q,"$window_id":%q,"$pageview_id":"p1","$active_feature_flags":["checkout-layout","new-onboarding"],"$feature/checkout-layout":"one-page","$feature/new-onboarding":true,"$is_identified":false,"$process_person_profile":true,"$ip":"203.0.%d.%d","$geoip_city_name":%q,"$geoip_country_name":"France","$geoip_country_code":"FR","$geoip_latitude":48.%04d,"$geoip_longitude":2.%04d,"$geoip_time_zone":"Europe/Paris"}`,
		800+m.IntN(400), 700+m.IntN(300), agents[m.IntN(2)], page, page, m.Uint64(), e.Time/1e6, e.Time/1000%1000, m.uuid(true), m.uuid(true), m.uuid(true),
		m.IntN(256), m.IntN(256), cities[m.IntN(8)], m.IntN(10_000), m.IntN(10_000))
}

// events returns n events.
func (m *maker) events(n int) []event {
	out := make([]event, n)
	for i := range out {
		out[i] = m.next()
	}
	return out
}

// strange returns n events with values at the ends of their ranges, each with another distinct id.
// Persons have several creation times.
func (m *maker) strange(n int) (out []event) {
	anyTime := func() int64 { return int64(m.Uint64()) >> m.IntN(64) }
	for range n {
		m.id += 1 + m.Int64N(1<<40)>>m.IntN(41)
		e := event{Event: block.Event{
			ID: m.id, Time: anyTime(), Arrived: anyTime(), PersonCreated: anyTime(), UUID: m.uuid(false),
			Name: strings.Repeat("ü", m.IntN(100)), DistinctID: fmt.Sprint(strings.Repeat("😀", m.IntN(50)), m.id), Mode: capture.PersonMode(m.IntN(3)), Historical: m.IntN(2) == 0,
		}}
		e.Person[m.IntN(16)] = byte(m.IntN(3))
		e.elements, e.properties, e.person = strings.Repeat("e", m.IntN(3)), strings.Repeat("p", m.IntN(3000)), strings.Repeat("s", m.IntN(30))
		switch m.IntN(500) {
		case 0:
			e.properties = strings.Repeat("long ", 200_000+m.IntN(100))
		case 1:
			e.person = strings.Repeat("wide ", 13_000)
		}
		out = append(out, e)
	}
	return out
}

// columnsOf returns the short columns of events.
func columnsOf(t testing.TB, events []event) *block.Columns {
	var w block.Writer
	for i := range events {
		w.Add(&events[i].Event)
	}
	c := &block.Columns{}
	if err := c.DecodeShort(w.Short(nil)); err != nil {
		t.Fatal(err)
	}
	return c
}

// add adds a group to a writer.
func add(t testing.TB, w *Writer, events []event, skip map[int64]bool) {
	t.Helper()
	err := w.Add(columnsOf(t, events), skip, func(i int) (elements, properties, person string, err error) {
		return events[i].elements, events[i].properties, events[i].person, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
