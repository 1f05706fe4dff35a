package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// getDefinitions returns the definitions of a project to SDKs that evaluate flags locally. Its
// checks are in the order of §1.8.
func (s *sdkService) getDefinitions(w http.ResponseWriter, r *http.Request) error {
	project, _, err := s.project(r.Context(), parseQuery(r.URL.RawQuery).Token)
	if err != nil {
		return err
	}
	if err := s.authorize(r.Context(), bearer(r), &project); err != nil {
		return s.countUnknownKey(r, err)
	}
	return s.serveDefinitions(w, r, &project)
}

// getOldLocalEvaluation is getDefinitions for the oldest path. There, a personal key without a
// project token selects the only project that it opens, or the current project of its user
// (spec/clients.md §7.3).
func (s *sdkService) getOldLocalEvaluation(w http.ResponseWriter, r *http.Request) error {
	if parseQuery(r.URL.RawQuery).Token != "" || bearer(r) == "" || strings.HasPrefix(bearer(r), "phs_") {
		return s.getDefinitions(w, r)
	}
	key, err := s.key(r)
	switch {
	case err != nil:
		return err
	case key.Secret:
		return s.getDefinitions(w, r)
	}
	project, err := s.ownProject(r, &key)
	if err != nil {
		return err
	}
	return s.serveDefinitions(w, r, &project)
}

// getLocalEvaluation returns the definitions of the project in the path, for secret and personal
// keys.
func (s *sdkService) getLocalEvaluation(w http.ResponseWriter, r *http.Request) error {
	key, err := s.key(r)
	if err != nil {
		return err
	}
	project, err := s.projectOf(r, &key)
	if key.Secret && errors.Is(err, &problemNotFound) { // do not reveal whether the other project exists
		return &problemForeignProject
	}
	if err != nil {
		return err
	}
	return s.serveDefinitions(w, r, &project)
}

// ownProject returns the only project that a personal key opens, or the current project of its
// user.
func (s *server) ownProject(r *http.Request, key *Key) (flags.Project, error) {
	if s.Management == nil {
		for _, apiKey := range key.Projects {
			if p, _, err := s.Decider.Project(r.Context(), apiKey); !errors.Is(err, flags.ErrUnknownKey) {
				return p, err
			}
		}
		return flags.Project{}, &problemProject
	}
	return s.keyProject(r.Context(), bearer(r), "", "")
}

// serveDefinitions writes the definitions of a project for an authorized caller.
func (s *sdkService) serveDefinitions(w http.ResponseWriter, r *http.Request, project *flags.Project) error {
	if !s.limits.definitions.allow(s.server, w, project.APIKey) {
		return &problemRateLimited
	}
	payload, version, err := s.payload(r.Context(), project.APIKey, wantsMembers(r))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("ETag", `W/"`+version+`"`)
	h.Set("Cache-Control", "private, must-revalidate")
	if matchesETag(r.Header.Values("If-None-Match"), version) {
		w.WriteHeader(http.StatusNotModified) // not counted as a request for the quota
		return nil
	}
	if !s.Decider.CountPayload(r.Context(), project) {
		h.Del("ETag")
		h.Del("Cache-Control")
		return &problemQuota
	}
	s.usage.add(project.APIKey, usageFlags, usageKey(bearer(r)), sdkOf(r), flags.DefinitionsCost)
	write(w, http.StatusOK, payload)
	return nil
}

// wantsMembers reports whether the caller requests the members of static cohorts too (decision 5).
func wantsMembers(r *http.Request) bool { return r.URL.Query().Get("static_cohorts") == "members" }

// payload returns the serialized definitions of a project, and their version.
func (s *server) payload(ctx context.Context, apiKey string, members bool) ([]byte, string, error) {
	if members {
		return s.Decider.MembersPayload(ctx, apiKey)
	}
	return s.Decider.Payload(ctx, apiKey)
}

// matchesETag reports whether If-None-Match headers contain version, as a weak or strong ETag or as
// a bare value.
func matchesETag(headers []string, version string) bool {
	for _, header := range headers {
		for _, tag := range strings.Split(header, ",") {
			tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
			if tag == "*" || strings.Trim(tag, `"`) == version {
				return true
			}
		}
	}
	return false
}

