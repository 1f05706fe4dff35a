package dashboards

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/bunting-flags/bunting/management"
	"slices"
	"strconv"
	"strings"
)

// kindInsight is an insight: Parent is the project, Sort the time it was made,
// Hidden when it is deleted. Its tiles name it (kindTile).
const kindInsight = "insight"

// Bounds of insights.
const (
	maxInsightName = 400       // characters
	maxInsightJSON = 256 << 10 // bytes of query and filters, each
	// maxInsightPlaces is on how many dashboards a body may put an insight.
	maxInsightPlaces = 1000
)

// Insights are insights: stored queries that are never run (decision 18).
type Insights struct{ *core }

// Insight is an insight as it is shown. Dashboards are those on which it stands,
// left out inside of a tile.
type Insight struct {
	ID             string               `json:"id"`
	ShortID        string               `json:"short_id"` // stands for the id in paths too
	Name           *string              `json:"name"`
	Description    string               `json:"description"`
	Query          json.RawMessage      `json:"query"`
	Filters        json.RawMessage      `json:"filters"` // the older form of a query
	Dashboards     []int64              `json:"dashboards,omitzero"`
	Tags           []string             `json:"tags"`
	Favorited      bool                 `json:"favorited"`
	Saved          bool                 `json:"saved"`
	Deleted        bool                 `json:"deleted"`
	Created        management.Stamp     `json:"created_at"`
	CreatedBy      *management.UserView `json:"created_by"`
	LastModified   management.Stamp     `json:"last_modified_at"`
	LastModifiedBy *management.UserView `json:"last_modified_by"`
}

// InsightFields are the writable fields of an insight.
var InsightFields = management.Fields{
	{Name: "name", Type: management.Text, Null: true, Blank: true, Max: maxInsightName},
	{Name: "description", Type: management.Text, Blank: true, Max: maxDashboardText},
	{Name: "query", Type: management.Any, Help: "kept as given, never run"},
	{Name: "filters", Type: management.Object, Help: "the older form of a query, kept as given"},
	{Name: "dashboards", Type: management.IntList, Help: "the dashboards on which it stands"},
	{Name: "tags", Type: management.TextList, Max: maxDashboardTag, Blank: true, Help: "trimmed, in lower case, without duplicates"},
	{Name: "favorited", Type: management.Bool},
	{Name: "saved", Type: management.Bool},
	{Name: "deleted", Type: management.Bool, Help: "true deletes it softly; a body of exactly {\"deleted\": false} brings it back"},
}

// insightRecord is an insight as it is stored.
type insightRecord struct {
	ID          string           `json:"id"`
	ShortID     string           `json:"short_id,omitempty"` // empty where it follows from the id
	Name        *string          `json:"name"`
	Description string           `json:"description"`
	Query       json.RawMessage  `json:"query"`
	Filters     json.RawMessage  `json:"filters"`
	Tags        []string         `json:"tags,omitempty"`
	Favorited   bool             `json:"favorited,omitempty"`
	Saved       bool             `json:"saved,omitempty"`
	Deleted     bool             `json:"deleted"`
	Created     management.Stamp `json:"created_at"`
	Author      int64            `json:"created_by"` // a user's number
	Modified    management.Stamp `json:"updated_at"`
	Modifier    int64            `json:"last_modified_by"`
}

// insightOf returns an insight, deleted or not, nil when there is none.
func insightOf(tx management.Tx, project int64, id string) (*insightRecord, error) {
	r, err := tx.Get(kindInsight, management.ProjectParent(project), id)
	if err != nil {
		return nil, err
	}
	return readInsight(r)
}

// insightNamed finds the insight of a path; deleted: also one that is deleted.
func insightNamed(tx management.Tx, st *management.Standing, named string, deleted bool) (*insightRecord, error) {
	id, ok := management.NormalUUID(named)
	find := insightOf
	if !ok {
		id, find = named, insightByShortID
	}
	i, err := find(tx, st.Project.ID, id)
	if err == nil && (i == nil || i.Deleted && !deleted) {
		err = management.ErrNotFound()
	}
	return i, err
}

// show is the insight without its dashboards.
func (i *insightRecord) show(users *authorViews) (*Insight, error) {
	out := &Insight{
		ID: i.ID, ShortID: i.short(), Name: i.Name, Description: i.Description, Query: i.Query, Filters: i.Filters, Deleted: i.Deleted,
		Tags: management.Texts(i.Tags), Favorited: i.Favorited, Saved: i.Saved,
		Created: i.Created, LastModified: i.Modified,
	}
	var err error
	if out.CreatedBy, err = users.of(i.Author); err != nil {
		return nil, err
	}
	out.LastModifiedBy, err = users.of(i.Modifier)
	return out, err
}

// showFull is the insight with its dashboards.
func (i *insightRecord) showFull(tx management.Tx, users *authorViews) (*Insight, error) {
	out, err := i.show(users)
	if err != nil {
		return nil, err
	}
	out.Dashboards, err = dashboardsOfInsight(tx, i.ID)
	return out, err
}

