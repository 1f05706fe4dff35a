package sdk

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management/organizations"
)

// getRemoteConfig serves the value of a remote configuration flag (§1.8).
func (s *Service) getRemoteConfig(w http.ResponseWriter, r *http.Request) error {
	key, err := s.access.key(r)
	if err != nil {
		return err
	}
	project, err := s.access.projectOf(r, &key)
	if err != nil {
		return err
	}
	if !s.limits.RemoteConfig.Allow(w, frame.Bearer(r)) {
		return &problemRateLimited
	}
	value, ok, err := s.Decider.RemoteConfig(r.Context(), project.APIKey, frame.PathValue(r, "flag"))
	if err != nil {
		return err
	}
	if !ok {
		return &problemRemoteConfigFlag
	}
	if isFalsy(value) {
		value = nil
	}
	frame.Write(w, http.StatusOK, value)
	return nil
}

// isFalsy reports whether the response for a value has an empty body, as in PostHog.
func isFalsy(value []byte) bool {
	switch string(value) {
	case "", "null", "false", "0", `""`, "[]", "{}":
		return true
	}
	return false
}

// arrayConfig is the configuration that posthog-js reads before it loads flags. The members from
// the project's settings follow it.
type arrayConfig struct {
	Token                string         `json:"token"`
	SupportedCompression []string       `json:"supportedCompression"`
	HasFeatureFlags      bool           `json:"hasFeatureFlags"`
	Analytics            map[string]any `json:"analytics"`
	ElementsChain        bool           `json:"elementsChainAsString"`
	IdentifiedOnly       bool           `json:"defaultIdentifiedOnly"`
	SiteApps             []any          `json:"siteApps"`
}

func (s *Service) arrayConfig(r *http.Request) ([]byte, error) {
	project, set, err := s.project(r.Context(), frame.PathValue(r, "token"))
	switch {
	case errors.Is(err, flags.ErrUnknownKey):
		return nil, &problem.NotFound // 404, as for a missing file
	case err != nil:
		return nil, err
	}
	out, err := json.Marshal(arrayConfig{
		Token: project.APIKey, SupportedCompression: []string{"gzip", "gzip-js"}, HasFeatureFlags: set.Len() > 0,
		Analytics: map[string]any{"endpoint": "/i/v0/e/"}, ElementsChain: true, IdentifiedOnly: true, SiteApps: []any{},
	})
	if err != nil {
		return nil, err
	}
	return append(appendBrowser(out[:len(out)-1], cmp.Or(project.Browser, organizations.BrowserUnset)), '}'), nil
}

func (s *Service) getArrayConfig(w http.ResponseWriter, r *http.Request) error {
	config, err := s.arrayConfig(r)
	if err != nil {
		return err
	}
	frame.Write(w, http.StatusOK, config)
	return nil
}

// getArrayConfigJS serves the same configuration as a script that assigns it to the global
// variable of posthog-js.
func (s *Service) getArrayConfigJS(w http.ResponseWriter, r *http.Request) error {
	config, err := s.arrayConfig(r)
	if err != nil {
		return err
	}
	token, err := json.Marshal(frame.PathValue(r, "token"))
	if err != nil {
		return err
	}
	script := "(function(){var c=window._POSTHOG_REMOTE_CONFIG=window._POSTHOG_REMOTE_CONFIG||{};c[" +
		string(token) + "]={config:" + string(config) + ",siteApps:[]}})();\n"
	h := w.Header()
	h.Set("Content-Type", "application/javascript")
	h.Set("Content-Length", strconv.Itoa(len(script)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write([]byte(script))
	return nil
}
