package results

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/capture/insights"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/management"
)

// question is a part of a query in a request body. Its path consists of member names separated by
// dots, with a star for each element of a list. Its part is one of those of
// insights.UnknownMembers.
type question struct{ path, part string }

// The parts of queries in the bodies of resources.
var (
	insightQuestions   = []question{{"query", "query"}, {"filters", "filters"}}
	queryOverrides     = []question{{"filters_override", "override"}, {"variables_override", "variables"}}
	dashboardQuestions = []question{
		{"filters", "override"}, {"variables", "variables"}, {"tiles.*.filters_overrides", "override"},
	}
	experimentQuestions = []question{
		{"metrics.*", "metric"}, {"metrics_secondary.*", "metric"}, {"exposure_criteria", "exposure_criteria"}, {"stats_config", "stats_config"},
	}
	savedMetricQuestions = []question{{"query", "metric"}}
	rolloutQuestions     = []question{{"guardrails.*.metric", "metric"}, {"signals.*.metric", "metric"}}
	templateQuestions    = []question{{"dashboard_filters", "override"}, {"tiles.*.query", "query"}, {"tiles.*.filters", "filters"}}
)

// checksOf returns a check of the queries in the body (decision 30). A misspelled member is an
// error, and a member without effect is a warning. Whether the query can be run is checked only
// when it is run.
func checksOf(questions []question) func(*frame.Call) error {
	return func(c *frame.Call) error { return checkQuestions(c, questions) }
}

func checkQuestions(c *frame.Call, questions []question) error {
	for _, q := range questions {
		first, rest, _ := strings.Cut(q.path, ".")
		if err := checkQuestion(c, q.part, c.Body.Members[first], first, rest); err != nil {
			return err
		}
	}
	return nil
}

// checkQuestion checks the value at the rest of a path in a JSON value. place is the position of
// the value in the body, for errors.
func checkQuestion(c *frame.Call, part string, value json.RawMessage, place, rest string) error {
	next, rest, _ := strings.Cut(rest, ".")
	switch next {
	case "":
		unread, err := insights.UnknownMembers(part, value, place, &port.Project{})
		if err != nil {
			return Problem(err)
		}
		for _, line := range unread {
			c.Body.Warn(line)
		}
	case "*":
		var list []json.RawMessage
		_ = json.Unmarshal(value, &list) // other types are errors of the field
		for i := range list {
			if err := checkQuestion(c, part, list[i], place+"__"+strconv.Itoa(i), rest); err != nil {
				return err
			}
		}
	default:
		return checkQuestion(c, part, management.JSONObject(value)[next], place+"__"+next, rest)
	}
	return nil
}
