package browsertest

import (
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdpage "github.com/chromedp/cdproto/page"
)

// healthScript replaces the rates of the last hour, which are missing in the first minute of a
// server, and the checks, which have no time without a certificate.
const healthScript = `{
	const real = fetch;
	window.fetch = async (...a) => {
		const got = await real(...a);
		if (!String(a[0]).endsWith("/api/health/")) return got;
		const body = {...await got.json(), checks: [
			{name: "certificate", state: "ok", detail: "good until 2026-03-31 12:00:00 UTC", messages: [{code: "certificate_until", values: {until: "2026-03-31T12:00:00Z"}}], since: "2026-01-02T09:30:00Z", advice: "", advice_code: ""},
			{name: "moon", state: "ok", detail: "full since 2026-03-31 12:00:00 UTC", messages: [{code: "moon_full", values: {}}], since: "2026-01-02T09:30:00Z", advice: "", advice_code: ""},
		], rates: {minutes: ["2026-01-02T09:30:00Z"], flags: [1], events: [2], errors: [0]}};
		return new Response(JSON.stringify(body), {headers: got.headers});
	};
}`

// console.md §4 Language: times are in the project's zone, which here differs by its minutes from
// that of the browser, also in charts of minutes.
func TestTimes_InTheProjectsZone(t *testing.T) {
	s := serve(t)
	const name = "Asia/Kathmandu" // 5:45 ahead of UTC
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	s.api("PATCH", "/api/projects/1/", map[string]any{"timezone": name}, nil)
	s.sendFlagCall("$feature_flag_called", "banner", "ana")
	p := s.open(t, "account")
	call(p, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "America/New_York"})
	call(p, cdpage.Enable, cdpage.EnableParams{})
	call(p, cdpage.AddScriptToEvaluateOnNewDocument, cdpage.AddScriptToEvaluateOnNewDocumentParams{Source: healthScript})
	p.visit("organization/health")
	p.node("table", "The last hour, by minute", "rowheader", "15:15")
	p.node("table", "Checks", "cell", "good until 31 Mar 2026, 17:45:00 GMT+5:45")
	p.node("table", "Checks", "cell", "full since 31 Mar 2026, 17:45:00 GMT+5:45") // a check of a newer server
	clock := []string{}                                                            // the last hour and the time that passes meanwhile
	for at := time.Now().Add(-62 * time.Minute); at.Before(time.Now().Add(5 * time.Minute)); at = at.Add(time.Minute) {
		clock = append(clock, at.In(zone).Format("15:04"))
	}
	p.visit("p/1")
	p.node("image", "Chart: Flag calls by minute")
	ticks := js[[]string](p, "[...document.querySelectorAll('svg.chart .tick-text.middle')].map(x => x.textContent)")
	if len(ticks) == 0 {
		t.Error("the chart has no times")
	}
	for _, tick := range ticks {
		if !slices.Contains(clock, tick) {
			t.Errorf("the chart has %s, want a time of the last hour in %s", tick, name)
		}
	}
}
