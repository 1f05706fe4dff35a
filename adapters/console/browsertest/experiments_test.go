package browsertest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// An experiment with all that its form has (experiments.md §3.2, §3.6, §3.9, §3.10): a holdout, a
// shared metric, primary and secondary metrics of all kinds, a method with a correction, and
// exposure criteria. Its results equal the vector holm-a.
func TestExperiments_AllMetrics(t *testing.T) {
	s := serve(t)
	p := s.open(t, "p/1/experiments/holdouts")
	p.node("heading", "No holdouts yet")
	p.click("button", "New holdout")
	p.fill("Everybody", "dialog", "New holdout", "textbox", "Name")
	p.fill("101", "dialog", "New holdout", "spinbutton", "Share of people in percent")
	p.click("dialog", "New holdout", "button", "Save")
	p.node("dialog", "New holdout", "StaticText", "Enter a number from 0 to 100.")
	p.fill("7.5", "dialog", "New holdout", "spinbutton", "Share of people in percent")
	p.click("dialog", "New holdout", "button", "Save")
	p.waitAnnounced("Created")
	p.node("table", "Holdouts", "cell", "7.5 %")
	p.accessible()
	p.visit("p/1/experiments/metrics")
	p.node("heading", "No shared metrics yet")
	p.click("button", "New shared metric")
	p.fill("Pages", "textbox", "Name")
	p.fill("pageview", "combobox", "Metric event")
	p.choose("Count per person", "combobox", "Metric kind")
	p.accessible()
	p.click("button", "Save")
	p.node("table", "Shared metrics", "link", "Pages")
	p.accessible()
	fillExperiment(p)
	p.click("button", "Save")
	p.node("heading", "Whole")
	checkExperiment(s)
	p.click("navigation", "Experiment", "link", "Setup")
	p.node("list", "Shared primary metrics", "link", "Pages")
	p.accessible()
	p.click("button", "Save")
	p.waitAnnounced("Nothing has changed.")
	readVector(s, p)
	p.expect("400 PATCH /api/projects/1/experiments/1/")
	p.click("navigation", "Experiment", "link", "Setup")
	p.click("button", "Add secondary metric")
	p.fill("refund", "group", "Secondary metric 4", "combobox", "Metric event")
	p.click("button", "Save")
	p.node("alert", "") // the project has events, and none with this name
	p.click("checkbox", "Allow events that the project has never captured")
	p.click("button", "Save")
	p.waitAnnounced("Saved")
}

// fillExperiment fills the form of a new experiment.
func fillExperiment(p *page) {
	p.t.Helper()
	p.visit("p/1/experiments/new")
	p.fill("Whole", "textbox", "Name")
	p.fill("flag-holm-a", "textbox", "Flag key")
	p.fill("purchase", "group", "Primary metric 1", "combobox", "Metric event")
	p.choose("Value per person", "group", "Primary metric 1", "combobox", "Metric kind")
	p.fill("amount", "group", "Primary metric 1", "combobox", "Property")
	p.click("button", "Add primary metric")
	p.fill("step1", "group", "Primary metric 2", "combobox", "Metric event")
	p.fill("Pages", "combobox", "Add shared primary metric")
	p.click("option", "Pages")
	p.node("list", "Shared primary metrics", "link", "Pages")
	// A funnel of two steps, a ratio, and a retention.
	p.click("button", "Add secondary metric")
	p.fill("step1", "group", "Secondary metric 1", "combobox", "Metric event")
	p.click("group", "Secondary metric 1", "button", "Add step")
	p.fill("purchase", "group", "Secondary metric 1", "group", "Step 2", "combobox", "Metric event")
	p.fill("2", "group", "Secondary metric 1", "spinbutton", "Conversion window")
	p.click("button", "Add secondary metric")
	p.choose("Ratio", "group", "Secondary metric 2", "combobox", "Metric kind")
	p.fill("purchase", "group", "Secondary metric 2", "group", "Numerator", "combobox", "Metric event")
	p.choose("Sum of a property", "group", "Secondary metric 2", "group", "Numerator", "combobox", "Counted")
	p.fill("amount", "group", "Secondary metric 2", "group", "Numerator", "combobox", "Property")
	p.fill("pageview", "group", "Secondary metric 2", "group", "Denominator", "combobox", "Metric event")
	p.click("button", "Add secondary metric")
	p.choose("Retention", "group", "Secondary metric 3", "combobox", "Metric kind")
	p.fill("pageview", "group", "Secondary metric 3", "combobox", "Return event")
	p.choose("Decrease", "group", "Secondary metric 3", "combobox", "Goal")
	// experiments_vectors.json, plan-sum-a: 3,200 people, and no days without a rate.
	p.fill("5", "spinbutton", "Minimum detectable effect in percent")
	p.fill("50", "spinbutton", "Value today")
	p.node("status", "Plan", "StaticText", "Needs 3,200 people in all variants.")
	p.choose("Frequentist", "combobox", "Method")
	p.choose("95 %", "combobox", "Confidence level")
	p.choose("Holm", "combobox", "Correction for several tests")
	p.choose("Count for the first variant", "combobox", "People with several variants")
	p.click("checkbox", "Leave out test accounts")
	p.choose("Everybody: 7.5 % held out", "combobox", "Holdout")
	p.accessible()
}

