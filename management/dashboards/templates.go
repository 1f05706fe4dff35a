package dashboards

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bunting-flags/bunting/management"
)

// plannedTile is a tile of a template: a text, or an insight that is to be made.
type plannedTile struct {
	insight           bool
	unlogged          bool // the log says nothing of it
	name, description string
	query, filters    json.RawMessage // nil: none
	body              string
	layouts           json.RawMessage // nil: {}
	color             *string
}

// planInsight is an insight of a template with a trend over events; place is where it
// stands on a wide screen: x, y, width, height.
func planInsight(name, description, source string, place [4]int) plannedTile {
	query := `{"kind":"InsightVizNode","source":` + source + `}`
	return plannedTile{insight: true, name: name, description: description, query: json.RawMessage(query), layouts: layoutAt(place)}
}

func planText(body string, place [4]int) plannedTile {
	return plannedTile{body: body, layouts: layoutAt(place)}
}

func layoutAt(p [4]int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"sm":{"x":%d,"y":%d,"w":%d,"h":%d}}`, p[0], p[1], p[2], p[3]))
}

// THE TABLE: the templates of use_template (§4.1.3). Their queries are kept for
// the programs that run them.
var dashboardTemplates = map[string][]plannedTile{
	"DEFAULT_APP": {
		planText("How people use the product. Every chart counts page views; change the event to count something else.", [4]int{0, 0, 12, 2}),
		planInsight("Daily users", "People with at least one page view on a day", `{"kind":"TrendsQuery","interval":"day","dateRange":{"date_from":"-30d"},"series":[{"kind":"EventsNode","event":"$pageview","math":"dau"}]}`, [4]int{0, 2, 6, 5}),
		planInsight("Weekly users", "People with at least one page view in a week", `{"kind":"TrendsQuery","interval":"week","dateRange":{"date_from":"-90d"},"series":[{"kind":"EventsNode","event":"$pageview","math":"dau"}]}`, [4]int{6, 2, 6, 5}),
		planInsight("Return rate", "Who comes back in the weeks after the first visit", `{"kind":"RetentionQuery","retentionFilter":{"period":"Week","totalIntervals":8,"retentionType":"retention_first_time","targetEntity":{"id":"$pageview","type":"events"},"returningEntity":{"id":"$pageview","type":"events"}}}`, [4]int{0, 7, 6, 5}),
		planInsight("New, returning and lost users", "How the number of users changes from week to week", `{"kind":"LifecycleQuery","interval":"week","dateRange":{"date_from":"-90d"},"series":[{"kind":"EventsNode","event":"$pageview"}]}`, [4]int{6, 7, 6, 5}),
	},
	"WEBSITE_TRAFFIC": {
		planText("Who visits the website, where visitors come from and what they look at.", [4]int{0, 0, 12, 2}),
		planInsight("Visitors", "People with at least one page view on a day", `{"kind":"TrendsQuery","interval":"day","dateRange":{"date_from":"-30d"},"series":[{"kind":"EventsNode","event":"$pageview","math":"dau"}]}`, [4]int{0, 2, 6, 5}),
		planInsight("Page views", "All page views of a day", `{"kind":"TrendsQuery","interval":"day","dateRange":{"date_from":"-30d"},"series":[{"kind":"EventsNode","event":"$pageview","math":"total"}]}`, [4]int{6, 2, 6, 5}),
		planInsight("Pages", "Page views by path", `{"kind":"TrendsQuery","dateRange":{"date_from":"-30d"},"breakdownFilter":{"breakdown":"$pathname","breakdown_type":"event"},"series":[{"kind":"EventsNode","event":"$pageview","math":"total"}]}`, [4]int{0, 7, 6, 5}),
		planInsight("Referring sites", "Visitors by the site they came from", `{"kind":"TrendsQuery","dateRange":{"date_from":"-30d"},"breakdownFilter":{"breakdown":"$referring_domain","breakdown_type":"event"},"series":[{"kind":"EventsNode","event":"$pageview","math":"dau"}]}`, [4]int{6, 7, 6, 5}),
		planInsight("Countries", "Visitors by country", `{"kind":"TrendsQuery","dateRange":{"date_from":"-30d"},"breakdownFilter":{"breakdown":"$geoip_country_code","breakdown_type":"event"},"series":[{"kind":"EventsNode","event":"$pageview","math":"dau"}]}`, [4]int{0, 12, 12, 5}),
	},
}

// addPlanned makes the tiles of a template and returns their numbers.
func (s Dashboards) addPlanned(tx management.Tx, scope *management.Scope, d *dashboardRecord, plan []plannedTile) ([]int64, error) {
	if err := makeRoom(tx, d.ID, len(plan)); err != nil {
		return nil, err
	}
	ids := make([]int64, 0, len(plan))
	for i := range plan {
		p := &plan[i]
		t, err := newTile(tx)
		if err != nil {
			return nil, err
		}
		t.Color = p.color
		if p.layouts != nil {
			t.Layouts = p.layouts
		}
		if p.insight {
			if t.Insight, err = Insights(s).addPlanned(&view{Tx: tx, Scope: scope}, p); err != nil {
				return nil, err
			}
		} else {
			s.writeText(scope, t, p.body)
		}
		if err := putTile(tx, d.ID, t); err != nil {
			return nil, err
		}
		ids = append(ids, t.ID)
	}
	return ids, nil
}

// addPlanned makes the insight of a template's tile.
func (s Insights) addPlanned(v *view, p *plannedTile) (id string, err error) {
	i, err := s.newInsight(v)
	if err != nil {
		return "", err
	}
	i.Name, i.Description = &p.name, p.description
	if p.query != nil {
		i.Query = p.query
	}
	if p.filters != nil {
		i.Filters = p.filters
	}
	if p.unlogged {
		return i.id(), s.insights.Put(v, i)
	}
	_, err = s.insights.Add(v, i)
	return i.id(), err
}

// templateFields are what a template says (§4.1.6). All texts have to be texts.
var templateFields = management.Fields{
	{Name: "template_name", Type: management.Text, Required: true, MaxLength: 400},
	{Name: "dashboard_description", Type: management.Text, Required: true, Blank: true, MaxLength: maxDashboardText},
	{Name: "dashboard_filters", Type: management.Object, Required: true},
	{Name: "tiles", Type: management.ObjectList, Required: true},
	{Name: "variables", Type: management.ObjectList, Null: true},
	{Name: "tags", Type: management.TextList, MaxLength: maxDashboardTag},
	{Name: "team_id", Type: management.Int, Null: true},
	{Name: "image_url", Type: management.Text, Null: true, Blank: true, MaxLength: 8000},
}

var templateVariableFields = management.Fields{
	{Name: "id", Type: management.Text, Required: true, MaxLength: 400},
	{Name: "name", Type: management.Text, Required: true, MaxLength: 400},
	{Name: "type", Type: management.Choice, Required: true, Choices: []string{"event"}},
	{Name: "default", Type: management.Object, Required: true},
	{Name: "description", Type: management.Text, Required: true, Blank: true, MaxLength: maxDashboardText},
	{Name: "required", Type: management.Bool, Required: true},
}

const (
	insightTile = "INSIGHT"
	textTile    = "TEXT"
)

var templateTileFields = management.Fields{
	{Name: "type", Type: management.Choice, Required: true, Choices: []string{insightTile, textTile}},
	{Name: "name", Type: management.Text, Null: true, Blank: true, MaxLength: maxInsightName},
	{Name: "description", Type: management.Text, Null: true, Blank: true, MaxLength: maxDashboardText},
	{Name: "query", Type: management.Object, Null: true},
	{Name: "filters", Type: management.Object, Null: true},
	{Name: "body", Type: management.Text, Null: true, Blank: true},
	{Name: "layouts", Type: management.Object, Null: true},
	{Name: "color", Type: management.Text, Null: true, Blank: true, MaxLength: maxTileColor},
}

// readStrict reads an object and takes no number for a text. What is wrong is told
// without a field (§4.1.6): the place stands in the text.
func readStrict(f management.Fields, raw json.RawMessage, path string) (management.Values, error) {
	if kind := management.JSONKind(raw); kind != "dict" {
		return nil, management.Fault("", "%s is not of type 'object'.", path)
	}
	var b management.Body
	if err := json.Unmarshal(raw, &b.Members); err != nil {
		return nil, fmt.Errorf("an object cannot be read: %w", err)
	}
	for i := range f {
		value, ok := b.Members[f[i].Name]
		if kind := management.JSONKind(value); ok && f[i].Type == management.Text && kind != "str" && kind != "NoneType" {
			return nil, management.Fault("", "%s.%s is not of type 'string'.", path, f[i].Name)
		}
	}
	v, err := f.Create(b)
	var apiErr *management.Error
	if errors.As(err, &apiErr) {
		return nil, management.Fault("", "%s.%s: %s", path, apiErr.Field, apiErr.Message)
	}
	return v, err
}

// dashboardPlan is a template that was sent.
type dashboardPlan struct {
	management.Values
	tiles []plannedTile
}

func readTemplate(raw json.RawMessage) (*dashboardPlan, error) {
	v, err := readStrict(templateFields, raw, "template")
	if err != nil {
		return nil, err
	}
	for i, variable := range v.Objects("variables") {
		if _, err := readStrict(templateVariableFields, variable, fmt.Sprintf("template.variables[%d]", i)); err != nil {
			return nil, err
		}
	}
	tiles := v.Objects("tiles")
	switch {
	case len(tiles) == 0:
		return nil, management.Fault("", "template.tiles should be non-empty.")
	case len(tiles) > MaxTiles:
		return nil, management.Fault("", "template.tiles is too long: a dashboard has at most %d tiles.", MaxTiles)
	case len(v.Texts("tags")) > maxDashboardTags:
		return nil, management.Fault("", "template.tags is too long: a dashboard has at most %d tags.", maxDashboardTags)
	case len(v.Raw("dashboard_filters")) > maxDashboardJSON:
		return nil, management.Fault("", "template.dashboard_filters is larger than %d bytes.", maxDashboardJSON)
	}
	out := &dashboardPlan{Values: v}
	for i, tile := range tiles {
		p, err := readPlannedTile(tile, fmt.Sprintf("template.tiles[%d]", i))
		if err != nil {
			return nil, err
		}
		out.tiles = append(out.tiles, *p)
	}
	return out, nil
}

func readPlannedTile(raw json.RawMessage, path string) (*plannedTile, error) {
	v, err := readStrict(templateTileFields, raw, path)
	if err != nil {
		return nil, err
	}
	p := &plannedTile{
		insight: v.Text("type") == insightTile, name: v.Text("name"), description: v.Text("description"),
		query: v.Raw("query"), filters: v.Raw("filters"), body: v.Text("body"), layouts: v.Raw("layouts"),
	}
	management.SetNull(v, "color", &p.color)
	for _, bound := range []struct {
		name string
		raw  json.RawMessage
		most int
	}{{"query", p.query, maxInsightJSON}, {"filters", p.filters, maxInsightJSON}, {"layouts", p.layouts, maxTileJSON}} {
		if len(bound.raw) > bound.most {
			return nil, management.Fault("", "%s.%s is larger than %d bytes.", path, bound.name, bound.most)
		}
	}
	var apiErr *management.Error
	if err := checkTileText("", p.body); errors.As(err, &apiErr) {
		return nil, management.Fault("", "%s.body: %s", path, apiErr.Message)
	}
	return p, nil
}

// TemplateJSONFields are the fields of CreateFromTemplate beside those of a
// dashboard.
var TemplateJSONFields = append(management.Fields{
	{Name: "template", Type: management.Object, Help: "a template with its tiles; without it the other fields make a dashboard without tiles"},
	{Name: "creation_context", Type: management.Text, Null: true, Blank: true, MaxLength: 400, Help: "without effect"},
}, Fields...)

// CreateFromTemplate makes a dashboard out of a template that stands in the body,
// or, where the body has fields of a dashboard instead, an empty one (§4.1.6).
func (s Dashboards) CreateFromTemplate(ctx context.Context, scope *management.Scope, b management.Body) (*Dashboard, error) {
	v, err := TemplateJSONFields[1:].Create(b)
	if err != nil {
		return nil, err
	}
	raw, ok := b.Members["template"]
	if !ok {
		if !hasDashboardFields(b) {
			return nil, management.CodedFault(management.CodeRequired, "template", "This field is required.")
		}
		for _, name := range []string{"use_template", "use_dashboard"} {
			delete(v, name)
		}
		return management.Write(ctx, &s.Env, func(tx management.Tx) (*Dashboard, error) {
			return s.dashboards.CreateFrom(&view{Tx: tx, Scope: scope}, v)
		})
	}
	plan, err := readTemplate(raw)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Env, func(tx management.Tx) (*Dashboard, error) {
		v := &view{Tx: tx, Scope: scope}
		d, err := s.newDashboard(v)
		if err != nil {
			return nil, err
		}
		name := plan.Text("template_name")
		d.Name, d.Description, d.Filters, d.Tags = &name, plan.Text("dashboard_description"), plan.Raw("dashboard_filters"), management.NormalizeTags(plan.Texts("tags"))
		if d.changedTiles, err = s.addPlanned(tx, scope, d, plan.tiles); err != nil {
			return nil, err
		}
		return s.dashboards.Add(v, d)
	})
}

// hasDashboardFields reports whether a body has a field of a dashboard; the folder
// belongs to templates too.
func hasDashboardFields(b management.Body) bool {
	for i := range Fields {
		if _, ok := b.Members[Fields[i].Name]; ok && Fields[i].Name != "_create_in_folder" {
			return true
		}
	}
	return false
}
