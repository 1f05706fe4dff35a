package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
)

// Actions and cohorts are found in every part of a query that refers to them: the type of an entity
// of retention, the steps of an action, and the metrics and exposures of an experiment, which the
// query does not repeat.
func TestQuestions_NameActionsAndCohorts(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "sqlite::memory:")
	o.do(t, "POST /batch/", `{"api_key":"phc_1","batch":[{"event":"buy","distinct_id":"a","properties":{"$set":{"plan":"pro"}}},{"event":"buy","distinct_id":"b","properties":{"$set":{"plan":"free"}}}]}`, http.StatusOK)
	o.do(t, "POST /api/projects/1/cohorts/", `{"filters":{"properties":{"type":"AND","values":[{"type":"person","key":"plan","value":"pro","operator":"exact"}]}}}`, http.StatusCreated)
	const inCohort = `"properties":[{"type":"cohort","key":"id","value":1}]`
	o.do(t, "POST /api/projects/1/actions/", `{"name":"bought","steps":[{"event":"buy",`+inCohort+`}]}`, http.StatusCreated)

	var trends struct{ Results []struct{ Count float64 } }
	fromJSON(t, o.do(t, "POST /api/projects/1/query/", `{"query":{"kind":"TrendsQuery","series":[{"kind":"ActionsNode","id":1}]}}`, http.StatusOK), &trends)
	if len(trends.Results) != 1 || trends.Results[0].Count != 1 {
		t.Errorf("trends: %+v, want the one event of the cohort", trends)
	}
	var retention struct {
		Results []struct{ Values []struct{ Count int } }
	}
	const bought = `{"id":1,"name":"bought","type":"actions"}`
	fromJSON(t, o.do(t, "POST /api/projects/1/query/", `{"query":{"kind":"RetentionQuery","retentionFilter":{"totalIntervals":1,"targetEntity":`+bought+`,"returningEntity":`+bought+`}}}`, http.StatusOK), &retention)
	if len(retention.Results) != 1 || retention.Results[0].Values[0].Count != 1 {
		t.Errorf("retention: %+v, want the one person of the cohort", retention)
	}

	metric := func(uuid, source string) string {
		return fmt.Sprintf(`{"uuid":%q,"kind":"ExperimentMetric","metric_type":"mean","source":%s}`, uuid, source)
	}
	o.do(t, "POST /api/projects/1/experiments/", `{"name":"E","feature_flag_key":"e","start_date":"2026-01-01T00:00:00Z",
		"exposure_criteria":{"exposure_config":{"kind":"ExperimentEventExposureConfig","event":"$feature_flag_called",`+inCohort+`}},
		"metrics":[`+metric("action", `{"kind":"ActionsNode","id":1}`)+`,`+metric("cohort", `{"kind":"EventsNode","event":"buy",`+inCohort+`}`)+`]}`, http.StatusCreated)
	var results struct {
		Primary []struct {
			UUID  string
			Error json.RawMessage
		}
	}
	fromJSON(t, o.do(t, "GET /api/projects/1/experiments/1/results/", ``, http.StatusOK), &results)
	for _, m := range results.Primary {
		if string(m.Error) != "null" {
			t.Errorf("the metric %s: %s", m.UUID, m.Error)
		}
	}
	if len(results.Primary) != 2 {
		t.Errorf("%d metrics, want 2", len(results.Primary))
	}
}
