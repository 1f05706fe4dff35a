package sdk

import (
	"errors"
	"net/http"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/streams"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// getDefinitions returns the definitions of a project to SDKs that evaluate flags locally. Its
// checks are in the order of §1.8.
func (s *Service) getDefinitions(w http.ResponseWriter, r *http.Request) error {
	project, _, err := s.project(r.Context(), parseQuery(r.URL.RawQuery).Token)
	if err != nil {
		return err
	}
	if err := s.access.Authorize(r.Context(), frame.Bearer(r), &project); err != nil {
		return s.access.countUnknownKey(r, err)
	}
	return s.serveDefinitions(w, r, &project)
}

// getOldLocalEvaluation is getDefinitions for the oldest path. There, a personal key without a
// project token selects the only project that it opens, or the current project of its user
// (spec/clients.md §7.3).
func (s *Service) getOldLocalEvaluation(w http.ResponseWriter, r *http.Request) error {
	if parseQuery(r.URL.RawQuery).Token != "" || frame.Bearer(r) == "" || strings.HasPrefix(frame.Bearer(r), "phs_") {
		return s.getDefinitions(w, r)
	}
	key, err := s.access.key(r)
	switch {
	case err != nil:
		return err
	case key.Secret:
		return s.getDefinitions(w, r)
	}
	project, err := s.access.ownProject(r, &key)
	if err != nil {
		return err
	}
	return s.serveDefinitions(w, r, &project)
}

// getLocalEvaluation returns the definitions of the project in the path, for secret and personal
// keys.
func (s *Service) getLocalEvaluation(w http.ResponseWriter, r *http.Request) error {
	key, err := s.access.key(r)
	if err != nil {
		return err
	}
	project, err := s.access.projectOf(r, &key)
	if key.Secret && errors.Is(err, &problem.NotFound) { // do not reveal whether the other project exists
		return &problemForeignProject
	}
	if err != nil {
		return err
	}
	return s.serveDefinitions(w, r, &project)
}

// serveDefinitions writes the definitions of a project for an authorized caller.
func (s *Service) serveDefinitions(w http.ResponseWriter, r *http.Request, project *flags.Project) error {
	if !s.limits.Definitions.Allow(w, project.APIKey) {
		return &problemRateLimited
	}
	payload, version, err := streams.Payload(r.Context(), s.Decider, project.APIKey, wantsMembers(r))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("ETag", `W/"`+version+`"`)
	h.Set("Cache-Control", "private, must-revalidate")
	if frame.MatchesETag(r.Header.Values("If-None-Match"), version) {
		w.WriteHeader(http.StatusNotModified) // not counted as a request for the quota
		return nil
	}
	if !s.Decider.CountPayload(r.Context(), project) {
		h.Del("ETag")
		h.Del("Cache-Control")
		return &problemQuota
	}
	s.Usage.Add(project.APIKey, frame.UsageFlags, frame.UsageKey(frame.Bearer(r)), frame.SDKOf(r), serving.DefinitionsCost)
	frame.Write(w, http.StatusOK, payload)
	return nil
}

// wantsMembers reports whether the caller requests the members of static cohorts too (decision 5).
func wantsMembers(r *http.Request) bool { return r.URL.Query().Get("static_cohorts") == "members" }
