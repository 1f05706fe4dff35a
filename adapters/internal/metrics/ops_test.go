package metrics

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// names returns the names of all our metrics, for histograms with the suffixes that Prometheus
// adds.
func names() map[string]bool {
	descs := make(chan *prometheus.Desc, 1024)
	collector{config}.Describe(descs)
	close(descs)
	out := map[string]bool{}
	name := regexp.MustCompile(`fqName: "([^"]+)"`)
	for d := range descs {
		out[name.FindStringSubmatch(d.String())[1]] = true
	}
	for _, end := range []string{"_bucket", "_sum", "_count"} {
		out["bunting_http_request_duration_seconds"+end] = true
		out["bunting_rollout_evaluation_seconds"+end] = true
	}
	return out
}

// Alert rules and the dashboard use only metrics that exist.
func TestOps_MetricsExist(t *testing.T) {
	metricNames, used := names(), regexp.MustCompile(`\bbunting_[a-z0-9_]+`)
	for _, name := range []string{"alerts.yml", "alerts_test.yml", "grafana.json"} {
		data, err := os.ReadFile(filepath.Join("../../../testdata/ops", name))
		if err != nil {
			t.Fatal(err)
		}
		found := used.FindAllString(string(data), -1)
		if len(found) < 10 {
			t.Errorf("%s asks for %d metrics only", name, len(found))
		}
		for _, metric := range found {
			if !metricNames[metric] {
				t.Errorf("%s asks for %s, which is none of ours", name, metric)
			}
		}
	}
}

// Every alert has a row in the unit tests in which it fires.
func TestOps_AlertsAreTested(t *testing.T) {
	rules, err := os.ReadFile("../../../testdata/ops/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("../../../testdata/ops/alerts_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, alert := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		fires := regexp.MustCompile(`alertname="` + alert[1] + `"|alertname: ` + alert[1] + `\n\s+exp_alerts`)
		if !fires.Match(tests) {
			t.Errorf("no test makes %s fire", alert[1])
		}
	}
}

// Grafana can load the dashboard: its panels have positions and queries.
func TestOps_Dashboard(t *testing.T) {
	data, err := os.ReadFile("../../../testdata/ops/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos map[string]int
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || p.GridPos["w"] == 0 || len(p.Targets) == 0 {
			t.Errorf("panel %d %q: %v, %d queries", p.ID, p.Title, p.GridPos, len(p.Targets))
		}
		ids[p.ID] = true
	}
}
