package dashboards

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
)

// plannedTile is a tile of a template. It has a text, or an insight that is created with the tile.
type plannedTile struct {
	// insight reports whether the tile has an insight with query and filters, and not a text. The
	// log does not contain the creation of an unlogged one.
	insight           bool
	unlogged          bool
	name, description string
	// query and filters are nil if the insight has none.
	query, filters json.RawMessage
	body           string
	// layouts is nil for a tile without a place.
	layouts json.RawMessage
	color   *string
}

// planInsight returns a tile with an insight for a query, which is JSON. place is the tile's place
// on a wide screen: x, y, width and height.
func planInsight(name, description, source string, place [4]int) plannedTile {
	query := `{"kind":"InsightVizNode","source":` + source + `}`
	return plannedTile{insight: true, name: name, description: description, query: json.RawMessage(query), layouts: layoutAt(place)}
}

// planText returns a tile with a text.
func planText(body string, place [4]int) plannedTile {
	return plannedTile{body: body, layouts: layoutAt(place)}
}

// layoutAt returns the layouts of a tile with a place on a wide screen.
func layoutAt(p [4]int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"sm":{"x":%d,"y":%d,"w":%d,"h":%d}}`, p[0], p[1], p[2], p[3]))
}

// dashboardTemplates is the table of the templates for use_template (§4.1.3). Their queries are
// only stored here, and run by the programs that show the insights.
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

// addPlanned creates the tiles of a template on a dashboard and returns their numbers.
func (s Dashboards) addPlanned(tx management.Tx, scope *management.Scope, d *dashboardRecord, plan []plannedTile) ([]int64, error) {
	if err := reserveTiles(tx, d.ID, len(plan)); err != nil {
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

// addPlanned creates the insight of a template's tile and returns its id.
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

// templateFields are the fields of a template in a body (§4.1.6). readStrict rejects values other
// than strings in those of type Text.
var templateFields = management.Fields{
	{Name: "template_name", Type: management.Text, Required: true, MaxLength: 400},
	{Name: "dashboard_description", Type: management.Text, Required: true, Blank: true, MaxLength: maxDashboardText},
	{Name: "dashboard_filters", Type: management.Object, Required: true},
	{Name: "tiles", Type: management.ObjectList, Required: true},
	{Name: "variables", Type: management.ObjectList, Null: true},
	{Name: "tags", Type: management.TextList, MaxLength: maxDashboardTag, Blank: true},
	{Name: "team_id", Type: management.Int, Null: true},
	{Name: "image_url", Type: management.Text, Null: true, Blank: true, MaxLength: 8000},
}

// templateVariableFields are the fields of a variable of a template.
var templateVariableFields = management.Fields{
	{Name: "id", Type: management.Text, Required: true, MaxLength: 400},
	{Name: "name", Type: management.Text, Required: true, MaxLength: 400},
	{Name: "type", Type: management.Choice, Required: true, Choices: []string{"event"}},
	{Name: "default", Type: management.Object, Required: true},
	{Name: "description", Type: management.Text, Required: true, Blank: true, MaxLength: maxDashboardText},
	{Name: "required", Type: management.Bool, Required: true},
}

// The types of tiles in a template.
const (
	insightTile = "INSIGHT"
	textTile    = "TEXT"
)

// templateTileFields are the fields of a tile of a template.
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

// readStrict reads a JSON object of a template. It accepts only strings for fields of type Text.
// Its errors have no Field (§4.1.6); their messages contain path, the place of the object.
func readStrict(f management.Fields, raw json.RawMessage, path string) (management.Values, error) {
	if kind := management.JSONKind(raw); kind != "dict" {
		return nil, management.Fault("", "%s is not of type 'object'.", path)
	}
	var b management.Body
	if err := json.Unmarshal(raw, &b.Members); err != nil {
		return nil, fmt.Errorf("cannot read an object: %w", err)
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

// dashboardPlan is a template that a request contains.
type dashboardPlan struct {
	management.Values
	tiles []plannedTile
}

// readTemplate reads and validates the template of a request.
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
	case len(tiles) > maxTiles:
		return nil, management.Fault("", "template.tiles is too long: a dashboard has at most %d tiles.", maxTiles)
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

// readPlannedTile reads and validates one tile of a template. path is its place for messages.
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

// templateJSONFields are the fields of CreateFromTemplate: its own and those of a dashboard.
var templateJSONFields = append(management.Fields{
	{Name: "template", Type: management.Object, Help: "a template with its tiles; without it the dashboard is created from the other fields and has no tiles"},
	{Name: "creation_context", Type: management.Text, Null: true, Blank: true, MaxLength: 400, Help: "has no effect"},
}, dashboardFields...)

// CreateFromTemplate creates a dashboard from a template in the body. If the body has fields of a
// dashboard instead, it creates a dashboard without tiles (§4.1.6).
func (s Dashboards) CreateFromTemplate(ctx context.Context, scope *management.Scope, b management.Body) (*Dashboard, error) {
	v, err := templateJSONFields[1:].Create(b)
	if err != nil {
		return nil, err
	}
	raw, ok := b.Members["template"]
	if !ok {
		if !hasDashboardFields(b) {
			return nil, management.CodedFault(management.CodeRequired, "template", "This field is required.")
		}
		// The body itself takes the place of a template.
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
		d.Name, d.Description, d.Filters, d.Tags = &name, plan.Text("dashboard_description"), plan.Raw("dashboard_filters"), lists.NormalizeTags(plan.Texts("tags"))
		if d.changedTiles, err = s.addPlanned(tx, scope, d, plan.tiles); err != nil {
			return nil, err
		}
		return s.dashboards.Add(v, d)
	})
}

// hasDashboardFields reports whether a body has a field of a dashboard. The folder does not count,
// because it is a field of templates too.
func hasDashboardFields(b management.Body) bool {
	for i := range dashboardFields {
		if _, ok := b.Members[dashboardFields[i].Name]; ok && dashboardFields[i].Name != "_create_in_folder" {
			return true
		}
	}
	return false
}
