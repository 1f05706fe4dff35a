package httpapi

import (
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/charts"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
)

// maxPageTiles bounds what the pictures and tables of a page take, in bytes, about.
const maxPageTiles = 4 << 20

// sharedView is what the page shows.
type sharedView struct {
	*dashboards.SharedDashboard
	Title   string
	Asks    bool   // for a password
	Message string // what went wrong
	Tiles   []sharedTile
}

// sharedTile is a tile on it. Message stands in the place of a figure, or above an
// old one.
type sharedTile struct {
	Text    *dashboards.TileText
	Insight *dashboards.Insight
	Message string
	charts.Figure
}

// sharedPage is the page of a link: texts as they were written, insights as pictures
// with their numbers, and with showInspector their queries. Other faults than those of
// the link stay JSON.
func (c *call) sharedPage(shared *dashboards.SharedDashboard, ran *resultRun, err error) (any, error) {
	view, status := sharedView{SharedDashboard: shared, Title: "Dashboard"}, http.StatusOK
	var target *management.Error
	switch {
	case errors.As(err, &target) && target.Kind == management.Unauthenticated:
		view.Asks, status = true, http.StatusUnauthorized
		if target.Code == dashboards.CodePasswordWrong {
			view.Message = target.Message
		}
		c.w.Header().Set("WWW-Authenticate", "Bearer")
	case errors.As(err, &target) && target.Kind == management.NotFound:
		view.Message, status = "There is no such dashboard, or it is not shared.", http.StatusNotFound
	case errors.Is(err, &problemSharedFull):
		view.Message, status = "Too many look at dashboards just now. Load the page again in a moment.", problemSharedFull.Status
		c.w.Header().Set("Retry-After", strconv.Itoa(problemSharedFull.RetryAfter))
	case err != nil:
		return nil, err
	default:
		if name := shared.Dashboard.Name; name != nil && *name != "" {
			view.Title = *name
		}
		view.Tiles = sharedTiles(shared, ran)
	}
	return c.html(status, "shared.html", strings.HasPrefix(c.r.URL.Path, "/embedded/"), view)
}

// sharedTiles are the tiles of a dashboard that was run, with nil that was not.
func sharedTiles(shared *dashboards.SharedDashboard, ran *resultRun) []sharedTile {
	d := shared.Dashboard
	out, size := make([]sharedTile, len(d.Tiles)), 0
	for i := range d.Tiles {
		t := &out[i]
		t.Text, t.Insight = d.Tiles[i].Text, d.Tiles[i].Insight
		if t.Insight == nil {
			continue
		}
		t.Message = stateOf(t.Insight, ran)
		if fault := t.Insight.Error; fault != nil && shared.Settings["showInspector"] { // it quotes the question
			t.Message += " " + fault.Detail
		}
		if ran == nil || noResult(t.Insight.Result) {
			continue
		}
		if size > maxPageTiles {
			t.Message = "This page is full. As JSON the dashboard is complete."
			continue
		}
		t.Figure = charts.Draw(ran.question(i, t.Insight))
		size += sizeOf(&t.Figure)
	}
	return out
}

// stateOf says what a reader should know of an insight that has no numbers, or old
// ones; empty: it has those of now.
func stateOf(i *dashboards.Insight, ran *resultRun) string {
	isEmpty, asOf := noResult(i.Result), ""
	if i.LastRefresh != nil {
		if t, err := time.Parse(time.RFC3339Nano, *i.LastRefresh); err == nil && ran != nil {
			asOf = t.In(ran.project.Location).Format("2006-01-02 15:04 MST")
		}
	}
	query, filters := i.Question()
	switch {
	case ran == nil:
		return "This server keeps insights and does not run them."
	case i.Error != nil && (i.Error.Code == "not_supported" || i.Error.Attr != nil && *i.Error.Attr == "query__kind"):
		return "This question is not supported here."
	case i.Error != nil && i.Error.Code == "query_too_large":
		return "The answer is too large to be shown here."
	case i.Error != nil && i.Error.Type == "throttled_error":
		return "Too much is asked of this server just now. Load the page again in a moment."
	case i.Error != nil && i.Error.Code == "query_timeout":
		return "This takes too long to be computed."
	case i.Error != nil && i.Error.Type == "server_error":
		return "This could not be computed: something went wrong on the server."
	case i.Error != nil:
		return "This question cannot be answered."
	case len(i.QueryStatus) > 0 && isEmpty:
		return "This is still being computed. Load the page again in a moment."
	case len(i.QueryStatus) > 0:
		return "These numbers are of " + asOf + "; newer ones are being computed."
	case query == nil && filters == nil:
		return "This insight asks nothing yet."
	case isEmpty:
		return "There was no time for this one. Load the page again in a moment."
	}
	return ""
}

func noResult(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// question is what a picture is made of.
func (s *resultRun) question(tile int, i *dashboards.Insight) charts.Question {
	q := charts.Question{
		ID: "t" + strconv.Itoa(tile), Query: s.queries[tile], Results: i.Result, Columns: i.Columns,
		More: i.HasMore != nil && *i.HasMore, Now: time.Now().In(s.project.Location),
	}
	if i.Name != nil {
		q.Title = *i.Name
	}
	return q
}

// sizeOf is what a figure takes on a page, about.
func sizeOf(f *charts.Figure) int {
	const around = len(`<td class="n h10"></td>`)
	size := len(f.Picture)
	for i := range f.Tables {
		for _, row := range f.Tables[i].Rows {
			for _, cell := range row {
				size += len(template.HTMLEscapeString(cell.Text)) + around
			}
		}
	}
	return size
}
