package rollouts_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/notices"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/rooms"
)

// receiver accepts webhooks for addresses with https.
type receiver struct {
	requests []hook
	err      error // of all requests, if it is not nil
}

// hook is a request of a webhook.
type hook struct {
	address string
	headers map[string]string
	body    []byte
}

func (r *receiver) Check(address string) error {
	if strings.HasPrefix(address, "https://") {
		return nil
	}
	return errors.New("https only")
}

func (r *receiver) Post(_ context.Context, address string, headers map[string]string, body []byte) error {
	r.requests = append(r.requests, hook{address, headers, body})
	return r.err
}

// webhookWorld is a rolloutWorld with a rollout that has a webhook.
func webhookWorld(t *testing.T, options ...func(*rooms.Config)) (*rolloutWorld, *receiver) {
	r := &receiver{}
	l := openRolloutWorld(t, memstore.New(memstore.ExternalData{}), append(options, func(c *rooms.Config) { c.Poster = r })...)
	l.Run(t, rolloutCalls(t, l), aRollout(`"notify":{"webhook":{"url":"https://hooks.example.com/a?b","secret":"0123456789abcdef"}}`))
	return l, r
}

// deliver sends the webhooks that are due, and returns when the next one is.
func (l *rolloutWorld) deliver() (next time.Time, err error) {
	return l.Organizations.Webhooks.Deliver(l.t.Context())
}

