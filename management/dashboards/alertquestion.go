package dashboards

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// The conditions of alerts.
const (
	absoluteValue    = "absolute_value"
	relativeIncrease = "relative_increase"
	relativeDecrease = "relative_decrease"
)

// alertQuestion is what an alert asks, and what it makes of the answer.
type alertQuestion struct {
	query      json.RawMessage
	interval   string // empty for a display without time
	series     int    // of the answer's rows, -1: all of them
	ongoing    bool   // the interval that runs is looked at, not the last complete one
	bounds     alertBounds
	percentage bool
	condition  string
}

// intervalUnits are the units of dates back from now, by interval.
var intervalUnits = map[string]string{"minute": "M", "hour": "h", "day": "d", "week": "w", "month": "m"}

// timeless displays have one number for all of their dates.
var timeless = []string{"BoldNumber", "ActionsPie", "ActionsBarValue", "ActionsTable", "WorldMap", "Progress"}

const cumulativeDisplay = "ActionsLineGraphCumulative"

// buildQuestion is the alert's question about an insight's query (§9.2, §9.3). Errors say why
// there is none.
func (a *storedAlert) buildQuestion(query json.RawMessage) (*alertQuestion, error) {
	q := &alertQuestion{series: -1}
	var err error
	if q.bounds, q.percentage, q.condition, err = a.limits(); err != nil {
		return nil, err
	}
	node, err := trendsOf(query)
	if err != nil {
		return nil, err
	}
	filter := management.JSONObject(node["trendsFilter"])
	display := management.JSONText(filter["display"])
	if !slices.Contains(timeless, display) {
		if q.interval = management.JSONText(node["interval"]); intervalUnits[q.interval] == "" {
			q.interval = "day"
		}
	}
	if err := q.configure(a.Config, node, filter); err != nil {
		return nil, err
	}
	if q.interval == "" && q.condition != absoluteValue {
		return nil, management.Fault("condition", "Relative alert condition '%s' is not compatible with non time series trends", q.condition)
	}
	if q.ongoing && (q.bounds.Upper == nil || q.condition == relativeDecrease) {
		return nil, management.Fault("config", "check_ongoing_interval needs an upper bound, and absolute_value or relative_increase: an interval that still runs always looks low.")
	}
	q.narrow(node, filter, display)
	return q, nil
}

// configure reads which series of the query is looked at.
func (q *alertQuestion) configure(config json.RawMessage, node, filter map[string]json.RawMessage) error {
	var c struct {
		Type    string
		Series  *int64 `json:"series_index"`
		Ongoing *bool  `json:"check_ongoing_interval"`
	}
	switch {
	case json.Unmarshal(config, &c) != nil:
		return management.Fault("config", "series_index is a whole number, check_ongoing_interval a boolean.")
	case c.Type != "TrendsAlertConfig":
		return management.NotAChoice("config__type", c.Type, []string{"TrendsAlertConfig"})
	case c.Series == nil:
		return management.CodedFault(management.CodeRequired, "config__series_index", "This field is required.")
	}
	q.ongoing = c.Ongoing != nil && *c.Ongoing && q.interval != ""
	var series []json.RawMessage
	_ = json.Unmarshal(node["series"], &series) // what is no list has no series
	formulas := formulasOf(filter)
	count := len(series)
	if len(formulas) > 0 {
		count = len(formulas)
	}
	if *c.Series < 0 || *c.Series >= int64(count) {
		return management.Fault("config", "series_index %d is out of range (query has %d series)", *c.Series, count)
	}
	if len(formulas) == 0 {
		q.series = int(*c.Series)
		return nil
	}
	for _, name := range []string{"formula", "formulas", "formulaNodes"} {
		delete(filter, name)
	}
	filter["formulaNodes"] = management.Encode([]json.RawMessage{formulas[*c.Series]})
	return nil
}

// formulasOf are the formulas of a query as nodes (insights.md §2.4.3).
func formulasOf(filter map[string]json.RawMessage) (out []json.RawMessage) {
	var nodes []json.RawMessage
	_ = json.Unmarshal(filter["formulaNodes"], &nodes) // what is no list has none
	for _, n := range nodes {
		if management.JSONText(management.JSONObject(n)["formula"]) != "" {
			out = append(out, n)
		}
	}
	var texts []string
	_ = json.Unmarshal(filter["formulas"], &texts) // likewise
	if len(out) > 0 {
		return out
	}
	if formula := management.JSONText(filter["formula"]); len(slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return t == "" })) == 0 {
		texts = []string{formula}
	}
	for _, text := range texts {
		if text != "" {
			out = append(out, management.Encode(map[string]string{"formula": text}))
		}
	}
	return out
}

