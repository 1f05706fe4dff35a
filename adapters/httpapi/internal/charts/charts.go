// Package charts renders results of queries as inline SVG and HTML tables, for pages without
// scripts. It does no I/O. Text in results is always escaped, and the size of a figure is limited
// whatever the size of the results.
package charts

import (
	"cmp"
	"encoding/json"
	"html/template"
	"time"
)

// Bounds of a figure.
const (
	// maxResult is the maximum size of results, in bytes.
	maxResult = 4 << 20
	// maxDrawn is the maximum number of series in a picture, and maxBars of bars.
	maxDrawn = 10
	maxBars  = 1500
	// maxRows and maxCells limit the size of a table. maxColumns is the maximum number of series
	// with a column each.
	maxRows    = 500
	maxCells   = 5000
	maxColumns = 12
	// maxCell and maxLabel are the maximum lengths of a text, in characters, in a table and in a
	// picture.
	maxCell  = 200
	maxLabel = 40
)

// Question is a query and its results, the input of [Draw].
type Question struct {
	// ID is the prefix of element ids: letters and digits, unique on the page.
	ID string
	// Title is the title of the picture.
	Title string
	// Query is the query that was run, without wrappers. Results and Columns are members of the
	// response.
	Query, Results, Columns json.RawMessage
	// More reports that the results are incomplete.
	More bool
	// Now is the current time in the time zone of the project. Buckets that contain it are marked
	// as incomplete.
	Now time.Time
}

// Figure is a picture with the numbers in it.
type Figure struct {
	Picture template.HTML // an SVG element; empty if there are only tables
	Tables  []Table
	Notes   []string // messages to the reader
}

// Table is a table of a figure. If Plain is true, it replaces the picture and is displayed
// directly.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]Cell
	Plain   bool
}

// Cell is a cell of a table. Shade is the intensity of its background from 1 to 10, or 0 for no
// background.
type Cell struct {
	Text   string
	Number bool
	Shade  int
}

// drawing is a figure under construction.
type drawing struct {
	*Question
	Figure
	query query
}

// query has the parts of a query that affect its picture.
type query struct {
	Kind     text   `json:"kind"`
	Interval text   `json:"interval"`
	Trends   format `json:"trendsFilter"`
	Funnel   struct {
		Viz       text `json:"funnelVizType"`
		Reference text `json:"funnelStepReference"`
	} `json:"funnelsFilter"`
	Retention struct {
		Period text `json:"period"`
	} `json:"retentionFilter"`
	Lifecycle struct {
		Toggled []text `json:"toggledLifecycles"`
	} `json:"lifecycleFilter"`
	Stickiness struct {
		Display text `json:"display"`
	} `json:"stickinessFilter"`
}

// kinds are the methods that render the results of each kind of query. They return false if the
// results do not have the expected form.
var kinds = map[text]func(*drawing) bool{
	"TrendsQuery":           (*drawing).trends,
	"FunnelsQuery":          (*drawing).funnel,
	"RetentionQuery":        (*drawing).retention,
	"LifecycleQuery":        (*drawing).lifecycle,
	"StickinessQuery":       (*drawing).stickiness,
	"EventsQuery":           (*drawing).rows,
	"ActorsQuery":           (*drawing).rows,
	"PersonsNode":           (*drawing).rows,
	"InsightActorsQuery":    (*drawing).rows,
	"FunnelsActorsQuery":    (*drawing).rows,
	"StickinessActorsQuery": (*drawing).rows,
	"HogQLQuery":            (*drawing).rows,
}

// Draw renders the results of a query. If it cannot, the figure has only notes with the reason.
// It may be called concurrently.
func Draw(q Question) Figure {
	d := drawing{Question: &q}
	if len(q.Results) > maxResult {
		return Figure{Notes: []string{"There is too much in this answer for a page. As JSON it is complete."}}
	}
	_ = json.Unmarshal(q.Query, &d.query) // members of a wrong type count as absent
	draw := kinds[d.query.Kind]
	if draw == nil {
		return Figure{Notes: []string{"There is no picture for this kind of question."}}
	}
	if !draw(&d) {
		return Figure{Notes: []string{"This answer has a form that there is no picture for."}}
	}
	if d.Picture == "" && len(d.Tables) == 0 && len(d.Notes) == 0 {
		d.note("There is nothing here yet.")
	}
	return d.Figure
}

func (d *drawing) note(what string) { d.Notes = append(d.Notes, what) }

// read parses the results. It returns false if they do not have the type of into.
func (d *drawing) read(into any) bool { return json.Unmarshal(d.Results, into) == nil }

// table adds a table, with at most maxRows rows and about maxCells cells.
func (d *drawing) table(t Table) {
	limit := min(maxRows, max(maxCells/max(len(t.Head), 1), 1))
	if n := len(t.Rows); n > limit {
		t.Rows = t.Rows[:limit]
		d.note("The table has the first " + count(limit) + " of " + count(n) + " rows.")
	}
	if len(t.Rows) > 0 {
		d.Tables = append(d.Tables, t)
	}
}

// title returns the title of the picture.
func (d *drawing) title() string { return cmp.Or(d.Title, "Insight") }