// experiments.md §4.11: a webhook for each event of a rollout, with the record as it is after the
// event and without notify, signed with the secret.
func TestRollouts_Webhooks(t *testing.T) {
	l, r := webhookWorld(t)
	l.advance(66 * time.Minute) // too few exposures
	l.setEvidence(1000, 9000, 50, 450)
	l.advance(2 * time.Minute)
	l.call("pause", `{}`)
	l.call("resume", `{}`)
	l.setEvidence(1000, 1000, 200, 50)
	l.advance(10 * time.Minute)
	if next, err := l.deliver(); !next.IsZero() && next.After(l.Clock) || err != nil {
		t.Fatal(next, err)
	}
	type document struct {
		Event   string
		Project int64 `json:"project_id"`
		Flag    struct {
			ID      int64
			Key     string
			Version int64
		} `json:"feature_flag"`
		Rollout struct {
			ID     int64
			Status string
			Step   int
		} `json:"guarded_rollout"`
		Evaluation *struct{ Decision string }
	}
	want := []string{"start running 0 2 -", "hold holding 0 2 hold", "advance running 1 3 advance", "rollback rolled_back 1 4 rollback"}
	var got []string
	ids := map[string]bool{}
	for _, q := range r.requests {
		var x document
		if err := json.Unmarshal(q.body, &x); err != nil {
			t.Fatal(err)
		}
		decision := "-"
		if x.Evaluation != nil {
			decision = x.Evaluation.Decision
		}
		got = append(got, fmt.Sprint(x.Event, " ", x.Rollout.Status, " ", x.Rollout.Step, " ", x.Flag.Version, " ", decision))
		body := management.JSONObject(q.body)
		id := management.JSONText(body["id"])
		mac := hmac.New(sha256.New, []byte("0123456789abcdef"))
		_, _ = fmt.Fprintf(mac, "%d.%s", l.Clock.Unix(), q.body)
		signature := fmt.Sprintf("t=%d,v1=%s", l.Clock.Unix(), hex.EncodeToString(mac.Sum(nil)))
		if q.address != "https://hooks.example.com/a?b" || q.headers["X-Bunting-Delivery"] != id || q.headers["X-Bunting-Signature"] != signature || ids[id] {
			t.Errorf("%s %v, want the id %s once and the signature %s", q.address, q.headers, id, signature)
		}
		ids[id] = true
		record := management.JSONObject(body["guarded_rollout"])
		if x.Project != 1 || x.Flag.ID != 1 || x.Flag.Key != "f" || x.Rollout.ID != 1 || record["notify"] != nil || record["steps"] == nil || strings.Contains(string(q.body), "0123456789abcdef") {
			t.Errorf("%s", q.body)
		}
		if _, err := time.Parse(time.RFC3339, management.JSONText(body["at"])); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := l.deliver(); len(r.requests) != len(want) || err != nil {
		t.Errorf("%d requests, %v: accepted webhooks are sent again", len(r.requests), err)
	}
}

// experiments.md §4.11: a webhook that is not accepted is sent again with the same id, with waits
// that double from 10 s to 15 min, for 24 h. Then it is deleted and reported.
func TestRollouts_WebhookRetries(t *testing.T) {
	var reports []management.JobDone
	l, r := webhookWorld(t, func(c *rooms.Config) { c.JobDone = func(d management.JobDone) { reports = append(reports, d) } })
	r.err = errors.New("the receiver answered with the status 500")
	began := l.Clock
	for n, wait := range []time.Duration{10, 20, 40, 80, 160, 320, 640, 900, 900} {
		_, err := l.deliver()
		if len(r.requests) != n+1 || !errors.Is(err, r.err) {
			t.Fatalf("after attempt %d: %d requests, %v", n+1, len(r.requests), err)
		}
		// The second call returns the time of the next attempt.
		next, err := l.deliver()
		if err != nil || !next.Equal(l.Clock.Add(wait*time.Second)) || len(r.requests) != n+1 {
			t.Fatalf("attempt %d is at %s, %v; want it after %d s", n+2, next, err, wait)
		}
		l.Clock = next
	}
	if n, oldest, err := l.Organizations.Webhooks.Backlog(t.Context()); n != 1 || !oldest.Equal(began) || err != nil {
		t.Errorf("%d wait since %s, %v", n, oldest, err)
	}
	l.Clock = began.Add(24*time.Hour - time.Second)
	before := len(r.requests)
	if _, err := l.deliver(); len(r.requests) != before+1 || err == nil || len(reports) > 0 {
		t.Fatalf("%d attempts, %v, %v: want one more within 24 hours", len(r.requests)-before, err, reports)
	}
	l.Clock = began.Add(24*time.Hour + 15*time.Minute)
	if next, err := l.deliver(); len(r.requests) != before+1 || err != nil || !next.IsZero() || len(reports) != 1 {
		t.Errorf("%d attempts, next %s, %v, %v: want the end", len(r.requests)-before, next, err, reports)
	}
	if len(reports) == 1 && (reports[0].Job != management.JobWebhook || reports[0].Project != 1 || reports[0].Failure == "") {
		t.Errorf("%+v", reports[0])
	}
	first := r.requests[0].headers["X-Bunting-Delivery"]
	for _, q := range r.requests {
		if q.headers["X-Bunting-Delivery"] != first || string(q.body) != string(r.requests[0].body) {
			t.Errorf("%v, want the id %s and the same body", q.headers, first)
		}
	}
}

// At most 1,000 webhooks of an organization wait; further webhooks are lost, which does not
// affect the steps.
func TestRollouts_WebhooksAreBounded(t *testing.T) {
	l, _ := webhookWorld(t)
	err := l.Store.Write(t.Context(), func(tx rooms.Tx) error {
		for n := range 1200 {
			if _, err := l.Organizations.QueueWebhook(tx, notices.Webhook{Project: ruletest.Project, ID: fmt.Sprint(n), URL: "https://x", Body: json.RawMessage("{}")}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l.call("rollback", `{}`)
	if n, _, err := l.Organizations.Webhooks.Backlog(t.Context()); n != 1000 || err != nil {
		t.Errorf("%d webhooks wait, %v; want 1,000", n, err)
	}
}

// experiments.md §4.11: the secret is not returned, has at least 16 characters, and stays with its
// address.
func TestRollouts_WebhookDefinition(t *testing.T) {
	secret := func(n int) string { return strings.Repeat("ü", n) }
	hook := func(members string) string { return `{"notify":{"webhook":{` + members + `}}}` }
	r := &receiver{}
	l := openRolloutWorld(t, memstore.New(memstore.ExternalData{}), everySecond, func(c *rooms.Config) { c.Poster = r })
	calls := rolloutCalls(t, l)
	l.Run(t, calls, flagtest.Rows(aDraft, flagtest.Each("§4.11", "bob", "changerollout 1",
		[2]string{hook(`"url":"https://a"`), `400 required notify.webhook.secret This field is required.`},
		[2]string{hook(`"url":"https://a","secret":"` + secret(15) + `"`), `400 invalid_input notify.webhook.secret Give 16 to 400 characters.`},
		[2]string{hook(`"url":"https://a","secret":"` + secret(401) + `"`), `400 invalid_input notify.webhook.secret Give 16 to 400 characters.`},
		[2]string{hook(`"url":"http://a","secret":"` + secret(16) + `"`), `400 invalid_input notify.webhook.url This address cannot be used: https only.`},
		[2]string{hook(`"secret":"` + secret(16) + `"`), `400 invalid_input notify.webhook.url`},
		[2]string{`{"notify":{"webhook":"https://a"}}`, `400 invalid_input notify.webhook Give an object with url and secret.`},
		[2]string{hook(`"url":"https://a","secret":"` + secret(16) + `"`), `{"notify":{"webhook":{"url":"https://a"}}}`},
		[2]string{hook(`"url":"https://b"`), `400 required notify.webhook.secret Another url needs the secret again: a stored secret is not used for another address.`},
		[2]string{hook(`"url":"https://a"`), `{"notify":{"webhook":{"url":"https://a"}}}`},
		[2]string{`{"name":"x"}`, `{"notify":{"webhook":{"url":"https://a"}}}`},
	)))
	got, err := l.Rollouts.Get(t.Context(), l.Scope(t, "bob"), "1")
	if err != nil || strings.Contains(string(storage.Encode(got)), "ü") || strings.Contains(string(storage.Encode(got)), `secret`) {
		t.Errorf("the secret is returned: %s, %v", storage.Encode(got), err)
	}
	l.Run(t, calls, []ruletest.Row{{"§4.11", "bob", "call 1 start", ``, `{"status":"running"}`}})
	if _, err := l.deliver(); err != nil || len(r.requests) != 1 {
		t.Fatal(len(r.requests), err)
	}
	mac := hmac.New(sha256.New, []byte(secret(16)))
	_, _ = fmt.Fprintf(mac, "%d.%s", l.Clock.Unix(), r.requests[0].body)
	if !strings.HasSuffix(r.requests[0].headers["X-Bunting-Signature"], hex.EncodeToString(mac.Sum(nil))) {
		t.Error("the stored secret is not the one that was sent")
	}
}

// experiments.md §4.11: users are notified of a rollout that cannot be evaluated, after the third
// failure in a row and once. It is listed until an evaluation succeeds.
func TestRollouts_EvaluationFails(t *testing.T) {
	l, r := webhookWorld(t)
	l.mails()
	failing := func() (list []string) {
		w, err := l.Rollouts.Watched(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range w.Failing {
			list = append(list, fmt.Sprint(f.Project, " ", f.ID, " ", f.Reason))
		}
		if w.FailingCount != len(list) || w.Live["running"] != 1 {
			t.Errorf("%+v", w)
		}
		return list
	}
	l.failures["f"] = &management.Error{Kind: management.Unavailable, Code: "unavailable", Message: "Too many queries are waiting."}
	for n := 1; n <= 5; n++ {
		l.Clock = l.Clock.Add(2 * time.Minute)
		if _, err := l.Rollouts.EvaluateDue(t.Context()); !errors.Is(err, l.failures["f"]) {
			t.Fatal(err)
		}
		var want []string
		if n == 3 {
			want = []string{"The rollout of f cannot be evaluated"}
		}
		if got := l.mails(); !slices.Equal(got, want) {
			t.Errorf("after failure %d: %q, want %q", n, got, want)
		}
		if got := failing(); !slices.Equal(got, []string{"1 1 Too many queries are waiting."}) {
			t.Errorf("after failure %d: %q fail", n, got)
		}
	}
	if !strings.Contains(l.last.Text, "Too many queries are waiting.") {
		t.Errorf("the mail does not say why: %s", l.last.Text)
	}
	if _, err := l.deliver(); err != nil || !strings.Contains(string(r.requests[len(r.requests)-1].body), `"event":"evaluation_failed"`) {
		t.Errorf("%s, %v", r.requests[len(r.requests)-1].body, err)
	}
	l.failures["f"] = errors.New("the password of the database is x")
	l.Clock = l.Clock.Add(2 * time.Minute)
	if _, err := l.Rollouts.EvaluateDue(t.Context()); err == nil {
		t.Error("no fault")
	}
	if got := failing(); !slices.Equal(got, []string{"1 1 The evaluation failed; the log of the server has the reason."}) {
		t.Errorf("%q: a fault of the server is only for its log", got)
	}
	delete(l.failures, "f")
	l.advance(2 * time.Minute)
	if got := failing(); got != nil {
		t.Errorf("%q still fail", got)
	}
	s := l.Rollouts.Stats()
	if s.Evaluations["failed"] != 6 || s.Evaluations["wait"] != 1 || s.Steps["start"] != 1 || s.Within[60] != 7 || s.Blind {
		t.Errorf("%+v", s)
	}
}