// narrow makes the query one of as few intervals as the alert looks at; a display
// without time keeps its dates, and a cumulative one its beginning.
func (q *alertQuestion) narrow(node, filter map[string]json.RawMessage, display string) {
	node = maps.Clone(node)
	delete(node, "compareFilter")
	if filter != nil {
		node["trendsFilter"] = management.Encode(filter)
	}
	if q.interval != "" {
		intervals := int64(3)
		var smoothing int64
		if json.Unmarshal(filter["smoothingIntervals"], &smoothing) == nil && smoothing > 1 {
			intervals += min(smoothing, 1000)
		}
		from := management.Encode("-" + strconv.FormatInt(intervals, 10) + intervalUnits[q.interval])
		if dateFrom := management.JSONObject(node["dateRange"])["date_from"]; display == cumulativeDisplay && management.JSONText(dateFrom) != "" {
			from = dateFrom
		}
		node["dateRange"] = management.Encode(map[string]json.RawMessage{"date_from": from})
	}
	q.query = management.Encode(node)
}

// alertFinding is what a check has found: the value, and what is said of it where it
// is out of bounds.
type alertFinding struct {
	value  float64
	breach string
}

// alertRow is a row of the answer.
type alertRow struct {
	Action     *struct{ Order int } `json:"action"`
	Label      string               `json:"label"`
	Data       []*float64           `json:"data"`
	Days       []string             `json:"days"`
	Aggregated *float64             `json:"aggregated_value"`
}

// find looks at the rows of the answer: the first that is out of bounds decides, or
// else the first of all. now is the local time of the project.
func (q *alertQuestion) find(results json.RawMessage, now time.Time) (*alertFinding, error) {
	var rows []alertRow
	if err := json.Unmarshal(results, &rows); err != nil {
		return nil, fmt.Errorf("the rows of trends cannot be read: %w", err)
	}
	var first *alertFinding
	for i := range rows {
		if r := &rows[i]; q.series < 0 || r.Action != nil && r.Action.Order == q.series {
			found, err := q.evaluateRow(r, now)
			if err != nil || found.breach != "" {
				return found, err
			}
			if first == nil {
				first = found
			}
		}
	}
	if first == nil {
		return q.evaluateRow(&alertRow{Label: "no data", Aggregated: new(float64)}, now)
	}
	return first, nil
}

func (q *alertQuestion) evaluateRow(r *alertRow, now time.Time) (*alertFinding, error) {
	value := r.Aggregated
	if q.interval != "" {
		// The bucket that runs is the last that has begun: the clock of a day that is
		// set back writes two of them alike.
		index := -1
		for i, day := range r.Days {
			if day <= now.Format(time.DateTime) {
				index = i
			}
		}
		if !q.ongoing {
			index--
		}
		value = q.compare(r.point(index), r.point(index-1))
	}
	if value == nil || math.IsNaN(*value) {
		return nil, management.Fault("", "The value of the insight is not a number.")
	}
	f := &alertFinding{value: *value}
	f.breach = q.breach(r.Label, *value)
	return f, nil
}

// point is a point of a row, 0 where it has none; nil is no number.
func (r *alertRow) point(i int) *float64 {
	if i < 0 || i >= len(r.Data) {
		return new(float64)
	}
	return r.Data[i]
}

// compare is the value that the bounds are for (§9.3), nil for none.
func (q *alertQuestion) compare(now, before *float64) *float64 {
	if q.condition == absoluteValue {
		return now
	}
	if now == nil || before == nil {
		return nil
	}
	change := *now - *before
	if q.condition == relativeDecrease {
		change = -change
	}
	switch {
	case !q.percentage || change == 0:
	case *before == 0:
		change = math.Inf(int(math.Copysign(1, change)))
	default:
		change /= *before
	}
	return &change
}

// maxLabel is how much of a series' name a mail has, in characters.
const maxLabel = 200

// breach says how a value is out of bounds, empty where it is not (§9.4).
func (q *alertQuestion) breach(label string, value float64) string {
	number := func(x float64) string {
		if q.percentage {
			return strconv.FormatFloat(x*100, 'f', 2, 64) + "%"
		}
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	relation := ""
	switch {
	case q.bounds.Lower != nil && value < *q.bounds.Lower:
		relation = "less than lower threshold (" + number(*q.bounds.Lower) + ")"
	case q.bounds.Upper != nil && value > *q.bounds.Upper:
		relation = "more than upper threshold (" + number(*q.bounds.Upper) + ")"
	default:
		return ""
	}
	period := ""
	if q.interval != "" {
		period = " for previous " + q.interval
		if q.ongoing {
			period = " for current " + q.interval
		}
	}
	verb := map[string]string{absoluteValue: "is", relativeIncrease: "increased", relativeDecrease: "decreased"}[q.condition]
	name := []rune(strings.Join(strings.Fields(label), " "))
	if len(name) > maxLabel {
		name = append(name[:maxLabel], '…')
	}
	return fmt.Sprintf("The insight value (%s)%s (%s) %s %s", string(name), period, number(value), verb, relation)
}
