//go:build promtool

package metrics

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Prometheus' own tool accepts the names, units and help strings of the metrics, and the alert
// rules pass their unit tests.
func TestOps_Promtool(t *testing.T) {
	check := exec.Command("promtool", "check", "metrics")
	check.Stdin = strings.NewReader(scrape(t, Handler(config)))
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	rules := exec.Command("promtool", "test", "rules", "alerts_test.yml")
	rules.Dir = "../../../testdata/ops"
	if out, err := rules.CombinedOutput(); err != nil {
		t.Errorf("promtool test rules: %v\n%s", err, out)
	}
}

// The queries of the dashboard are valid PromQL.
func TestOps_DashboardQueries(t *testing.T) {
	data, err := os.ReadFile("../../../testdata/ops/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	var rules strings.Builder
	rules.WriteString("groups:\n  - name: dashboard\n    rules:\n")
	n := 0
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			n++
			fmt.Fprintf(&rules, "      - {record: query%d, expr: %q}\n", n, strings.ReplaceAll(q.Expr, "$__rate_interval", "5m"))
		}
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("promtool", "check", "rules", file).CombinedOutput(); err != nil || n == 0 {
		t.Errorf("%d queries, promtool check rules: %v\n%s", n, err, out)
	}
}
