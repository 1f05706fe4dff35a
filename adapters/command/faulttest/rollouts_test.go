//go:build linux

package faulttest

import (
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// killsPerRolloutKill is the number of -kills for each kill of these tests.
const killsPerRolloutKill = 6

// SIGKILL at any moment while guarded rollouts are evaluated: each step writes the flag once, and
// each notice is delivered with one id (experiments.md §4.12).
func TestKill_Rollouts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newRolloutTest(t)
	args := append(onSQLite(dir), r.args...)
	s := start(t, args...)
	r.create(t, s)
	s.kill()
	for n := range max(8, *kills/killsPerRolloutKill) { // with fewer, perhaps no step is made
		r.makeDue(t, openWritable(t, dir))
		// Due rollouts are evaluated when a server starts, at about the time when it listens.
		if n%2 == 0 {
			s, _ = launch(t, nil, args...)
			time.Sleep(rand.N(600 * time.Millisecond))
		} else {
			s = start(t, args...)
			time.Sleep(rand.N(300 * time.Millisecond))
		}
		s.kill()
	}
	before := r.made(t, openFolder(t, dir))
	s = start(t, args...)
	r.settle(t, s, before, func() *sql.DB { return openWritable(t, dir) })
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	isIntact(t, dir)
}

// Two servers on one PostgreSQL evaluate the same rollouts, while each in turn is killed and the
// database is stopped: each step writes the flag once, and each notice is delivered with one id.
// Without the database, the metrics say that no rollout is evaluated (experiments.md §4.12).
func TestServers_Rollouts(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	r := newRolloutTest(t)
	args := append([]string{"--database", db.url()}, r.args...)
	servers := [2]*server{start(t, args...), start(t, args...)}
	r.create(t, servers[0])
	times := max(4, *kills/killsPerRolloutKill) // the fourth stops the database
	for n := range times {
		r.makeDue(t, db.open(t))
		dying := n % 2
		if n%4 == 3 { // the database goes away during the evaluation
			time.Sleep(rand.N(300 * time.Millisecond))
			db.stop(t)
			if n == 3 {
				living := servers[1-dying]
				eventually(t, "a server says that it evaluates nothing", func() bool { return living.metric(t, "bunting_rollouts_blind") == 1 })
			}
			db.start(t)
		}
		time.Sleep(rand.N(300 * time.Millisecond))
		servers[dying].kill()
		servers[dying] = start(t, args...)
	}
	before := r.made(t, db.open(t))
	r.settle(t, servers[0], before, func() *sql.DB { return db.open(t) })
	for _, s := range servers {
		eventually(t, "both servers evaluate rollouts", func() bool { return s.metric(t, "bunting_rollouts_blind") == 0 })
		if code := s.stop(t); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

const (
	// rolloutFlags is the number of flags with a rollout, and rolloutSteps that of its steps.
	rolloutFlags = 4
	rolloutSteps = 20
	// webhookSecret is the secret of the webhooks.
	webhookSecret = "a secret of 24 letters.."
)

// rolloutTest is a set of rollouts whose steps are due whenever makeDue was called, and the receiver
// of their webhooks.
type rolloutTest struct {
	args  []string
	hooks string // the address of the receiver
	// rollouts are the ids of the rollouts by the ids of their flags.
	rollouts map[int64]int64

	mu sync.Mutex
	// notices are the ids of the received webhooks, by content.
	notices map[notice]map[string]bool
	wrong   []string
	refused int
}

// notice is the content of a webhook: an event of a rollout in a step.
type notice struct {
	rollout int64
	event   string
	step    int
}

func newRolloutTest(t testing.TB) *rolloutTest {
	r := &rolloutTest{rollouts: map[int64]int64{}, notices: map[notice]map[string]bool{}}
	receiver := httptest.NewServer(http.HandlerFunc(r.receive))
	t.Cleanup(receiver.Close)
	r.hooks = receiver.URL + "/hook"
	r.args = []string{"--rate-limit", "off", "--rollout-interval", "10s", "--export-networks", "127.0.0.0/8"}
	return r
}

// receive accepts most webhooks and rejects a quarter of them.
func (r *rolloutTest) receive(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if rand.IntN(4) == 0 {
		r.refused++
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var sent struct {
		ID, Event string
		Rollout   struct {
			ID   int64
			Step int
		} `json:"guarded_rollout"`
	}
	err = errors.Join(err, json.Unmarshal(body, &sent), checkSignature(request.Header.Get("X-Bunting-Signature"), body))
	if id := request.Header.Get("X-Bunting-Delivery"); err == nil && (id == "" || id != sent.ID) {
		err = fmt.Errorf("the delivery %q has the id %q", id, sent.ID)
	}
	if err != nil {
		r.wrong = append(r.wrong, fmt.Sprintf("a webhook: %v: %.500s", err, body))
		return
	}
	n := notice{sent.Rollout.ID, sent.Event, sent.Rollout.Step}
	if r.notices[n] == nil {
		r.notices[n] = map[string]bool{}
	}
	r.notices[n][sent.ID] = true
}

// checkSignature checks the signature of a body as the documentation says.
func checkSignature(header string, body []byte) error {
	at, sum, _ := strings.Cut(header, ",")
	at = strings.TrimPrefix(at, "t=")
	mac := hmac.New(sha256.New, []byte(webhookSecret))
	_, _ = mac.Write([]byte(at + "."))
	_, _ = mac.Write(body)
	seconds, err := strconv.ParseInt(at, 10, 64)
	if want := "v1=" + hex.EncodeToString(mac.Sum(nil)); err != nil || sum != want || time.Since(time.Unix(seconds, 0)).Abs() > time.Hour {
		return fmt.Errorf("the signature is %q, want %s at the present time", header, want)
	}
	return nil
}

// create creates the flags, the exposures of 400 users of each, and the rollouts, and starts them.
func (r *rolloutTest) create(t testing.TB, s *server) {
	t.Helper()
	var steps []object
	for i := range rolloutSteps - 1 {
		steps = append(steps, object{"percent": 30 + 2*i, "dwell_seconds": 60})
	}
	steps = append(steps, object{"percent": 100, "dwell_seconds": 60})
	// Before every step, because reports during a step are compared with its arms.
	exposed := time.Now().AddDate(0, 0, -10).UTC().Format(time.RFC3339)
	for i := range rolloutFlags {
		key := fmt.Sprint("guarded-", i)
		var flag, made struct{ ID int64 }
		s.must(t, http.MethodPost, "/api/projects/1/feature_flags/", personalKey, object{
			"key": key, "name": "", "active": true, "filters": object{"groups": []object{{"properties": []object{}, "rollout_percentage": 0}}},
		}, &flag)
		var batch []object
		for n := range 400 {
			batch = append(batch, object{"event": "$feature_flag_called", "distinct_id": fmt.Sprint("user-", n), "timestamp": exposed, "properties": object{"$feature_flag": key, "$feature_flag_response": true}})
		}
		s.must(t, http.MethodPost, "/batch/", personalKey, object{"api_key": apiKey, "batch": batch}, nil)
		s.must(t, http.MethodPost, "/api/projects/1/guarded_rollouts/", personalKey, object{
			"feature_flag": flag.ID, "start": true, "steps": steps, "settle_seconds": 0, "minimum_exposures": 50,
			"guardrails": []object{{"goal": "decrease", "metric": object{
				"kind": "ExperimentMetric", "metric_type": "mean", "source": object{"kind": "EventsNode", "event": "$exception"}, "conversion_window": 10, "conversion_window_unit": "second",
			}}},
			"notify": object{"webhook": object{"url": r.hooks, "secret": webhookSecret}},
		}, &made)
		r.rollouts[flag.ID] = made.ID
	}
}

// makeDue moves the beginning of each current step an hour back, and sets all evaluations and
// webhooks to due, as if that time had passed. It closes db.
func (r *rolloutTest) makeDue(t testing.TB, db *sql.DB) {
	t.Helper()
	defer func() { _ = db.Close() }()
	for id, data := range r.records(t, db) {
		var record map[string]any
		if err := json.Unmarshal([]byte(data), &record); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"started_at", "step_started_at", "next_at"} {
			text, _ := record[name].(string)
			if at, err := time.Parse(time.RFC3339, text); err == nil {
				record[name] = at.Add(-time.Hour)
			}
		}
		changed, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		// If a server has begun a step meanwhile, the next round moves it.
		if _, err := db.Exec(`UPDATE records SET data = $1 WHERE kind = 'guarded_rollout' AND id = $2 AND data = $3`, string(changed), id, data); err != nil {
			t.Fatal(err)
		}
	}
	due := fmt.Sprintf("%020d", time.Now().UnixMicro())
	if _, err := db.Exec(`UPDATE records SET sort = $1 WHERE kind IN ('guarded_rollout_task', 'webhook') AND sort > $1`, due); err != nil {
		t.Fatal(err)
	}
}

// records returns the stored rollouts by id.
func (r *rolloutTest) records(t testing.TB, db *sql.DB) map[string]string {
	t.Helper()
	list, err := db.Query(`SELECT id, data FROM records WHERE kind = 'guarded_rollout'`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = list.Close() }()
	out := map[string]string{}
	for list.Next() {
		var id, data string
		if err := list.Scan(&id, &data); err != nil {
			t.Fatal(err)
		}
		out[id] = data
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// made returns the number of steps of all rollouts. It closes db.
func (r *rolloutTest) made(t testing.TB, db *sql.DB) (steps int) {
	t.Helper()
	defer func() { _ = db.Close() }()
	for _, data := range r.records(t, db) {
		var record struct{ Step int }
		if err := json.Unmarshal([]byte(data), &record); err != nil {
			t.Fatal(err)
		}
		steps += record.Step + 1
	}
	return steps
}

// settle waits until the rollouts have advanced by two steps each or are complete, waits for all
// notices, and checks the results.
func (r *rolloutTest) settle(t testing.TB, s *server, before int, open func() *sql.DB) {
	t.Helper()
	enough := min(before+2*rolloutFlags, rolloutFlags*rolloutSteps)
	eventually(t, "the rollouts go on", func() bool {
		r.makeDue(t, open())
		time.Sleep(200 * time.Millisecond)
		return r.made(t, open()) >= enough
	})
	for _, rollout := range r.rollouts {
		path := fmt.Sprintf("/api/projects/1/guarded_rollouts/%d/", rollout)
		if status, err := s.ask(http.MethodPost, path+"pause/", personalKey, nil, nil); err != nil && status != http.StatusBadRequest { // it is complete
			t.Error(err)
		}
	}
	var want map[notice]bool
	eventually(t, "all notices are delivered", func() bool {
		r.makeDue(t, open())
		time.Sleep(200 * time.Millisecond)
		want = map[notice]bool{}
		for flag, rollout := range r.rollouts {
			r.checkFlag(t, s, flag, rollout, want)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		return !slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(n notice) bool { return r.notices[n] == nil })
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, ids := range r.notices {
		isStep := n.event == "start" || n.event == "advance" || n.event == "complete"
		if isStep && (len(ids) != 1 || !want[n]) {
			t.Errorf("%s of step %d of rollout %d was told with the ids %v, want one: %t", n.event, n.step, n.rollout, slices.Collect(maps.Keys(ids)), want[n])
		}
	}
	for _, w := range r.wrong {
		t.Error(w)
	}
	t.Logf("%d steps before the last start; %d notices, of which the receiver refused %d attempts", before, len(r.notices), r.refused)
	if before == rolloutFlags {
		t.Error("no step was made between the kills: that is no test")
	}
}

// checkFlag checks that each step has written one version of the flag, and adds the notices that
// are expected.
func (r *rolloutTest) checkFlag(t testing.TB, s *server, flag, rollout int64, want map[notice]bool) {
	t.Helper()
	var state struct {
		Status string
		Step   int
	}
	s.must(t, http.MethodGet, fmt.Sprintf("/api/projects/1/guarded_rollouts/%d/", rollout), personalKey, nil, &state)
	var record struct{ Version int }
	s.must(t, http.MethodGet, fmt.Sprintf("/api/projects/1/feature_flags/%d/", flag), personalKey, nil, &record)
	if record.Version != 1+state.Step+1 {
		t.Fatalf("flag %d has version %d after %d steps, want one for each and the first", flag, record.Version, state.Step+1)
	}
	times := map[int]int{}
	for _, entry := range everyPage[struct {
		Detail struct {
			Trigger *struct {
				Payload *struct{ Step int }
			}
		}
	}](t, s, fmt.Sprintf("/api/projects/1/feature_flags/%d/activity/?limit=100", flag), personalKey) {
		if trigger := entry.Detail.Trigger; trigger != nil && trigger.Payload != nil {
			times[trigger.Payload.Step]++
		}
	}
	for step := range state.Step + 1 {
		if times[step] != 1 {
			t.Fatalf("step %d of rollout %d is %d times in the log of its flag", step, rollout, times[step])
		}
		event := "advance"
		if step == 0 {
			event = "start"
		}
		want[notice{rollout, event, step}] = true
	}
	if state.Status == "completed" {
		want[notice{rollout, "complete", state.Step}] = true
	}
}
