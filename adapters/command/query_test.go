package command

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// A query in SQL and one in a file return a table, CSV and JSON, and are counted in the metrics.
func TestQuery_FromTheCommandLine(t *testing.T) {
	s := serve(t, time.Minute)
	env := []string{"BUNTING_SERVER=" + s.url, "BUNTING_KEY=" + printedKey.FindString(s.stdout.String())}
	token := call(t, "", env, "projects", "list").Stdout
	token = token[strings.Index(token, "phc_"):]
	token = token[:strings.IndexAny(token, " \n")]
	r, err := http.NewRequest("POST", s.url+"/batch/", strings.NewReader(`{"api_key":"`+token+`","historical_migration":true,"batch":[
		{"event":"buy","timestamp":"2020-01-02T03:04:05Z","properties":{"distinct_id":"ann"}},
		{"event":"see","timestamp":"2020-01-02T03:04:05Z","properties":{"distinct_id":"ann"}},
		{"event":"buy","timestamp":"2020-01-03T03:04:05Z","properties":{"distinct_id":"bob, jr"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	do(t, r)
	const statement = "SELECT event, count(), max(distinct_id) FROM events GROUP BY event ORDER BY event"
	if got, want := call(t, "", env, "query", "--csv", statement).Stdout, "event,count(),max(distinct_id)\nbuy,2,\"bob, jr\"\nsee,1,ann\n"; got != want {
		t.Errorf("CSV:\n%s\nwant\n%s", got, want)
	}
	table := call(t, "", env, "query", statement)
	table.Want(t, cli.ExitOK, "buy", "")
	if lines := strings.Split(strings.TrimSpace(table.Stdout), "\n"); len(lines) != 3 || strings.Join(strings.Fields(lines[2]), " ") != "see 1 ann" {
		t.Errorf("table:\n%s", table.Stdout)
	}
	file := filepath.Join(t.TempDir(), "trend.json")
	trend := `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"buy"}],"dateRange":{"date_from":"2020-01-02","date_to":"2020-01-03"}}`
	if err := os.WriteFile(file, []byte(trend), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := call(t, "", env, "query", "--csv", file).Stdout, "day,buy\n2020-01-02,1\n2020-01-03,1\n"; got != want {
		t.Errorf("a trend as CSV:\n%s\nwant\n%s", got, want)
	}
	call(t, "", env, "query", "--json", file).Want(t, cli.ExitOK, `"is_cached": true`, "")
	call(t, "", env, "query", "SELECT nosuch FROM events").Want(t, cli.ExitError, "", "nosuch")
	call(t, "", env, "query").Want(t, cli.ExitUsage, "", "query takes QUERY")
	r, err = http.NewRequest("GET", s.url+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, page := do(t, r)
	for _, line := range []string{`bunting_query_total{kind="TrendsQuery",outcome="ok"} 1`, `bunting_query_cache_total{result="hit"} `, `bunting_query_rows_read_total `, `bunting_query_seconds_count{kind="HogQLQuery"} `} {
		if !strings.Contains(string(page), line) {
			t.Errorf("the metrics have no %s", line)
		}
	}
}
