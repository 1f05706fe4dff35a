package dashboards

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/records"
)

// kindInsight is the kind of the records of insights. Parent is the project, ID the number of the
// insight, Unique its short id, Sort the time of creation. Hidden means that it is deleted. The
// tiles that show it refer to it by Other (kindTile).
const kindInsight = "insight"

// Bounds of insights.
const (
	maxInsightName = 400       // characters
	maxInsightJSON = 256 << 10 // bytes of query and filters, each
	// maxInsightPlaces is the greatest number of dashboards that a body may name.
	maxInsightPlaces = 1000
)

// Insight is the form of an insight in responses. Dashboards are the numbers of the dashboards that
// show it; they are omitted inside tiles.
type Insight struct {
	insightSettings
	insightResult
	Dashboards []int64        `json:"dashboards,omitzero"`
	Tiles      []insightPlace `json:"dashboard_tiles,omitzero"` // omitted inside tiles
	Alerts     []insightAlert `json:"alerts,omitzero"`          // omitted inside tiles
	Tags       []string       `json:"tags"`
	Favorited  bool           `json:"favorited"`
	// Saved reports whether a user has saved the insight. Clients create an insight before it is
	// saved.
	Saved     bool                 `json:"saved"`
	CreatedBy *management.UserView `json:"created_by"`
	// LastModified is the time of the last change by LastModifiedBy. Updated is equal to it.
	LastModified   management.Stamp     `json:"last_modified_at"`
	Updated        management.Stamp     `json:"updated_at"`
	LastModifiedBy *management.UserView `json:"last_modified_by"`
	LastViewed     management.Stamp     `json:"last_viewed_at"` // by the caller
	Sample         bool                 `json:"is_sample"`      // always false
	// Restriction and Privilege have the values that they have for dashboards. Insights have no
	// restriction level, so Privilege follows from UserAccessLevel.
	Restriction     int64                  `json:"effective_restriction_level"`
	Privilege       int64                  `json:"effective_privilege_level"`
	UserAccessLevel management.AccessLevel `json:"user_access_level"`

	question insightSettings // the stored form; see Question
}

// insightSettings are the fields of an insight that are stored and returned unchanged.
type insightSettings struct {
	ID      int64   `json:"id"`
	ShortID string  `json:"short_id"` // paths accept it in place of the id
	Name    *string `json:"name"`
	// Derived is the name that a client has derived from the query.
	Derived     *string `json:"derived_name"`
	Description string  `json:"description"`
	// Query is stored as it was sent, or null. Filters is the older form of a query, by default {}.
	Query   json.RawMessage `json:"query"`
	Filters json.RawMessage `json:"filters"`
	// Order is stored for clients and has no effect on lists.
	Order   *int64           `json:"order"`
	Deleted bool             `json:"deleted"`
	Created management.Stamp `json:"created_at"`
}

// insightRecord is the stored form of an insight. Records without a ShortID were created before
// insights had one, which is then derived from the UUID.
type insightRecord struct {
	insightSettings
	UUID      string           `json:"uuid"`
	Tags      []string         `json:"tags,omitempty"`
	Favorited bool             `json:"favorited,omitempty"`
	Saved     bool             `json:"saved,omitempty"`
	Author    int64            `json:"created_by"` // the user's number
	Modified  management.Stamp `json:"updated_at"`
	Modifier  int64            `json:"last_modified_by"` // the user's number
}

// insightOf returns an insight by its number, deleted or not, or nil if it does not exist.
func insightOf(tx management.Tx, project int64, id string) (*insightRecord, error) {
	r, err := tx.Get(kindInsight, management.ProjectParent(project), id)
	if err != nil {
		return nil, err
	}
	return readInsight(r)
}

// InsightExists reports whether a project has an insight with a number. Deleted insights do not
// count.
func InsightExists(tx management.Tx, project, id int64) (bool, error) {
	i, err := insightOf(tx, project, strconv.FormatInt(id, 10))
	return i != nil && !i.Deleted, err
}

// findInsight returns the insight that a path names by its number, its former UUID or its short id,
// or nil if there is none. If deleted is true, deleted insights are found too.
func findInsight(v *view, ref string, deleted bool) (*insightRecord, error) {
	find := insightByShortID
	id, err := records.ResolveNumber(v.Tx, kindInsight, v.Parent(), ref)
	if err != nil {
		return nil, err
	}
	if id != "" {
		ref, find = id, insightOf
	}
	i, err := find(v.Tx, v.Project.ID, ref)
	if i != nil && i.Deleted && !deleted {
		i = nil
	}
	return i, err
}

// accessObject returns the insight as access rules name it.
func (i *insightRecord) accessObject() management.AccessObject {
	return management.AccessObject{Kind: kindInsight, ID: i.id(), Author: i.Author}
}

// insightPlace is a tile that shows an insight, and the dashboard of the tile.
type insightPlace struct {
	ID        int64 `json:"id"` // the tile's number
	Dashboard int64 `json:"dashboard_id"`
}

// dashboardsOfInsight returns the numbers of the dashboards that show an insight, in ascending
// order.
func dashboardsOfInsight(tx management.Tx, id string) ([]int64, error) {
	tiles, err := tilesOfInsight(tx, id)
	return dashboardsOf(tiles), err
}

// dashboardsOf returns the numbers of the dashboards of tiles, in ascending order without
// duplicates.
func dashboardsOf(tiles []insightPlace) []int64 {
	out := []int64{}
	for _, t := range tiles {
		out = append(out, t.Dashboard)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// tilesOfInsight returns the tiles that show an insight. It omits deleted tiles.
func tilesOfInsight(tx management.Tx, id string) ([]insightPlace, error) {
	list, _, err := tx.List(management.Query{Kind: kindTile, Other: tileOfInsight(id)})
	if err != nil {
		return nil, err
	}
	out := []insightPlace{}
	for i := range list {
		dashboard, err := strconv.ParseInt(strings.TrimPrefix(list[i].Parent, dashboardParentPrefix), 10, 64)
		number, err2 := strconv.ParseInt(list[i].ID, 10, 64)
		if err = errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("the stored tile %s is invalid: %w", list[i].ID, err)
		}
		out = append(out, insightPlace{number, dashboard})
	}
	return out, nil
}

// tileOfInsightOn returns the tile that shows an insight on a dashboard. If there is none, it
// returns a deleted one, or nil.
func tileOfInsightOn(tx management.Tx, dashboard int64, id string) (*tileRecord, error) {
	for _, deleted := range []bool{false, true} {
		t, err := management.First[tileRecord](tx, management.Query{
			Kind: kindTile, Other: tileOfInsight(id), Hidden: deleted,
			Match: func(r *management.Record) bool { return r.Parent == dashboardParent(dashboard) },
		})
		if err != nil || t != nil {
			return t, err
		}
	}
	return nil, nil
}

// id returns the number as the ID of the record.
func (i *insightRecord) id() string { return strconv.FormatInt(i.ID, 10) }

// title returns the name, or "" if there is none.
func (i *insightRecord) title() string { return plain.OrZero(i.Name) }

// TimeRange is a range of time: From < t < To. A zero time is no bound.
type TimeRange struct{ From, To time.Time }

// insightAlert is the form of an alert inside an insight.
type insightAlert struct {
	alertSettings
	Insight     int64                  `json:"insight"`
	Subscribers []*management.UserView `json:"subscribed_users"`
	CreatedBy   *management.UserView   `json:"created_by"`
}
