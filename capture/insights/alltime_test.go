package insights

import (
	"errors"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/plaintest"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Anyone with the public key can send an event of 1970; charts of all time still begin with the
// first real event (§3.1.1 all).
func TestPeriod_AllTimeLeavesOutBrokenClocks(t *testing.T) {
	m := &memory{}
	for _, day := range []string{"0001-01-01", "1970-01-01", "2000-01-01", "2014-12-31", "2020-01-09", "2020-01-31"} {
		m.events = append(m.events, memoryEvent{name: "x", distinctID: "a", at: plaintest.Instant(t, day+"T12:00:00Z")})
	}
	for kind, want := range map[string]string{
		`"kind":"TrendsQuery"`: `"data":[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,0],`,
		`"kind":"TrendsQuery","trendsFilter":{"display":"BoldNumber"}`: `"aggregated_value":2}`,
		`"kind":"StickinessQuery"`:                                     `"count":1,"data":[0,1,`,
	} {
		got, _, err := ask(t, m, `{`+kind+`,"series":[{"kind":"EventsNode"}],"dateRange":{"date_from":"all"}}`)
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %s, %v; want %s", kind, got, err, want)
		}
	}
}

// Results for a period as a whole do not need buckets, so their number is not limited (§5.4):
// 20,484 days.
func TestPeriod_SingleNeedsNoBuckets(t *testing.T) {
	m := &memory{}
	for _, day := range []string{"1970-01-01", "1970-01-02", "2020-01-09"} {
		m.events = append(m.events, memoryEvent{name: "x", distinctID: "a", at: plaintest.Instant(t, day+"T12:00:00Z")})
	}
	const series = `,"series":[{"kind":"EventsNode"},{"kind":"EventsNode"}],"dateRange":{"date_from":"1970-01-01","date_to":"2026-01-31"}}`
	for kind, want := range map[string]string{
		`{"kind":"TrendsQuery","trendsFilter":{"display":"BoldNumber"}`:                                  `"aggregated_value":3}`,
		`{"kind":"TrendsQuery","trendsFilter":{"display":"ActionsPie"},"compareFilter":{"compare":true}`: `"aggregated_value":3,"compare":true`,
		`{"kind":"FunnelsQuery"`: `"average_conversion_time":86400`,
		`{"kind":"FunnelsQuery","funnelsFilter":{"funnelVizType":"time_to_convert"}`: `"average_conversion_time":86400`,
	} {
		if got, _, err := ask(t, m, kind+series); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %s, %v; want %s", kind, got, err, want)
		}
	}
	var e *port.Error
	if _, _, err := ask(t, m, `{"kind":"TrendsQuery"`+series); !errors.As(err, &e) || e.Code != document.TooLarge {
		t.Errorf("by day: %v, want %s", err, document.TooLarge)
	}
}
