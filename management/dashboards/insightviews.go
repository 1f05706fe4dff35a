package dashboards

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// kindInsightView is when somebody has last viewed an insight: Parent is the project,
// ID the numbers of insight and user, Other the user, Sort the time.
const kindInsightView = "insight_view"

// lastViewed is how many insights Viewed tells of.
const lastViewed = 5

// Bounds of what is trending: days back, and the people that are named of an insight.
const (
	usualTrend = 7
	maxTrend   = 90
	maxViewers = 10
)

// trendingInsight is an insight and who has viewed it of late: ViewCount of them, of
// which the last ten are named.
type trendingInsight struct {
	Insight
	ViewCount int                    `json:"view_count"`
	Viewers   []*management.UserView `json:"viewers"`
}

type insightView struct {
	Insight string           `json:"insight"`
	User    int64            `json:"user"`
	At      management.Stamp `json:"at"`
}

func (w *insightView) id() string { return w.Insight + "/" + strconv.FormatInt(w.User, 10) }

// viewer is Other of what a user has viewed in a project.
func viewer(st *management.Standing) string {
	return st.Parent() + "/user/" + strconv.FormatInt(st.User.ID, 10)
}

// viewed is when the caller has last viewed the insight.
func (i *insightRecord) viewed(v *view) (management.Stamp, error) {
	if v.Standing == nil {
		return management.Stamp{}, nil
	}
	w := &insightView{Insight: i.id(), User: v.User.ID}
	r, err := v.Tx.Get(kindInsightView, v.Parent(), w.id())
	if err != nil || r == nil {
		return management.Stamp{}, err
	}
	w, err = management.Decode[insightView](r)
	return w.At, err
}

// View notes that the caller views an insight.
func (s Insights) View(ctx context.Context, st *management.Standing, id string) error {
	_, err := management.Write(ctx, &s.Desk, func(tx management.Tx) (any, error) {
		v := &view{Tx: tx, Standing: st}
		i, err := s.insights.Load(v, id)
		if err == nil {
			err = v.Needs(management.Viewer, i.thing())
		}
		if err != nil {
			return nil, err
		}
		w := insightView{Insight: i.id(), User: st.User.ID, At: management.At(s.Desk.Now())}
		return nil, tx.Put(&management.Record{
			Kind: kindInsightView, Parent: st.Parent(), ID: w.id(), Other: viewer(st), Sort: management.SortTime(w.At.Time), Data: management.Encode(w),
		})
	})
	return err
}

// viewsOf are the insights that the caller has last viewed in a time.
func viewsOf(tx management.Tx, st *management.Standing, in Between) (map[string]management.Stamp, error) {
	list, err := management.EveryRecord(tx, management.Query{Kind: kindInsightView, Other: viewer(st)}, func(w *insightView) bool {
		return management.Within(w.At, in.From, in.To)
	})
	out := map[string]management.Stamp{}
	for _, w := range list {
		out[w.Insight] = w.At
	}
	return out, err
}

func (q *InsightQuery) wasViewed(id string) bool {
	_, viewed := q.viewed[id]
	return viewed || q.Viewed == Between{}
}

// Viewed are the insights that the caller has viewed last, the newest view first.
func (s Insights) Viewed(ctx context.Context, st *management.Standing) ([]Insight, error) {
	return management.Read(ctx, &s.Desk, func(tx management.Tx) ([]Insight, error) {
		list, err := management.EveryRecord(tx, management.Query{Kind: kindInsightView, Other: viewer(st), Descending: true}, func(*insightView) bool { return true })
		out := []Insight{}
		v := &view{Tx: tx, Standing: st}
		for n := 0; n < len(list) && len(out) < lastViewed && err == nil; n++ {
			var i *insightRecord
			if i, err = insightOf(tx, st.Project.ID, list[n].Insight); err != nil || i == nil || i.Deleted || !st.Sees(i.thing()) {
				continue
			}
			var shown *Insight
			if shown, err = i.showFull(v); err == nil {
				out = append(out, *shown)
			}
		}
		return out, err
	})
}

// Trending are the insights that most people have viewed in the last days, 7 when that
// is 0.
func (s Insights) Trending(ctx context.Context, st *management.Standing, days int64, p management.Page) (management.List[trendingInsight], error) {
	if days == 0 {
		days = usualTrend
	}
	if days < 1 || days > maxTrend {
		return management.List[trendingInsight]{}, management.Fault("days", "Ask for 1 to %d days.", maxTrend)
	}
	since := s.Desk.Now().Add(-time.Duration(days) * 24 * time.Hour)
	return management.Read(ctx, &s.Desk, func(tx management.Tx) (out management.List[trendingInsight], err error) {
		all, err := trends(tx, st, since)
		if err != nil {
			return out, err
		}
		page, count := management.PageOf(all, p)
		out.Count = count
		v := &view{Tx: tx, Standing: st}
		for _, t := range page {
			shown, err := t.insight.showFull(v)
			if err != nil {
				return out, err
			}
			of := trendingInsight{Insight: *shown, ViewCount: len(t.users), Viewers: []*management.UserView{}}
			for _, user := range t.users[:min(len(t.users), maxViewers)] {
				who, err := v.Author(user)
				if err != nil {
					return out, err
				}
				if who != nil {
					of.Viewers = append(of.Viewers, who)
				}
			}
			out.Results = append(out.Results, of)
		}
		return out, nil
	})
}

// trend is an insight and who has viewed it, the last one first.
type trend struct {
	insight *insightRecord
	users   []int64
}

// trends are the insights that were viewed since a time, those of most people first.
func trends(tx management.Tx, st *management.Standing, since time.Time) (out []trend, err error) {
	list, err := management.EveryRecord(tx, management.Query{
		Kind: kindInsightView, Parent: st.Parent(), From: management.SortTime(since), Descending: true,
	}, func(*insightView) bool { return true })
	if err != nil {
		return nil, err
	}
	users := map[string][]int64{}
	for _, w := range list {
		users[w.Insight] = append(users[w.Insight], w.User)
	}
	for id, viewers := range users {
		i, err := insightOf(tx, st.Project.ID, id)
		if err != nil {
			return nil, err
		}
		if i != nil && !i.Deleted && st.Sees(i.thing()) {
			out = append(out, trend{i, viewers})
		}
	}
	slices.SortFunc(out, func(a, b trend) int {
		return cmp.Or(cmp.Compare(len(b.users), len(a.users)), strings.Compare(a.insight.id(), b.insight.id()))
	})
	return out, nil
}