// bearer returns the key of the Authorization header, or an empty string if it has none. The scheme
// may be Bearer or Token, in any case.
func bearer(r *http.Request) string {
	scheme, key, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "Token") {
		return ""
	}
	return strings.TrimSpace(key)
}

// noCredentials returns the error for a request without a readable key.
func noCredentials(r *http.Request) error {
	if r.Header.Get("Authorization") == "" {
		return &problemNoCredentials
	}
	return problemNoCredentials.with("The Authorization header has to be: Bearer, a space, and a personal API key.", "")
}

// readScopes are the scopes that allow reading definitions and remote configuration.
var readScopes = []string{"feature_flag:read", "feature_flag:write", "*"}

// authorize returns an error unless the key allows reading the definitions of p.
func (s *server) authorize(ctx context.Context, text string, p *flags.Project) error {
	key, err := s.keyOf(ctx, text)
	if err != nil {
		return err
	}
	if !slices.Contains(key.Projects, p.APIKey) {
		if key.Secret {
			return &problemBadSecretKey
		}
		return &problemForeignProject
	}
	if s.Management == nil || key.Secret {
		return nil
	}
	_, err = s.keyProject(ctx, text, p.APIKey, "")
	return err
}

// countUnknownKey counts err as a failed authentication if it is about an unknown personal key.
func (s *server) countUnknownKey(r *http.Request, err error) error {
	var target *problem
	if errors.As(err, &target) && target.Code == problemBadPersonalKey.Code { // the detail may be longer
		return s.countFailure(r, err)
	}
	return err
}

// keyProject returns the project for a request with a personal key: that of the public key token,
// or of the path segment named, or if both are empty the only project that the key opens or the
// current project of the user. Even if the key is unrestricted, its user may lack access to the
// project (management §1.5).
func (s *server) keyProject(ctx context.Context, text, token, named string) (p flags.Project, err error) {
	caller, err := s.Management.Authenticate(ctx, text, "Authorization header")
	var scope *management.Scope
	switch {
	case err != nil:
	case token != "":
		scope, err = s.Management.ProjectByKey(ctx, caller, token)
	case named == "" && len(caller.Key.Projects) == 1:
		scope, err = s.Management.Project(ctx, caller, strconv.FormatInt(caller.Key.Projects[0], 10))
	default:
		scope, err = s.Management.Project(ctx, caller, cmp.Or(named, "@current"))
	}
	if err != nil {
		return p, managementProblem(err)
	}
	p, _, err = s.Decider.Project(ctx, scope.Project.APIKey)
	return p, err
}

// key looks up the key of the caller and checks its scopes.
func (s *server) key(r *http.Request) (Key, error) {
	if bearer(r) == "" {
		return Key{}, noCredentials(r)
	}
	key, err := s.keyOf(r.Context(), bearer(r))
	if err != nil {
		err = s.countUnknownKey(r, err)
	}
	return key, err
}

// keyOf looks up a key by its text. It returns an error if the key is unknown, or if it is a
// personal key without one of readScopes.
func (s *server) keyOf(ctx context.Context, text string) (Key, error) {
	if text == "" {
		return Key{}, &problemNoCredentials
	}
	err := flags.ErrUnknownKey
	var key Key
	if s.Keys != nil {
		key, err = s.Keys.Key(ctx, text)
	}
	switch {
	case errors.Is(err, flags.ErrUnknownKey) && strings.HasPrefix(text, "phs_"):
		return Key{}, &problemBadSecretKey
	case errors.Is(err, flags.ErrUnknownKey):
		return Key{}, problemBadPersonalKey.with(management.KeyHint(text), "")
	case err != nil:
		return Key{}, errors.Join(flags.ErrUnavailable, err)
	case !key.Secret && !slices.ContainsFunc(key.Scopes, func(scope string) bool { return slices.Contains(readScopes, scope) }):
		return Key{}, &problemNoScope
	}
	return key, nil
}
