package remotetest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

func askRemote(c *remote.Config) { c.AskServer = true }

// The server has data that the client lacks: members of static cohorts, stored properties, and
// flags that are withheld. The client only sends requests if AskServer is set, and only for these
// flags.
func TestRemote_Ask(t *testing.T) {
	h := newTestServer(t)
	quiet, c := h.client(t, nil), h.client(t, askRemote)
	sub := &flags.Subject{DistinctID: "user_1", Person: flags.Properties{"age": 7}, Groups: map[string]string{"company": "acme"}, DeviceID: "d1"}
	for _, key := range []string{"on", "for-pro", "for-gold", "same", "withheld"} {
		_, _, _ = quiet.Decide(ctx, key, sub)
	}
	if got := h.requests("/flags/"); len(got) != 0 {
		t.Fatalf("asked by surprise: %v", got)
	}
	for _, tt := range []struct {
		key, want string
		asked     bool
	}{
		{"on", "true", false},
		{"color", "blue", false},
		{"inactive", "no such flag", false},
		{"broken", "failed: dependency_not_found_cohort", false},
		{"for-pro", "false", true},
		{"for-gold", "true", true},
		{"withheld", "true", true},
		{"nix", "no such flag", true},
	} {
		if got := show(c.Decide(ctx, tt.key, sub)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.key, got, tt.want)
		}
		got := h.requests("/flags/")
		if !tt.asked {
			if len(got) != 0 {
				t.Errorf("%s was asked: %v", tt.key, got)
			}
			continue
		}
		want := []receivedRequest{{path: "/flags/", query: "v=2", agent: got[0].agent, body: map[string]any{
			"api_key": "phc_x", "distinct_id": "user_1", "$device_id": "d1", "groups": map[string]any{"company": "acme"}, "group_properties": map[string]any{},
			"person_properties": map[string]any{"age": 7.0}, "flag_keys_to_evaluate": []any{tt.key},
			"geoip_disable": true, "evaluation_runtime": "all",
		}}}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(receivedRequest{})); diff != "" || !strings.HasPrefix(got[0].agent, "bunting-go/") {
			t.Errorf("%s asked as %s (-want +got)\n%s", tt.key, got[0].agent, diff)
		}
	}

	var all flags.Decisions
	if err := c.DecideAll(ctx, sub, &all); err != nil {
		t.Fatal(err)
	}
	got := h.requests("/flags/")
	if len(got) != 1 || !cmp.Equal(got[0].body["flag_keys_to_evaluate"], []any{"for-pro", "same", "for-gold"}) {
		t.Errorf("all are asked for with %v", got)
	}
	if all.Find("for-gold").Value() != true || all.Find("for-pro").Value() != false || all.Find("same").Undecided != nil {
		t.Errorf("%+v", all.List)
	}

	answer, err := c.AskAll(ctx, sub)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for i := range answer.Decisions {
		keys = append(keys, answer.Decisions[i].Key)
	}
	if want := []string{"broken", "color", "for-gold", "for-pro", "limit", "off", "on", "same", "size", "withheld"}; !slices.Equal(keys, want) {
		t.Errorf("all are %q, want %q", keys, want)
	}
	color := answer.Decisions[1]
	if color.Variant != "blue" || color.Kind != flags.VariantKind || color.ID != 3 || color.Version != 7 || !color.HasExperiment || string(color.Payload) != `"hello"` ||
		color.Reason.Description() != "Matched condition set 1" || !answer.Decisions[0].Failed() || answer.RequestID == "" || answer.EvaluatedAt.IsZero() {
		t.Errorf("%+v", answer)
	}
	if v, d := c.BoolDetail(ctx, "for-gold", sub, false); !v || !d.FromServer || d.Err != nil {
		t.Error(v, d)
	}
}

// If the request fails, reads return the fallback, undecided flags remain undecided, and the error
// is reported.
func TestRemote_AskFails(t *testing.T) {
	h := newTestServer(t)
	answer := func(status int, text string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text))
		}
	}
	var status *remote.StatusError
	for name, tt := range map[string]struct {
		between func(http.ResponseWriter, *http.Request, http.Handler)
		key     string
		is      func(error) bool
		want    string
	}{
		"refused": {answer(401, `{"detail":"no"}`), "", func(err error) bool { return errors.As(err, &status) && status.Status == 401 }, "api_error_401"},
		"down":    {answer(503, ""), "", func(err error) bool { return errors.As(err, &status) && status.Status == 503 }, "api_error_503"},
		"slow": {func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }, "",
			func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }, "timeout"},
		"cut":         {func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }, "", func(err error) bool { return err != nil }, "connection_error"},
		"no JSON":     {answer(200, "<html>"), "", func(err error) bool { return strings.Contains(err.Error(), "cannot be read") }, "unknown_error"},
		"no flags":    {answer(200, "{}"), "", func(err error) bool { return strings.Contains(err.Error(), `no member "flags"`) }, "unknown_error"},
		"not Bunting": {answer(200, `{"quotaLimited":["feature_flags"],"flags":{}}`), "", func(err error) bool { return errors.Is(err, flags.ErrQuotaLimited) }, "quota_limited"},
		"quota":       {nil, "phc_paused", func(err error) bool { return errors.Is(err, flags.ErrQuotaLimited) }, "quota_limited"},
	} {
		t.Run(name, func(t *testing.T) {
			c := h.client(t, func(c *remote.Config) {
				c.AskServer, c.AskTimeout = true, 200*time.Millisecond
				if tt.key != "" {
					c.ProjectKey = tt.key
				}
			})
			h.proxy = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if tt.between == nil || r.URL.Path != "/flags/" {
					next.ServeHTTP(w, r)
					return
				}
				tt.between(w, r, next)
			}
			sub := &flags.Subject{DistinctID: "user_1"}
			v, d := c.BoolDetail(ctx, "for-gold", sub, true)
			if !v || d.Undecided == nil || !tt.is(d.Err) {
				t.Errorf("%v, %v", v, d.Err)
			}
			if _, found, err := c.Decide(ctx, "withheld", sub); found || !tt.is(err) {
				t.Errorf("found %v, %v", found, err)
			}
			var all flags.Decisions
			if err := c.DecideAll(ctx, sub, &all); !tt.is(err) || all.Find("for-gold").Undecided == nil || all.Find("on").Value() != true {
				t.Errorf("%v, %+v", err, all.List)
			}
			h.requests("")
			flush(t, c)
			batch := h.requests("/batch/")[0].body["batch"].([]any)
			if got := batch[0].(map[string]any)["properties"].(map[string]any)["$feature_flag_error"]; got != tt.want {
				t.Errorf("$feature_flag_error %v, want %s", got, tt.want)
			}
		})
	}
}

// Without definitions the client requests every flag, if AskServer is set.
func TestRemote_AskWithoutDefinitions(t *testing.T) {
	h := newTestServer(t)
	c := started(t, remote.Config{URL: h.URL + "/", ProjectKey: "phc_x", Key: "phs_wrong", NoCopy: true, AskServer: true})
	sub := &flags.Subject{DistinctID: "user_1"}
	if got := show(c.Decide(ctx, "color", sub)); got != "blue" {
		t.Error(got)
	}
	var all flags.Decisions
	if err := c.DecideAll(ctx, sub, &all); err != nil || all.Find("for-gold").Value() != true {
		t.Error(err, all.List)
	}
}
