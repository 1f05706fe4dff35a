package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// Internal errors are returned without details, with the statuses of §9.11, and are logged.
func TestFlags_9_11_ServerErrors(t *testing.T) {
	for name, c := range map[string]struct {
		spoil        func(*world)
		status       int
		code, detail string
		retry        bool
	}{
		"source down": {func(w *world) { w.failure = errors.New("secret: dial tcp 10.1.2.3") }, 503, "service_unavailable",
			"A service dependency is temporarily unavailable. This is likely a temporary issue. Please try again later.", true},
		"timeout": {func(w *world) { w.failure = fmt.Errorf("secret: %w", context.DeadlineExceeded) }, 503, "timeout",
			"The request timed out. This could be due to high load or network issues. Please try again later.", true},
		"panic": {func(w *world) { w.panicked = "secret" }, 500, "internal_error",
			"An internal server error occurred. Please try again later or contact support if the problem persists.", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/flags?v=2", "/decide", "/flags/definitions?token=phc_test", "/array/phc_test/config", "/array/phc_test/config.js", "/api/projects/1/feature_flags/settings/remote_config"} {
				w := sharedWorld(t)
				var log bytes.Buffer
				h := w.handler(t, nil, func(c *httpapi.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
				c.spoil(w)
				method, text := "GET", ""
				if strings.HasPrefix(path, "/flags?") || path == "/decide" {
					method, text = "POST", good
				}
				got := ask(h, method, path, text, "Authorization", "Bearer phx_all")
				problem := checkError(t, got, c.status)
				if problem["type"] != "server_error" || problem["code"] != c.code || problem["detail"] != c.detail || problem["attr"] != nil {
					t.Errorf("%s: %v", path, problem)
				}
				if retry := got.Header().Get("Retry-After") != ""; retry != c.retry {
					t.Errorf("%s: Retry-After %q", path, got.Header().Get("Retry-After"))
				}
				if !strings.Contains(log.String(), "secret") {
					t.Errorf("%s: log %q", path, log.String())
				}
				if name == "panic" && !strings.Contains(log.String(), "ProjectByKey") { // the stack trace
					t.Errorf("%s: no stack in the log: %q", path, log.String())
				}
			}
		})
	}
	h := sharedWorld(t).handler(t, nil, nil)
	checkError(t, ask(h, "GET", "/flags/definitions?token=phc_test", "", "Authorization", "Bearer "+brokenKey), 503)
}

// Errors caused by a disconnected client are not logged at the default levels.
func TestHTTP_DisconnectedCallers(t *testing.T) {
	w := sharedWorld(t)
	w.failure = context.Canceled
	var log bytes.Buffer
	h := w.handler(t, nil, func(c *httpapi.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	for disconnected, lines := range map[bool]int{true: 0, false: 1} {
		log.Reset()
		ctx, cancel := context.WithCancel(t.Context())
		if disconnected {
			cancel()
		}
		r := httptest.NewRequest("POST", "/flags?v=2", strings.NewReader(good)).WithContext(ctx)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		cancel()
		checkError(t, rec, 503)
		if got := strings.Count(log.String(), "request failed"); got != lines {
			t.Errorf("gone %v: %d lines: %s", disconnected, got, log.String())
		}
	}
}

// A route of Extra replaces a path of the table, and an invalid one makes New return an error
// instead of panicking.
func TestHTTP_ExtraRoutesAreChecked(t *testing.T) {
	d, err := serving.NewDecider(serving.Config{Source: sharedWorld(t)})
	if err != nil {
		t.Fatal(err)
	}
	for path, h := range map[string]http.Handler{"extra": http.NotFoundHandler(), "": http.NotFoundHandler(), "/extra": nil} {
		if _, err := httpapi.New(httpapi.Config{Decider: d, Extra: map[string]http.Handler{path: h}}); err == nil {
			t.Errorf("%q was taken", path)
		}
	}
	h, err := httpapi.New(httpapi.Config{Decider: d, Extra: map[string]http.Handler{"/flags": http.NotFoundHandler()}})
	if err != nil {
		t.Fatal(err)
	}
	if w := ask(h, "POST", "/flags", good); w.Code != 404 {
		t.Errorf("/flags: %d", w.Code)
	}
}

// A route of Extra may be a router, which receives the method of the request.
func TestHTTP_ExtraMayBeARouter(t *testing.T) {
	d, err := serving.NewDecider(serving.Config{Source: sharedWorld(t)})
	if err != nil {
		t.Fatal(err)
	}
	hooks := chi.NewRouter()
	hooks.Post("/hooks", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	h, err := httpapi.New(httpapi.Config{Decider: d, Extra: map[string]http.Handler{"/hooks": hooks}})
	if err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]int{"POST": http.StatusAccepted, "GET": http.StatusMethodNotAllowed} {
		if w := ask(h, method, "/hooks", ""); w.Code != want {
			t.Errorf("%s /hooks: %d, want %d", method, w.Code, want)
		}
	}
}

// http.ErrAbortHandler is passed on.
func TestHTTP_AbortHandler(t *testing.T) {
	w := sharedWorld(t)
	h := w.handler(t, nil, nil)
	w.panicked = http.ErrAbortHandler
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("recovered %v", err)
		}
	}()
	ask(h, "POST", "/flags?v=2", good)
	t.Error("no panic")
}

