package dashboards

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// InsightQuery narrows a list of insights down. Zero members do not.
type InsightQuery struct {
	management.Page
	ShortID      *string
	Saved        *bool // true: saved, or on a dashboard
	Favorited    bool
	Mine         bool // only the caller's
	NotOfFlags   bool // leaves out those that were made about the use of a flag
	Creators     []int64
	Tags         []string // any of them
	Dashboards   []int64  // all of them
	Search       string   // in name, description and tags, at most 200 characters
	Kind         string   // a word of insightKinds, JSON or SQL
	Changed      Between
	Made         Between
	Viewed       Between // when the caller has last
	Order        string  // a field of insightOrders, with - in front for descending; empty: newest first
	onDashboards []map[string]bool
	onAny        map[string]bool
	viewed       map[string]management.Stamp
}

// Between are two times: From < t < To; zero ones are no bounds.
type Between struct{ From, To time.Time }

// insightOrders are the fields by which insights can be ordered.
var insightOrders = map[string]func(a, b insightKey) int{
	"created_at":       func(a, b insightKey) int { return a.made.Compare(b.made.Time) },
	"last_modified_at": func(a, b insightKey) int { return a.changed.Compare(b.changed.Time) },
	"name":             func(a, b insightKey) int { return cmp.Compare(a.name, b.name) },
}

// insightKey is what orders an insight.
type insightKey struct {
	id, name      string
	made, changed management.Stamp
}

// insightKinds are the words of a query for the kinds of insights.
var insightKinds = map[string]string{
	"TrendsQuery": "TRENDS", "FunnelsQuery": "FUNNELS", "RetentionQuery": "RETENTION", "PathsQuery": "PATHS",
	"StickinessQuery": "STICKINESS", "LifecycleQuery": "LIFECYCLE", "HogQLQuery": insightSQL,
}

const (
	insightSQL  = "SQL"
	insightJSON = "JSON" // every query but SQL
)

// kind is what an insight shows, a word of insightKinds, empty where nobody knows;
// query: it is written in the newer form.
func (i *insightRecord) kind() (kind string, query bool) {
	node := management.JSONObject(i.Query)
	for range maxSources {
		source := management.JSONObject(node["source"])
		if source == nil {
			break
		}
		node = source
	}
	if node != nil {
		return insightKinds[management.JSONText(node["kind"])], true
	}
	return strings.ToUpper(management.JSONText(management.JSONObject(i.Filters)["insight"])), false
}

func (i *insightRecord) isOf(asked string) bool {
	kind, query := i.kind()
	if asked == insightJSON {
		return query && kind != insightSQL
	}
	return asked == "" || kind == asked
}

// match looks at an insight; st is whose list it is.
func (q *InsightQuery) match(st *management.Standing, i *insightRecord) bool {
	onAll := !slices.ContainsFunc(q.onDashboards, func(on map[string]bool) bool { return !on[i.id()] })
	found := management.HoldsText(i.title(), q.Search) || management.HoldsText(i.Description, q.Search) ||
		slices.ContainsFunc(i.Tags, func(tag string) bool { return management.HoldsText(tag, q.Search) })
	saved := q.Saved == nil || *q.Saved && (i.Saved || q.onAny[i.id()]) || !*q.Saved && !i.Saved
	if q.NotOfFlags && i.Name != nil && ofUsage(*i.Name) {
		return false
	}
	return st.Sees(i.thing()) && onAll && found && saved && (q.ShortID == nil || *q.ShortID == i.short()) && (!q.Favorited || i.Favorited) &&
		(!q.Mine || i.Author == st.User.ID) && management.Among(q.Creators, i.Author) && management.Shares(q.Tags, i.Tags) && i.isOf(q.Kind) &&
		management.Within(i.Modified, q.Changed.From, q.Changed.To) && management.Within(i.Created, q.Made.From, q.Made.To) && q.wasViewed(i.id())
}

// look finds out what stands on the dashboards that a query asks about.
func (q *InsightQuery) look(tx management.Tx, st *management.Standing) error {
	project := st.Project.ID
	for _, id := range q.Dashboards {
		on := map[string]bool{}
		d, err := dashboardOf(tx, project, id)
		if err == nil && d != nil { // on one of nobody or of another project there is nothing
			err = insightsOn(tx, id, on)
		}
		if err != nil {
			return err
		}
		q.onDashboards = append(q.onDashboards, on)
	}
	if q.Viewed != (Between{}) {
		var err error
		if q.viewed, err = viewsOf(tx, st, q.Viewed); err != nil {
			return err
		}
	}
	if q.Saved == nil || !*q.Saved {
		return nil
	}
	q.onAny = map[string]bool{}
	var numbers []string
	_, _, err := tx.List(management.Query{Kind: kindDashboard, Parent: management.ProjectParent(project), Limit: 1, Match: func(r *management.Record) bool {
		numbers = append(numbers, r.ID)
		return false
	}})
	for i := 0; i < len(numbers) && err == nil; i++ {
		err = insightsOn(tx, dashboardNumber(numbers[i]), q.onAny)
	}
	return err
}

// insightsOn adds the ids of the insights on a dashboard.
func insightsOn(tx management.Tx, dashboard int64, to map[string]bool) error {
	tiles, err := tilesOf(tx, dashboard, false)
	for i := range tiles {
		to[tiles[i].Insight] = true
	}
	return err
}

// List returns a page of insights.
func (s Insights) List(ctx context.Context, st *management.Standing, q InsightQuery) (management.List[Insight], error) {
	if err := management.CheckSearch(q.Search); err != nil {
		return management.List[Insight]{}, err
	}
	q.Tags = management.TidyTags(q.Tags)
	return management.Read(ctx, &s.Desk, func(tx management.Tx) (management.List[Insight], error) {
		again := q
		if err := again.look(tx, st); err != nil {
			return management.List[Insight]{}, err
		}
		keys, err := again.chosen(tx, st)
		if err != nil {
			return management.List[Insight]{}, err
		}
		page, count := management.PageOf(keys, q.Page)
		out, v := management.List[Insight]{Count: count}, &view{Tx: tx, Standing: st}
		for i := range page {
			insight, err := insightOf(tx, st.Project.ID, page[i].id)
			if err != nil {
				return management.List[Insight]{}, err
			}
			shown, err := insight.showFull(v)
			if err != nil {
				return management.List[Insight]{}, err
			}
			out.Results = append(out.Results, *shown)
		}
		return out, nil
	})
}

// chosen are the insights that a query asks for, in its order. Their queries may be
// large: only what orders them is kept.
func (q *InsightQuery) chosen(tx management.Tx, st *management.Standing) (keys []insightKey, err error) {
	var failed error
	_, _, err = tx.List(management.Query{Kind: kindInsight, Parent: management.ProjectParent(st.Project.ID), Descending: true, Limit: 1, Match: func(r *management.Record) bool {
		i, err := management.Decode[insightRecord](r)
		if err != nil {
			failed = err
		} else if q.match(st, i) {
			keys = append(keys, insightKey{i.id(), strings.ToLower(i.title()), i.Created, i.Modified})
		}
		return false
	}})
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	management.Order(keys, insightOrders, q.Order)
	return keys, nil
}
