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
	"created_at":       func(a, b insightKey) int { return a.created.Compare(b.created.Time) },
	"last_modified_at": func(a, b insightKey) int { return a.modified.Compare(b.modified.Time) },
	"name":             func(a, b insightKey) int { return cmp.Compare(a.name, b.name) },
}

// insightKey is what orders an insight.
type insightKey struct {
	id, name          string
	created, modified management.Stamp
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

func (i *insightRecord) hasKind(requested string) bool {
	kind, query := i.kind()
	if requested == insightJSON {
		return query && kind != insightSQL
	}
	return requested == "" || kind == requested
}

// match looks at an insight; st is whose list it is.
func (q *InsightQuery) match(scope *management.Scope, i *insightRecord) bool {
	onAll := !slices.ContainsFunc(q.onDashboards, func(onDashboard map[string]bool) bool { return !onDashboard[i.id()] })
	found := management.ContainsFold(i.title(), q.Search) || management.ContainsFold(i.Description, q.Search) ||
		slices.ContainsFunc(i.Tags, func(tag string) bool { return management.ContainsFold(tag, q.Search) })
	saved := q.Saved == nil || *q.Saved && (i.Saved || q.onAny[i.id()]) || !*q.Saved && !i.Saved
	if q.NotOfFlags && i.Name != nil && isUsageTile(*i.Name) {
		return false
	}
	return scope.CanSee(i.accessObject()) && onAll && found && saved && (q.ShortID == nil || *q.ShortID == i.short()) && (!q.Favorited || i.Favorited) &&
		(!q.Mine || i.Author == scope.User.ID) && management.MatchesValue(q.Creators, i.Author) && management.MatchesAny(q.Tags, i.Tags) && i.hasKind(q.Kind) &&
		management.IsBetween(i.Modified, q.Changed.From, q.Changed.To) && management.IsBetween(i.Created, q.Made.From, q.Made.To) && q.wasViewed(i.id())
}

// prepare finds out what stands on the dashboards that a query asks about.
func (q *InsightQuery) prepare(tx management.Tx, scope *management.Scope) error {
	project := scope.Project.ID
	for _, id := range q.Dashboards {
		onDashboard := map[string]bool{}
		d, err := dashboardOf(tx, project, id)
		if err == nil && d != nil { // on one of nobody or of another project there is nothing
			err = insightsOn(tx, id, onDashboard)
		}
		if err != nil {
			return err
		}
		q.onDashboards = append(q.onDashboards, onDashboard)
	}
	if q.Viewed != (Between{}) {
		var err error
		if q.viewed, err = viewsOf(tx, scope, q.Viewed); err != nil {
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
func insightsOn(tx management.Tx, dashboard int64, ids map[string]bool) error {
	tiles, err := tilesOf(tx, dashboard, false)
	for i := range tiles {
		ids[tiles[i].Insight] = true
	}
	return err
}

// List returns a page of insights.
func (s Insights) List(ctx context.Context, scope *management.Scope, q InsightQuery) (management.List[Insight], error) {
	if err := management.CheckSearch(q.Search); err != nil {
		return management.List[Insight]{}, err
	}
	q.Tags = management.NormalizeTags(q.Tags)
	return management.Read(ctx, &s.Env, func(tx management.Tx) (management.List[Insight], error) {
		query := q
		if err := query.prepare(tx, scope); err != nil {
			return management.List[Insight]{}, err
		}
		keys, err := query.matchingKeys(tx, scope)
		if err != nil {
			return management.List[Insight]{}, err
		}
		page, count := management.PageOf(keys, q.Page)
		out, v := management.List[Insight]{Count: count}, &view{Tx: tx, Scope: scope}
		for i := range page {
			insight, err := insightOf(tx, scope.Project.ID, page[i].id)
			if err != nil {
				return management.List[Insight]{}, err
			}
			item, err := insight.showFull(v)
			if err != nil {
				return management.List[Insight]{}, err
			}
			out.Results = append(out.Results, *item)
		}
		return out, nil
	})
}

// matchingKeys are the insights that a query asks for, in its order. Their queries may be
// large: only what orders them is kept.
func (q *InsightQuery) matchingKeys(tx management.Tx, scope *management.Scope) (keys []insightKey, err error) {
	var failed error
	_, _, err = tx.List(management.Query{Kind: kindInsight, Parent: management.ProjectParent(scope.Project.ID), Descending: true, Limit: 1, Match: func(r *management.Record) bool {
		i, err := management.Decode[insightRecord](r)
		if err != nil {
			failed = err
		} else if q.match(scope, i) {
			keys = append(keys, insightKey{i.id(), strings.ToLower(i.title()), i.Created, i.Modified})
		}
		return false
	}})
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	management.SortBy(keys, insightOrders, q.Order)
	return keys, nil
}
