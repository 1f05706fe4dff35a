package demodata

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/ids"
	"github.com/bunting-flags/bunting/flags"
)

const (
	// Days is the number of days with events, including today. life is the number of days
	// on which a person may return.
	Days = 30
	life = 21
	// seed seeds all random numbers, so that a day has the same persons on every machine.
	seed = 20260101
	// IDPrefix is the beginning of all distinct ids.
	IDPrefix = "made-up-"
	site     = "https://shop.example"
)

// Identifiers that records of the server and events share.
const (
	SurveyName     = "Demo: your visit"
	RatingQuestion = "5d0c1e0a-8a51-4c6e-9a55-0d1f0e6b7a01"
	OpenQuestion   = "5d0c1e0a-8a51-4c6e-9a55-0d1f0e6b7a02"
	Fingerprint    = "made-up-showPrice" // of the exceptions
)

// namespace is the namespace of the uuids of demo events.
var namespace = capture.UUID{0x1d, 0x5e, 0x2a, 0x90, 0x44, 0x0b, 0x4c, 0x3e, 0xb8, 0x61, 0x7a, 0x0f, 0x93, 0x2c, 0xd5, 0x16}

// Event is an event in the format of /batch/.
type Event struct {
	UUID       string         `json:"uuid"`
	Event      string         `json:"event"`
	DistinctID string         `json:"distinct_id"`
	Timestamp  string         `json:"timestamp"`
	Properties map[string]any `json:"properties"`
}

// World contains the objects of the server that events refer to.
type World struct {
	Flags  *flags.Set // the current definitions of the demo's flags
	Survey string     // the id of the survey
}

// Start returns the time of the first event: the first midnight, in UTC, of Days days.
func Start(now time.Time) time.Time {
	now = now.UTC()
	return time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC).AddDate(0, 0, 1-Days)
}

