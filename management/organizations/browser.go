package organizations

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// browserSettings are what posthog-js does and leaves in a project, in the words
// of its remote configuration (spec/capture.md §16.1). The zero value is a project
// that has chosen nothing: everything that has to be asked for is off.
type browserSettings struct {
	AutocaptureOptOut  bool                 `json:"autocapture_opt_out"`
	Exceptions         bool                 `json:"autocaptureExceptions"`
	ErrorTracking      browserErrorTracking `json:"errorTracking"`
	DeadClicks         bool                 `json:"captureDeadClicks"`
	CapturePerformance browserPerformance   `json:"capturePerformance"`
	Heatmaps           bool                 `json:"heatmaps"`
	// Recording is always false, whatever session_recording_opt_in and
	// recording_domains say: recordings are not kept.
	Recording bool `json:"sessionRecording"`
	Surveys   bool `json:"surveys"`
}

// browserErrorTracking says again, for newer clients, whether exceptions are
// captured; there are no rules that suppress some.
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

// browserPerformance is false in JSON when nothing is measured.
type browserPerformance struct {
	Network   bool     `json:"network_timing"`
	WebVitals bool     `json:"web_vitals"`
	Metrics   []string `json:"web_vitals_allowed_metrics"` // nil: all
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

// browserReads are the settings that browserSettings come from.
var browserReads = []string{
	"autocapture_opt_out", "autocapture_exceptions_opt_in", "autocapture_web_vitals_opt_in", "autocapture_web_vitals_allowed_metrics",
	"capture_performance_opt_in", "capture_dead_clicks", "heatmaps_opt_in", "session_recording_opt_in", "recording_domains", "surveys_opt_in",
}

// BrowserUnset is what a project tells browsers that has chosen nothing, a JSON
// object: flags.Project.Browser is empty for it.
var BrowserUnset = string(management.Encode(browserSettings{}))

// browserOf is what a project tells browsers, a JSON object; nil when no setting
// for them was ever chosen and no survey runs. surveys: one runs. Those are shown
// unless surveys_opt_in says no.
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
	return management.Encode(out), nil
}

// allowedMetrics are the metrics of a list that there are, nil for no list.
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

// updateBrowserSettings brings what a project tells browsers up to date with its settings
// and surveys. It reports whether anything has changed; the project is not stored
// yet.
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

// SurveysChanged is updateBrowserSettings after a change of a survey.
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

// browserFollower is the place that says by which rules what projects tell
// browsers was made; browserRules are those of this file.
const (
	browserFollower = "browser settings"
	browserRules    = 1
)

// RefreshBrowserSettings makes anew what projects tell browsers where that was made by
// older rules, or by none: it is for the start of a server, and writes nothing
// the next time.
func (s Service) RefreshBrowserSettings(ctx context.Context) error {
	version, err := management.Read(ctx, &s.Env, func(tx Tx) (int64, error) { return management.FollowerPosition(tx, browserFollower) })
	if err != nil || version >= browserRules {
		return err
	}
	return s.Env.Store.Write(ctx, func(tx Tx) error {
		all, err := tx.Projects("")
		if err != nil {
			return err
		}
		for i := range all {
			changed, err := s.updateBrowserSettings(tx, &all[i])
			if err == nil && changed {
				err = tx.PutProject(&all[i])
			}
			if err != nil {
				return err
			}
		}
		return management.PutFollowerPosition(tx, browserFollower, browserRules)
	})
}

// warnings are settings of a project that cannot do what they say.
func (s *ProjectSettings) warnings() []string {
	out := []string{}
	if s.Recording != nil && *s.Recording {
		out = append(out, "session_recording_opt_in: recordings are not kept here, so browsers are told not to record")
	}
	if s.Heatmaps != nil && *s.Heatmaps {
		out = append(out, "heatmaps_opt_in: browsers send what heatmaps are made of, and it is counted and not kept")
	}
	if s.Cookieless != nil && *s.Cookieless != 0 {
		out = append(out, "cookieless_server_hash_mode: events of cookieless mode are counted and not kept")
	}
	return out
}