// dashboardsOfInsight are the numbers of the dashboards on which an insight
// stands, in order.
func dashboardsOfInsight(tx management.Tx, id string) ([]int64, error) {
	list, _, err := tx.List(management.Query{Kind: kindTile, Other: tileOfInsight(id)})
	if err != nil {
		return nil, err
	}
	out := []int64{}
	for i := range list {
		number, err := strconv.ParseInt(strings.TrimPrefix(list[i].Parent, dashboardParentPrefix), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the tile %s is not stored as it should be: %w", list[i].ID, err)
		}
		out = append(out, number)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// tileOfInsightOn is the tile of an insight on a dashboard, else one that is
// deleted there, else nil.
func tileOfInsightOn(tx management.Tx, dashboard int64, id string) (*tileRecord, error) {
	for _, deleted := range []bool{false, true} {
		list, _, err := tx.List(management.Query{
			Kind: kindTile, Other: tileOfInsight(id), Hidden: deleted, Limit: 1,
			Match: func(r *management.Record) bool { return r.Parent == dashboardParent(dashboard) },
		})
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			return management.Decode[tileRecord](&list[0])
		}
	}
	return nil, nil
}

// Get returns an insight.
func (s Insights) Get(ctx context.Context, st *management.Standing, id string) (*Insight, error) {
	return management.Read(ctx, &s.Desk, func(tx management.Tx) (*Insight, error) {
		i, err := insightNamed(tx, st, id, false)
		if err != nil {
			return nil, err
		}
		return i.showFull(tx, newAuthorViews(tx))
	})
}

// Create makes an insight.
func (s Insights) Create(ctx context.Context, st *management.Standing, b management.Body) (*Insight, error) {
	v, err := InsightFields.Create(b)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Desk, func(tx management.Tx) (*Insight, error) { return s.save(tx, st, nil, s.fresh(st), v) })
}

// fresh is an empty insight that is not saved.
func (s Insights) fresh(st *management.Standing) *insightRecord {
	now := management.At(s.Desk.Now())
	return &insightRecord{
		ID: s.Desk.NewID(), Query: json.RawMessage("null"), Filters: json.RawMessage("{}"), Created: now, Author: st.User.ID, Modified: now, Modifier: st.User.ID,
	}
}

// Update changes an insight, deletes it softly or brings it back.
func (s Insights) Update(ctx context.Context, st *management.Standing, id string, b management.Body) (*Insight, error) {
	return management.Write(ctx, &s.Desk, func(tx management.Tx) (*Insight, error) {
		i, err := insightNamed(tx, st, id, bringsBack(b))
		if err != nil {
			return nil, err
		}
		v, err := InsightFields.Change(b)
		if err != nil {
			return nil, err
		}
		before := *i
		i.Modified, i.Modifier = management.At(s.Desk.Now()), st.User.ID
		return s.save(tx, st, &before, i, v)
	})
}

// Duplicate makes a copy of an insight that stands on no dashboard.
func (s Insights) Duplicate(ctx context.Context, st *management.Standing, id string) (*Insight, error) {
	return management.Write(ctx, &s.Desk, func(tx management.Tx) (*Insight, error) {
		i, err := insightNamed(tx, st, id, false)
		if err != nil {
			return nil, err
		}
		out, err := s.copyOf(tx, st, i)
		if err != nil {
			return nil, err
		}
		return out.showFull(tx, newAuthorViews(tx))
	})
}

// save takes the fields of a body over. before is nil for a new insight.
func (s Insights) save(tx management.Tx, st *management.Standing, before, i *insightRecord, v management.Values) (*Insight, error) {
	management.SetNull(v, "name", &i.Name)
	management.Set(v, "description", &i.Description)
	management.Set(v, "filters", &i.Filters)
	management.Set(v, "deleted", &i.Deleted)
	management.Set(v, "favorited", &i.Favorited)
	management.Set(v, "saved", &i.Saved)
	if v.Has("tags") {
		if i.Tags = management.TidyTags(v.Texts("tags")); len(i.Tags) > maxDashboardTags {
			return nil, tooManyTags()
		}
	}
	if v.Has("query") {
		if i.Query = v.Raw("query"); i.Query == nil {
			i.Query = json.RawMessage("null")
		}
	}
	for name, raw := range map[string]json.RawMessage{"query": i.Query, "filters": i.Filters} {
		if len(raw) > maxInsightJSON {
			return nil, overBytes(name, maxInsightJSON)
		}
	}
	if err := s.put(tx, st, before, i); err != nil {
		return nil, err
	}
	if v.Has("dashboards") {
		if err := s.place(tx, st, i, v.Ints("dashboards")); err != nil {
			return nil, err
		}
	}
	return i.showFull(tx, newAuthorViews(tx))
}

// put saves an insight and notes what has changed. before is nil for a new one.
func (s Insights) put(tx management.Tx, st *management.Standing, before, i *insightRecord) error {
	if err := putInsight(tx, st.Project.ID, i); err != nil {
		return err
	}
	var was any
	if before != nil {
		was = before
	}
	return s.Desk.Note(tx, st.Caller, management.ProjectParent(st.Project.ID), "Insight", i.ID, i.title(), was, i)
}
