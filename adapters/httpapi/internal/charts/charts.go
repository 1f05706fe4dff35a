// Package charts makes pictures of the answers of queries: inline SVG and tables, for
// pages without scripts. It does no I/O. Whatever the answers say is text in them,
// never markup; and however long they are, a figure is not.
package charts

import (
	"cmp"
	"encoding/json"
	"html/template"
	"time"
)

// Bounds of a figure.
const (
	// maxResult is the longest answer that is looked at, in bytes.
	maxResult = 4 << 20
	// maxDrawn is how many series a picture has, maxBars how many bars.
	maxDrawn = 10
	maxBars  = 1500
	// maxRows and maxCells bound a table, maxColumns one with a column a series.
	maxRows    = 500
	maxCells   = 5000
	maxColumns = 12
	// maxCell and maxLabel are how many characters of a text are shown in a table and
	// in a picture.
	maxCell  = 200
	maxLabel = 40
)

// Question is what is shown: a query and its answer.
type Question struct {
	// ID is what ids of elements begin with, other than that of all other figures of
	// the page: letters and digits.
	ID string
	// Title names the picture.
	Title string
	// Query is what was run, without wrappers; Results and Columns are what it gave.
	Query, Results, Columns json.RawMessage
	// More: there is more than the results.
	More bool
	// Now is in the time zone of the project.
	Now time.Time
}

// Figure is a picture and the numbers of which it is made.
type Figure struct {
	Picture template.HTML // an SVG element, empty where the tables say all
	Tables  []Table
	Notes   []string // what a reader has to know beside them
}

// Table is a table of a figure. Plain: it is the picture itself.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]Cell
	Plain   bool
}

// Cell is a place of a table. Shade is from 1 to 10, 0 for none.
type Cell struct {
	Text   string
	Number bool
	Shade  int
}

// drawing is a figure in the making.
type drawing struct {
	*Question
	Figure
	query query
}

// query is what is read of a query: how it is to be shown.
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

// THE TABLE: how the answer of each kind is shown. A drawer says whether it could read it.
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

// Draw shows an answer.
func Draw(q Question) Figure {
	d := drawing{Question: &q}
	if len(q.Results) > maxResult {
		return Figure{Notes: []string{"There is too much in this answer for a page. As JSON it is complete."}}
	}
	_ = json.Unmarshal(q.Query, &d.query) // what is of another type is as if it were absent
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

// read reads the results.
func (d *drawing) read(into any) bool { return json.Unmarshal(d.Results, into) == nil }

// table adds a table, as much of it as a page may have.
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

// title of the picture.
func (d *drawing) title() string { return cmp.Or(d.Title, "Insight") }