// An unavailable store of persons fails single flags, not the request (§9.11, last paragraph).
func TestFlags_9_11_PeopleDown(t *testing.T) {
	h := sharedWorld(t).handler(t, func(c *serving.Config) { c.People = noPeople{} }, nil)
	got := decideFlags(t, h, good)
	if got.Status != 200 || !got.Errors {
		t.Errorf("%+v", got)
	}
	if f := got.Flags["pro-plan"]; !f.Failed || f.Enabled || f.Reason.Code != "database_error" {
		t.Errorf("pro-plan: %+v", f)
	}
	if f := got.Flags["plain"]; f.Failed || !f.Enabled {
		t.Errorf("plain: %+v", f)
	}
	// The request contains the properties, so the store is not needed.
	got = decideFlags(t, h, `{"api_key":"phc_test","distinct_id":"u1","flag_keys":["pro-plan"],"person_properties":{"plan":"pro"}}`)
	if f := got.Flags["pro-plan"]; got.Errors || f.Failed || !f.Enabled {
		t.Errorf("pro-plan: %+v", got)
	}
}

type noPeople struct{}

func (noPeople) Stored(context.Context, serving.Query) (*flags.Stored, error) {
	return nil, errors.New("database is down")
}

// Readiness calls Ready, liveness does not.
func TestFlags_9_1_Readiness(t *testing.T) {
	var down error
	h := sharedWorld(t).handler(t, nil, func(c *httpapi.Config) { c.Ready = func(context.Context) error { return down } })
	for _, method := range []string{"GET", "HEAD"} {
		if w := ask(h, method, "/_readiness", ""); w.Code != 200 {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	down = errors.New("database is down")
	problem := checkError(t, ask(h, "GET", "/_readiness", ""), 503)
	if !strings.HasSuffix(problem["detail"].(string), "database is down") {
		t.Errorf("%v", problem)
	}
	if w := ask(h, "GET", "/_liveness", ""); w.Code != 200 {
		t.Errorf("liveness %d", w.Code)
	}
}

// Concurrent requests share no memory: each gets its own response.
func TestHTTP_Concurrent(t *testing.T) {
	s := httptest.NewServer(sharedWorld(t).handler(t, nil, nil))
	defer s.Close()
	done := make(chan error)
	const clients = 8
	for i := range clients {
		go func() {
			done <- func() error {
				for j := range 50 {
					plan := []string{"pro", "free"}[(i+j)%2]
					text := fmt.Sprintf(`{"api_key":"phc_test","distinct_id":"u%d","person_properties":{"plan":%q},"flag_keys":["pro-plan"]}`, j, plan)
					res, err := s.Client().Post(s.URL+"/flags?v=1", "application/json", strings.NewReader(text))
					if err != nil {
						return err
					}
					var got struct {
						Flags map[string]bool `json:"featureFlags"`
					}
					err = json.NewDecoder(res.Body).Decode(&got)
					_ = res.Body.Close()
					if err != nil || len(got.Flags) != 1 || got.Flags["pro-plan"] != (plan == "pro") {
						return fmt.Errorf("%s: %v %v", text, got, err)
					}
				}
				return nil
			}()
		}()
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// openAll is a store of keys in which every key gives access to the same projects.
type openAll []string

func (o openAll) Key(context.Context, string) (httpapi.Key, error) {
	return httpapi.Key{Scopes: []string{"feature_flag:read"}, Projects: o}, nil
}

// A key may have several projects, and outlive one of them: @current is the first project that
// still exists, a token or an id selects any.
func TestFlags_1_8_KeyOfSeveralProjects(t *testing.T) {
	h := sharedWorld(t).handler(t, nil, func(c *httpapi.Config) { c.Keys = openAll{"phc_ended", "phc_test", "phc_empty"} })
	for path, status := range map[string]int{
		"@current/feature_flags/settings/remote_config":                 200,
		"1/feature_flags/settings/remote_config":                        200,
		"@current/feature_flags/settings/remote_config?token=phc_test":  200,
		"4/feature_flags/settings/remote_config":                        404, // the flag is in another project
		"3/feature_flags/settings/remote_config":                        404,
		"@current/feature_flags/settings/remote_config?token=phc_ended": 401,
		"@current/feature_flags/settings/remote_config?token=phc_other": 403,
	} {
		if w := ask(h, "GET", "/api/projects/"+path, "", "Authorization", "Bearer phx"); w.Code != status {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := ask(h, "GET", "/flags/definitions?token=phc_empty", "", "Authorization", "Bearer phx"); w.Code != 200 {
		t.Errorf("definitions: %d", w.Code)
	}
}
