package organizations

import (
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// browserSettings are the settings of a project for posthog-js, in the form of its remote
// configuration (spec/capture.md §16.1). The zero value is a project without settings: every
// optional feature is off.
type browserSettings struct {
	AutocaptureOptOut  bool                 `json:"autocapture_opt_out"`
	Exceptions         bool                 `json:"autocaptureExceptions"`
	ErrorTracking      browserErrorTracking `json:"errorTracking"`
	DeadClicks         bool                 `json:"captureDeadClicks"`
	CapturePerformance browserPerformance   `json:"capturePerformance"`
	Heatmaps           bool                 `json:"heatmaps"`
	// Recording is always false, regardless of session_recording_opt_in and recording_domains,
	// since recordings are not stored.
	Recording bool `json:"sessionRecording"`
	Surveys   bool `json:"surveys"`
}

// browserErrorTracking repeats for newer clients whether exceptions are captured. Its list of
// suppression rules is always empty.
type browserErrorTracking struct {
	Exceptions bool
}

// MarshalJSON implements json.Marshaler.
func (t browserErrorTracking) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Exceptions  bool  `json:"autocaptureExceptions"`
		Suppression []any `json:"suppressionRules"`
	}{t.Exceptions, []any{}})
}

// browserPerformance is the performance settings. Its JSON is false if no measurement is on.
type browserPerformance struct {
	Network   bool     `json:"network_timing"`
	WebVitals bool     `json:"web_vitals"`
	Metrics   []string `json:"web_vitals_allowed_metrics"` // nil means all
}

// MarshalJSON implements json.Marshaler.
func (p browserPerformance) MarshalJSON() ([]byte, error) {
	if !p.Network && !p.WebVitals {
		return []byte("false"), nil
	}
	type plain browserPerformance
	return json.Marshal(plain(p))
}

// webVitals are the metrics that posthog-js can measure.
var webVitals = []string{"CLS", "FCP", "INP", "LCP"}

// browserReads are the project settings that browserSettings depend on.
var browserReads = []string{
	"autocapture_opt_out", "autocapture_exceptions_opt_in", "autocapture_web_vitals_opt_in", "autocapture_web_vitals_allowed_metrics",
	"capture_performance_opt_in", "capture_dead_clicks", "heatmaps_opt_in", "session_recording_opt_in", "recording_domains", "surveys_opt_in",
}

// BrowserUnset is the JSON of browserSettings of a project without settings, for which
// flags.Project.Browser is empty.
var BrowserUnset = string(storage.Encode(browserSettings{}))

// browserOf returns the JSON of a project's browserSettings, or nil if the project has none of
// browserReads and no running survey. surveys reports whether a survey runs; browsers show it
// unless surveys_opt_in is false.
func browserOf(m *management.ProjectMeta, surveys bool) (json.RawMessage, error) {
	isSet := slices.ContainsFunc(browserReads, func(name string) bool { _, ok := m.Settings[name]; return ok })
	if !isSet && !surveys {
		return nil, nil
	}
	set, err := settingsOf(m)
	if err != nil {
		return nil, err
	}
	isTrue := func(b *bool) bool { return b != nil && *b }
	out := browserSettings{
		AutocaptureOptOut: isTrue(set.AutocaptureOptOut), DeadClicks: isTrue(set.DeadClicks), Heatmaps: isTrue(set.Heatmaps),
		Exceptions: isTrue(set.AutocaptureExceptions), ErrorTracking: browserErrorTracking{isTrue(set.AutocaptureExceptions)},
		CapturePerformance: browserPerformance{isTrue(set.Performance), isTrue(set.WebVitals), allowedMetrics(set.WebVitalsMetrics)},
		Surveys:            surveys && (set.Surveys == nil || *set.Surveys),
	}
	return storage.Encode(out), nil
}

// allowedMetrics returns the known metrics of a JSON list, or nil if raw is not a list.
func allowedMetrics(raw json.RawMessage) []string {
	var list []any
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return nil
	}
	out := []string{}
	for _, name := range webVitals {
		if slices.Contains(list, any(name)) {
			out = append(out, name)
		}
	}
	return out
}

// updateBrowserSettings sets p.Browser from the project's settings and surveys, and reports whether
// it changed. It does not store the project.
func (s *core) updateBrowserSettings(tx management.Tx, p *management.ProjectRecord) (changed bool, err error) {
	meta, err := management.MetaOfProject(p)
	if err != nil {
		return false, err
	}
	runs := false
	if s.SurveysRun != nil {
		if runs, err = s.SurveysRun(tx, p.ID); err != nil {
			return false, err
		}
	}
	now, err := browserOf(&meta, runs)
	changed = string(now) != string(p.Browser)
	p.Browser = now
	return changed, err
}

// SurveysChanged updates and stores the browser settings of a project. The featureflags package
// calls it after a change of a survey.
func (s *core) SurveysChanged(tx management.Tx, project int64) error {
	p, err := tx.Project(project)
	if err != nil || p == nil {
		return err
	}
	if changed, err := s.updateBrowserSettings(tx, p); err != nil || !changed {
		return err
	}
	return tx.PutProject(p)
}

// browserFollower is the name of the follower position that stores with which version of the rules
// the browser settings of all projects were computed. browserRules is the present version; it must
// be incremented when the rules of this file change.
const (
	browserFollower = "browser settings"
	browserRules    = 1
)

// warnings returns a warning for each setting that has no effect on this server.
func (s *projectSettings) warnings() []string {
	out := []string{}
	if s.Recording != nil && *s.Recording {
		out = append(out, "session_recording_opt_in: this server does not store recordings, so browsers are configured not to record")
	}
	if s.Heatmaps != nil && *s.Heatmaps {
		out = append(out, "heatmaps_opt_in: browsers send heatmap data, which is counted but not stored")
	}
	if s.Cookieless != nil && *s.Cookieless != 0 {
		out = append(out, "cookieless_server_hash_mode: cookieless events are counted but not stored")
	}
	return out
}
