package results

import (
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/charts"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
)

// maxPageTiles is the approximate maximum size, in bytes, of the charts and tables of a page.
const maxPageTiles = 4 << 20

// sharedView is the data of the page template.
type sharedView struct {
	*dashboards.SharedDashboard
	Title   string
	Asks    bool   // whether to display a form for the password
	Message string // an error message, or empty
	Tiles   []sharedTile
}

// sharedTile is a tile of the page. Message replaces the figure, or describes an outdated one.
type sharedTile struct {
	Text    *dashboards.TileText
	Insight *dashboards.Insight
	Message string
	charts.Figure
}

// sharedPage renders the page of a link: texts, insights as charts with their numbers, and, with
// showInspector, their queries. Errors that do not concern the link are returned, for a JSON
// response.
func sharedPage(c *frame.Call, shared *dashboards.SharedDashboard, ran *resultRun, err error) (any, error) {
	view, status := sharedView{SharedDashboard: shared, Title: "Dashboard"}, http.StatusOK
	var target *management.Error
	switch {
	case errors.As(err, &target) && target.Kind == management.Unauthenticated:
		view.Asks, status = true, http.StatusUnauthorized
		if target.Code == dashboards.CodePasswordWrong {
			view.Message = target.Message
		}
		c.W.Header().Set("WWW-Authenticate", "Bearer")
	case errors.As(err, &target) && target.Kind == management.NotFound:
		view.Message, status = "There is no such dashboard, or it is not shared.", http.StatusNotFound
	case errors.Is(err, &problemSharedFull):
		view.Message, status = "Too many dashboards are being viewed at the moment. Reload the page in a moment.", problemSharedFull.Status
		c.W.Header().Set("Retry-After", strconv.Itoa(problemSharedFull.RetryAfter))
	case err != nil:
		return nil, err
	default:
		if name := shared.Dashboard.Name; name != nil && *name != "" {
			view.Title = *name
		}
		view.Tiles = sharedTiles(shared, ran)
	}
	return c.HTML(status, "shared.html", strings.HasPrefix(c.R.URL.Path, "/embedded/"), view)
}

// sharedTiles returns the tiles of a dashboard. ran is nil if its insights were not run.
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
		if fault := t.Insight.Error; fault != nil && shared.Settings["showInspector"] { // the detail quotes the query
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

// stateOf describes why an insight has no result or an outdated one. It is empty if the result is
// current.
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
		return "The server is busy at the moment. Reload the page in a moment."
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
		return "This insight has no query yet."
	case isEmpty:
		return "There was no time for this one. Load the page again in a moment."
	}
	return ""
}

func noResult(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// question returns the data for the chart of a tile.
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

// sizeOf returns the approximate size of a figure on a page, in bytes.
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