// checkExperiment checks experiment 1 as the API returns it.
func checkExperiment(s *server) {
	t := s.t
	t.Helper()
	var got map[string]any
	s.api("GET", "/api/projects/1/experiments/1/", nil, &got)
	for _, list := range []string{"metrics", "metrics_secondary"} {
		for _, m := range got[list].([]any) {
			delete(m.(map[string]any), "uuid")
			delete(m.(map[string]any), "fingerprint")
		}
	}
	for _, c := range []struct{ member, want string }{
		{"metrics", `[{"kind":"ExperimentMetric","metric_type":"mean","name":"purchase","source":{"event":"purchase","kind":"EventsNode","math":"sum","math_property":"amount"}},
			{"kind":"ExperimentMetric","metric_type":"funnel","name":"step1","series":[{"event":"step1","kind":"EventsNode"}]}]`},
		{"metrics_secondary", `[{"conversion_window":2,"conversion_window_unit":"day","kind":"ExperimentMetric","metric_type":"funnel","name":"purchase","series":[{"event":"step1","kind":"EventsNode"},{"event":"purchase","kind":"EventsNode"}]},
			{"denominator":{"event":"pageview","kind":"EventsNode"},"kind":"ExperimentMetric","metric_type":"ratio","name":"purchase","numerator":{"event":"purchase","kind":"EventsNode","math":"sum","math_property":"amount"}},
			{"completion_event":{"event":"pageview","kind":"EventsNode"},"goal":"decrease","kind":"ExperimentMetric","metric_type":"retention","name":"pageview","retention_window_end":7,"retention_window_start":1,"retention_window_unit":"day","start_event":{"kind":"ExperimentExposureNode"},"start_handling":"first_seen"}]`},
		{"saved_metrics_ids", `[{"id":1,"metadata":{"type":"primary"}}]`},
		{"stats_config", `{"bayesian":{"ci_level":0.95},"frequentist":{"alpha":0.05},"method":"frequentist","multiple_testing":"holm"}`},
		{"exposure_criteria", `{"filterTestAccounts":false,"multiple_variant_handling":"first_seen"}`},
		{"holdout_id", `1`},
	} {
		want := ""
		for line := range strings.SplitSeq(c.want, "\n") {
			want += strings.TrimSpace(line)
		}
		if text, _ := json.Marshal(got[c.member]); string(text) != want {
			t.Errorf("%s is\n%s, want\n%s", c.member, text, want)
		}
	}
	parameters := got["parameters"].(map[string]any)
	if parameters["minimum_detectable_effect"] != 5.0 || parameters["recommended_sample_size"] != 3200.0 {
		t.Errorf("the parameters are %v", parameters)
	}
}

// readVector sends the events of the vector holm-a and reads the results of its three primary
// metrics: effect, interval, p-value and corrected p-value.
func readVector(s *server, p *page) {
	t := s.t
	t.Helper()
	raw, err := os.ReadFile("../../../testdata/spec/experiments_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Cases []struct {
			ID     string
			People []struct {
				N       int
				Variant string
				Rows    [][]any
			}
		}
	}
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	start := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	s.api("PATCH", "/api/projects/1/experiments/1/", map[string]any{"start_date": start, "end_date": start.AddDate(0, 0, 30)}, nil)
	var events []map[string]any
	for _, c := range vectors.Cases {
		if c.ID != "holm-a" {
			continue
		}
		for run, people := range c.People {
			for i := range people.N {
				id := fmt.Sprint(people.Variant, "-", run, "-", i)
				for _, row := range people.Rows {
					at := start.Add(time.Duration(row[1].(float64)) * time.Second)
					if row[0] == "x" {
						events = append(events, map[string]any{"event": "$feature_flag_called", "distinct_id": id, "timestamp": at, "properties": map[string]any{"$feature_flag": "flag-holm-a", "$feature_flag_response": people.Variant, "$feature/flag-holm-a": people.Variant}})
						continue
					}
					properties, times := map[string]any{}, 1
					if len(row) > 3 {
						properties = row[3].(map[string]any)
					}
					if len(row) > 4 {
						times = int(row[4].(float64))
					}
					for n := range times {
						events = append(events, map[string]any{"event": row[2], "distinct_id": id, "timestamp": at.Add(time.Duration(n) * time.Second), "properties": properties})
					}
				}
			}
		}
	}
	s.api("POST", "/batch/", map[string]any{"api_key": s.publicKey, "historical_migration": true, "batch": events}, nil)
	p.visit("p/1/experiments/1")
	for region, cells := range map[string][]string{
		"purchase": {"+28.4 %", "−4.1 % to +60.9 %", "0.087", "0.174"},
		"step1":    {"+21.3 %", "+3.7 % to +38.9 %", "0.018", "0.053"},
		"Pages":    {"+1.8 %", "−7.9 % to +11.4 %"},
	} {
		for _, cell := range cells {
			p.node("region", region, "table", "Results", "cell", cell)
		}
	}
	eventually(t, "the correction, and no decision", func() bool {
		return js[bool](p, "['p-values are corrected for several tests (Holm).', 'test is not yet decided: the interval includes 0.', 'Secondary metrics', 'It measures the share of people who return. Less is better.'].every(x => document.querySelector('main').innerText.includes(x))")
	})
	p.accessible()
}
