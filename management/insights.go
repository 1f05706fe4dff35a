package management

import (
	"context"
	"encoding/json"
	"fmt"
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
	ID             string          `json:"id"`
	ShortID        string          `json:"short_id"` // stands for the id in paths too
	Name           *string         `json:"name"`
	Description    string          `json:"description"`
	Query          json.RawMessage `json:"query"`
	Filters        json.RawMessage `json:"filters"` // the older form of a query
	Dashboards     []int64         `json:"dashboards,omitzero"`
	Tags           []string        `json:"tags"`
	Favorited      bool            `json:"favorited"`
	Saved          bool            `json:"saved"`
	Deleted        bool            `json:"deleted"`
	Created        Stamp           `json:"created_at"`
	CreatedBy      *UserView       `json:"created_by"`
	LastModified   Stamp           `json:"last_modified_at"`
	LastModifiedBy *UserView       `json:"last_modified_by"`
}

// InsightFields are the writable fields of an insight.
var InsightFields = Fields{
	{Name: "name", Type: Text, Null: true, Blank: true, Max: maxInsightName},
	{Name: "description", Type: Text, Blank: true, Max: maxDashboardText},
	{Name: "query", Type: Any, Help: "kept as given, never run"},
	{Name: "filters", Type: Object, Help: "the older form of a query, kept as given"},
	{Name: "dashboards", Type: IntList, Help: "the dashboards on which it stands"},
	{Name: "tags", Type: TextList, Max: maxDashboardTag, Blank: true, Help: "trimmed, in lower case, without duplicates"},
	{Name: "favorited", Type: Bool},
	{Name: "saved", Type: Bool},
	{Name: "deleted", Type: Bool, Help: "true deletes it softly; a body of exactly {\"deleted\": false} brings it back"},
}

// insightRecord is an insight as it is stored.
type insightRecord struct {
	ID          string          `json:"id"`
	ShortID     string          `json:"short_id,omitempty"` // empty where it follows from the id
	Name        *string         `json:"name"`
	Description string          `json:"description"`
	Query       json.RawMessage `json:"query"`
	Filters     json.RawMessage `json:"filters"`
	Tags        []string        `json:"tags,omitempty"`
	Favorited   bool            `json:"favorited,omitempty"`
	Saved       bool            `json:"saved,omitempty"`
	Deleted     bool            `json:"deleted"`
	Created     Stamp           `json:"created_at"`
	Author      int64           `json:"created_by"` // a user's number
	Modified    Stamp           `json:"updated_at"`
	Modifier    int64           `json:"last_modified_by"`
}

// insightOf returns an insight, deleted or not, nil when there is none.
func insightOf(tx Tx, project int64, id string) (*insightRecord, error) {
	r, err := tx.Get(kindInsight, ProjectParent(project), id)
	if err != nil {
		return nil, err
	}
	return readInsight(r)
}

// insightNamed finds the insight of a path; deleted: also one that is deleted.
func insightNamed(tx Tx, st *Standing, named string, deleted bool) (*insightRecord, error) {
	id, ok := NormalUUID(named)
	find := insightOf
	if !ok {
		id, find = named, insightByShortID
	}
	i, err := find(tx, st.Project.ID, id)
	if err == nil && (i == nil || i.Deleted && !deleted) {
		err = errNotFound()
	}
	return i, err
}

// show is the insight without its dashboards.
func (i *insightRecord) show(users *authorViews) (*Insight, error) {
	out := &Insight{
		ID: i.ID, ShortID: i.short(), Name: i.Name, Description: i.Description, Query: i.Query, Filters: i.Filters, Deleted: i.Deleted,
		Tags: texts(i.Tags), Favorited: i.Favorited, Saved: i.Saved,
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
func (i *insightRecord) showFull(tx Tx, users *authorViews) (*Insight, error) {
	out, err := i.show(users)
	if err != nil {
		return nil, err
	}
	out.Dashboards, err = dashboardsOfInsight(tx, i.ID)
	return out, err
}

// dashboardsOfInsight are the numbers of the dashboards on which an insight
// stands, in order.
func dashboardsOfInsight(tx Tx, id string) ([]int64, error) {
	list, _, err := tx.List(Query{Kind: kindTile, Other: tileOfInsight(id)})
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
func tileOfInsightOn(tx Tx, dashboard int64, id string) (*tileRecord, error) {
	for _, deleted := range []bool{false, true} {
		list, _, err := tx.List(Query{
			Kind: kindTile, Other: tileOfInsight(id), Hidden: deleted, Limit: 1,
			Match: func(r *Record) bool { return r.Parent == dashboardParent(dashboard) },
		})
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			return decode[tileRecord](&list[0])
		}
	}
	return nil, nil
}

// Get returns an insight.
func (s Insights) Get(ctx context.Context, st *Standing, id string) (*Insight, error) {
	return read(ctx, &s.desk, func(tx Tx) (*Insight, error) {
		i, err := insightNamed(tx, st, id, false)
		if err != nil {
			return nil, err
		}
		return i.showFull(tx, newAuthorViews(tx))
	})
}

// Create makes an insight.
func (s Insights) Create(ctx context.Context, st *Standing, b Body) (*Insight, error) {
	v, err := InsightFields.Create(b)
	if err != nil {
		return nil, err
	}
	return write(ctx, &s.desk, func(tx Tx) (*Insight, error) { return s.save(tx, st, nil, s.fresh(st), v) })
}

// fresh is an empty insight that is not saved.
func (s Insights) fresh(st *Standing) *insightRecord {
	now := At(s.desk.now())
	return &insightRecord{
		ID: s.desk.newID(), Query: json.RawMessage("null"), Filters: json.RawMessage("{}"), Created: now, Author: st.User.ID, Modified: now, Modifier: st.User.ID,
	}
}

// Update changes an insight, deletes it softly or brings it back.
func (s Insights) Update(ctx context.Context, st *Standing, id string, b Body) (*Insight, error) {
	return write(ctx, &s.desk, func(tx Tx) (*Insight, error) {
		i, err := insightNamed(tx, st, id, bringsBack(b))
		if err != nil {
			return nil, err
		}
		v, err := InsightFields.Change(b)
		if err != nil {
			return nil, err
		}
		before := *i
		i.Modified, i.Modifier = At(s.desk.now()), st.User.ID
		return s.save(tx, st, &before, i, v)
	})
}

// Duplicate makes a copy of an insight that stands on no dashboard.
func (s Insights) Duplicate(ctx context.Context, st *Standing, id string) (*Insight, error) {
	return write(ctx, &s.desk, func(tx Tx) (*Insight, error) {
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
func (s Insights) save(tx Tx, st *Standing, before, i *insightRecord, v Values) (*Insight, error) {
	SetNull(v, "name", &i.Name)
	Set(v, "description", &i.Description)
	Set(v, "filters", &i.Filters)
	Set(v, "deleted", &i.Deleted)
	Set(v, "favorited", &i.Favorited)
	Set(v, "saved", &i.Saved)
	if v.Has("tags") {
		if i.Tags = tidyTags(v.Texts("tags")); len(i.Tags) > maxDashboardTags {
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
func (s Insights) put(tx Tx, st *Standing, before, i *insightRecord) error {
	if err := putInsight(tx, st.Project.ID, i); err != nil {
		return err
	}
	var was any
	if before != nil {
		was = before
	}
	return s.desk.note(tx, st.Caller, ProjectParent(st.Project.ID), "Insight", i.ID, i.title(), was, i)
}
