package sdk

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// Access checks the keys that may read definitions and remote configuration.
type Access struct {
	*frame.Server
	find Keys
}

// NewAccess returns the keys of a server.
func NewAccess(s *frame.Server, find Keys) *Access { return &Access{s, find} }

// Key has the permissions of a secret or personal key, like Key.
type Key struct {
	Secret           bool
	Scopes, Projects []string
}

// Keys finds a key, like Keys. If it is nil, there are no keys.
type Keys func(ctx context.Context, text string) (Key, error)

// readScopes are the scopes that allow reading definitions and remote configuration.
var readScopes = []string{"feature_flag:read", "feature_flag:write", "*"}

// Authorize returns an error unless the key allows reading the definitions of p.
func (a *Access) Authorize(ctx context.Context, text string, p *flags.Project) error {
	key, err := a.keyOf(ctx, text)
	if err != nil {
		return err
	}
	if !slices.Contains(key.Projects, p.APIKey) {
		if key.Secret {
			return &problemBadSecretKey
		}
		return &problemForeignProject
	}
	if a.Management == nil || key.Secret {
		return nil
	}
	_, err = a.keyProject(ctx, text, p.APIKey, "")
	return err
}

// countUnknownKey counts err as a failed authentication if it is about an unknown personal key.
func (a *Access) countUnknownKey(r *http.Request, err error) error {
	var target *problem.Problem
	if errors.As(err, &target) && target.Code == problemBadPersonalKey.Code { // the detail may be longer
		return a.Limits.CountFailure(r, err)
	}
	return err
}

// keyProject returns the project for a request with a personal key: that of the public key token,
// or of the path segment named, or if both are empty the only project that the key opens or the
// current project of the user. Even if the key is unrestricted, its user may lack access to the
// project (management §1.5).
func (a *Access) keyProject(ctx context.Context, text, token, named string) (p flags.Project, err error) {
	caller, err := a.Management.Authenticate(ctx, text, "Authorization header")
	var scope *management.Scope
	switch {
	case err != nil:
	case token != "":
		scope, err = a.Management.ProjectByKey(ctx, caller, token)
	case named == "" && len(caller.Key.Projects) == 1:
		scope, err = a.Management.Project(ctx, caller, strconv.FormatInt(caller.Key.Projects[0], 10))
	default:
		scope, err = a.Management.Project(ctx, caller, cmp.Or(named, "@current"))
	}
	if err != nil {
		return p, problem.OfManagement(err)
	}
	p, _, err = a.Decider.Project(ctx, scope.Project.APIKey)
	return p, err
}

// key looks up the key of the caller and checks its scopes.
func (a *Access) key(r *http.Request) (Key, error) {
	if frame.Bearer(r) == "" {
		return Key{}, frame.NoCredentials(r)
	}
	key, err := a.keyOf(r.Context(), frame.Bearer(r))
	if err != nil {
		err = a.countUnknownKey(r, err)
	}
	return key, err
}

// keyOf looks up a key by its text. It returns an error if the key is unknown, or if it is a
// personal key without one of readScopes.
func (a *Access) keyOf(ctx context.Context, text string) (Key, error) {
	if text == "" {
		return Key{}, &problem.NoCredentials
	}
	err := flags.ErrUnknownKey
	var key Key
	if a.find != nil {
		key, err = a.find(ctx, text)
	}
	switch {
	case errors.Is(err, flags.ErrUnknownKey) && strings.HasPrefix(text, "phs_"):
		return Key{}, &problemBadSecretKey
	case errors.Is(err, flags.ErrUnknownKey):
		return Key{}, problemBadPersonalKey.With(management.KeyHint(text), "")
	case err != nil:
		return Key{}, errors.Join(flags.ErrUnavailable, err)
	case !key.Secret && !slices.ContainsFunc(key.Scopes, func(scope string) bool { return slices.Contains(readScopes, scope) }):
		return Key{}, &problemNoScope
	}
	return key, nil
}

// ownProject returns the only project that a personal key opens, or the current project of its
// user.
func (a *Access) ownProject(r *http.Request, key *Key) (flags.Project, error) {
	if a.Management == nil {
		for _, apiKey := range key.Projects {
			if p, _, err := a.Decider.Project(r.Context(), apiKey); !errors.Is(err, flags.ErrUnknownKey) {
				return p, err
			}
		}
		return flags.Project{}, &problemProject
	}
	return a.keyProject(r.Context(), frame.Bearer(r), "", "")
}

// projectOf finds the project of a request: by token if there is one, otherwise by the id in the
// path. The id @current is the first project of the key.
func (a *Access) projectOf(r *http.Request, key *Key) (flags.Project, error) {
	token, named := parseQuery(r.URL.RawQuery).Token, frame.PathValue(r, "project")
	if a.Management != nil && !key.Secret {
		return a.keyProject(r.Context(), frame.Bearer(r), token, named)
	}
	for _, apiKey := range key.Projects {
		if token != "" && apiKey != token {
			continue
		}
		p, _, err := a.Decider.Project(r.Context(), apiKey)
		if token == "" && errors.Is(err, flags.ErrUnknownKey) {
			continue // the project was deleted after the key was created
		}
		if err != nil {
			return p, err
		}
		if token != "" || named == "@current" || named == strconv.FormatInt(p.ID, 10) {
			return p, nil
		}
	}
	if token == "" {
		return flags.Project{}, &problem.NotFound
	}
	if _, _, err := a.Decider.Project(r.Context(), token); err != nil {
		return flags.Project{}, err
	}
	return flags.Project{}, &problemForeignProject
}
