package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// questions are queries that are repeated, as a dashboard does, so that cached results are used.
var questions = map[string]string{
	"buyers":  `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"buy","math":"dau"}],"dateRange":{"date_from":"2024-03-01","date_to":"2024-03-02"},"trendsFilter":{"display":"ActionsTable"}}`,
	"buys":    `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"buy"}],"dateRange":{"date_from":"2024-03-01","date_to":"2024-03-02"},"trendsFilter":{"display":"ActionsTable"}}`,
	"through": `{"kind":"FunnelsQuery","series":[{"kind":"EventsNode","event":"see"},{"kind":"EventsNode","event":"buy"}],"dateRange":{"date_from":"2024-03-01","date_to":"2024-03-02"}}`,
	"people":  `{"kind":"HogQLQuery","query":"SELECT count(), count(DISTINCT person_id) FROM events"}`,
}

// answers are the results of the queries: people who bought, number of buys, people at each step,
// and rows and people of the SQL query.
type answers struct {
	Buyers, Buys float64
	Through      [2]float64
	People       [2]float64
}

// questioner is a server with the credentials to query it.
type questioner struct {
	*instance
	key, token string
}

func (a questioner) ask(t *testing.T) (got answers) {
	t.Helper()
	read := func(name string, into any) {
		code, text := a.post(a.url+"/api/projects/1/query/", a.key, `{"refresh":"blocking","query":`+questions[name]+`}`)
		var answer struct{ Results json.RawMessage }
		err := json.Unmarshal([]byte(text), &answer)
		if err == nil {
			err = json.Unmarshal(answer.Results, into)
		}
		if code != http.StatusOK || err != nil {
			t.Fatalf("%s: %d %s, %v", name, code, text, err)
		}
	}
	var total []struct {
		Value float64 `json:"aggregated_value"`
	}
	read("buyers", &total)
	got.Buyers = total[0].Value
	read("buys", &total)
	got.Buys = total[0].Value
	var steps []struct{ Count float64 }
	read("through", &steps)
	got.Through = [2]float64{steps[0].Count, steps[1].Count}
	var rows [][2]float64
	read("people", &rows)
	got.People = rows[0]
	return got
}

func (a questioner) send(t *testing.T, event, person, sentAt string) {
	t.Helper()
	body := fmt.Sprintf(`{"api_key":%q,"historical_migration":true,"batch":[{"event":%q,"distinct_id":%q,"timestamp":%q,"properties":{"$set":{"name":%q}}}]}`, a.token, event, person, sentAt, person)
	if code, text := a.post(a.url+"/batch/", "", body); code != http.StatusOK {
		t.Fatalf("%s of %s: %d %s", event, person, code, text)
	}
}

// Issue 14, "Correct": after each of a capture, a merge, an erasure, a restart, and a restored
// backup, the results are those of the stored events. Results that a merge or an erasure made wrong
// are never returned; captures appear when the cached result expires (insights.md §1.6), here after
// ten times its cost.
func TestQuery_FollowsWhatHappens(t *testing.T) {
	folder := t.TempDir()
	s := serve(t, time.Minute, "--data", folder)
	a := questioner{instance: s, key: printedKey.FindString(s.stdout.String())}
	_, projects := a.get("/api/projects/", a.key)
	a.token = regexp.MustCompile(`phc_[A-Za-z0-9]+`).FindString(projects)
	is := func(after string, want answers) {
		t.Helper()
		for range 2 { // the second time from the cache
			if got := a.ask(t); got != want {
				t.Errorf("after %s: %+v, want %+v", after, got, want)
			}
		}
	}

	addEvents := func(after string, want answers) {
		t.Helper()
		for end := time.Now().Add(clitest.WaitTimeout); a.ask(t) != want && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
		is(after, want)
	}

	for _, person := range []string{"ann", "bob", "cid"} {
		a.send(t, "see", person, "2024-03-01T08:00:00Z")
	}
	a.send(t, "buy", "bob", "2024-03-01T09:00:00Z")
	a.send(t, "buy", "ann's phone", "2024-03-02T09:00:00Z")
	is("captures", answers{Buyers: 2, Buys: 2, Through: [2]float64{3, 1}, People: [2]float64{5, 4}})

	a.send(t, "buy", "cid", "2024-03-02T10:00:00Z") // late: the day is over
	addEvents("a late event", answers{Buyers: 3, Buys: 3, Through: [2]float64{3, 2}, People: [2]float64{6, 4}})

	merge := `{"api_key":"` + a.token + `","event":"$identify","distinct_id":"ann","timestamp":"2024-03-05T00:00:00Z","properties":{"$anon_distinct_id":"ann's phone"}}`
	if code, text := a.post(a.url+"/capture/", "", merge); code != http.StatusOK {
		t.Fatal(code, text)
	}
	merged := answers{Buyers: 3, Buys: 3, Through: [2]float64{3, 3}, People: [2]float64{7, 3}}
	is("a merge", merged)

	var found struct{ Results []struct{ UUID string } }
	_, text := a.get("/api/projects/1/persons/?distinct_id="+url.QueryEscape("ann"), a.key)
	if err := json.Unmarshal([]byte(text), &found); err != nil || len(found.Results) != 1 {
		t.Fatalf("ann: %s, %v", text, err)
	}
	r, _ := http.NewRequest(http.MethodDelete, a.url+"/api/projects/1/persons/"+found.Results[0].UUID+"/?delete_events=true", nil)
	r.Header.Set("Authorization", "Bearer "+a.key)
	if code, text := do(t, r); code != http.StatusAccepted {
		t.Fatal(code, text)
	}
	erased := answers{Buyers: 2, Buys: 2, Through: [2]float64{2, 2}, People: [2]float64{4, 2}}
	is("an erasure", erased)

	file, twin := filepath.Join(t.TempDir(), "b.db"), filepath.Join(t.TempDir(), "twin")
	r, _ = http.NewRequest(http.MethodPost, a.url+"/api/instance/backup/", nil)
	r.Header.Set("Authorization", "Bearer "+a.key)
	_, copied := do(t, r)
	if err := os.WriteFile(file, []byte(copied), 0o600); err != nil {
		t.Fatal(err)
	}
	a.stop()
	a.wait(0)
	a.instance = serve(t, time.Minute, "--data", folder)
	is("a restart", erased)
	a.send(t, "buy", "bob", "2024-03-02T11:00:00Z")
	addEvents("a capture after it", answers{Buyers: 2, Buys: 3, Through: [2]float64{2, 2}, People: [2]float64{5, 2}})
	a.stop()
	a.wait(0)

	call(t, "", nil, "restore", "--input", file, "--data", twin).Want(t, 0, "4 events", "")
	a.instance = serve(t, time.Minute, "--data", twin)
	is("a restored backup", erased)
	a.stop()
	a.wait(0)
}
