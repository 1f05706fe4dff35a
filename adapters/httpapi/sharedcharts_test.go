package httpapi_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management/dashboards"
)

// hostileText is the name of events, persons and insights in these tests.
const hostileText = `</title></svg><script>alert("1")</script><img src=x onerror=alert(1)>'`

// board creates a shared dashboard with insights for some queries, in their order, and returns
// the token of its link.
func (v *insightFixture) board(t *testing.T, settings string, questions ...string) string {
	t.Helper()
	project := fmt.Sprint(v.names["project"])
	created := v.must(t, &insightStep{Method: "POST", Path: "/api/projects/" + project + "/dashboards/", Body: wire.MustEncode(map[string]any{"name": hostileText, "description": hostileText}), Status: 201})
	path := fmt.Sprintf("/api/projects/%s/dashboards/%v/", project, created["id"])
	v.must(t, &insightStep{Method: "PATCH", Path: path, Body: wire.MustEncode(map[string]any{"tiles": []any{map[string]any{"text": map[string]any{"body": hostileText}}}}), Status: 200})
	for _, query := range questions {
		v.must(t, &insightStep{Method: "POST", Path: "/api/projects/" + project + "/insights/", Status: 201,
			Body: wire.MustEncode(map[string]any{"name": hostileText, "description": hostileText, "query": json.RawMessage(query), "dashboards": []any{created["id"]}})})
	}
	link := v.must(t, &insightStep{Method: "PATCH", Path: path + "sharing/", Body: json.RawMessage(`{"enabled":true,"settings":` + settings + `}`), Status: 200})
	return fmt.Sprint(link["access_token"])
}

