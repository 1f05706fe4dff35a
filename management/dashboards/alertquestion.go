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
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// The conditions of alerts: whether the bounds are for the value of an interval, or for its
// increase or decrease since the previous interval.
const (
	absoluteValue    = "absolute_value"
	relativeIncrease = "relative_increase"
	relativeDecrease = "relative_decrease"
)

// alertQuestion is the query that an alert runs, and the rules by which it evaluates the result.
type alertQuestion struct {
	// query is the query to run, with the node of the insight's TrendsQuery.
	query json.RawMessage
	// interval is the interval of the series, or empty for a display without time.
	interval string
	// series is the index of the row to evaluate. -1 means all rows, which is used with formulas.
	series int
	// ongoing selects the current interval instead of the last complete one.
	ongoing bool
	// bounds are the bounds for the value. If percentage is true, they are for a relative change,
	// and 0.2 is 20 %. condition is one of the conditions above.
	bounds     alertBounds
	percentage bool
	condition  string
}

// intervalUnits are the units of relative dates, such as -3d, by interval.
var intervalUnits = map[string]string{"minute": "M", "hour": "h", "day": "d", "week": "w", "month": "m"}

// timeless are the displays that have one value for the whole range of dates.
var timeless = []string{"BoldNumber", "ActionsPie", "ActionsBarValue", "ActionsTable", "WorldMap", "Progress"}

// cumulativeDisplay is the display with values that depend on the beginning of the range of dates.
const cumulativeDisplay = "ActionsLineGraphCumulative"

// buildQuestion returns the alertQuestion for an insight's query (§9.2, §9.3), or an error with the
// reason why the alert does not fit the query.
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
		return nil, management.Fault("config", "check_ongoing_interval requires an upper bound and the condition absolute_value or relative_increase: an interval that has not ended always looks low.")
	}
	q.narrow(node, filter, display)
	return q, nil
}

// configure reads the configuration of the alert: which series of the query is evaluated, and
// whether the current interval is. If the query has formulas, each of them is a series, and filter
// then has only the selected formula.
func (q *alertQuestion) configure(config json.RawMessage, node, filter map[string]json.RawMessage) error {
	var c struct {
		Type    string
		Series  *int64 `json:"series_index"`
		Ongoing *bool  `json:"check_ongoing_interval"`
	}
	switch {
	case json.Unmarshal(config, &c) != nil:
		return management.Fault("config", "series_index must be an integer, and check_ongoing_interval a boolean.")
	case c.Type != "TrendsAlertConfig":
		return management.NotAChoice("config__type", c.Type, []string{"TrendsAlertConfig"})
	case c.Series == nil:
		return management.CodedFault(management.CodeRequired, "config__series_index", "This field is required.")
	}
	q.ongoing = c.Ongoing != nil && *c.Ongoing && q.interval != ""
	var series []json.RawMessage
	_ = json.Unmarshal(node["series"], &series) // a value that is not a list has no series
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
	filter["formulaNodes"] = storage.Encode([]json.RawMessage{formulas[*c.Series]})
	return nil
}

// formulasOf returns the formulas of a query in the form of nodes (insights.md §2.4.3). It reads
// the members formulaNodes, formulas and formula, and the first one with a formula has precedence.
func formulasOf(filter map[string]json.RawMessage) (out []json.RawMessage) {
	var nodes []json.RawMessage
	_ = json.Unmarshal(filter["formulaNodes"], &nodes) // a value that is not a list has no formulas
	for _, n := range nodes {
		if management.JSONText(management.JSONObject(n)["formula"]) != "" {
			out = append(out, n)
		}
	}
	var texts []string
	_ = json.Unmarshal(filter["formulas"], &texts) // as above
	if len(out) > 0 {
		return out
	}
	if formula := management.JSONText(filter["formula"]); len(slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return t == "" })) == 0 {
		texts = []string{formula}
	}
	for _, text := range texts {
		if text != "" {
			out = append(out, storage.Encode(map[string]string{"formula": text}))
		}
	}
	return out
}

// narrow sets the query, with a range of dates that has only the intervals that the alert needs. A
// display without time keeps its dates, and a cumulative one keeps the beginning.
func (q *alertQuestion) narrow(node, filter map[string]json.RawMessage, display string) {
	node = maps.Clone(node)
	delete(node, "compareFilter")
	if filter != nil {
		node["trendsFilter"] = storage.Encode(filter)
	}
	if q.interval != "" {
		// The current interval, the last complete one, and the one before it. Smoothing averages
		// over earlier intervals too.
		intervals := int64(3)
		var smoothing int64
		if json.Unmarshal(filter["smoothingIntervals"], &smoothing) == nil && smoothing > 1 {
			intervals += min(smoothing, 1000)
		}
		from := storage.Encode("-" + strconv.FormatInt(intervals, 10) + intervalUnits[q.interval])
		if display == cumulativeDisplay {
			from = management.JSONObject(node["dateRange"])["date_from"]
			if management.JSONText(from) == "" {
				from = json.RawMessage(`"-7d"`) // the default of queries (insights.md §3.1.2)
			}
		}
		node["dateRange"] = storage.Encode(map[string]json.RawMessage{"date_from": from})
	}
	q.query = storage.Encode(node)
}

// alertFinding is the result of a check: the value, and if it is out of bounds, the sentence for
// the mail.
type alertFinding struct {
	value  float64
	breach string
}

// alertRow is a row of the result of a TrendsQuery. Aggregated is the value of displays without
// time. The other displays have Data, with a point for each of Days.
type alertRow struct {
	Action     *struct{ Order int } `json:"action"`
	Label      string               `json:"label"`
	Data       []*float64           `json:"data"`
	Days       []string             `json:"days"`
	Aggregated *float64             `json:"aggregated_value"`
}

// find evaluates the rows of the result. It returns the first row that is out of bounds, otherwise
// the first row. now is the local time of the project.
func (q *alertQuestion) find(results json.RawMessage, now time.Time) (*alertFinding, error) {
	var rows []alertRow
	if err := json.Unmarshal(results, &rows); err != nil {
		return nil, fmt.Errorf("cannot read the rows of trends: %w", err)
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
	// A result without rows counts as 0.
	if first == nil {
		return q.evaluateRow(&alertRow{Label: "no data", Aggregated: new(float64)}, now)
	}
	return first, nil
}

// evaluateRow returns the value of one row and compares it with the bounds. A value that is not a
// number is an error.
func (q *alertQuestion) evaluateRow(r *alertRow, now time.Time) (*alertFinding, error) {
	value := r.Aggregated
	if q.interval != "" {
		// The current interval is the last one that has begun. Two intervals have the same label if
		// the clock is set back on that day.
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

// point returns the value at an index, or 0 if the row does not have the index. It is nil if the
// value is not a number.
func (r *alertRow) point(i int) *float64 {
	if i < 0 || i >= len(r.Data) {
		return new(float64)
	}
	return r.Data[i]
}

// compare returns the value that the bounds apply to (§9.3), or nil if there is none: the value of
// the interval, or its change since the interval before. A relative change from 0 is infinite.
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

// maxLabel is the number of characters of a series' name in a mail.
const maxLabel = 200

// breach returns the sentence for the mail about a value that is out of bounds (§9.4), or "". The
// sentence has the label of the series on one line, because it is written by users.
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
