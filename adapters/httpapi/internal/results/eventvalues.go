package results

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// eventValueRow suggests values of properties for filter inputs (insights.md §1.1).
var eventValueRow = frame.Handle(http.MethodGet, "/events/values", "List the values of an event property in the last seven days, most frequent first", eventValues).
	WithQuery(frame.Param("key", "string", "name of the property; required"), frame.Param("value", "string", "text that values contain, ignoring case"),
		frame.Param("event_name", "string", "only values from events with this name")).WithResponse([]eventValue{})

// eventValue is a value of a property, as a string.
type eventValue struct {
	Name string `json:"name"`
}

// maxOffered is the maximum number of values in a response. maxValueText is the maximum length of
// each query parameter, in bytes.
const (
	maxOffered   = 50
	maxValueText = 400
)

// Escapes for quoted identifiers and strings in HogQL.
var (
	quotedName = strings.NewReplacer("`", "``")
	quotedText = strings.NewReplacer(`\`, `\\`, `'`, `\'`)
)

// eventValues runs a HogQL query for the values of a property that are the most frequent.
func eventValues(svc *Service, c *frame.Call) (any, error) {
	params := c.Query()
	key := params.Get("key")
	if key == "" {
		return nil, management.CodedFault(management.CodeRequired, "key", "This field is required.")
	}
	for _, name := range []string{"key", "value", "event_name"} {
		if len(params.Get(name)) > maxValueText {
			return nil, management.CodedFault(management.CodeMaxLength, name, "Ensure this field has no more than %d characters.", maxValueText)
		}
	}
	value := "toString(properties.`" + quotedName.Replace(key) + "`)"
	query := "SELECT " + value + " AS found FROM events WHERE timestamp >= now() - INTERVAL 7 DAY AND notEmpty(" + value + ")"
	if part := params.Get("value"); part != "" {
		query += " AND positionCaseInsensitive(" + value + ", '" + quotedText.Replace(part) + "') > 0"
	}
	if name := params.Get("event_name"); name != "" {
		query += " AND event = '" + quotedText.Replace(name) + "'"
	}
	query += fmt.Sprintf(" GROUP BY found ORDER BY count() DESC, found ASC LIMIT %d", maxOffered)
	request, err := svc.request(c, wire.MustEncode(map[string]any{"kind": "HogQLQuery", "query": query}), queries.Overrides{})
	if err != nil {
		return nil, err
	}
	request.Mode, request.Name = queries.Blocking, "values"
	found, err := svc.Runner.Execute(c.Ctx, request)
	if err != nil {
		return nil, Problem(err)
	}
	var rows [][]string
	raw, _ := found.Result["results"].(json.RawMessage)
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, err
	}
	out := make([]eventValue, 0, maxOffered)
	for _, row := range rows {
		out = append(out, eventValue{row[0]})
	}
	return out, nil
}