// insights.md §1.9, §5.1: each kind of query is rendered as a picture with its numbers, on a page
// without scripts, with captured data escaped.
func TestShared_Charts(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	text := string(wire.MustEncode(hostileText))
	events := strings.ReplaceAll(`[
		[§,"ann","2020-01-02T03:04:05Z",{"p":§,"$set":{"email":§}}],["buy","ann","2020-01-02T04:04:05Z",{"p":§}],
		[§,"bob","2020-01-02T03:04:05Z",{"p":§}],[§,"bob","2020-01-04T03:04:05Z",{"p":"other"}]]`, "§", text)
	v := o.insightProject(t, &insightCase{ID: "charts", Events: json.RawMessage(events)})
	trend := func(more string) string {
		return `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":` + text + `}],"dateRange":{"date_from":"2020-01-02","date_to":"2020-01-04"}` + more + `}`
	}
	node := func(event string) string { return `{"kind":"EventsNode","event":` + event + `}` }
	dates := `,"dateRange":{"date_from":"2020-01-02","date_to":"2020-01-04"}}`
	tests := []struct{ query, want string }{
		// 2, 0 and 1 events: steps of 1 up to 2, 100 high each.
		{trend(``), `points="60,20 380,220 700,120"`},
		{`{"kind":"InsightVizNode","source":` + trend(`,"trendsFilter":{"display":"ActionsLineGraphCumulative"}`) + `}`, `points="60,86.7 380,86.7 700,20"`},
		{trend(`,"trendsFilter":{"display":"ActionsBar"},"breakdownFilter":{"breakdown":"p"}`), `fill="url(#t3-p1)"`},
		{trend(`,"trendsFilter":{"display":"ActionsAreaGraph"},"breakdownFilter":{"breakdown":"p"}`), `<polygon class="fill c0"`},
		{trend(`,"trendsFilter":{"display":"BoldNumber"}`), `class="big" text-anchor="middle" x="360" y="76">3</text>`},
		{trend(`,"trendsFilter":{"display":"ActionsPie"},"breakdownFilter":{"breakdown":"p"}`), `>2 (66.7%)</text>`},
		{trend(`,"trendsFilter":{"display":"ActionsTable"}`), `<td class="n">3</td>`},
		{`{"kind":"FunnelsQuery","series":[` + node(text) + `,` + node(`"buy"`) + `]` + dates, `>1, 50% of the first</text>`},
		{`{"kind":"FunnelsQuery","funnelsFilter":{"funnelVizType":"trends"},"series":[` + node(text) + `,` + node(`"buy"`) + `]` + dates, `>converted</text>`},
		{`{"kind":"RetentionQuery","retentionFilter":{"totalIntervals":3,"targetEntity":{"id":` + text + `,"type":"events"},"returningEntity":{"id":` + text + `,"type":"events"}},"dateRange":{"date_from":"2020-01-02","date_to":"2020-01-04"}}`, `<td class="n h10">100%</td><td class="n">0%</td><td class="n h5">50%</td>`},
		{`{"kind":"LifecycleQuery","series":[` + node(text) + `]` + dates, `: −2, dormant</title>`},
		{`{"kind":"StickinessQuery","series":[` + node(text) + `]` + dates, `>2 days</text>`},
		{`{"kind":"EventsQuery","select":["*","event","person","properties.p"],"after":"all"}`, `<th scope="col">properties.p</th>`},
		{`{"kind":"HogQLQuery","query":"SELECT event, count() FROM events GROUP BY event ORDER BY count()"}`, `<td>buy</td><td class="n">1</td>`},
		{`{"kind":"PathsQuery"}`, `This question is not supported here.`},
		{`{"kind":"TrendsQuery","series":[]}`, `This question cannot be answered.`},
		{`{}`, `This insight has no query yet.`},
		{trend(``)[:len(trend(``))-1] + `,"properties":[{"key":"p","value":"nobody"}]}`, `points="60,220 380,220 700,220"`},
		{`{"kind":"EventsQuery","select":["event"],"event":"never","after":"all"}`, `There is nothing here yet.`},
	}
	var questions []string
	for _, s := range tests {
		questions = append(questions, s.query)
	}
	token := v.board(t, `{}`, questions...)
	page, h := o.page(t, "GET", "/shared/"+token, "", 200)
	sections := strings.Split(page, "<section>")[1:]
	if len(sections) != len(tests)+1 {
		t.Fatalf("%d sections:\n%s", len(sections), page)
	}
	for i, s := range tests {
		if !strings.Contains(sections[i+1], s.want) {
			t.Errorf("%s has no %s:\n%s", s.query, s.want, sections[i+1])
		}
	}
	// The page's own markup must not execute, load or style anything.
	if bad := regexp.MustCompile(`(?i)<(script|img|iframe|object|link|a)\b|<[^>]*\s(on\w+|style|src|href)=`).FindAllString(page, -1); bad != nil {
		t.Errorf("the page has %q", bad)
	}
	style, _, _ := strings.Cut(page[strings.Index(page, "<style>")+len("<style>"):], "</style>")
	sum := sha256.Sum256([]byte(style))
	if got, want := h.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"; got != want {
		t.Errorf("the policy is %s, want %s", got, want)
	}
	for _, want := range []string{"prefers-color-scheme: dark", "forced-colors: active", "@media print"} {
		if !strings.Contains(style, want) {
			t.Errorf("the style has no %s", want)
		}
	}
	// Visitors do not see queries, not even in errors, unless showInspector is set.
	if strings.Contains(page, "PathsQuery") {
		t.Error("the page tells of a query")
	}
	page, _ = o.page(t, "GET", "/shared/"+v.board(t, `{"showInspector":true,"detailed":true}`, `{"kind":"PathsQuery"}`, trend(``)), "", 200)
	if !strings.Contains(page, `&#34;PathsQuery&#34; is not supported`) || !strings.Contains(page, "<details open>") {
		t.Errorf("with its inspector the page is\n%s", page)
	}
}

// insights.md §1.1: with .json after the token a browser gets JSON too.
func TestShared_AsJSON(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	token, _ := o.share(t)
	status, h, body := o.send(t, &manageStep{As: "none", Request: "GET /shared/" + token + ".json", Headers: map[string]string{"Accept": "text/html"}})
	var got struct {
		Dashboard struct{ Tiles []any }
	}
	if err := json.Unmarshal(body, &got); err != nil || status != 200 || h.Get("Content-Type") != "application/json" || len(got.Dashboard.Tiles) != 2 {
		t.Errorf("%d, %s, %v: %s", status, h.Get("Content-Type"), err, body)
	}
}

// Results of 4 and 3 bytes fit in 9; a third one with 5 bytes is omitted.
func TestShared_ResultsAreBounded(t *testing.T) {
	var d dashboards.Dashboard
	d.Tiles = slices.Grow(d.Tiles, 5)[:5] // the first is a text
	for i, result := range []string{`1234`, `333`, `12345`, ``} {
		d.Tiles[i+1].Insight = &dashboards.Insight{}
		d.Tiles[i+1].Insight.Result = json.RawMessage(result)
	}
	httpapi.BoundResults(&d, 9)
	var withResults []string
	for _, tile := range d.Tiles[1:] {
		code := ""
		if tile.Insight.Error != nil {
			code = tile.Insight.Error.Code
		}
		withResults = append(withResults, string(tile.Insight.Result)+code)
	}
	if want := []string{"1234", "333", "query_too_large", ""}; !slices.Equal(withResults, want) {
		t.Errorf("%q, want %q", withResults, want)
	}
}
