package httpapi

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights"
	"github.com/bunting-flags/bunting/management"
)

// question is a piece of a question in a body. Its path has the names of members with dots
// between them, and a star for every element of a list; its part is one of
// insights.UnknownMembers.
type question struct{ path, part string }

// The pieces of questions in the bodies of resources.
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

// asks refuses a misspelt member of the questions in the body (decision 30), and names
// those that have no effect. Whether a question can be answered is told when it is asked.
func (r row[S]) asks(questions []question) row[S] {
	do := r.do
	r.do = func(s S, c *call) (any, error) {
		if err := c.checkQuestions(questions); err != nil {
			return nil, err
		}
		return do(s, c)
	}
	return r
}

func (c *call) checkQuestions(questions []question) error {
	for _, q := range questions {
		first, rest, _ := strings.Cut(q.path, ".")
		if err := c.checkQuestion(q.part, c.body.Members[first], first, rest); err != nil {
			return err
		}
	}
	return nil
}

// checkQuestion looks at what stands at the rest of a path in a JSON value.
func (c *call) checkQuestion(part string, value json.RawMessage, place, rest string) error {
	next, rest, _ := strings.Cut(rest, ".")
	switch next {
	case "":
		unread, err := insights.UnknownMembers(part, value, place, &insights.Project{})
		if err != nil {
			return queryProblem(err)
		}
		for _, line := range unread {
			c.body.Warn(line)
		}
	case "*":
		var list []json.RawMessage
		_ = json.Unmarshal(value, &list) // what is none is told by the fields
		for i := range list {
			if err := c.checkQuestion(part, list[i], place+"__"+strconv.Itoa(i), rest); err != nil {
				return err
			}
		}
	default:
		return c.checkQuestion(part, management.JSONObject(value)[next], place+"__"+next, rest)
	}
	return nil
}
