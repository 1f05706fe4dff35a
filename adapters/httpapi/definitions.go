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

// getDefinitions serves a project's definitions to SDKs that evaluate locally,
// with the checks in the order of §1.8.
func getDefinitions(s *server, w http.ResponseWriter, r *http.Request) error {
	project, _, err := s.project(r.Context(), parseQuery(r.URL.RawQuery).Token)
	if err != nil {
		return err
	}
	if err := s.authorize(r.Context(), bearer(r), &project); err != nil {
		return s.countUnknownKey(r, err)
	}
	return s.serveDefinitions(w, r, &project)
}

// getOldLocalEvaluation is getDefinitions for the oldest path, where a personal key
// without a token means its only project, or the current one (spec/clients.md §7.3).
func getOldLocalEvaluation(s *server, w http.ResponseWriter, r *http.Request) error {
	if parseQuery(r.URL.RawQuery).Token != "" || bearer(r) == "" || strings.HasPrefix(bearer(r), "phs_") {
		return getDefinitions(s, w, r)
	}
	key, err := s.key(r)
	switch {
	case err != nil:
		return err
	case key.Secret:
		return getDefinitions(s, w, r)
	}
	project, err := s.ownProject(r, &key)
	if err != nil {
		return err
	}
	return s.serveDefinitions(w, r, &project)
}

// projectScope is the only project that a personal key opens, or the current one.
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

// serveDefinitions answers a caller who may have the definitions of a project.
func (s *server) serveDefinitions(w http.ResponseWriter, r *http.Request, project *flags.Project) error {
	if !s.limits.definitions.allow(s, w, project.APIKey) {
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
		w.WriteHeader(http.StatusNotModified) // free: nothing is counted
		return nil
	}
	if !s.Decider.CountPayload(r.Context(), project) {
		h.Del("ETag")
		h.Del("Cache-Control")
		return &problemQuota
	}
	s.usage.add(project.APIKey, usageFlags, usageKey(bearer(r)), sdkOf(r), flags.DefinitionsCost)
	s.write(w, http.StatusOK, payload)
	return nil
}

// wantsMembers: the caller asks for the members of static cohorts too (decision 5).
func wantsMembers(r *http.Request) bool { return r.URL.Query().Get("static_cohorts") == "members" }

// payload is what a project's definitions are served as, and its version.
func (s *server) payload(ctx context.Context, apiKey string, members bool) ([]byte, string, error) {
	if members {
		return s.Decider.MembersPayload(ctx, apiKey)
	}
	return s.Decider.Payload(ctx, apiKey)
}

// matchesETag accepts the weak form, the strong form and a bare value.
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

// bearer is the key of the Authorization header, empty when there is none. Its
// scheme is Bearer or Token, in any case.
func bearer(r *http.Request) string {
	scheme, key, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "Token") {
		return ""
	}
	return strings.TrimSpace(key)
}

// noCredentials is the answer to a request without a key that can be read.
func noCredentials(r *http.Request) error {
	if r.Header.Get("Authorization") == "" {
		return &problemNoCredentials
	}
	return problemNoCredentials.with("The Authorization header has to be: Bearer, a space, and a personal API key.", "")
}

// readScopes open definitions and remote configuration.
var readScopes = []string{"feature_flag:read", "feature_flag:write", "*"}

// authorize checks that a key opens a project's definitions.
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

// countUnknownKey counts a key that nobody has.
func (s *server) countUnknownKey(r *http.Request, err error) error {
	var target *problem
	if errors.As(err, &target) && target.Code == problemBadPersonalKey.Code { // with more words too
		return s.countFailure(r, err)
	}
	return err
}

// keyProject is the project in which the user of a personal key is: that of a public
// key, that of a path, or when both are empty the only one that the key opens, or the
// current one. A key may be unrestricted and its user still be nobody there
// (management §1.5).
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

// key looks the caller's key up and checks its scopes.
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
