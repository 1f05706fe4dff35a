package httpapi

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// enterByKey is enter where there is no Management: a key opens the projects that Keys
// names, and whose it is is not known.
func (s *server) enterByKey(c *call, e *endpoint) error {
	text, place := outerKey(c.r)
	if text == "" {
		return noCredentials(c.r)
	}
	err := ErrUnknownKey
	var key Key
	if s.Keys != nil {
		key, err = s.Keys.Key(c.ctx, text)
	}
	switch {
	case errors.Is(err, ErrUnknownKey), err == nil && key.Secret:
		return s.failed(c.r, problemKeyIn.with(place+" is invalid.", ""))
	case err != nil:
		return errors.Join(flags.ErrUnavailable, err)
	}
	caller := &management.Caller{Key: &management.KeyRecord{Scopes: append([]string{}, key.Scopes...)}}
	if err := e.permits(caller); err != nil {
		return err
	}
	project, err := s.keyedProject(c, &key)
	c.standing = &management.Standing{Caller: caller, Project: &management.ProjectRecord{ID: project.ID, APIKey: project.APIKey}}
	return err
}

// keyedProject is the project of the path, or the one that a token in the query
// of a GET names (§1.7). A project that the key does not open is told from one
// that is not there only by its token: ids say nothing about other projects.
func (s *server) keyedProject(c *call, key *Key) (flags.Project, error) {
	if token := queryToken(c.r); token != "" {
		p, _, err := s.Decider.Project(c.ctx, token)
		if err == nil && !slices.Contains(key.Projects, token) {
			err = problemForeignProject.with("", "").say("API key does not have access to the requested project: ID %d.", p.ID)
		}
		return p, err
	}
	named := c.part("project")
	id, err := strconv.ParseInt(named, 10, 64)
	if named != "@current" && (err != nil || id <= 0 || strconv.FormatInt(id, 10) != named) {
		return flags.Project{}, &problemProject
	}
	for _, apiKey := range key.Projects {
		p, _, err := s.Decider.Project(c.ctx, apiKey)
		switch {
		case errors.Is(err, flags.ErrUnknownKey): // the key is older than the end of one of its projects
		case err != nil:
			return flags.Project{}, err
		case named == "@current" || p.ID == id:
			return p, nil
		}
	}
	return flags.Project{}, &problemProject
}

func queryToken(r *http.Request) string {
	if r.Method != http.MethodGet {
		return ""
	}
	q := r.URL.Query()
	if token := q.Get("token"); token != "" {
		return token
	}
	return q.Get("api_key")
}
