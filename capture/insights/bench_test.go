package insights

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// batches is a Source with prepared batches, so that only the engine is measured.
type batches struct {
	memoryReader
	list   []*port.Batch
	people []port.Person
}

func (s *batches) Open(context.Context, int64) (port.Reader, error) { return s, nil }
func (s *batches) Person(n uint32) *port.Person                     { return &s.people[n] }

func (s *batches) Scan(_ context.Context, _ port.Scan, yield func(*port.Batch) error) error {
	for _, b := range s.list {
		if err := yield(b); err != nil {
			return err
		}
	}
	return nil
}

const (
	benchEvents = 200_000
	benchPeople = 20_000
	benchDays   = 30
)

// benchSource returns a month of random events, half of which are page views.
func benchSource() *batches {
	random := rand.New(rand.NewPCG(1, 2))
	s := &batches{}
	for i := range benchPeople {
		s.people = append(s.people, port.Person{UUID: capture.UUID{0: byte(i), 1: byte(i >> 8)}, Exists: true})
	}
	names := []string{"$pageview", "$pageview", "sign up", "purchase"}
	browsers := []string{"Chrome", "Firefox", "Safari", "Edge"}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	for i := 0; i < benchEvents; i += 5000 {
		b := &port.Batch{}
		for k := range 5000 {
			at := start + int64(i+k)*benchDays*86400*1_000_000/benchEvents
			b.ID, b.Time = append(b.ID, int64(i+k+1)), append(b.Time, at)
			b.Name = append(b.Name, names[random.IntN(len(names))])
			b.Person = append(b.Person, uint32(random.IntN(benchPeople)))
			b.Properties = append(b.Properties, fmt.Sprintf(`{"$lib":"web","$current_url":"https://example.com/p/%d?x=1","$browser":%q,"$screen_width":1920,"amount":%d,"$session_id":"s-%d"}`,
				random.IntN(500), browsers[random.IntN(4)], random.IntN(100), random.IntN(40_000)))
		}
		s.list = append(s.list, b)
	}
	return s
}

const trendsRange = `"interval":"day","dateRange":{"date_from":"2026-01-01","date_to":"2026-01-30"}`

// BenchmarkTrends measures each query with the engine, and with a loop written only for this query.
func BenchmarkTrends(b *testing.B) {
	s := benchSource()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	dayOf := func(at int64) int { return int((at - start) / 86_400_000_000) }
	for _, q := range []struct {
		name, query string
		loop        func() int
	}{
		{"CountByDay", `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"$pageview"}],` + trendsRange + `}`, func() int {
			var days [benchDays]int
			for _, l := range s.list {
				for i, name := range l.Name {
					if name == "$pageview" {
						days[dayOf(l.Time[i])]++
					}
				}
			}
			return days[0]
		}},
		{"UniqueByDay", `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"$pageview","math":"dau"}],` + trendsRange + `}`, func() int {
			days := make([]map[uint32]struct{}, benchDays)
			for d := range days {
				days[d] = map[uint32]struct{}{}
			}
			for _, l := range s.list {
				for i, name := range l.Name {
					if name == "$pageview" {
						days[dayOf(l.Time[i])][l.Person[i]] = struct{}{}
					}
				}
			}
			return len(days[0])
		}},
		{"PropertyFilter", `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","properties":[{"key":"$browser","value":"Chrome"}]}],` + trendsRange + `}`, func() int {
			var days [benchDays]int
			for _, l := range s.list {
				for i, properties := range l.Properties {
					if strings.Contains(properties, `"$browser":"Chrome"`) {
						days[dayOf(l.Time[i])]++
					}
				}
			}
			return days[0]
		}},
		{"SumByBrowser", `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"purchase","math":"sum","math_property":"amount"}],"breakdownFilter":{"breakdown":"$browser"},` + trendsRange + `}`, func() int {
			sums := map[string]*[benchDays]float64{}
			for _, l := range s.list {
				for i, name := range l.Name {
					if name != "purchase" {
						continue
					}
					var p struct {
						Browser string `json:"$browser"`
						Amount  float64
					}
					_ = json.Unmarshal([]byte(l.Properties[i]), &p)
					if sums[p.Browser] == nil {
						sums[p.Browser] = new([benchDays]float64)
					}
					sums[p.Browser][dayOf(l.Time[i])] += p.Amount
				}
			}
			return len(sums)
		}},
	} {
		parsed, err := Parse(json.RawMessage(q.query), &port.Project{ID: 1})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(q.name+"/engine", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := parsed.Run(b.Context(), s, port.Options{Now: time.Now()}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(q.name+"/loop", func(b *testing.B) {
			for b.Loop() {
				if q.loop() == 0 {
					b.Fatal("nothing was counted")
				}
			}
		})
	}
}
