package dashboards

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// kindInsightView is the kind of the records of views: when a user last viewed an insight. Parent
// is the project, ID the numbers of insight and user, Other the user (viewerKey), Sort the time.
const kindInsightView = "insight_view"

// lastViewed is the number of insights that Viewed returns.
const lastViewed = 5

// Bounds of Trending: the default and the greatest number of days, and the greatest number of
// viewers in a response.
const (
	defaultTrend = 7
	maxTrend     = 90
	maxViewers   = 10
)

// trendingInsight is an insight with the users who viewed it recently. ViewCount is the number of
// these users, and Viewers has at most maxViewers of them, the latest view first.
type trendingInsight struct {
	Insight
	ViewCount int                    `json:"view_count"`
	Viewers   []*management.UserView `json:"viewers"`
}

// insightView is the stored form of a view.
type insightView struct {
	Insight  string           `json:"insight"` // the insight's number
	User     int64            `json:"user"`
	ViewedAt management.Stamp `json:"at"`
}

// id returns the Record.ID: there is one view for each insight and user.
func (w *insightView) id() string { return w.Insight + "/" + strconv.FormatInt(w.User, 10) }

// viewerKey returns the Record.Other of the views of the caller in the project.
func viewerKey(scope *management.Scope) string {
	return scope.Parent() + "/user/" + strconv.FormatInt(scope.User.ID, 10)
}

// viewed returns the time at which the caller last viewed the insight, or the zero time.
func (i *insightRecord) viewed(v *view) (management.Stamp, error) {
	if v.Scope == nil {
		return management.Stamp{}, nil
	}
	w := &insightView{Insight: i.id(), User: v.User.ID}
	w, err := management.Found[insightView](v.Tx.Get(kindInsightView, v.Parent(), w.id()))
	if err != nil || w == nil {
		return management.Stamp{}, err
	}
	return w.ViewedAt, nil
}

// View records that the caller views an insight. It replaces the caller's earlier view, so the
// store has one view for each insight and user.
func (s Insights) View(ctx context.Context, scope *management.Scope, id string) error {
	_, err := management.Write(ctx, &s.Env, func(tx management.Tx) (any, error) {
		v := &view{Tx: tx, Scope: scope}
		i, err := s.viewable(v, id)
		if err != nil {
			return nil, err
		}
		w := insightView{Insight: i.id(), User: scope.User.ID, ViewedAt: management.NewStamp(s.Env.Now())}
		return nil, tx.Put(&management.Record{
			Kind: kindInsightView, Parent: scope.Parent(), ID: w.id(), Other: viewerKey(scope), Sort: storage.SortTime(w.ViewedAt.Time), Data: storage.Encode(w),
		})
	})
	return err
}

// viewsOf returns the times of the caller's views in a period, by the id of the insight.
func viewsOf(tx management.Tx, scope *management.Scope, period TimeRange) (map[string]management.Stamp, error) {
	list, err := lists.EveryRecord(tx, management.Query{Kind: kindInsightView, Other: viewerKey(scope)}, func(w *insightView) bool {
		return lists.IsBetween(w.ViewedAt, period.From, period.To)
	})
	out := map[string]management.Stamp{}
	for _, w := range list {
		out[w.Insight] = w.ViewedAt
	}
	return out, err
}

// wasViewed reports whether the caller's last view of an insight is in the requested period.
func (q *InsightQuery) wasViewed(id string) bool {
	_, viewed := q.viewed[id]
	return viewed || q.Viewed == TimeRange{}
}

// Viewed returns the insights that the caller viewed last, the latest view first.
func (s Insights) Viewed(ctx context.Context, scope *management.Scope) ([]Insight, error) {
	return management.Read(ctx, &s.Env, func(tx management.Tx) ([]Insight, error) {
		list, err := lists.EveryRecord(tx, management.Query{Kind: kindInsightView, Other: viewerKey(scope), Descending: true}, func(*insightView) bool { return true })
		out := []Insight{}
		v := &view{Tx: tx, Scope: scope}
		// The loop continues past insights that are deleted or hidden from the caller.
		for n := 0; n < len(list) && len(out) < lastViewed && err == nil; n++ {
			var i *insightRecord
			if i, err = insightOf(tx, scope.Project.ID, list[n].Insight); err != nil || i == nil || i.Deleted || !scope.CanSee(i.accessObject()) {
				continue
			}
			var item *Insight
			if item, err = i.showFull(v); err == nil {
				out = append(out, *item)
			}
		}
		return out, err
	})
}

// Trending returns a page of the insights that the most users have viewed in the last days. If days
// is 0, it is 7.
func (s Insights) Trending(ctx context.Context, scope *management.Scope, days int64, p management.Page) (management.List[trendingInsight], error) {
	if days == 0 {
		days = defaultTrend
	}
	if days < 1 || days > maxTrend {
		return management.List[trendingInsight]{}, management.Fault("days", "Must be from 1 to %d days.", maxTrend)
	}
	since := s.Env.Now().Add(-time.Duration(days) * 24 * time.Hour)
	return management.Read(ctx, &s.Env, func(tx management.Tx) (out management.List[trendingInsight], err error) {
		all, err := trends(tx, scope, since)
		if err != nil {
			return out, err
		}
		page, count := lists.PageOf(all, p)
		out.Count = count
		v := &view{Tx: tx, Scope: scope}
		for _, t := range page {
			item, err := t.insight.showFull(v)
			if err != nil {
				return out, err
			}
			trending := trendingInsight{Insight: *item, ViewCount: len(t.users), Viewers: []*management.UserView{}}
			for _, user := range t.users[:min(len(t.users), maxViewers)] {
				person, err := v.Author(user)
				if err != nil {
					return out, err
				}
				if person != nil {
					trending.Viewers = append(trending.Viewers, person)
				}
			}
			out.Results = append(out.Results, trending)
		}
		return out, nil
	})
}

// trend is an insight with the users who viewed it, the latest view first.
type trend struct {
	insight *insightRecord
	users   []int64
}

// trends returns the insights that were viewed after since and that the caller may view, ordered by
// descending number of users and then by id.
func trends(tx management.Tx, scope *management.Scope, since time.Time) (out []trend, err error) {
	list, err := lists.EveryRecord(tx, management.Query{
		Kind: kindInsightView, Parent: scope.Parent(), From: storage.SortTime(since), Descending: true,
	}, func(*insightView) bool { return true })
	if err != nil {
		return nil, err
	}
	users := map[string][]int64{}
	for _, w := range list {
		users[w.Insight] = append(users[w.Insight], w.User)
	}
	for id, viewers := range users {
		i, err := insightOf(tx, scope.Project.ID, id)
		if err != nil {
			return nil, err
		}
		if i != nil && !i.Deleted && scope.CanSee(i.accessObject()) {
			out = append(out, trend{i, viewers})
		}
	}
	slices.SortFunc(out, func(a, b trend) int {
		return cmp.Or(cmp.Compare(len(b.users), len(a.users)), strings.Compare(a.insight.id(), b.insight.id()))
	})
	return out, nil
}
