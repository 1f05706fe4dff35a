package results

import (
	"encoding/json"
	"testing"
)

// experiments.md §3.5: format=csv returns one row for each metric and variant. Null members are
// empty; text that a spreadsheet would interpret as a formula is escaped.
func TestResultsCSV(t *testing.T) {
	var result map[string]any
	if err := json.Unmarshal([]byte(`{"primary": [
		{"uuid": "u", "name": "=Sales, net", "metric_type": "mean", "goal": null, "error": null,
		 "baseline": {"key": "control", "number_of_samples": 500, "sum": 4300, "mean": 8.6},
		 "variants": [{"key": "test", "number_of_samples": 1000000000, "sum": 5000, "mean": 10, "effect": 0.1628, "standard_error": 0.1384, "significant": false, "p_value": 0.24,
		   "confidence_interval": [-0.1, 0.5], "better": false, "significance_code": "high_p_value"}]},
		{"uuid": "v", "metric_type": "funnel", "error": "no"}],
		"secondary": [{"uuid": "w", "variants": [{"key": "test", "chance_to_win": 0.9, "credible_interval": [0, 1]}]}]}`), &result); err != nil {
		t.Fatal(err)
	}
	const want = `list,uuid,name,metric_type,goal,error,key,number_of_samples,sum,mean,effect,standard_error,significant,p_value,p_value_adjusted,chance_to_win,better,significance_code,interval_lower,interval_upper
primary,u,"'=Sales, net",mean,,,control,500,4300,8.6,,,,,,,,,,
primary,u,"'=Sales, net",mean,,,test,1000000000,5000,10,0.1628,0.1384,false,0.24,,,false,high_p_value,-0.1,0.5
primary,v,,funnel,,no,,,,,,,,,,,,,,
secondary,w,,,,,test,,,,,,,,,0.9,,,0,1
`
	if got := string(resultsCSV(result)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
