package management

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// plannedTile is a tile of a template: a text, or an insight that is to be made.
type plannedTile struct {
	insight           bool
	name, description string
	query, filters    json.RawMessage // nil: none
	body              string
	layouts           json.RawMessage // nil: {}
	color             *string
}

// planned is an insight of a template with a trend over events; place is where it
// stands on a wide screen: x, y, width, height.
func planned(name, description, source string, place [4]int) plannedTile {
	query := `{"kind":"InsightVizNode","source":` + source + `}`
	return plannedTile{insight: true, name: name, description: description, query: json.RawMessage(query), layouts: layoutAt(place)}
}

func plannedText(body string, place [4]int) plannedTile {
	return plannedTile{body: body, layouts: layoutAt(place)}
}

func layoutAt(p [4]int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"sm":{"x":%d,"y":%d,"w":%d,"h":%d}}`, p[0], p[1], p[2], p[3]))
}

// THE TABLE: the templates of use_template (§4.1.3). Their queries are kept for
// the programs that run them.
var dashboardTemplates = map[string][]plannedTile{
	"DEFAULT_APP": {
		plannedText("How people use the product. Every chart counts page views; change the event to count something else.", [4]int{0, 0, 12, 2}),
		planned("Daily users", "People with at least one page view on a day", `{"kind":"TrendsQuery","interval":"day","dateRange":{"date_from":"-30d"},"series":[{"kind":"EventsNode","event":"$pageview","math":"dau"}]}`, [4]int{0, 2, 6, 5}),
		planned("Weekly users", "People with at least one page view in a week", `{"kind":"TrendsQuery","interval":"week","dateRange":{"date_from":"-90d"},"series":[{"kind":"EventsNode","event":"$pageview","math":"dau"}]}`, [4]int{6, 2, 6, 5}),
		planned("Return rate", "Who comes back in the weeks after the first visit", `{"kind":"RetentionQuery","retentionFilter":{"period":"Week","totalIntervals":8,"retentionType":"retention_first_time","targetEntity":{"id":"$pageview","type":"events"},"returningEntity":{"id":"$pageview","type":"events"}}}`, [4]int{0, 7, 6, 5}),
		planned("New, returning and lost users", "How the number of users changes from week to week", `{"kind":"LifecycleQuery","interval":"week","dateRange":{"date_from":"-90d"},"series":[{"kind":"EventsNode","event":"$pageview"}]}`, [4]int{6, 7, 6, 5}),
	},
	"WEBSITE_TRAFFIC": {
		plannedText("Who visits the website, where visitors come from and what they look at.", [4]int{0, 0, 12, 2}),
		planned("Visitors", "People with at least one page view on a day", `{"kind":"TrendsQuery","interval":"day","dateRange":{"date_from":"-30d"},"series":[{"kind":"EventsNode","event":"$pageview","math":"dau"}]}`, [4]int{0, 2, 6, 5}),
		planned("Page views", "All page views of a day", `{"kind":"TrendsQuery","interval":"day","dateRange":{"date_from":"-30d"},"series":[{"kind":"EventsNode","event":"$pageview","math":"total"}]}`, [4]int{6, 2, 6, 5}),
		planned("Pages", "Page views by path", `{"kind":"TrendsQuery","dateRange":{"date_from":"-30d"},"breakdownFilter":{"breakdown":"$pathname","breakdown_type":"event"},"series":[{"kind":"EventsNode","event":"$pageview","math":"total"}]}`, [4]int{0, 7, 6, 5}),
		planned("Referring sites", "Visitors by the site they came from", `{"kind":"TrendsQuery","dateRange":{"date_from":"-30d"},"breakdownFilter":{"breakdown":"$referring_domain","breakdown_type":"event"},"series":[{"kind":"EventsNode","event":"$pageview","math":"dau"}]}`, [4]int{6, 7, 6, 5}),
		planned("Countries", "Visitors by country", `{"kind":"TrendsQuery","dateRange":{"date_from":"-30d"},"breakdownFilter":{"breakdown":"$geoip_country_code","breakdown_type":"event"},"series":[{"kind":"EventsNode","event":"$pageview","math":"dau"}]}`, [4]int{0, 12, 12, 5}),
	},
}

// addPlanned makes the tiles of a template and returns their numbers.
func (s Dashboards) addPlanned(tx Tx, st *Standing, d *dashboardRecord, plan []plannedTile) ([]int64, error) {
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
			insight := Insights(s).fresh(st)
			insight.Name, insight.Description = &p.name, p.description
			if p.query != nil {
				insight.Query = p.query
			}
			if p.filters != nil {
				insight.Filters = p.filters
			}
			if err := Insights(s).put(tx, st, nil, insight); err != nil {
				return nil, err
			}
			t.Insight = insight.ID
		} else {
			s.writeText(st, t, p.body)
		}
		if err := putTile(tx, d.ID, t); err != nil {
			return nil, err
		}
		ids = append(ids, t.ID)
	}
	return ids, nil
}

// templateFields are what a template says (§4.1.6). All texts have to be texts.
var templateFields = Fields{
	{Name: "template_name", Type: Text, Required: true, Max: 400},
	{Name: "dashboard_description", Type: Text, Required: true, Blank: true, Max: maxDashboardText},
	{Name: "dashboard_filters", Type: Object, Required: true},
	{Name: "tiles", Type: ObjectList, Required: true},
	{Name: "variables", Type: ObjectList, Null: true},
	{Name: "tags", Type: TextList, Max: maxDashboardTag},
	{Name: "team_id", Type: Int, Null: true},
	{Name: "image_url", Type: Text, Null: true, Blank: true, Max: 8000},
}

var templateVariableFields = Fields{
	{Name: "id", Type: Text, Required: true, Max: 400},
	{Name: "name", Type: Text, Required: true, Max: 400},
	{Name: "type", Type: Choice, Required: true, Choices: []string{"event"}},
	{Name: "default", Type: Object, Required: true},
	{Name: "description", Type: Text, Required: true, Blank: true, Max: maxDashboardText},
	{Name: "required", Type: Bool, Required: true},
}

const (
	insightTile = "INSIGHT"
	textTile    = "TEXT"
)

var templateTileFields = Fields{
	{Name: "type", Type: Choice, Required: true, Choices: []string{insightTile, textTile}},
	{Name: "name", Type: Text, Null: true, Blank: true, Max: maxInsightName},
	{Name: "description", Type: Text, Null: true, Blank: true, Max: maxDashboardText},
	{Name: "query", Type: Object, Null: true},
	{Name: "filters", Type: Object, Null: true},
	{Name: "body", Type: Text, Null: true, Blank: true},
	{Name: "layouts", Type: Object, Null: true},
	{Name: "color", Type: Text, Null: true, Blank: true, Max: maxTileColor},
}

// strictly reads an object and takes no number for a text. What is wrong is told
// without a field (§4.1.6): the place stands in the text.
func strictly(f Fields, raw json.RawMessage, place string) (Values, error) {
	if kind := kindOf(raw); kind != "dict" {
		return nil, Fault("", "%s is not of type 'object'.", place)
	}
	var b Body
	if err := json.Unmarshal(raw, &b.Members); err != nil {
		return nil, fmt.Errorf("an object cannot be read: %w", err)
	}
	for i := range f {
		value, there := b.Members[f[i].Name]
		if kind := kindOf(value); there && f[i].Type == Text && kind != "str" && kind != "NoneType" {
			return nil, Fault("", "%s.%s is not of type 'string'.", place, f[i].Name)
		}
	}
	v, err := f.Create(b)
	var told *Error
	if errors.As(err, &told) {
		return nil, Fault("", "%s.%s: %s", place, told.Field, told.Message)
	}
	return v, err
}

// dashboardPlan is a template that was sent.
type dashboardPlan struct {
	Values
	tiles []plannedTile
}

func readTemplate(raw json.RawMessage) (*dashboardPlan, error) {
	v, err := strictly(templateFields, raw, "template")
	if err != nil {
		return nil, err
	}
	for i, variable := range v.Objects("variables") {
		if _, err := strictly(templateVariableFields, variable, fmt.Sprintf("template.variables[%d]", i)); err != nil {
			return nil, err
		}
	}
	tiles := v.Objects("tiles")
	switch {
	case len(tiles) == 0:
		return nil, Fault("", "template.tiles should be non-empty.")
	case len(tiles) > MaxTiles:
		return nil, Fault("", "template.tiles is too long: a dashboard has at most %d tiles.", MaxTiles)
	case len(v.Texts("tags")) > maxDashboardTags:
		return nil, Fault("", "template.tags is too long: a dashboard has at most %d tags.", maxDashboardTags)
	case len(v.Raw("dashboard_filters")) > maxDashboardJSON:
		return nil, Fault("", "template.dashboard_filters is larger than %d bytes.", maxDashboardJSON)
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

func readPlannedTile(raw json.RawMessage, place string) (*plannedTile, error) {
	v, err := strictly(templateTileFields, raw, place)
	if err != nil {
		return nil, err
	}
	p := &plannedTile{
		insight: v.Text("type") == insightTile, name: v.Text("name"), description: v.Text("description"),
		query: v.Raw("query"), filters: v.Raw("filters"), body: v.Text("body"), layouts: v.Raw("layouts"),
	}
	SetNull(v, "color", &p.color)
	for _, bound := range []struct {
		name string
		raw  json.RawMessage
		most int
	}{{"query", p.query, maxInsightJSON}, {"filters", p.filters, maxInsightJSON}, {"layouts", p.layouts, maxTileJSON}} {
		if len(bound.raw) > bound.most {
			return nil, Fault("", "%s.%s is larger than %d bytes.", place, bound.name, bound.most)
		}
	}
	var told *Error
	if err := checkTileText("", p.body); errors.As(err, &told) {
		return nil, Fault("", "%s.body: %s", place, told.Message)
	}
	return p, nil
}

// TemplateJSONFields are the fields of CreateFromTemplate beside those of a
// dashboard.
var TemplateJSONFields = append(Fields{
	{Name: "template", Type: Object, Help: "a template with its tiles; without it the other fields make a dashboard without tiles"},
	{Name: "creation_context", Type: Text, Null: true, Blank: true, Max: 400, Help: "without effect"},
}, DashboardFields...)

// CreateFromTemplate makes a dashboard out of a template that stands in the body,
// or, where the body has fields of a dashboard instead, an empty one (§4.1.6).
func (s Dashboards) CreateFromTemplate(ctx context.Context, st *Standing, b Body) (*Dashboard, error) {
	v, err := TemplateJSONFields[1:].Create(b)
	if err != nil {
		return nil, err
	}
	raw, there := b.Members["template"]
	if !there {
		if !namesDashboard(b) {
			return nil, Coded(CodeRequired, "template", "This field is required.")
		}
		for _, name := range []string{"use_template", "use_dashboard"} {
			delete(v, name)
		}
		return write(ctx, &s.desk, func(tx Tx) (*Dashboard, error) { return s.create(tx, st, v) })
	}
	plan, err := readTemplate(raw)
	if err != nil {
		return nil, err
	}
	return write(ctx, &s.desk, func(tx Tx) (*Dashboard, error) {
		d, err := s.newDashboard(tx, st)
		if err != nil {
			return nil, err
		}
		name := plan.Text("template_name")
		d.Name, d.Description, d.Filters, d.Tags = &name, plan.Text("dashboard_description"), plan.Raw("dashboard_filters"), tidyTags(plan.Texts("tags"))
		tiles, err := s.addPlanned(tx, st, d, plan.tiles)
		if err != nil {
			return nil, err
		}
		return s.finish(tx, st, nil, d, Values{}, tiles)
	})
}

// namesDashboard reports whether a body has a field of a dashboard; the folder
// belongs to templates too.
func namesDashboard(b Body) bool {
	for i := range DashboardFields {
		if _, there := b.Members[DashboardFields[i].Name]; there && DashboardFields[i].Name != "_create_in_folder" {
			return true
		}
	}
	return false
}
