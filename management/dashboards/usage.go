package dashboards

import (
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// usageTile is a chart of the dashboard about a flag's use (clients.md §7.1).
type usageTile struct {
	name, description    string
	event, keyed, counts string // the event, the property that holds the flag's key, and the math
	by, display          string // the property it is broken down by, and how; empty: by nothing, as a line
	place                [4]int
}

var (
	usageTiles = []usageTile{
		{
			"Feature Flag Called Total Volume", "How often the flag was asked for, by its answer",
			"$feature_flag_called", "$feature_flag", "total", "$feature_flag_response", "", [4]int{0, 0, 6, 5},
		},
		{
			"Feature Flag calls made by unique users per variant", "How many people each answer was given to",
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

// ofUsage reports whether an insight is called as those about the use of flags are.
func ofUsage(name string) bool {
	is := func(u usageTile) bool { return u.name == name }
	return slices.ContainsFunc(usageTiles, is) || slices.ContainsFunc(enrichedTiles, is)
}

// plannedFor is the tile for a flag.
func (u *usageTile) plannedFor(key string) plannedTile {
	type object = map[string]any
	query := object{
		"kind": "TrendsQuery", "interval": "day", "dateRange": object{"date_from": "-30d"},
		"series": []object{{"kind": "EventsNode", "event": u.event, "name": u.event, "math": u.counts}},
		"properties": object{"type": "AND", "values": []object{{"type": "AND", "values": []object{
			{"key": u.keyed, "type": "event", "operator": "exact", "value": key},
		}}}},
	}
	if u.by != "" {
		query["breakdownFilter"] = object{"breakdown": u.by, "breakdown_type": "event"}
	}
	if u.display != "" {
		query["trendsFilter"] = object{"display": u.display}
	}
	source, _ := json.Marshal(query) // texts alone
	out := planned(u.name, u.description, string(source), u.place)
	out.unnoted = true // the flag's own change says it
	return out
}

func plannedUsage(tiles []usageTile, key string) []plannedTile {
	out := make([]plannedTile, len(tiles))
	for i := range tiles {
		out[i] = tiles[i].plannedFor(key)
	}
	return out
}

// MakeUsage makes the dashboard about the use of a flag, and returns its number: 0 where
// the caller may make none.
func (s Dashboards) MakeUsage(tx management.Tx, st *management.Standing, key string) (int64, error) {
	for _, kind := range []string{kindDashboard, kindInsight} {
		if st.Needs(management.Editor, management.Thing{Kind: kind}) != nil {
			return 0, nil
		}
	}
	v := &view{Tx: tx, Standing: st}
	d, err := s.newDashboard(v)
	if err != nil {
		return 0, err
	}
	name := "Generated Dashboard: " + key + " Usage"
	d.Name, d.Description, d.CreationMode = &name, "Made with the feature flag "+key+": how often and to whom it was answered.", madeFromTemplate
	if d.touched, err = s.addPlanned(tx, st, d, plannedUsage(usageTiles, key)); err != nil {
		return 0, err
	}
	return d.ID, s.dashboards.Put(v, d)
}

// EnrichUsage adds to the dashboard about the use of a flag who saw and used the feature.
func (s Dashboards) EnrichUsage(tx management.Tx, st *management.Standing, id int64, key string) error {
	v := &view{Tx: tx, Standing: st}
	d, err := dashboardOf(tx, st.Project.ID, id)
	if err == nil && d == nil {
		err = management.ErrNotFound()
	}
	if err == nil {
		err = st.Needs(management.Editor, d.thing())
	}
	if err == nil {
		err = d.mayEdit(tx, st)
	}
	if err != nil {
		return err
	}
	return s.dashboards.Noting(v, d, func() (err error) {
		if d.touched, err = s.addPlanned(tx, st, d, plannedUsage(enrichedTiles, key)); err != nil {
			return err
		}
		return s.dashboards.Put(v, d)
	})
}