// Events returns the demo events of the last Days days until now, sorted by time. Each
// event depends only on its day, except for the values of flags: on a later day most events are the
// same, with the same uuids, and those of the days since are added.
func Events(now time.Time, world World) (out []Event) {
	from, now := Start(now), now.UTC()
	for day := from.AddDate(0, 0, -life); !day.After(now); day = day.AddDate(0, 0, 1) {
		for nr := range newcomers(day) {
			for _, e := range newPerson(day, nr, world).allEvents() {
				if e.Timestamp >= Stamp(from) && e.Timestamp <= Stamp(now) {
					out = append(out, e)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Event) int { return strings.Compare(a.Timestamp, b.Timestamp) })
	return out
}

// Stamp formats a time so that the order of strings is that of the times.
func Stamp(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z") }

// newcomers returns the number of new persons on a day, which is lower at the weekend.
func newcomers(day time.Time) int {
	chance := chanceOf(day, -1)
	if w := day.Weekday(); w == time.Saturday || w == time.Sunday {
		return 9 + chance.IntN(4)
	}
	return 15 + chance.IntN(6)
}

func chanceOf(day time.Time, nr int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(day.Unix()/86400)<<20|uint64(nr+1)))
}

// person is an invented person.
type person struct {
	id                    string
	firstDay              time.Time
	browser, source, plan string
	hasSignedUp           bool
	wasSurveyed           bool
	world                 World
	properties            flags.Properties // as stored by the server
	values                map[string]any   // of the flags that were called, by key
	variant               any              // of the experiment
	chance                *rand.Rand
	events                []Event
	counts                map[string]int // of events, by name
}

func newPerson(day time.Time, nr int, world World) *person {
	p := &person{id: fmt.Sprintf("%s%s-%02d", IDPrefix, day.Format("20060102"), nr+1), firstDay: day, chance: chanceOf(day, nr), world: world, values: map[string]any{}, counts: map[string]int{}}
	p.browser = p.oneOf(55, "Chrome", 25, "Safari", 14, "Firefox", 6, "Edge")
	p.source = p.oneOf(44, "search", 31, "direct", 15, "newsletter", 10, "a friend")
	p.plan = p.oneOf(80, "free", 20, "pro")
	p.properties = flags.Properties{"made_up": true, "first_source": p.source}
	decision, _ := checkoutSet.EvaluateFlag(CheckoutFlag, &flags.Subject{DistinctID: p.id}, day, &flags.Decisions{})
	p.variant = decision.Value()
	return p
}

// oneOf returns one of the strings of list, each preceded by its probability in percent.
func (p *person) oneOf(list ...any) string {
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
func (p *person) allEvents() []Event {
	for d := range life {
		if d == 0 || p.chance.Float64() < 0.45*math.Exp(-float64(d)/6)+0.04 {
			p.addVisit(p.firstDay.AddDate(0, 0, d))
		}
	}
	return p.events
}

var pageShares = []any{40, "/", 25, "/shop", 15, "/shop/lamp", 12, "/pricing", 8, "/help"}

// orderShares are the probabilities of an order after an item was added, by the variant of the
// experiment. They differ enough for a significant result with the persons of a month.
var orderShares = map[any]float64{"control": 0.2, "test": 0.55}

const (
	errorShare  = 0.08 // probability of an exception after a view of a lamp's page
	surveyShare = 0.3  // probability that a visit after the sign-up ends with the survey
)

// addVisit adds the events of one day, which ends before midnight.
func (p *person) addVisit(day time.Time) {
	timestamp := day.Add(time.Duration(p.chance.IntN(23*60)) * time.Minute)
	session := fmt.Sprintf("%s-%s", p.id, day.Format("0102"))
	happens := func(name string, more map[string]any) {
		timestamp = timestamp.Add(time.Duration(5+p.chance.IntN(110)) * time.Second)
		more["$session_id"] = session
		p.add(name, "", timestamp, more)
	}
	for range 1 + p.chance.IntN(5) {
		page := p.oneOf(pageShares...)
		happens("$pageview", map[string]any{"$current_url": site + page, "$pathname": page})
		p.callFlags(page, true, timestamp)
		if page == "/shop/lamp" && p.chance.Float64() < errorShare {
			happens("$exception", exceptionProperties(page))
		}
	}
	if !p.hasSignedUp && p.chance.Float64() < 0.55 {
		p.hasSignedUp = true
		name := "Made-up person " + p.id[len(IDPrefix):]
		p.properties["plan"], p.properties["name"] = p.plan, name
		happens("signed up", map[string]any{"plan": p.plan, "$set": map[string]any{"plan": p.plan, "name": name}})
	}
	if p.hasSignedUp && p.chance.Float64() < 0.4 {
		happens("item added", map[string]any{"item": p.oneOf(50, "lamp", 30, "chair", 20, "table")})
		p.callFlags("item added", false, timestamp)
		if p.chance.Float64() < orderShares[p.variant] {
			happens("order placed", map[string]any{"amount": 10 + p.chance.IntN(190)})
		}
	}
	if p.hasSignedUp && !p.wasSurveyed && p.chance.Float64() < surveyShare {
		p.wasSurveyed = true
		p.survey(happens)
	}
}

// survey adds the events of the survey, which the person answers, dismisses or ignores.
func (p *person) survey(happens func(name string, more map[string]any)) {
	of := func() map[string]any {
		return map[string]any{"$survey_id": p.world.Survey, "$survey_name": SurveyName}
	}
	happens("survey shown", of())
	what, rating := p.oneOf(50, "survey sent", 30, "survey dismissed", 20, ""), p.oneOf(6, "1", 10, "2", 22, "3", 36, "4", 26, "5")
	text := p.oneOf(45, "", 20, "More photos of the lamps, please.", 15, "The search did not find the table.", 12, "Nothing, it was easy.", 8, "Delivery took long.")
	if what == "" {
		return
	}
	event := of()
	if what == "survey sent" {
		event["$survey_response"], event["$survey_response_"+RatingQuestion] = rating, rating
		if text != "" {
			event["$survey_response_"+OpenQuestion] = text
		}
		event["$set"] = map[string]any{"$survey_responded/" + p.world.Survey: true}
	} else {
		event["$set"] = map[string]any{"$survey_dismissed/" + p.world.Survey: true}
	}
	happens(what, event)
}

// exceptionProperties returns the properties of the demo's exception.
func exceptionProperties(page string) map[string]any {
	frame := func(function string, line int) map[string]any {
		return map[string]any{"platform": "web:javascript", "filename": site + "/static/shop.js", "function": function, "lineno": line, "colno": 17, "in_app": true}
	}
	return map[string]any{
		"$current_url": site + page, "$exception_level": "error", "$exception_fingerprint": Fingerprint,
		"$exception_list": []map[string]any{{
			"type": "TypeError", "value": "Cannot read properties of undefined (reading 'price')", "mechanism": map[string]any{"handled": false, "type": "onerror"},
			"stacktrace": map[string]any{"type": "raw", "frames": []map[string]any{frame("showPage", 12), frame("showPrice", 41)}},
		}},
	}
}

// add adds an event. Its uuid is derived from the person, the name, more, and the number of earlier
// events with the same three.
func (p *person) add(name, more string, at time.Time, properties map[string]any) {
	// The event of the sign-up may be older than the first day with events.
	all := map[string]any{"made_up": true, "$browser": p.browser, "source": p.source, "$ip": nil, "$set_once": maps.Clone(p.properties)}
	for key, value := range p.values {
		all["$feature/"+key] = value
	}
	for key, value := range properties {
		all[key] = value
	}
	if all["$survey_id"] != nil {
		more += p.world.Survey // a new survey gets new events
	}
	of := strings.Join([]string{p.id, name, more}, " ")
	p.counts[of]++
	uuid := ids.OfName(namespace, []byte(of+" "+strconv.Itoa(p.counts[of])))
	p.events = append(p.events, Event{uuid.String(), name, p.id, Stamp(at), all})
}

// callFlags adds the calls of flags at a place, unless the person has called them before. The value is
// the one that the server would return for the person at that time.
func (p *person) callFlags(place string, isPage bool, at time.Time) {
	for _, f := range Flags {
		if _, before := p.values[f.Key]; before || f.on != place && !(f.on == "" && isPage) {
			continue
		}
		decision, ok := p.world.Flags.EvaluateFlag(f.Key, &flags.Subject{DistinctID: p.id, Person: p.properties}, at, &flags.Decisions{})
		if !ok || decision.Failed() {
			continue
		}
		p.values[f.Key] = decision.Value()
		called := map[string]any{"$feature_flag": f.Key, "$feature_flag_response": decision.Value(), "$feature_flag_id": decision.ID, "$feature_flag_version": decision.Version}
		if payload := decision.PayloadJSON(); payload != nil {
			called["$feature_flag_payload"] = payload
		}
		p.add("$feature_flag_called", f.Key, at, called)
	}
}
