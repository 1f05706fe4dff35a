package client

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
)

const (
	// demoDays is the number of days with events, including today. demoLife is the number of days
	// on which a person may return.
	demoDays = 30
	demoLife = 21
	// demoSeed seeds all random numbers, so that a day has the same persons on every machine.
	demoSeed = 20260101
)

// demoNamespace is the namespace of the uuids of demo events.
var demoNamespace = capture.UUID{0x1d, 0x5e, 0x2a, 0x90, 0x44, 0x0b, 0x4c, 0x3e, 0xb8, 0x61, 0x7a, 0x0f, 0x93, 0x2c, 0xd5, 0x16}

// demoEvent is an event in the format of /batch/.
type demoEvent struct {
	UUID       string         `json:"uuid"`
	Event      string         `json:"event"`
	DistinctID string         `json:"distinct_id"`
	Timestamp  string         `json:"timestamp"`
	Properties map[string]any `json:"properties"`
}

// demoEvents returns the demo events of the last demoDays days until now, sorted by time. Each
// event depends only on its day: on a later day most events are the same, with the same uuids, and
// those of the days since are added.
func demoEvents(now time.Time) (out []demoEvent) {
	now = now.UTC()
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	from := today.AddDate(0, 0, 1-demoDays)
	for day := from.AddDate(0, 0, -demoLife); !day.After(today); day = day.AddDate(0, 0, 1) {
		for nr := range demoNewcomers(day) {
			for _, e := range newDemoPerson(day, nr).allEvents() {
				if e.Timestamp >= stampOf(from) && e.Timestamp <= stampOf(now) {
					out = append(out, e)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b demoEvent) int { return strings.Compare(a.Timestamp, b.Timestamp) })
	return out
}

// stampOf formats a time so that the order of strings is that of the times.
func stampOf(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z") }

// demoNewcomers returns the number of new persons on a day, which is lower at the weekend.
func demoNewcomers(day time.Time) int {
	chance := demoChance(day, -1)
	if w := day.Weekday(); w == time.Saturday || w == time.Sunday {
		return 9 + chance.IntN(4)
	}
	return 15 + chance.IntN(6)
}

func demoChance(day time.Time, nr int) *rand.Rand {
	return rand.New(rand.NewPCG(demoSeed, uint64(day.Unix()/86400)<<20|uint64(nr+1)))
}

// demoPerson is an invented person.
type demoPerson struct {
	id                    string
	firstDay              time.Time
	browser, source, plan string
	hasSignedUp           bool
	chance                *rand.Rand
	events                []demoEvent
}

func newDemoPerson(day time.Time, nr int) *demoPerson {
	p := &demoPerson{id: fmt.Sprintf("made-up-%s-%02d", day.Format("20060102"), nr+1), firstDay: day, chance: demoChance(day, nr)}
	p.browser = p.oneOf(55, "Chrome", 25, "Safari", 14, "Firefox", 6, "Edge")
	p.source = p.oneOf(44, "search", 31, "direct", 15, "newsletter", 10, "a friend")
	p.plan = p.oneOf(80, "free", 20, "pro")
	return p
}

// oneOf returns one of the strings of list, each preceded by its probability in percent.
func (p *demoPerson) oneOf(list ...any) string {
	n := p.chance.IntN(100)
	for i := 0; i < len(list); i += 2 {
		if n -= list[i].(int); n < 0 {
			return list[i+1].(string)
		}
	}
	return list[len(list)-1].(string)
}

// allEvents returns all events of a person: there is always a visit on the first day, and then with
// decreasing probability.
func (p *demoPerson) allEvents() []demoEvent {
	for d := range demoLife {
		if d == 0 || p.chance.Float64() < 0.45*math.Exp(-float64(d)/6)+0.04 {
			p.addVisit(p.firstDay.AddDate(0, 0, d))
		}
	}
	return p.events
}

var demoPages = []any{40, "/", 25, "/shop", 15, "/shop/lamp", 12, "/pricing", 8, "/help"}

// addVisit adds the events of one day, which ends before midnight.
func (p *demoPerson) addVisit(day time.Time) {
	timestamp := day.Add(time.Duration(p.chance.IntN(23*60)) * time.Minute)
	session := fmt.Sprintf("%s-%s", p.id, day.Format("0102"))
	happens := func(name string, more map[string]any) {
		timestamp = timestamp.Add(time.Duration(5+p.chance.IntN(110)) * time.Second)
		properties := map[string]any{
			"made_up": true, "$browser": p.browser, "source": p.source, "$session_id": session, "$ip": nil,
			"$set_once": map[string]any{"made_up": true, "first_source": p.source},
		}
		for key, v := range more {
			properties[key] = v
		}
		uuid := wire.UUID5(demoNamespace, []byte(p.id+" "+strconv.Itoa(len(p.events))))
		p.events = append(p.events, demoEvent{uuid.String(), name, p.id, stampOf(timestamp), properties})
	}
	for range 1 + p.chance.IntN(5) {
		page := p.oneOf(demoPages...)
		happens("$pageview", map[string]any{"$current_url": "https://shop.example" + page, "$pathname": page})
	}
	if !p.hasSignedUp && p.chance.Float64() < 0.55 {
		p.hasSignedUp = true
		happens("signed up", map[string]any{"plan": p.plan, "$set": map[string]any{"plan": p.plan, "name": "Made-up person " + p.id[len("made-up-"):]}})
	}
	if p.hasSignedUp && p.chance.Float64() < 0.4 {
		happens("item added", map[string]any{"item": p.oneOf(50, "lamp", 30, "chair", 20, "table")})
		if p.chance.Float64() < 0.5 {
			happens("order placed", map[string]any{"amount": 10 + p.chance.IntN(190)})
		}
	}
}
