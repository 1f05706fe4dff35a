package dashboards

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
)

// InsightQuery filters and orders a list of insights. Fields with zero values are ignored. The
// unexported fields are set by prepare.
type InsightQuery struct {
	management.Page
	ShortID *string
	// Saved selects insights that are saved or on a dashboard if it is true, and insights that are
	// not saved if it is false.
	Saved *bool
	// Favorited and Mine select the insights that are favorites, and those that the caller has
	// created.
	Favorited bool
	Mine      bool
	// NotOfFlags omits the insights that were created for the usage of a flag.
	NotOfFlags bool
	// Creators are numbers of users.
	Creators []int64
	// Tags selects insights that have at least one of the tags.
	Tags []string
	// Dashboards selects insights that are on all of the dashboards with these numbers.
	Dashboards []int64
	// Search is a part of the name, the derived name, the description or a tag, with at most 200
	// characters.
	Search string
	// Kind is a value of insightKinds, insightJSON or insightSQL.
	Kind string
	// Changed, Made and Viewed are the ranges of the times at which the insight was last modified,
	// created, and last viewed by the caller.
	Changed TimeRange
	Made    TimeRange
	Viewed  TimeRange
	// Order is a key of insightOrders, with a leading - for descending order. By default, the
	// insights with the newest changes are first (spec/clients.md §2.2).
	Order string
	// onDashboards has the ids of the insights on each of Dashboards, onAny those on any dashboard,
	// and viewed those that were viewed within Viewed.
	onDashboards []map[string]bool
	onAny        map[string]bool
	viewed       map[string]management.Stamp
}

// insightOrders are the comparisons for the fields by which insights can be ordered.
var insightOrders = map[string]func(a, b insightKey) int{
	"created_at":       func(a, b insightKey) int { return a.created.Compare(b.created.Time) },
	"last_modified_at": func(a, b insightKey) int { return a.modified.Compare(b.modified.Time) },
	"name":             func(a, b insightKey) int { return cmp.Compare(a.name, b.name) },
}

// insightKey has the values by which an insight is ordered. name is in lower case.
type insightKey struct {
	id, name          string
	created, modified management.Stamp
}

// insightKinds are the names that a request uses for the kinds of insights, by the kind of the
// query.
var insightKinds = map[string]string{
	"TrendsQuery": "TRENDS", "FunnelsQuery": "FUNNELS", "RetentionQuery": "RETENTION", "PathsQuery": "PATHS",
	"StickinessQuery": "STICKINESS", "LifecycleQuery": "LIFECYCLE", "HogQLQuery": insightSQL,
}

// Names of kinds that are not the kind of a single query.
const (
	insightSQL  = "SQL"
	insightJSON = "JSON" // every query except SQL
)

// kind returns the kind of an insight as a value of insightKinds, or "" if it is unknown. query
// reports whether the insight has a query, and not only filters in the older form.
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

// hasKind reports whether the insight is of the requested kind. It is true if requested is "".
func (i *insightRecord) hasKind(requested string) bool {
	kind, query := i.kind()
	if requested == insightJSON {
		return query && kind != insightSQL
	}
	return requested == "" || kind == requested
}

// match reports whether the caller may view an insight and the query selects it.
func (q *InsightQuery) match(scope *management.Scope, i *insightRecord) bool {
	onAll := !slices.ContainsFunc(q.onDashboards, func(onDashboard map[string]bool) bool { return !onDashboard[i.id()] })
	found := lists.ContainsFold(i.title(), q.Search) || i.Derived != nil && lists.ContainsFold(*i.Derived, q.Search) || lists.ContainsFold(i.Description, q.Search) ||
		slices.ContainsFunc(i.Tags, func(tag string) bool { return lists.ContainsFold(tag, q.Search) })
	saved := q.Saved == nil || *q.Saved && (i.Saved || q.onAny[i.id()]) || !*q.Saved && !i.Saved
	if q.NotOfFlags && i.Name != nil && isUsageTile(*i.Name) {
		return false
	}
	return scope.CanSee(i.accessObject()) && onAll && found && saved && (q.ShortID == nil || *q.ShortID == i.short()) && (!q.Favorited || i.Favorited) &&
		(!q.Mine || i.Author == scope.User.ID) && lists.MatchesValue(q.Creators, i.Author) && lists.MatchesAny(q.Tags, i.Tags) && i.hasKind(q.Kind) &&
		lists.IsBetween(i.Modified, q.Changed.From, q.Changed.To) && lists.IsBetween(i.Created, q.Made.From, q.Made.To) && q.wasViewed(i.id())
}

// prepare loads the data that match needs besides the insight itself: the insights on the requested
// dashboards, and the caller's views.
func (q *InsightQuery) prepare(tx management.Tx, scope *management.Scope) error {
	project := scope.Project.ID
	for _, id := range q.Dashboards {
		onDashboard := map[string]bool{}
		d, err := dashboardOf(tx, project, id)
		if err == nil && d != nil { // a dashboard that does not exist in the project has no insights
			err = insightsOn(tx, id, onDashboard)
		}
		if err != nil {
			return err
		}
		q.onDashboards = append(q.onDashboards, onDashboard)
	}
	if q.Viewed != (TimeRange{}) {
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

// insightsOn adds the ids of the insights on a dashboard to ids.
func insightsOn(tx management.Tx, dashboard int64, ids map[string]bool) error {
	tiles, err := tilesOf(tx, dashboard, false)
	for i := range tiles {
		ids[tiles[i].Insight] = true
	}
	return err
}

// List returns a page of the insights that a query selects and that the caller may view.
func (s Insights) List(ctx context.Context, scope *management.Scope, q InsightQuery) (management.List[Insight], error) {
	if err := lists.CheckSearch(q.Search); err != nil {
		return management.List[Insight]{}, err
	}
	q.Tags = lists.NormalizeTags(q.Tags)
	return management.Read(ctx, &s.Env, func(tx management.Tx) (management.List[Insight], error) {
		// The store may call this function several times, and prepare appends to the query.
		query := q
		if err := query.prepare(tx, scope); err != nil {
			return management.List[Insight]{}, err
		}
		keys, err := query.matchingKeys(tx, scope)
		if err != nil {
			return management.List[Insight]{}, err
		}
		page, count := lists.PageOf(keys, q.Page)
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

// matchingKeys returns the keys of the insights that a query selects, in its order. It does not
// keep the insights themselves, because their queries may be large.
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
	if q.Order == "" { // of insights changed at the same time, the newest is first
		slices.SortStableFunc(keys, func(a, b insightKey) int { return b.modified.Compare(a.modified.Time) })
	}
	lists.SortBy(keys, insightOrders, q.Order)
	return keys, nil
}
