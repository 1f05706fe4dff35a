package remote_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

// Each flag read from a snapshot is exposed once, and no other flag is; an event has the values of
// the flags that were read (capture.md §12.2: $feature/<key>, $active_feature_flags with the flags
// that are on), the groups and the device.
func TestSnapshot_SendsReadFlags(t *testing.T) {
	w := &wire{answer: answerAlways(http.StatusOK)}
	runTracking(t, w, nil, func(t *testing.T, c *remote.Client) {
		s := c.For(ctx, &flags.Subject{DistinctID: "u", DeviceID: "d", Groups: map[string]string{"company": "acme"}})
		if b := s.Bootstrap(); b.FeatureFlags["size"] != "12.5" {
			t.Error(b)
		}
		for range 2 {
			s.Bool("on", false)
			s.String("color", "none")
			s.Detail("off")
			s.Number("nix", 1)
			s.Bool("for-pro", false)
		}
		if err := s.Track("ordered", map[string]any{"amount": 49, "$feature/color": "mine"}); err != nil {
			t.Error(err)
		}
		if err := c.Flush(ctx); err != nil {
			t.Error(err)
		}
	})
	exposed := map[string]any{}
	var ordered map[string]any
	for _, a := range w.requests() {
		for _, e := range a.events {
			if e.Event != "$feature_flag_called" {
				ordered = e.Properties
				continue
			}
			key := e.Properties["$feature_flag"].(string)
			if _, twice := exposed[key]; twice {
				t.Errorf("%s is exposed twice", key)
			}
			exposed[key] = e.Properties["$feature_flag_response"]
		}
	}
	if diff := cmp.Diff(map[string]any{"on": true, "color": "blue", "off": false, "nix": nil, "for-pro": nil}, exposed); diff != "" {
		t.Errorf("exposures (-want +got)\n%s", diff)
	}
	delete(ordered, "$lib_version")
	want := map[string]any{
		"amount": 49.0, "$feature/on": true, "$feature/color": "mine", "$feature/off": false, "$active_feature_flags": []any{"color", "on"},
		"$groups": map[string]any{"company": "acme"}, "$device_id": "d", "$lib": "bunting-go", "$is_server": true, "$geoip_disable": true,
	}
	if diff := cmp.Diff(want, ordered); diff != "" {
		t.Errorf("the event (-want +got)\n%s", diff)
	}
}

// countingServer returns flags and counts the requests.
type countingServer struct{ calls atomic.Int32 }

func (a *countingServer) RoundTrip(r *http.Request) (*http.Response, error) {
	text := `{}`
	if r.URL.Path == "/flags/" {
		a.calls.Add(1)
		text = `{"flags": {
			"for-pro": {"key": "for-pro", "enabled": true, "metadata": {"id": 4, "version": 1}},
			"same": {"key": "same", "enabled": false, "metadata": {"id": 8, "version": 1}},
			"on": {"key": "on", "enabled": false, "metadata": {"id": 1, "version": 1}},
			"only-there": {"key": "only-there", "enabled": true, "variant": "secret", "metadata": {"id": 77, "version": 1}},
			"hidden": {"key": "hidden", "enabled": true, "variant": "secret", "metadata": {"id": 78, "version": 1}}
		}, "requestId": "r", "evaluatedAt": 1}`
	}
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// A snapshot sends at most one request, and no request for locally decided flags; the response adds
// no flag for the browser that the definitions do not allow there.
func TestSnapshot_AsksOnce(t *testing.T) {
	server := &countingServer{}
	d, err := flags.ParseDefinitions([]byte(`{"flags": [` + houseFlags + `,
		{"id": 78, "key": "hidden", "active": true, "evaluation_runtime": "server", "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}]}}]` + unknownMembers + `}`))
	if err != nil {
		t.Fatal(err)
	}
	config := remote.Config{URL: "http://flags.example.com", ProjectKey: "phc_x", Key: "phs_x", AskServer: true, NoExposures: true, HTTPClient: &http.Client{Transport: server}}
	c := clientOn(t, config, flags.Compile(d))
	s := c.For(ctx, &flags.Subject{DistinctID: "u"})
	if !s.Bool("on", false) || server.calls.Load() != 0 {
		t.Errorf("asked %d times for what is known", server.calls.Load())
	}
	if !s.Bool("for-pro", false) || s.Bool("same", true) || s.String("only-there", "") != "secret" || s.String("hidden", "") != "secret" || !s.Detail("for-pro").FromServer {
		t.Errorf("%+v", s.Detail("for-pro"))
	}
	text, err := json.Marshal(s.Bootstrap())
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"secret", "only-there", "hidden"} {
		if all := string(text) + string(s.OFREP()); strings.Contains(all, secret) {
			t.Errorf("%s is in %s", secret, all)
		}
	}
	if got := s.Bootstrap().FeatureFlags; got["for-pro"] != true || got["same"] != false || got["on"] != true || server.calls.Load() != 1 {
		t.Errorf("%v, asked %d times", got, server.calls.Load())
	}

	empty := clientOn(t, config, nil).For(ctx, &flags.Subject{DistinctID: "u"})
	if got := empty.String("hidden", ""); got != "secret" {
		t.Error(got)
	}
	if got := empty.Bootstrap().FeatureFlags; got != nil {
		t.Errorf("without definitions nobody knows whom flags are for: %v", got)
	}
}

// A change during a request has an effect on the next one.
func TestSnapshot_DefinitionsChange(t *testing.T) {
	var p project
	p.set(t, definitions("one"))
	net := &network{}
	net.redirect(serve(t, p.handler(t)))
	config := config(t, net)
	config.NoExposures = true
	c, err := remote.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	if err := c.WaitForReady(ctx); err != nil {
		t.Fatal(err)
	}
	sub := &flags.Subject{DistinctID: "u"}
	before := c.For(ctx, sub)
	p.set(t, definitions("two"))
	waitUntil(t, "the change", func() bool { return c.Set().Status("two") == flags.Answered })
	for _, tt := range []struct {
		s        *flags.Snapshot
		one, two bool
	}{{before, true, false}, {c.For(ctx, sub), false, true}} {
		_, one := tt.s.Bootstrap().FeatureFlags["one"]
		if got := []bool{tt.s.Detail("one").Err == nil, tt.s.Detail("two").Err == nil, one}; got[0] != tt.one || got[1] != tt.two || got[2] != tt.one {
			t.Errorf("one, two, one for browsers: %v, want %v, %v, %[2]v", got, tt.one, tt.two)
		}
	}
}
