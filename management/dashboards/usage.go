package dashboards

import (
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
)

// usageTile is a chart of the dashboard about the usage of a flag (clients.md §7.1).
type usageTile struct {
	// name and description are those of the insight.
	name, description string
	// event is the event that is counted, keyProperty the property that has the flag's key, and
	// aggregation the math of the series.
	event, keyProperty, aggregation string
	// breakdown is the property of the breakdown, or empty. display is empty for a line chart.
	breakdown, display string
	// place is x, y, width and height on a wide screen.
	place [4]int
}

// usageTiles are the charts that are created with a flag. enrichedTiles are added to them on
// request, for flags with enriched analytics. Clients recognize the insights by these names.
var (
	usageTiles = []usageTile{
		{
			"Feature Flag Called Total Volume", "How often the flag was called, by value",
			"$feature_flag_called", "$feature_flag", "total", "$feature_flag_response", "", [4]int{0, 0, 6, 5},
		},
		{
			"Feature Flag calls made by unique users per variant", "How many people got each value",
			"$feature_flag_called", "$feature_flag", "dau", "$feature_flag_response", "ActionsTable", [4]int{6, 0, 6, 5},
		},
	}
	enrichedTiles = []usageTile{
		{
			"Feature Viewed Total Volume", "How often the feature was seen",
			"$feature_view", "feature_flag", "total", "", "", [4]int{0, 5, 6, 5},
		},
		{
			"Feature Interaction Total Volume", "How often the feature was used",
			"$feature_interaction", "feature_flag", "total", "", "", [4]int{6, 5, 6, 5},
		},
	}
)

// isUsageTile reports whether an insight has the name of a chart about the usage of a flag.
func isUsageTile(name string) bool {
	hasName := func(u usageTile) bool { return u.name == name }
	return slices.ContainsFunc(usageTiles, hasName) || slices.ContainsFunc(enrichedTiles, hasName)
}

// plan returns the tile for a flag.
func (u *usageTile) plan(key string) plannedTile {
	type object = map[string]any
	query := object{
		"kind": "TrendsQuery", "interval": "day", "dateRange": object{"date_from": "-30d"},
		"series": []object{{"kind": "EventsNode", "event": u.event, "name": u.event, "math": u.aggregation}},
		"properties": object{"type": "AND", "values": []object{{"type": "AND", "values": []object{
			{"key": u.keyProperty, "type": "event", "operator": "exact", "value": key},
		}}}},
	}
	if u.breakdown != "" {
		query["breakdownFilter"] = object{"breakdown": u.breakdown, "breakdown_type": "event"}
	}
	if u.display != "" {
		query["trendsFilter"] = object{"display": u.display}
	}
	source, _ := json.Marshal(query) // cannot fail for these types
	out := planInsight(u.name, u.description, string(source), u.place)
	out.unlogged = true // the change of the flag is logged instead
	return out
}

// planUsage returns the tiles for a flag.
func planUsage(tiles []usageTile, key string) []plannedTile {
	out := make([]plannedTile, len(tiles))
	for i := range tiles {
		out[i] = tiles[i].plan(key)
	}
	return out
}

// MakeUsage creates the dashboard about the usage of a flag within the transaction of the flag's
// change. It returns the number of the dashboard, or 0 if the caller may not create dashboards or
// insights. The log has only the change of the flag.
func (s Dashboards) MakeUsage(tx management.Tx, scope *management.Scope, key string) (int64, error) {
	for _, kind := range []string{kindDashboard, kindInsight} {
		if scope.RequireAccess(management.Editor, management.AccessObject{Kind: kind}) != nil {
			return 0, nil
		}
	}
	v := &view{Tx: tx, Scope: scope}
	d, err := s.newDashboard(v)
	if err != nil {
		return 0, err
	}
	name := "Generated Dashboard: " + key + " Usage"
	d.Name, d.Description, d.CreationMode = &name, "Created with the feature flag "+key+": how often it was called, and by how many people.", madeFromTemplate
	if d.changedTiles, err = s.addPlanned(tx, scope, d, planUsage(usageTiles, key)); err != nil {
		return 0, err
	}
	return d.ID, s.dashboards.Put(v, d)
}

// EnrichUsage adds charts about views of the feature and interactions with it to the dashboard
// about the usage of a flag.
func (s Dashboards) EnrichUsage(tx management.Tx, scope *management.Scope, id int64, key string) error {
	v := &view{Tx: tx, Scope: scope}
	d, err := records.Existing(dashboardOf(tx, scope.Project.ID, id))
	if err == nil {
		err = scope.RequireAccess(management.Editor, d.accessObject())
	}
	if err == nil {
		err = d.checkEdit(tx, scope)
	}
	if err != nil {
		return err
	}
	return s.dashboards.LogChanges(v, d, func() (err error) {
		if d.changedTiles, err = s.addPlanned(tx, scope, d, planUsage(enrichedTiles, key)); err != nil {
			return err
		}
		return s.dashboards.Put(v, d)
	})
}
